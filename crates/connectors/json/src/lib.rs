//! The json connector: a container is one HDF5/JSON document, a text that people read, edit and diff.
//!
//! While it is open, its content is in a container of the `memory` connector, which the registry finds; a commit
//! writes the document anew and puts it in the place of the old one. It is meant for small data: what does not fit
//! into `Limits::metadata_bytes_max` is refused. One document opened twice in a process shares its state.
//! `docs/json-layout.md` shows the text.
#![forbid(unsafe_code)]

mod connector;
mod container;
mod document;
mod read;
mod write;

pub use connector::JsonConnector;
