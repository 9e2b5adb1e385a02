//! The remote connector: a container behind `hyperslab serve` is used as any other (`docs/protocol.md`).
//!
//! Every operation becomes a frame, in the form of [`protocol::wire`]; bulk goes between the socket and the caller's buffers
//! as it is. An operation that is waited for costs one round trip on a connection of its own, so that many threads ask
//! at once. Broken connections are created anew, and the numbers of operations let the server run each of them once.
#![forbid(unsafe_code)]

pub mod address;
mod connection;
mod connector;
mod container;
mod direct;
mod kept;
mod nodes;
mod pieces;
mod placed;
mod queue;
mod session;
mod started;
#[cfg(feature = "tls")]
mod tls;

pub use connector::{CAPABILITY, RemoteConnector};
pub use protocol::CONNECTOR as NAME;
