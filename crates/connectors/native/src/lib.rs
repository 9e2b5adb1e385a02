//! The native connector: the HDF5 file format.
//!
//! `format` decodes structures, `store` gives bytes within bounds, `object` puts structures together into
//! groups, datasets and attributes, `chunk` goes from a selection to bytes.

mod chunk;
mod connector;
mod container;
mod file;
mod format;
mod listing;
mod object;
mod space;
mod store;
mod txn;
mod write;

pub use connector::{NativeConnector, open_handle, open_image};
pub use container::NativeContainer;
