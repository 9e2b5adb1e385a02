//! The connector: `h5s://host:port/name`.

use std::sync::Arc;

use model::{Error, Result};
use protocol::frame::FrameKind;
use protocol::wire::{self, OpenRequest};
use vol::{Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen};

use crate::address::Address;
use crate::container::RemoteContainer;
use crate::session::{self, Session};
use crate::started::StartingContainer;

/// The engine of locations whose elements are read and written in the file itself: `h5s+direct://`.
const DIRECT: &str = "direct";

/// The capabilities that containers behind a server may have. Each container reports its own.
pub const CAPABILITY: Capability =
    Capability { external_data: false, virtual_datasets: false, ..Capability::ALL };

/// Containers behind a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct RemoteConnector;

impl RemoteConnector {
    fn begin(path: &str, engine: Option<&str>, mut request: OpenRequest) -> Result<Arc<dyn Container>> {
        let mut address = Address::parse(path)?;
        address.options.direct = match engine {
            None => false,
            // On other systems a lock of the server keeps others from reading the file.
            Some(DIRECT) if cfg!(unix) => true,
            Some(other) => return Err(Error::unsupported("open remote container").with("engine", other)),
        };
        if address.options.root.is_some() && !address.options.direct {
            return Err(Error::invalid("open remote container").with("problem", "root is for h5s+direct://"));
        }
        if address.nodes.len() > 1 && address.options.direct {
            let problem = "several nodes have no files that clients see";
            return Err(Error::unsupported("open remote container").with("problem", problem));
        }
        if let Some(driver) = &request.access.driver {
            return Err(Error::unsupported("choose driver of remote container").with("driver", driver));
        }
        let access = request.access.clone();
        request.path = address.name.clone();
        // Layers that the caller asked for are on the caller's side.
        request.access.stack = None;
        // What is queued goes over another connection, and elements in the file over none: both would come out of order.
        // Another node would not know the token of what was started.
        let starts = !address.options.pipeline && !address.options.direct && address.nodes.len() == 1;
        let container = RemoteContainer::new(Session::open(address, request)?, path, access);
        match starts {
            true => Ok(Arc::new(StartingContainer::new(container))),
            false => Ok(Arc::new(container)),
        }
    }
}

impl Connector for RemoteConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: protocol::CONNECTOR,
            value: 541,
            version: 1,
            capability: CAPABILITY,
            about: "containers behind a server, at h5s://host:port/name",
        }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        RemoteConnector::begin(op.path, op.engine, OpenRequest::create(op))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        RemoteConnector::begin(op.path, op.engine, OpenRequest::open(op))
    }

    /// No one is asked over a network who was not named.
    fn open_known(&self, _: &ContainerOpen<'_>) -> Result<Option<Arc<dyn Container>>> {
        Ok(None)
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        let address = Address::parse(path)?;
        session::ask(&address, FrameKind::Delete, &wire::to_bytes(&address.name)?)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        let address = Address::parse(path)?;
        session::ask(&address, FrameKind::Accessible, &wire::to_bytes(&address.name)?)
    }
}
