//! The types and traits that most programs use: `use hyperslab::prelude::*;`.

pub use crate::{Attribute, Dataset, Datatype, Durability, File, Group, H5Type, Map, Object, Selection, s};
