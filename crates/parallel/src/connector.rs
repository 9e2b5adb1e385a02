//! Creating and opening containers together.

use std::sync::Arc;

use comm::Comm;
use model::{Error, Result};
use protocol::wire::{self, OpenRequest};
use vol::{
    Access, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, ExtensionInfo, Replica,
    Replicas,
};

use crate::container::ParallelContainer;
use crate::group::{Group, GroupParts};
use crate::ranks::{Call, ConnectorCall, Ranks, hash_of, of_first};
use crate::reading::Reading;

/// Bytes of elements that a rank keeps for the next collective call, unless the caller says otherwise.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// Creates and opens containers of another connector in several processes together.
pub(crate) struct ParallelConnector {
    inner: Arc<dyn Connector>,
    ranks: Ranks,
}

/// Returns what must be the same in all ranks.
fn hash_of_create(op: &ContainerCreate<'_>) -> Result<u64> {
    Ok(hash_of((op.path, op.engine, op.truncate, wire::to_bytes(op.create)?, access_bytes(op.access)?)))
}

fn hash_of_open(op: &ContainerOpen<'_>) -> Result<u64> {
    Ok(hash_of((op.path, op.engine, access_bytes(op.access)?)))
}

fn access_bytes(access: &vol::FileAccess) -> Result<Vec<u8>> {
    let create = None;
    let access = access.clone();
    wire::to_bytes(&OpenRequest { path: String::new(), engine: None, access, create, truncate: false })
}

impl ParallelConnector {
    pub(crate) fn new(inner: Arc<dyn Connector>, comm: Arc<dyn Comm>) -> Self {
        ParallelConnector { inner, ranks: Ranks(comm) }
    }

    fn replicas(&self) -> Result<&dyn Replicas> {
        let unsupported = || {
            let error = Error::unsupported("write to a container in several processes");
            error.with("connector", self.inner.info().name)
        };
        self.inner.replicas().ok_or_else(unsupported)
    }

    fn container(&self, replica: Arc<dyn Replica>, access: &vol::FileAccess) -> Arc<dyn Container> {
        Arc::new(ParallelContainer::new(Group::new(GroupParts {
            ranks: self.ranks.clone(),
            replica,
            is_writable: access.access == Access::Write,
            kept_bytes_max: access.write_buffer_bytes.unwrap_or(KEPT_BYTES_MAX),
            extensions: self.inner.extensions(),
        })))
    }

    /// Rank 0 makes or opens the container, and the others follow it.
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
        Ok(self.container(replica, op.access))
    }

    /// Every rank opens the container to read it.
    fn open_to_read(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let opened = self.inner.open(op);
        let done = opened.as_ref().map(drop).map_err(Clone::clone);
        self.ranks.agree(Call::Connector(ConnectorCall::Follow), 0, 0, done)?;
        Ok(self.container(Arc::new(Reading(opened?)), op.access))
    }
}

impl Connector for ParallelConnector {
    fn info(&self) -> ConnectorInfo {
        self.inner.info()
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        let call = Call::Connector(ConnectorCall::CheckCreate);
        self.ranks.first_does_call(call, hash_of_create(op)?, || {
            self.replicas()?;
            self.inner.check_create(op)
        })
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        self.ranks.agree(Call::Connector(ConnectorCall::Create), hash_of_create(op)?, 0, Ok(()))?;
        // A new container can be written, whatever the access asked for.
        let access = &vol::FileAccess { access: Access::Write, ..op.access.clone() };
        let open = ContainerOpen { path: op.path, engine: op.engine, access, registry: op.registry };
        self.begin(&open, |replicas| replicas.create(op))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        self.ranks.agree(Call::Connector(ConnectorCall::Open), hash_of_open(op)?, 0, Ok(()))?;
        match op.access.access {
            Access::Read => self.open_to_read(op),
            Access::Write => self.begin(op, |replicas| replicas.open(op)),
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
