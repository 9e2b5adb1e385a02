//! Connectors, layers, filters and drivers from shared libraries.
//!
//! A plugin is a shared library with one symbol, `hyperslab_connector_v1`, which gives a table of C functions
//! (`include/hyperslab_connector.h`). In Rust a plugin is a `cdylib` crate with a [`Connector`](vol::Connector), a
//! [`LayerFactory`](vol::LayerFactory), a [`Filter`](filters::Filter) or a [`Driver`](files::Driver) and one line,
//! [`export!`], [`export_layer!`], [`export_filter!`] or [`export_driver!`]; a program that wants plugins calls [`load`] or
//! looks along a [`SearchPath`]. Nothing is loaded unless a caller asks.
//!
//! Whatever passes the boundary is bytes of [`protocol::wire`], with elements next to them in their own buffers.
//! Memory is never handed over: a caller that receives an answer makes the space for it. A panic does not pass: it is an error
//! on the other side. All `unsafe` code is in [`mod@abi`]'s few users: `call`, `serve`, `object`, `guest` and `library`.

pub mod abi;
mod call;
mod connector;
#[cfg_attr(not(feature = "host"), allow(dead_code, reason = "a plugin alone asks no other"))]
mod driver;
#[cfg_attr(not(feature = "host"), allow(dead_code, reason = "a plugin alone asks no other"))]
mod filter;
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
pub use path::{FoundPlugins, SearchPath, Skipped};
