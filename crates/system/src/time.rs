//! Clocks, as [`std::time`].

pub use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
