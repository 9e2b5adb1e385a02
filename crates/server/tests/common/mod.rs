//! Servers in this process, and registries of clients.
#![allow(dead_code, reason = "every test uses some of it")]

pub(crate) mod raw;

use std::sync::Arc;

use hyperslab_server::{Auth, Config, Server};
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, Layout};
use model::{Dataspace, Datatype, Token};
pub(crate) use testkit::Folder;
use vol::{Container, LinkLocation, OpDatasetCreate, OpGroupCreate, Registry, Result};

/// What servers stand on.
pub(crate) fn storage() -> Registry {
    let mut registry = Registry::new();
    registry.register(Arc::new(native::NativeConnector)).expect("native");
    registry.register(Arc::new(memory::MemoryConnector::new())).expect("memory");
    registry.register(Arc::new(object::ObjectConnector::new())).expect("object");
    registry.register(Arc::new(iod::IodConnector::new())).expect("iod");
    registry
}

/// What clients know.
pub(crate) fn clients() -> Registry {
    let mut registry = Registry::new();
    registry.register(Arc::new(remote::RemoteConnector)).expect("remote");
    registry.register_layer(Arc::new(layers::asynchronous::AsyncLayer)).expect("async");
    registry
}

/// A server for containers in memory.
pub(crate) fn in_memory() -> Config {
    Config { stack: Some("memory:".into()), root: None, auth: Auth::Off, ..Config::local(storage(), "") }
}

/// A server for HDF5 files in a folder.
pub(crate) fn in_folder() -> Result<(Server, Folder)> {
    let folder = Folder::new("server");
    let config = Config { auth: Auth::Off, ..Config::local(storage(), folder.path()) };
    Ok((Server::start(&config)?, folder))
}

/// A dataset of bytes in the root group.
pub(crate) fn bytes_dataset(container: &dyn Container, name: &str, length: u64) -> Result<Token> {
    container.dataset_create(&OpDatasetCreate {
        place: Some(LinkLocation::new(container.info()?.root, name)),
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::simple(&[length])?,
        create: DatasetCreate::default(),
    })
}

/// A dataset of bytes in chunks.
pub(crate) fn chunked(
    container: &dyn Container,
    name: &str,
    dims: &[u64],
    max: &[u64],
    chunk: &[u64],
) -> Token {
    let create = DatasetCreate { layout: Layout::chunked(chunk), ..DatasetCreate::default() };
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(container.info().unwrap().root, name)),
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::resizable(dims, max).unwrap(),
        create,
    };
    container.dataset_create(&op).unwrap()
}

/// A group to be.
pub(crate) fn group(parent: Token, name: &str) -> OpGroupCreate {
    OpGroupCreate { place: Some(LinkLocation::new(parent, name)), ..OpGroupCreate::default() }
}
