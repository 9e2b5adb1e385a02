//! Servers in this process, and registries of clients.
#![allow(dead_code, reason = "every test uses some of it")]

pub(crate) mod raw;

use std::sync::Arc;

use hyperslab_server::{Auth, Config, Listen, Server};
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, Layout};
use model::{Dataspace, Datatype, Token};
pub(crate) use testkit::Folder;
use vol::{
    Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, LinkLocation, OpDatasetCreate,
    OpGroupCreate, Registry, Result, Writers,
};

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

/// Object stores in memory, which all servers of a registry share.
#[derive(Debug, Default)]
struct SharedConnector(object::ObjectConnector);

impl Connector for SharedConnector {
    fn info(&self) -> ConnectorInfo {
        self.0.info()
    }

    fn writers(&self, _engine: Option<&str>, _registry: &Registry) -> Writers {
        Writers::Many
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        self.0.create(op)
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        self.0.open(op)
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        self.0.delete(op)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        self.0.is_accessible(op)
    }
}

/// What nodes stand on: one registry for all of them.
pub(crate) fn shared_storage() -> Registry {
    let mut registry = Registry::new();
    registry.register(Arc::new(SharedConnector::default())).expect("object");
    registry
}

/// A node in front of such storage.
pub(crate) fn node(storage: &Registry) -> Config {
    let stack = Some("object+memory:".into());
    Config { stack, root: None, auth: Auth::Off, ..Config::local(storage.clone(), "") }
}

/// Returns nodes in front of one pool, of which one at a time writes to a container. Each is as if it were alone in its process.
pub(crate) fn leasing_nodes<const NODES: usize>() -> [Config; NODES] {
    let engine = iod::storage::strict::engine();
    std::array::from_fn(|_| {
        let mut registry = Registry::new();
        registry.register(Arc::new(iod::IodConnector::new())).expect("iod");
        iod::engine::register_engine(&mut registry, "shared", engine.clone()).expect("engine");
        Config { stack: Some("iod+shared:?lease=2".into()), ..node(&registry) }
    })
}

/// Returns the location of a container that all these servers have.
pub(crate) fn location_of(nodes: &[&Server], name: &str) -> String {
    let address = |server: &&Server| match server.listen() {
        Listen::Tcp(address) => address.to_string(),
        Listen::Unix(path) => format!("[unix:{}]", path.display()),
    };
    format!("h5s://{}/{name}", nodes.iter().map(address).collect::<Vec<_>>().join(","))
}
