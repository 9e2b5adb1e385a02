//! HDF5 in Rust, on any storage.
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
//! # The first ten questions
//!
//! **How is a file organised?** A [`File`] is the root [`Group`]. Groups hold links to groups, [`Dataset`]s, [`Map`]s and
//! named datatypes; each of these is an [`Object`] and has [`Attribute`]s. `File` derefs to `Group`, and `Group`, `Dataset`
//! and `Map` deref to `Object`, as in `hdf5-metno`.
//!
//! **How is a dataset written?** With a builder. Missing groups on the way are created:
//!
//! ```
//! # use hyperslab::{File, Result};
//! # fn main() -> Result<()> {
//! let file = File::create("memory:write")?;
//! let mean = file.new_dataset::<f32>().shape((200, 300)).chunk((64, 64)).shuffle().deflate(4).create("run/mean")?;
//! mean.write_raw(&vec![280.0f32; 200 * 300])?;
//! mean.set_attr("unit", "K".to_owned())?;
//! file.new_dataset_builder().with_data(&[1, 2, 3]).create("run/ids")?;
//! # Ok(())
//! # }
//! ```
//!
//! **Which types can elements have?** Integers, floats, `bool`, complex numbers, strings, arrays, variable-length arrays,
//! references, and structs and enums with [`#[derive(H5Type)]`](derive@H5Type). Elements are converted between the type of the
//! file and the one that is asked for, as libhdf5 converts them; [`Conversion`] and [`Reader::no_convert`] refuse that.
//!
//! **How is part of a dataset read or written?** With `s![…]` of ndarray, ranges, or a [`Selection`] (hyperslabs, points and
//! unions of them): [`Dataset::read_slice`] and [`Dataset::write_slice`]. Only the chunks that are needed are read.
//!
//! **How does a dataset grow?** Give a dimension no upper limit (`shape((0.., 3))`), call [`Dataset::resize`] and write.
//!
//! **How are the objects of a file listed?** [`Group::member_names`], [`Group::iter_visit`] and [`Group::visit`].
//!
//! **When is data safe?** When [`File::flush`] or [`File::close`] returns: both are atomic, durable commits. Dropping the last
//! handle of a file also commits; an error goes to the hook of [`set_close_error_hook`].
//!
//! **May threads share a file?** Yes. Handles are `Send + Sync`; there is no global lock, and many threads read in parallel.
//!
//! **What if the file is broken, or hostile?** Every operation returns an [`Error`] with a [`Kind`], within [`Limits`] of memory and
//! work. [`Limits::strict`] is for files of strangers.
//!
//! **Where else can data be stored?** The location says it: `raw:folder/`, `json:run.json`, `object:store/`, `memory:name`,
//! `h5s://host:port/name`. Each connector is a feature of this crate. A connector of your own needs [`vol`]; drivers, filters,
//! conversions and link classes of your own need [`extend`].

#![warn(clippy::missing_errors_doc)]

// The derive macro names this crate, also from inside it.
extern crate self as hyperslab;

mod attribute;
mod attribute_builder;
#[cfg(feature = "async")]
mod awaited;
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
pub mod extensions;
mod extents;
mod file;
pub mod filters;
mod group;
mod iteration;
mod load;
mod many;
#[allow(clippy::missing_errors_doc, reason = "its functions do not say yet when they fail")]
mod map;
mod mask;
mod numbers;
mod object;
mod options;
#[cfg(feature = "parallel")]
pub mod parallel;
pub mod plist;
mod posting;
pub mod prelude;
#[cfg(feature = "async")]
mod prepared;
mod reader;
mod references;
mod refresh;
mod registry;
mod scales;
mod session;
mod slice;
pub mod types;
mod visit;
pub mod vol;
pub mod work;
mod write;

pub use ::filters::names as filter_names;
pub use ::filters::pipeline::{is_named as is_named_filter, named as named_filter};
pub use attribute::Attribute;
pub use attribute_builder::{
    AttributeBuilder, AttributeBuilderData, AttributeBuilderEmpty, AttributeBuilderEmptyShape,
};
pub use builder::{
    DatasetBuilder, DatasetBuilderData, DatasetBuilderEmpty, DatasetBuilderEmptyShape, DatasetName, NoData,
};
pub use chunk_guess::guess_chunk;
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
/// Event sets: the operations of the `async` layer that are in progress.
#[cfg(feature = "async")]
pub use layers::asynchronous;
/// Statistics of the `stats` layer.
#[cfg(feature = "stats")]
pub use layers::stats::Stats;
pub use map::{KeyPosition, Map};
pub use model::datatype::Datatype;
pub use model::{
    Context, Dataspace, Error, Index, Kind, Limits, Link, LinkTarget, ObjectKind, Order, Reference,
    ReferenceTarget, Result, Selection, Token,
};
pub use model::{Index as IndexType, Order as IterationOrder};
pub use ndarray::s;
pub use object::{NamedDatatype, Object, ObjectHandle};
pub use options::{FileAccessBuilder, FileBuilder, FileCreateBuilder, OpenMode};
pub use posting::Posting;
pub use reader::{AttributeReader, AttributeWriter, Conversion, Reader, Writer};
pub use registry::{FolderResolver, registry};
pub use slice::Slice;
pub use visit::Visit;
pub use vol::{
    ChunkCacheInfo, CloseErrorHook, CopyOptions, Durability, FileAccess, LibVersion, Locking, Transfer,
    set_close_error_hook,
};
