//! The HDF5 data model as plain values: no I/O, no threads, no unsafe code.
#![forbid(unsafe_code)]

pub mod bytes;
pub mod datatype;
pub mod error;
pub mod limits;
pub mod text;

pub use datatype::{ByteOrder, CharacterSet, Datatype};
pub use error::{Context, Error, Kind, Result};
pub use limits::{Limits, Within};
