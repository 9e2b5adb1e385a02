//! The object connector: HDF5 on storage with two levels of keys, mapped as the DAOS connector maps it.
//!
//! A container holds one object of global metadata and one object for each group, dataset, committed datatype and
//! map. What an object is stands under the dkey `/Internal Metadata`, its attributes under `/Attribute`; the links of
//! a group, the chunks of a dataset and the pairs of a map have dkeys of their own. `docs/object-layout.md` has every
//! key and its bytes.
//!
//! Elements are written before what describes them, objects before the links to them, and counts go down after links
//! went away: whatever a crash leaves behind is an orphan that `check` finds, never a link that leads nowhere.
#![forbid(unsafe_code)]

mod attributes;
mod blobs;
mod check;
mod chunks;
mod connector;
mod container;
mod datasets;
mod described;
mod encoded;
mod engines;
mod error;
mod identity;
pub mod keys;
mod links;
mod listing;
mod maps;
mod objects_of;
mod opening;
mod order;
mod removal;
mod resize;
mod shared;
mod slots;

pub use connector::ObjectConnector;
