//! Containers as plain folders: one JSON file for each group and dataset, and one for the container.
//!
//! ```text
//! weather.json/
//!   container.json    what the folder is, and which object is the root
//!   1.json            the root group: its links by name
//!   2.json            a dataset: type, extent, and the elements that were written
//! ```
//!
//! It is an example, small enough to be read in one go: a container is in memory while it is open, and changed objects
//! are written when it is committed. `docs/write-a-connector.md` tells how it came about.

mod attributes;
mod connector;
mod container;
mod datasets;
mod elements;
mod files;
mod links;
mod objects;
mod text;

pub use connector::FolderOfJson;

hyperslab_plugin::export!(FolderOfJson::new());
