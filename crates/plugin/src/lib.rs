//! Connectors and layers from shared libraries.
//!
//! A plugin is a shared library with one symbol, `hyperslab_connector_v1`, which gives a table of C functions
//! (`include/hyperslab_connector.h`). In Rust a plugin is a `cdylib` crate with a [`Connector`](vol::Connector) or a
//! [`LayerFactory`](vol::LayerFactory) and one line, [`export!`] or [`export_layer!`]; a program that wants plugins
//! calls [`load`] or looks along a [`SearchPath`]. Nothing is loaded unless somebody asks.
//!
//! Whatever passes the boundary is bytes of [`protocol::wire`], with elements beside them in their own buffers.
//! Memory is never handed over: whoever receives an answer makes the room for it. A panic does not pass: it is an error
//! on the other side. All `unsafe` code is in [`mod@abi`]'s few users: `call`, `serve`, `object`, `guest` and `library`.

pub mod abi;
mod call;
mod connector;
pub mod guest;
mod names;
mod object;
mod serve;
mod services;

#[cfg(feature = "host")]
mod image;
#[cfg(feature = "host")]
mod library;
#[cfg(feature = "host")]
mod path;

#[cfg(feature = "host")]
pub use library::{Loaded, Plugin, load};
#[cfg(feature = "host")]
pub use path::{Found, SearchPath, Skipped};
