//! The HDF5 data model as plain values: no I/O, no threads, no unsafe code.
#![forbid(unsafe_code)]

pub mod bytes;
pub mod dataspace;
pub mod error;
pub mod limits;
pub mod selection;

pub use dataspace::{Dataspace, RANK_MAX, UNLIMITED};
pub use error::{Context, Error, Kind, Result};
pub use limits::{Limits, Within};
pub use selection::Selection;
