//! Algorithms over containers, written once for all connectors.
//!
//! [`transfer`] moves elements between memory and a container, with selections, conversion and variable-length values;
//! [`virtual_dataset`] reads and writes through mappings; [`copy`] and [`compare`] work on objects and whole containers, across connectors; [`stored`] finds the stored part of
//! a sparse dataset; [`checks`] validates arguments; [`workers`] and [`thread_pool`] run parts of one transfer in parallel.
#![forbid(unsafe_code)]

pub mod checks;
pub mod compare;
pub mod copy;
mod descriptor_bytes;
mod descriptors;
pub mod maps;
pub mod partial_chunks;
pub mod placement;
mod replaced;
mod shared_values;
pub mod stored;
pub mod thread_pool;
pub mod transfer;
pub mod virtual_dataset;
pub mod workers;

pub use replaced::{GetBlobs, replaced_blobs};
