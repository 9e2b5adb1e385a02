//! See `tests/schedules.rs`: the package has tests only.
