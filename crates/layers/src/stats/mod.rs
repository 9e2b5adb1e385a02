//! The stats layer: how often every operation ran, on which objects, how many bytes it moved and how long it took.
//!
//! ```text
//! stats{by=both, format=table, out=FILE, chrome=FILE, events=262144}
//! ```
//!
//! The numbers are written to `out` when the container is closed. Without it they are there while it is open:
//! [`Stats::of`], or the extensions [`StatsTable`], [`StatsJson`] and [`StatsRows`].

mod chrome;
mod extensions;
mod histogram;
mod layer;
mod numbers;
mod report;

pub use extensions::{StatsJson, StatsRows, StatsTable};
pub use layer::StatsLayer;
pub use report::{Row, Stats};
