//! Creating and opening containers together.

use std::sync::Arc;

use comm::Comm;
use model::{Error, Result};
use protocol::wire::{self, OpenRequest};
use vol::{
    Access, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, ExtensionInfo, Registry,
    Replica, Replicas, Writers,
};

use crate::container::ParallelContainer;
use crate::group::{Group, GroupParts, Sharing};
use crate::opened::LeaderlessReplica;
use crate::ranks::{Call, ConnectorCall, Ranks, hash_of, of_first};

/// Bytes of elements that a rank buffers for the next collective call by default.
const BUFFERED_BYTES_MAX: u64 = 256 << 20;

/// Creates and opens containers of another connector in several processes together.
pub(crate) struct ParallelConnector {
    inner: Arc<dyn Connector>,
    ranks: Ranks,
    /// Containers are behind a server.
    is_served: bool,
}

/// Returns what must be the same in all ranks.
fn hash_of_create(op: &ContainerCreate<'_>) -> Result<u64> {
    let what = (op.truncate, wire::to_bytes(op.create)?);
    Ok(hash_of((op.path, op.engine, what, access_bytes(op.access)?, op.access.parallel)))
}

fn hash_of_open(op: &ContainerOpen<'_>) -> Result<u64> {
    Ok(hash_of((op.path, op.engine, access_bytes(op.access)?, op.access.parallel)))
}

fn access_bytes(access: &vol::FileAccess) -> Result<Vec<u8>> {
    let create = None;
    let access = access.clone();
    wire::to_bytes(&OpenRequest { path: String::new(), engine: None, access, create, truncate: false })
}

/// Returns an error for containers behind a server that do not look the same to all ranks: what waits to be sent, or was
/// written past the server, is seen by one rank only.
fn check_served(path: &str, engine: Option<&str>) -> Result<()> {
    let options = path.split_once('?').map_or("", |(_, options)| options);
    let problem = match engine {
        Some(engine) => format!("elements go past the server ({engine})"),
        None if options.split('&').any(|option| option.starts_with("pipeline")) => "a pipeline".to_owned(),
        None => return Ok(()),
    };
    Err(Error::unsupported("write to a container in several processes").with("problem", problem))
}

impl ParallelConnector {
    pub(crate) fn new(inner: Arc<dyn Connector>, comm: Arc<dyn Comm>) -> Self {
        ParallelConnector { inner, ranks: Ranks(comm), is_served: false }
    }

    pub(crate) fn shared(inner: Arc<dyn Connector>, comm: Arc<dyn Comm>) -> Self {
        ParallelConnector { inner, ranks: Ranks(comm), is_served: true }
    }

    fn sharing(&self, path: &str, engine: Option<&str>, registry: &Registry) -> Sharing {
        match self.is_served {
            // Each rank may have another server, which sees what the others stored.
            true if protocol::has_several_nodes(path) => Sharing::Concurrent,
            true => Sharing::Served,
            false if self.inner.writers(engine, registry) == Writers::Many => Sharing::Concurrent,
            false => Sharing::Led,
        }
    }

    /// Returns an error if several ranks cannot write to a container.
    fn check_writable(&self, path: &str, engine: Option<&str>, registry: &Registry) -> Result<()> {
        match self.sharing(path, engine, registry) {
            Sharing::Served => check_served(path, engine),
            Sharing::Concurrent if self.is_served => check_served(path, engine),
            Sharing::Concurrent => Ok(()),
            Sharing::Led => self.replicas().map(drop),
        }
    }

    fn replicas(&self) -> Result<&dyn Replicas> {
        let unsupported = || {
            let error = Error::unsupported("write to a container in several processes");
            error.with("connector", self.inner.info().name)
        };
        self.inner.replicas().ok_or_else(unsupported)
    }

    fn container(&self, replica: Arc<dyn Replica>, op: &ContainerOpen<'_>) -> Arc<dyn Container> {
        let access = op.access;
        Arc::new(ParallelContainer::new(Group::new(GroupParts {
            ranks: self.ranks.clone(),
            sharing: self.sharing(op.path, op.engine, op.registry),
            replica,
            is_writable: access.access == Access::Write,
            options: access.parallel,
            buffered_bytes_max: access.write_buffer_bytes.unwrap_or(BUFFERED_BYTES_MAX),
            extensions: self.inner.extensions(),
        })))
    }

    /// Rank 0 creates or opens the container, and the others follow it.
    fn begin(
        &self,
        op: &ContainerOpen<'_>,
        lead: impl FnOnce(&dyn Replicas) -> Result<Arc<dyn Replica>>,
    ) -> Result<Arc<dyn Container>> {
        let mut leader = None;
        let changes = self.ranks.first_does(|| {
            let replica = of_first(lead(self.replicas()?))?;
            let changes = replica.changes()?;
            leader = Some(replica);
            Ok(changes)
        })?;
        let opened = match leader {
            Some(leader) => Ok(leader),
            None => self.replicas().and_then(|replicas| replicas.follow(op, &changes)),
        };
        let (replica, done) = match opened {
            Ok(replica) => (Some(replica), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let follow = Call::Connector(ConnectorCall::Follow);
        if let Err(error) = self.ranks.agree(follow, 0, 0, done) {
            // The error that led here says more than one about this.
            let _ = replica.map(|replica| replica.container().close());
            return Err(error);
        }
        let replica = replica.ok_or_else(|| Error::invalid("open container"))?;
        Ok(self.container(replica, op))
    }

    /// Every rank opens the container for itself; `created` is what rank 0 made.
    fn open_each(
        &self,
        op: &ContainerOpen<'_>,
        created: Option<Arc<dyn Container>>,
    ) -> Result<Arc<dyn Container>> {
        let opened = created.map_or_else(|| self.inner.open(op), Ok);
        let done = opened.as_ref().map(drop).map_err(Clone::clone);
        self.ranks.agree(Call::Connector(ConnectorCall::Follow), 0, 0, done)?;
        let is_changed = op.access.access == Access::Write;
        let needs_commit = is_changed && self.sharing(op.path, op.engine, op.registry) == Sharing::Concurrent;
        Ok(self.container(Arc::new(LeaderlessReplica { container: opened?, needs_commit }), op))
    }

    /// Rank 0 creates the container, and the others open it.
    fn create_shared(
        &self,
        op: &ContainerCreate<'_>,
        open: &ContainerOpen<'_>,
    ) -> Result<Arc<dyn Container>> {
        let mut created = None;
        self.ranks.first_does(|| {
            self.check_writable(op.path, op.engine, op.registry)?;
            created = Some(of_first(self.inner.create(op))?);
            Ok(Vec::new())
        })?;
        self.open_each(open, created)
    }
}

impl Connector for ParallelConnector {
    fn info(&self) -> ConnectorInfo {
        self.inner.info()
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        let call = Call::Connector(ConnectorCall::CheckCreate);
        self.ranks.first_does_call(call, hash_of_create(op)?, || {
            self.check_writable(op.path, op.engine, op.registry)?;
            self.inner.check_create(op)
        })
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        self.ranks.agree(Call::Connector(ConnectorCall::Create), hash_of_create(op)?, 0, Ok(()))?;
        // A new container can be written, whatever the access asked for.
        let access = &vol::FileAccess { access: Access::Write, ..op.access.clone() };
        let open = ContainerOpen { path: op.path, engine: op.engine, access, registry: op.registry };
        match self.sharing(op.path, op.engine, op.registry) {
            Sharing::Served | Sharing::Concurrent => self.create_shared(op, &open),
            Sharing::Led => self.begin(&open, |replicas| replicas.create(op)),
        }
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        self.ranks.agree(Call::Connector(ConnectorCall::Open), hash_of_open(op)?, 0, Ok(()))?;
        match (op.access.access, self.sharing(op.path, op.engine, op.registry)) {
            (Access::Read, _) => self.open_each(op, None),
            (Access::Write, Sharing::Led) => self.begin(op, |replicas| replicas.open(op)),
            (Access::Write, _) => {
                self.check_writable(op.path, op.engine, op.registry)?;
                self.open_each(op, None)
            }
        }
    }

    fn open_known(&self, op: &ContainerOpen<'_>) -> Result<Option<Arc<dyn Container>>> {
        if self.is_accessible(op)? { self.open(op).map(Some) } else { Ok(None) }
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        self.inner.is_at_path(engine)
    }

    fn uses_drivers(&self) -> bool {
        self.inner.uses_drivers()
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let call = Call::Connector(ConnectorCall::Delete);
        self.ranks.first_does_call(call, hash_of_open(op)?, || self.inner.delete(op))
    }

    fn recover(&self, op: &ContainerOpen<'_>) -> Result<Vec<String>> {
        let call = Call::Connector(ConnectorCall::Recover);
        self.ranks.first_does_call(call, hash_of_open(op)?, || self.inner.recover(op))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let call = Call::Connector(ConnectorCall::IsAccessible);
        let is_accessible = || Ok(self.inner.is_accessible(op).unwrap_or(false));
        self.ranks.first_does_call(call, hash_of_open(op)?, is_accessible)
    }

    fn extensions(&self) -> &'static [ExtensionInfo] {
        self.inner.extensions()
    }
}
