//! Which engine holds a container, and under which identity.

use std::sync::Arc;

use model::{Error, Result};
use objects::{ContainerId, Pool};

/// A container's place.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) pool: Arc<dyn Pool>,
    pub(crate) id: ContainerId,
    /// The same for the same container, whatever name it was opened by.
    pub(crate) key: String,
    /// Whether other processes may write at the same time.
    pub(crate) is_concurrent: bool,
}

/// Engines of a connector.
#[derive(Debug, Clone)]
pub(crate) struct Engines {
    memory: Arc<dyn Pool>,
}

/// The engine whose containers go with the process.
pub(crate) const MEMORY: &str = "memory";

impl Engines {
    pub(crate) fn new() -> Self {
        Engines { memory: objects::memory::pool() }
    }

    /// Where a location is.
    pub(crate) fn site(&self, engine: Option<&str>, path: &str) -> Result<Site> {
        match engine {
            Some(MEMORY) => Ok(self.in_memory(path)),
            Some(other) => Err(Error::unsupported("use storage engine")
                .with("engine", other)
                .with("known", "memory, rados (feature of this build)")),
            None => Err(Error::unsupported("use storage engine")),
        }
    }

    fn in_memory(&self, path: &str) -> Site {
        let (pool, id) = (self.memory.clone(), ContainerId::from_name(path));
        Site { pool, id, key: format!("{MEMORY}:{path}"), is_concurrent: false }
    }

    /// Where a path is whose engine nobody named, if something is there.
    pub(crate) fn find(&self, path: &str) -> Result<Option<Site>> {
        let memory = self.in_memory(path);
        let known = memory.pool.list().map_err(|e| crate::error::stored("list containers", &e))?;
        Ok(known.contains(&memory.id).then_some(memory))
    }
}
