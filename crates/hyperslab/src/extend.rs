//! Extension points of the library: virtual file drivers, storage engines, filters, conversions and classes of
//! user-defined links.
//!
//! Register them in a [`Registry`], and create and open files with [`File::create_in`](crate::File::create_in) and
//! [`File::open_in`](crate::File::open_in). Programs that do so are in `examples/extend`.

#[cfg(feature = "cloud")]
pub use cloud::{ConfiguredS3Driver, S3Credentials, S3Settings};
pub use files::{
    Created, DataKind, Driver, DriverBlock, DriverInfo, DriverParameters, Drivers, File as DriverFile,
    Handle as DriverHandle, Identity, Lock, MemberRange, MemberRanges, MemberStart, Memory, Mode,
    NamedDriver, Onion, RevisionInfo, Subfiling, SubfilingOptions, Sync, Target, onion_parameters,
};
pub use filters::pipeline::undo_tolerantly;
pub use filters::{
    Codecs, Done, Error as FilterError, ErrorKind as FilterErrorKind, Filter, FilterId, Output, Params,
    Tolerance,
};
#[cfg(all(feature = "iod", not(feature = "object")))]
pub use iod::{engine::register_engine, storage};
pub use model::convert::{Conversions, Convert, Exception, Handling, OnException, SoftConvert};
#[cfg(feature = "object")]
pub use object::{engine::register_engine, storage};
pub use vol::{
    Connector, LINK_CLASS_MIN, LayerFactory, LinkClass, LinkClasses, LinkDestination, LinkTraversal,
    Registered, Registry,
};
