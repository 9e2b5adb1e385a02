//! Connectors that store containers under keys of a store.
//!
//! [`KeyedConnector`] and [`KeyedContainer`] implement `vol::Connector` and `vol::Container` for any [`Mapping`]: they
//! count references, cache headers and listings, read and write selections of chunks, release blobs, and check names and
//! sizes. A mapping implements small traits that say where everything is stored, and in which bytes:
//!
//! | trait | what it stores |
//! |---|---|
//! | [`Identities`] | nothing: the IDs of objects and blobs, and their tokens |
//! | [`Objects`] | object headers, reference counts, comments |
//! | [`Entries`] | keys of groups and pairs of maps |
//! | [`Links`] | links of groups, and their creation order |
//! | [`Attributes`] | attributes and their values |
//! | [`Chunks`] | chunks of datasets |
//! | [`BlobStore`] | variable-length values and references |
//! | [`StorageReport`] | nothing: checks and shows what is stored |
//!
//! [`Engines`] says on which stores a connector opens containers.
#![forbid(unsafe_code)]

mod attributes;
mod blobs;
mod checks;
mod chunk_parts;
mod chunk_requests;
mod connector;
mod container;
mod dataset;
mod datasets;
mod descriptors;
mod elements;
pub mod engine;
mod error;
mod filtered;
mod handle;
mod link_value;
mod links;
mod listing;
pub mod mapping;
mod maps;
mod object_header;
mod objects;
mod open_containers;
mod partial_chunks;
mod reference_counts;
mod references;
mod resize;
mod retry;
mod shared;
pub mod show;
mod storage_check;

pub use ::objects as storage;

pub use attributes::{AttributeHeader, missing_attribute, value_bytes};
pub use checks::{is_tracked, space_bytes};
pub use chunk_requests::{ChunkRead, ChunkWrite, StoredChunk};
pub use connector::{Engines, KeyedConnector, Location, check_version, incomplete};
pub use container::KeyedContainer;
pub use dataset::{Dataset, automatic_shape};
pub use elements::Elements;
pub use error::{During, fetched, stored};
pub use handle::{CAPABILITY, Handle};
pub use link_value::{link_target, link_value};
pub use links::link_exists;
pub use listing::{Listings, PAGE, after};
pub use mapping::{
    Attributes, BlobId, BlobStore, Chunks, Entries, Identities, Links, Mapping, NewAttribute, Objects,
    StorageReport, missing_token,
};
pub use object_header::{Body, ObjectHeader};
pub use reference_counts::{ReferenceCounts, changed_count};
pub use retry::retried;
pub use shared::Shared;
pub use storage_check::{Findings, ReachableObjects};

use partial_chunks::PartialChunks;
