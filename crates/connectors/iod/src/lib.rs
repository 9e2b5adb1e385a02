//! The iod connector: HDF5 on key-value stores, arrays and blobs, mapped as *HDF5 to IOD Object Mapping* has it.
//!
//! A group and a map are key-value stores, a dataset and an attribute are arrays, a committed datatype is a blob. Their
//! scratch pads name a key-value store with their header, and one with their attributes. `docs/iod-layout.md` has every
//! key and its bytes. Everything else that a connector does is in the crate `keyed`.
//!
//! All changes of names, counts and headers that belong to one operation are one batch of the storage, and a commit is
//! one flush of it: after a crash a container is as its last commit left it.
#![forbid(unsafe_code)]

mod arrays;
mod attributes;
mod blobs;
mod check;
mod chunks;
mod engines;
mod error;
mod headers;
mod identity;
pub mod keys;
mod links;
mod mapping;
mod show;

pub use keyed::{engine, storage};

pub use attributes::AttributeLocation;
pub use engines::{IodEngines, IodLocation};
pub use mapping::{Changes, IodMapping, ObjectLocation};

/// Stores containers in key-value stores, arrays and blobs. Clones share the containers that are open.
pub type IodConnector = keyed::KeyedConnector<IodEngines>;
