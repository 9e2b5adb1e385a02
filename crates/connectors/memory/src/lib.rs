//! The memory connector: the whole data model in one process, as the reference that other connectors are
//! tested against. Obvious code goes before quick code.
//!
//! Containers live in the [`MemoryConnector`] that made them, by path, until they are deleted or it goes.
//! One container opened twice shares its state. Operations take one read-write lock for each container, so
//! that reads run in parallel and a write is seen whole or not at all. Filters are stored as properties and
//! not applied: elements are stored as they are, and raw chunks of a dataset with filters are `Unsupported`.
#![forbid(unsafe_code)]

mod attributes;
mod blobs;
mod blocks;
mod check;
mod chunks;
mod connector;
mod container;
mod datasets;
mod external;
mod links;
mod maps;
mod objects;

pub use connector::MemoryConnector;
