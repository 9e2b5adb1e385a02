//! The conformance suite that every connector runs, and generators.
//!
//! A connector's test binary gives [`conformance::trials`] a way to make a [`Subject`], and gets one test for
//! each behaviour. Behaviours are written against `vol` only, so stacks of layers run the same suite.
#![forbid(unsafe_code)]

pub mod conformance;
pub mod damage;
mod folder;
#[cfg(unix)]
pub mod full;
pub mod generate;
pub mod ints;
mod kit;
pub mod mpi;
pub mod oracles;
pub mod rounds;
pub mod snapshot;
#[cfg(unix)]
pub mod strangers;
mod subject;

pub use folder::Folder;
pub use kit::Bytes;
pub use subject::{Case, Subject};
