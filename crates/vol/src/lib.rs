//! The Virtual Object Layer: the contract between the HDF5 data model and anything that stores it.
//!
//! A [`Connector`] creates and opens containers; a [`Container`] is one open file, and every operation on its objects is a
//! method that takes a [`Token`]. A [`Layer`] wraps a container: it forwards operations to it, and implements some itself.
//! The [`Registry`] finds connectors, layers, virtual file drivers, filters, conversions and classes of links.

#![warn(clippy::missing_errors_doc)]

mod access;
mod blobs;
mod capability;
mod connector;
mod container;
mod extension;
mod handle;
mod info;
pub mod libhdf5;
mod link_class;
mod location;
mod observe;
mod operation;
mod ops;
mod parallel;
pub mod path;
mod pins;
mod pipeline;
pub mod places;
mod posting;
mod registered;
mod registry;
pub mod unfinished;

pub use access::{
    Access, Durability, FileAccess, FilePlacement, LibVersion, Locking, MetadataCacheLog, PageBuffer,
    ParallelAccess, RawBytes, Resolver, VirtualView, WhenFull,
};
pub use blobs::Blobs;
pub use capability::Capability;
pub use connector::{Connector, ConnectorInfo, LayerFactory, Writers};
pub use container::{Container, Layer};
pub use extension::{Extension, ExtensionInfo, ExtensionValue, Optional, call};
pub use handle::{CloseErrorHook, close_on_drop, set_close_error_hook};
pub use info::*;
pub use link_class::{
    FollowedLink, LINK_CLASS_MIN, LinkClass, LinkClasses, LinkContext, LinkDestination, LinkTraversal,
};
pub use location::{Location, Parameters, Stack, StackEntry};
pub use model::{Budget, Context, Error, Kind, Limits, Result, Token, Within};
pub use observe::{Call, Observed, Observer};
pub use operation::Operation;
pub use ops::*;
pub use parallel::{ChunkGrid, Collective, Direction, LeaderBytes, NewChunk, Replica, Replicas, Transfer};
pub use pins::{Pin, Released};
pub use pipeline::{Pipeline, Task, describe};
pub use posting::Posting;
pub use registered::Registered;
pub use registry::Registry;
