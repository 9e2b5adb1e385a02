//! What connectors share that keep a container under keys of a store: chunks, values of variable length, names.
//!
//! A connector says where its things are by three small traits, and gets everything that follows from them:
//! [`Chunks`] (cells of chunks, and chunks as filters made them) gives reads and writes of any selection through
//! [`Elements`]; [`Values`] (blobs by identity) gives slots and references; [`Datasets`], which joins both, gives raw chunks,
//! listings of chunks and extents that change. [`Listings`] remembers where pages of a listing ended.
#![forbid(unsafe_code)]

mod body;
mod checks;
mod chunks;
mod container;
mod dataset;
mod datasets;
mod elements;
mod error;
mod filtered;
mod findings;
mod links;
mod listing;
mod open;
mod parts;
mod pending;
mod references;
mod resize;
mod slots;
mod values;

pub use body::Body;
pub use checks::{check_attribute_name, check_link_target, is_tracked, slice, space_bytes, untracked};
pub use chunks::{ChunkRead, ChunkWrite, Chunks, Stored};
pub use dataset::{Dataset, automatic_shape, check_dataset};
pub use datasets::Datasets;
pub use elements::Elements;
pub use error::{During, fetched, stored};
pub use findings::Findings;
pub use links::{link_target, link_value};
pub use listing::{Listings, PAGE, Snapshot, View, after, page_after};
pub use open::Open;
pub use pending::Pending;
pub use slots::{COUNT_BYTES, decode_type, file_type, id_of, slot_sizes};
pub use values::Values;
