//! HDF5 in Rust, with any storage beneath it.
//!
//! ```no_run
//! use hyperslab::{File, s};
//!
//! # fn main() -> hyperslab::Result<()> {
//! let file = File::open("weather.h5")?;
//! let grid = file.dataset("temperature")?;
//! let all = grid.read_2d::<f32>()?;
//! let part = grid.read_slice_2d::<f32, _>(s![0..10, ..;2])?;
//! println!("{} of {} elements, unit {}", part.len(), all.len(), grid.attr("unit")?.read_string()?);
//! # Ok(())
//! # }
//! ```
//!
//! A file is opened by its location: a path is an HDF5 file, `memory:name` lives in this process, and further
//! connectors add their own prefixes. Handles are `Send + Sync`, and reads from many threads run in parallel.

// The derive macro names this crate, also from inside it.
extern crate self as hyperslab;

mod attribute;
mod attribute_builder;
mod builder;
mod builder_filters;
pub mod check;
mod chunk_guess;
mod chunks;
mod copying;
mod create;
mod dataset;
mod element;
mod environment;
pub mod extend;
mod extents;
mod file;
pub mod filters;
mod group;
mod iteration;
mod load;
mod map;
mod mask;
mod numbers;
mod object;
mod options;
mod reader;
mod references;
mod registry;
mod session;
mod slice;
pub mod types;
mod visit;
pub mod work;
mod write;

pub use ::filters::pipeline::{is_named as is_named_filter, named as named_filter};
pub use algorithms;
pub use attribute::Attribute;
pub use attribute_builder::{
    AttributeBuilder, AttributeBuilderData, AttributeBuilderEmpty, AttributeBuilderEmptyShape,
};
pub use builder::{
    DatasetBuilder, DatasetBuilderData, DatasetBuilderEmpty, DatasetBuilderEmptyShape, DatasetName, NoData,
};
pub use chunks::ChunkInfo;
pub use create::{AttributeValue, IntoShape, UNLIMITED_DIM};
pub use dataset::Dataset;
pub use derive::H5Type;
pub use element::H5Type;
pub use environment::Environment;
pub use extents::{Extent, Extents, SimpleExtents};
pub use file::File;
pub use group::Group;
pub use iteration::{IterationCursor, LinkInfo, LinkType};
/// Layers, and the extensions that they have.
pub use layers;
/// Event sets: what the `async` layer has under way.
pub use layers::asynchronous;
/// Numbers that the `stats` layer took.
pub use layers::stats::Stats;
/// Extensions of the log connector.
pub use log;
pub use map::{KeyPosition, Map};
pub use model;
pub use model::datatype::Datatype;
pub use model::{
    Context, Dataspace, Error, Index, Kind, Limits, Link, LinkTarget, ObjectKind, Order, Reference,
    ReferenceTarget, Result, Selection, Token,
};
pub use model::{Index as IndexType, Order as IterationOrder};
/// Extensions of the native connector.
pub use native;
pub use ndarray::s;
pub use object::{NamedDatatype, Object, ObjectHandle};
pub use options::{FileAccessBuilder, FileBuilder, FileCreateBuilder, OpenMode};
pub use reader::{AttributeReader, AttributeWriter, Conversion, Reader, Writer};
pub use registry::{FolderResolver, registry};
pub use slice::Slice;
pub use visit::Visit;
pub use vol;
pub use vol::{
    ChunkCacheInfo, CloseErrorHook, Durability, FileAccess, LibVersion, Locking, set_close_error_hook,
};
