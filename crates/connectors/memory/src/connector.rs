//! The connector: containers by path, and what an open container holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::properties::FileCreate;
use model::{Error, Result};
use system::sync::{Mutex, MutexGuard, RwLock};
use vol::{
    Access, Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess,
};

use crate::container::MemoryContainer;
use crate::objects::ContainerState;

/// Everything in the model, except that nothing survives the process.
pub(crate) const CAPABILITY: Capability = Capability { persistent: false, ..Capability::ALL };

/// Name in locations.
pub(crate) const NAME: &str = "memory";

/// Numbers of containers of this process, so that the tokens of one mean nothing to another.
static CONTAINER_NEXT: AtomicU64 = AtomicU64::new(1);

/// One container, open or not.
pub(crate) struct Store {
    pub(crate) create: FileCreate,
    pub(crate) state: RwLock<ContainerState>,
    /// How often it is open.
    pub(crate) opened: AtomicU64,
}

impl Store {
    fn new(create: &FileCreate) -> Arc<Self> {
        let number = CONTAINER_NEXT.fetch_add(1, Ordering::Relaxed);
        let state = RwLock::new(ContainerState::new(number, &create.root));
        Arc::new(Store { create: create.clone(), state, opened: AtomicU64::new(0) })
    }
}

/// Stores containers in memory, by path. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryConnector {
    stores: Arc<Mutex<BTreeMap<String, Arc<Store>>>>,
}

impl std::fmt::Debug for MemoryConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryConnector").field("containers", &self.stores().keys()).finish()
    }
}

impl MemoryConnector {
    /// Returns a connector without containers.
    pub fn new() -> Self {
        Self::default()
    }

    fn stores(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Store>>> {
        self.stores.lock()
    }
}

impl Connector for MemoryConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: NAME,
            value: 510,
            version: 1,
            capability: CAPABILITY,
            about: "containers in the memory of this process",
        }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let mut stores = self.stores();
        if let Some(old) = stores.get(op.path) {
            if !op.truncate {
                return Err(Error::exists("create container").with("path", op.path));
            }
            if old.opened.load(Ordering::SeqCst) > 0 {
                return Err(Error::busy("replace container").with("path", op.path));
            }
        }
        let store = Store::new(op.create);
        stores.insert(op.path.to_owned(), store.clone());
        // A new container can be written, whatever the access asked for: there is nothing to read in it.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        Ok(Arc::new(MemoryContainer::new(
            store,
            op.path,
            access,
            op.registry.registered().conversions.clone(),
        )))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let stores = self.stores();
        let store = stores.get(op.path).ok_or_else(|| missing(op.path))?;
        Ok(Arc::new(MemoryContainer::new(
            store.clone(),
            op.path,
            op.access.clone(),
            op.registry.registered().conversions.clone(),
        )))
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        self.stores().remove(path).map(|_| ()).ok_or_else(|| missing(path))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Ok(self.stores().contains_key(path))
    }
}

fn missing(path: &str) -> Error {
    Error::not_found("find container").with("path", path)
}

#[cfg(test)]
mod tests {
    use model::Kind;
    use vol::{Durability, LinkLocation, OpGroupCreate};

    use super::*;

    fn create(connector: &MemoryConnector, truncate: bool) -> Result<Arc<dyn Container>> {
        let (create, access) = (&FileCreate::default(), &FileAccess::write());
        connector.create(&ContainerCreate { truncate, ..ContainerCreate::new("x", create, access) })
    }

    #[test]
    fn a_container_opened_twice_shares_its_state() {
        let connector = MemoryConnector::new();
        let one = create(&connector, false).unwrap();
        let two = connector.open(&ContainerOpen::new("x", &FileAccess::read())).unwrap();
        let root = one.info().unwrap().root;
        let place = Some(LinkLocation::new(root, "g"));
        one.group_create(&OpGroupCreate { place, create: Default::default() }).unwrap();
        assert!(two.link_get(root, "g").unwrap().is_some());
        one.close().unwrap();
        two.commit(Durability::Full).unwrap();
    }

    #[test]
    fn an_open_container_is_not_replaced() {
        let connector = MemoryConnector::new();
        let open = create(&connector, false).unwrap();
        assert_eq!(create(&connector, true).map(|_| ()).unwrap_err().kind(), Kind::Busy);
        drop(open);
        create(&connector, true).unwrap();
    }

    #[test]
    fn anonymous_objects_are_removed_with_the_last_handle() {
        let connector = MemoryConnector::new();
        let open = create(&connector, false).unwrap();
        let group = open.group_create(&OpGroupCreate::default()).unwrap();
        open.object_info(group).unwrap();
        open.close().unwrap();
        let again = connector.open(&ContainerOpen::new("x", &FileAccess::read())).unwrap();
        assert_eq!(again.object_info(group).unwrap_err().kind(), Kind::NotFound);
    }
}
