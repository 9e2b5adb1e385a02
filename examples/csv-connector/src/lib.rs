//! The connector of `docs/write-a-connector.md`, compiled from the page itself: one module for each step, and `whole`.

include!(concat!(env!("OUT_DIR"), "/steps.rs"));
