//! Layers: pass-through connectors that stand above any container and change what some of its operations do.
//!
//! A layer is named in a stack string (`stats | mirror{to=raw:copy/}`), found by name in the [`vol::Registry`], and wraps
//! the container that a connector or another layer returned. Each layer is one module and one feature of this crate.
#![forbid(unsafe_code)]

#[cfg(feature = "async")]
pub mod asynchronous;
#[cfg(feature = "check")]
pub mod check;
#[cfg(feature = "mirror")]
pub mod mirror;
#[cfg(feature = "readonly")]
pub mod readonly;
#[cfg(feature = "stats")]
pub mod stats;
#[cfg(feature = "trace")]
pub mod trace;

use std::sync::Arc;

use vol::LayerFactory;

/// Returns one factory for each layer of this build.
pub fn all() -> Vec<Arc<dyn LayerFactory>> {
    vec![
        #[cfg(feature = "stats")]
        Arc::new(stats::StatsLayer),
        #[cfg(feature = "trace")]
        Arc::new(trace::TraceLayer),
        #[cfg(feature = "readonly")]
        Arc::new(readonly::ReadonlyLayer),
        #[cfg(feature = "check")]
        Arc::new(check::CheckLayer),
        #[cfg(feature = "mirror")]
        Arc::new(mirror::MirrorLayer),
        #[cfg(feature = "async")]
        Arc::new(asynchronous::AsyncLayer),
    ]
}
