//! The server: containers of any connector, for remote clients (`docs/protocol.md`, `docs/serve.md`).
//!
//! A thread for each connection reads frames, runs them on the containers of its session and answers. Whatever a client
//! sends ends in an answer or in the end of its connection: lengths are bounded before they size anything, names do not
//! leave the root, and everything refused is logged with who and why.
#![forbid(unsafe_code)]

mod admission;
mod audit;
mod config;
mod connection;
mod containers;
mod direct;
#[cfg(test)]
mod fuzz;
mod guard;
mod hidden;
mod http;
mod listener;
mod locks;
mod log;
mod mark;
mod memory;
mod metrics;
pub mod names;
mod nodes;
mod offences;
mod outcomes;
mod party;
mod rights;
mod session;
mod shared;
mod stand;
#[cfg(feature = "tls")]
mod tls;
mod translate;
mod turns;

pub use admission::Admission;
pub use audit::AuditedRequest;
pub use config::{Auth, Config, Listen, ServerLimits, TlsFiles};
pub use hidden::HiddenPaths;
pub use listener::Server;
pub use log::{Log, LogFormat};
pub use rights::{Principal, Rights};
pub use tracing::Level;
