//! The object connector: HDF5 on storage with two levels of keys, mapped as the DAOS connector maps it.
//!
//! A container holds one object of global metadata and one object for each group, dataset, committed datatype and
//! map. The header of an object stands under the dkey `/Internal Metadata`, its attributes under `/Attribute`; the links
//! of a group, the chunks of a dataset and the pairs of a map have dkeys of their own. `docs/object-layout.md` has every
//! key and its bytes. Everything else that a connector does is in the crate `keyed`.
//!
//! Elements are written before the header that describes them, objects before the links to them, and counts are reduced
//! after links are removed: a crash leaves nothing but unreachable objects, which `storage_check` finds, and never a link
//! to an object that does not exist.
#![forbid(unsafe_code)]

mod attributes;
mod blobs;
mod check;
mod chunks;
mod encoded;
mod engines;
mod headers;
mod identity;
pub mod keys;
mod links;
mod listing;
mod mapping;
mod order;
mod show;
mod show_values;

pub use keyed::{engine, storage};

pub use engines::{ObjectEngines, ObjectLocation};
pub use mapping::ObjectMapping;

/// Stores containers in object stores. Clones share the containers that are open.
pub type ObjectConnector = keyed::KeyedConnector<ObjectEngines>;
