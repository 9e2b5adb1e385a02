//! The protocol between containers and callers that are not in one address space: clients and servers (`docs/protocol.md`),
//! a program and its plugins (`docs/plugins.md`), the processes that share a log.
//!
//! [`wire`] turns every operation of [`vol::Container`] into bytes and back. [`frame`], [`stream`] and the messages of this
//! crate carry these bytes over a connection; [`tokens`] and `tls` authenticate and encrypt connections.
#![forbid(unsafe_code)]

pub mod frame;
mod messages;
mod nodes;
mod queued;
pub mod stream;
#[cfg(feature = "tls")]
pub mod tls;
pub mod tokens;
pub mod wire;

pub use messages::{
    Attach, Begin, Granted, Hello, Id, Identity, Lock, MARK_PREFIX, Renew, Unlock, VERSION, Welcome,
    Whereabouts,
};
pub use nodes::{has_several_nodes, is_kept, stores};
pub use queued::{is_queued_token, makes_object, may_be_queued, queued_sequence, queued_token};

/// The name of the connector that speaks this protocol. A server does not serve containers of other servers.
pub const CONNECTOR: &str = "remote";
