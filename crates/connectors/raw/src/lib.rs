//! The raw connector: groups are folders, datasets are plain binary files with readable metadata next to them.
//!
//! Any program reads the elements (`numpy.fromfile(...).reshape(...)`), and what people change by hand is picked up.
//! While a container is open, its groups, links and attributes are in a container of the `memory` connector, which
//! the registry finds; elements and variable-length values stay in their files. `docs/raw-layout.md` shows the
//! folder. Operations on objects take locks as the memory connector does; elements have one lock a dataset, so that
//! reads run in parallel and a write is seen whole.
#![forbid(unsafe_code)]

mod blobs;
mod check;
mod connector;
mod container;
mod data;
mod elements;
mod folder;
mod homes;
mod load;
mod moves;
mod names;
mod plan;
mod recover;
mod refresh;
mod removal;
mod save;
mod scan;
mod transfers;
mod values;

pub use connector::RawConnector;
