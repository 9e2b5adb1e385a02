//! The conformance suite on every terminal connector and on stacks of layers.
//!
//! `tests/stacks.rs` is one test a subject; `src/main.rs` prints what `docs/connectors.md` shows.
#![forbid(unsafe_code)]

mod lazy;
mod loopback;
mod proof;
mod subjects;
pub mod table;
mod wide;

pub use subjects::{Entry, SUBJECTS, registry};
