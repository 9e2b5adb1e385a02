//! The connector: containers by their folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use model::{Error, Result};
use vol::{
    Access, Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, Durability,
    FileAccess,
};

use crate::container::JsonContainer;
use crate::files;
use crate::objects::State;

/// What containers of this connector can do, and nothing else.
pub(crate) const CAPABILITY: Capability = Capability {
    write: true,
    hard_links: true,
    soft_links: true,
    attributes: true,
    anonymous_objects: true,
    fill_values: true,
    persistent: true,
    ..Capability::from_bits(0)
};

/// Name in locations.
pub(crate) const NAME: &str = "folder-of-json";

/// One container that is open, however often.
pub(crate) struct Store {
    pub(crate) folder: PathBuf,
    pub(crate) state: RwLock<State>,
    /// How often it is open.
    pub(crate) handles: AtomicU64,
}

impl Store {
    fn new(folder: PathBuf, state: State) -> Arc<Self> {
        Arc::new(Store { folder, state: RwLock::new(state), handles: AtomicU64::new(0) })
    }
}

/// Keeps containers in folders of JSON.
#[derive(Default)]
pub struct FolderOfJson {
    /// Containers that are open, so that one which is opened twice is one.
    open: Mutex<BTreeMap<PathBuf, Weak<Store>>>,
}

impl std::fmt::Debug for FolderOfJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FolderOfJson")
    }
}

impl FolderOfJson {
    /// Returns a connector that has nothing open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what is open now.
    fn in_use(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Weak<Store>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, store| store.upgrade().is_some_and(|store| store.handles.load(Ordering::SeqCst) > 0));
        open
    }
}

impl Connector for FolderOfJson {
    fn info(&self) -> ConnectorInfo {
        let about = "containers as folders with a JSON file for each object";
        ConnectorInfo { name: NAME, value: 401, version: 1, capability: CAPABILITY, about }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let folder = Path::new(op.path);
        let mut open = self.in_use();
        if folder.exists() {
            if !op.truncate || !files::is_container(folder) {
                return Err(Error::exists("create container").with("path", op.path));
            }
            remove(&open, folder)?;
        }
        let mut state = State::new(op.create)?;
        std::fs::create_dir(folder).map_err(|e| Error::io("create folder", &e).with("path", op.path))?;
        files::save(&mut state, folder, Durability::None)?;
        let folder = absolute(folder)?;
        let store = Store::new(folder.clone(), state);
        open.insert(folder, Arc::downgrade(&store));
        // A new container can be written, whatever the access asked for: there is nothing to read in it.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        Ok(Arc::new(JsonContainer::new(store, access)))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let mut open = self.in_use();
        let folder = absolute(Path::new(op.path))?;
        let store = match open.get(&folder).and_then(Weak::upgrade) {
            Some(store) => store,
            None => Store::new(folder.clone(), files::load(&folder, &op.access.limits)?),
        };
        open.insert(folder, Arc::downgrade(&store));
        Ok(Arc::new(JsonContainer::new(store, op.access.clone())))
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        remove(&self.in_use(), Path::new(path))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Ok(files::is_container(Path::new(path)))
    }
}

fn absolute(folder: &Path) -> Result<PathBuf> {
    folder.canonicalize().map_err(|e| Error::io("find container", &e).with("path", folder.display()))
}

/// Removes a container that no one has open.
fn remove(open: &BTreeMap<PathBuf, Weak<Store>>, folder: &Path) -> Result<()> {
    match open.contains_key(&absolute(folder)?) {
        true => Err(Error::busy("remove container").with("path", folder.display())),
        false => files::remove(folder),
    }
}
