//! The connector of processes that write to logs together.

use std::sync::Arc;

use comm::Comm;
use model::Result;
use vol::{Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, ExtensionInfo};

use crate::LogConnector;

/// Stores containers as [`LogConnector`] does. All members of a group create and open them together.
#[derive(Clone)]
pub struct SharedLogConnector {
    log: LogConnector,
    comm: Arc<dyn Comm>,
    plain: Option<Arc<dyn Connector>>,
}

impl std::fmt::Debug for SharedLogConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedLogConnector").field("log", &self.log).finish_non_exhaustive()
    }
}

impl SharedLogConnector {
    /// Returns logs in files of the inner connector, which all members of `comm` open together.
    pub fn new(inner: Arc<dyn Connector>, comm: Arc<dyn Comm>) -> Self {
        SharedLogConnector { log: LogConnector::new(inner), comm, plain: None }
    }

    /// Opens files without a log in them through another connector, whose members open them together.
    pub fn with_plain(self, plain: Arc<dyn Connector>) -> Self {
        SharedLogConnector { plain: Some(plain), ..self }
    }
}

impl Connector for SharedLogConnector {
    fn info(&self) -> ConnectorInfo {
        self.log.info()
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        Ok(self.log.create_shared(self.comm.clone(), op)?)
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        match (self.log.find_shared(self.comm.clone(), op)?, &self.plain) {
            (Some(log), _) => Ok(log),
            (None, Some(plain)) => plain.open(&ContainerOpen { engine: None, ..op.clone() }),
            (None, None) => self.log.open(op),
        }
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        self.log.is_at_path(engine)
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        self.log.delete(op)
    }

    fn recover(&self, op: &ContainerOpen<'_>) -> Result<Vec<String>> {
        self.log.recover(op)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        self.log.is_accessible(op)
    }

    fn extensions(&self) -> &'static [ExtensionInfo] {
        self.log.extensions()
    }
}
