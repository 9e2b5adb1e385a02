//! The HDF5 data model as plain values: no I/O, no threads, no unsafe code.
#![forbid(unsafe_code)]

pub mod budget;
pub mod bytes;
pub mod convert;
pub mod dataspace;
pub mod datatype;
pub mod encode;
pub mod error;
pub mod heap;
pub mod limits;
pub mod link;
pub mod path;
pub mod properties;
pub mod reference;
pub mod secrets;
pub mod selection;
pub mod spread;
pub mod text;
pub mod token;

pub use budget::{Budget, Charge, Charged};
pub use dataspace::{Dataspace, RANK_MAX, UNLIMITED};
pub use datatype::{ByteOrder, CharacterSet, Datatype};
pub use error::{Context, Error, Kind, Result};
pub use heap::Heap;
pub use limits::{Limits, Within};
pub use link::{Index, Link, LinkTarget, ObjectKind, Order};
pub use path::ObjectPath;
pub use reference::{Reference, ReferenceTarget};
pub use selection::Selection;
pub use token::Token;
