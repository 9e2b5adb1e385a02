//! The remote connector: a container behind `hyperslab serve` is used as any other (`docs/protocol.md`).
//!
//! Every operation becomes a frame, in the form of [`vol::wire`]; bulk goes between the socket and the caller's buffers
//! as it is. An operation that is waited for costs one round trip on a connection of its own, so that many threads ask
//! at once. Broken connections are made anew, and the numbers of operations let the server run each of them once.
#![forbid(unsafe_code)]

pub mod address;
mod connection;
mod connector;
mod container;
mod direct;
pub mod frame;
mod messages;
mod pieces;
mod placed;
mod queue;
mod session;
pub mod stream;
#[cfg(feature = "tls")]
pub mod tls;
pub mod tokens;

pub use connector::{CAPABILITY, NAME, RemoteConnector};
pub use messages::{
    Attach, Begin, Granted, Hello, Id, Identity, Lock, MARK_PREFIX, Renew, Unlock, VERSION, Welcome,
    Whereabouts,
};
pub use queue::{is_queued_token, makes_object, may_be_queued, queued_sequence, queued_token};
