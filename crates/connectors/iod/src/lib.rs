//! The iod connector: HDF5 on key-value stores, arrays and blobs, mapped as *HDF5 to IOD Object Mapping* has it.
//!
//! A group and a map are key-value stores, a dataset and an attribute are arrays, a committed datatype is a blob. Their
//! scratch pads name a key-value store with what they are, and one with their attributes. `docs/iod-layout.md` has every
//! key and its bytes.
//!
//! Whatever changes names, counts and descriptions is one batch of the storage, and a commit is one flush of it: after
//! a crash a container is as its last commit left it.
#![forbid(unsafe_code)]

mod attributes;
mod blobs;
mod check;
mod chunks;
mod connector;
mod container;
mod datasets;
mod described;
mod error;
mod identity;
pub mod keys;
mod links;
mod lives;
mod maps;
mod objects_of;
mod opening;
mod order;
mod removal;
mod resize;
mod shared;
mod show;

pub use connector::IodConnector;
