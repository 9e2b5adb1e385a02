//! Containers in memory, for tests: the plainest reading of the contract.

mod records;
mod store;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use store::{Container, MemoryStore};
use system::sync::{Mutex, MutexGuard};

use crate::{ContainerId, Error, Mode, Pool, Result, Store};

/// Returns a pool of its own: no other caller sees its containers, and they go with its last handle.
#[must_use]
pub fn pool() -> Arc<dyn Pool> {
    Arc::new(MemoryPool::default())
}

/// Returns the pool with this name, the same for the whole process.
#[must_use]
pub fn shared(name: &str) -> Arc<dyn Pool> {
    static POOLS: OnceLock<Mutex<BTreeMap<String, Arc<MemoryPool>>>> = OnceLock::new();
    let mut pools = POOLS.get_or_init(Mutex::default).lock();
    pools.entry(name.to_owned()).or_default().clone()
}

#[derive(Debug, Default)]
struct MemoryPool {
    containers: Mutex<BTreeMap<ContainerId, Arc<Container>>>,
}

impl MemoryPool {
    fn containers(&self) -> MutexGuard<'_, BTreeMap<ContainerId, Arc<Container>>> {
        self.containers.lock()
    }
}

fn missing(id: ContainerId) -> Error {
    Error::NotFound(format!("there is no container {id} in memory"))
}

impl Pool for MemoryPool {
    fn create(&self, id: ContainerId) -> Result<Arc<dyn Store>> {
        let mut containers = self.containers();
        if containers.contains_key(&id) {
            return Err(Error::Exists(format!("container {id} is in memory already")));
        }
        let container = containers.entry(id).or_default().clone();
        Ok(Arc::new(MemoryStore::new(container, Mode::ReadWrite)))
    }

    fn open(&self, id: ContainerId, mode: Mode) -> Result<Arc<dyn Store>> {
        let container = self.containers().get(&id).cloned().ok_or_else(|| missing(id))?;
        Ok(Arc::new(MemoryStore::new(container, mode)))
    }

    fn destroy(&self, id: ContainerId) -> Result<()> {
        self.containers().remove(&id).map(drop).ok_or_else(|| missing(id))
    }

    fn list(&self) -> Result<Vec<ContainerId>> {
        Ok(self.containers().keys().copied().collect())
    }
}
