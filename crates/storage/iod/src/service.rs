//! Where containers are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use objects::{ContainerId, Pool};
use system::sync::{Mutex, MutexGuard};

use crate::container::{self, Core};
use crate::lease::LEASE;
use crate::{Container, Error, Mode, Result};

/// Containers by name: the folders of a folder, memory, or a pool of any engine. Clones share what they have.
#[derive(Clone, Debug)]
pub struct Service(FolderState);

#[derive(Clone, Debug)]
enum FolderState {
    Folder(PathBuf),
    Memory(Arc<Mutex<BTreeMap<String, Arc<Core>>>>),
    Pool { pool: Arc<dyn Pool>, lease: Duration },
}

/// The name of a container inside of its folder. It is part of the format.
const INSIDE: &str = "iod";

/// Containers that this process has open: their handles share one state.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Core>>> = Mutex::new(BTreeMap::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

fn pool(folder: &Path) -> (Arc<dyn Pool>, ContainerId) {
    (objects::embedded::pool(folder), ContainerId::from_name(INSIDE))
}

/// Returns whether a container lies in a folder.
fn is_there(folder: &Path) -> bool {
    let (pool, id) = pool(folder);
    pool.list().is_ok_and(|found| found.contains(&id))
}

/// Returns the UUID of a container in a pool. No container of another connector has it: the name of one has no 0 byte.
fn id_in_pool(name: &str) -> ContainerId {
    ContainerId::from_name(&format!("{INSIDE}\0{name}"))
}

fn missing(name: &str) -> Error {
    Error::NotFound(format!("there is no container {name:?}"))
}

fn exists(name: &str) -> Error {
    Error::Exists(format!("there is a container {name:?} already"))
}

/// A name is one component of a path: nothing else can leave the folder.
fn check_name(name: &str) -> Result<()> {
    let is_component = !name.is_empty() && !name.contains(['/', '\\', '\0']) && name != "." && name != "..";
    if is_component { Ok(()) } else { Err(missing(name)) }
}

impl Service {
    /// Containers in the folders of a folder. Folders are made as they are needed.
    #[must_use]
    pub fn folder(folder: &Path) -> Service {
        Service(FolderState::Folder(folder.to_owned()))
    }

    /// Containers that go with the last clone of the service.
    #[must_use]
    pub fn memory() -> Service {
        Service(FolderState::Memory(Arc::default()))
    }

    /// Containers in a pool of any engine, next to those that others keep there.
    #[must_use]
    pub fn pool(pool: Arc<dyn Pool>) -> Service {
        Service::leased_pool(pool, LEASE)
    }

    /// Containers in a pool of any engine. On one that several processes may open, a writer that dies keeps the right to
    /// write for `lease`, which the clocks of all machines must agree on.
    #[must_use]
    pub fn leased_pool(pool: Arc<dyn Pool>, lease: Duration) -> Service {
        Service(FolderState::Pool { pool, lease })
    }

    /// Creates an empty container; one of the same name is `Exists`.
    pub fn create(&self, name: &str) -> Result<Container> {
        match &self.0 {
            FolderState::Memory(all) => {
                let mut all = locked(all);
                if all.contains_key(name) {
                    return Err(exists(name));
                }
                let store = objects::memory::pool().create(ContainerId::from_name(INSIDE))?;
                let core = Arc::new(Core::create(store, LEASE)?);
                all.insert(name.to_owned(), core.clone());
                Ok(Container::new(core, Mode::ReadWrite))
            }
            FolderState::Pool { pool, lease } => {
                let store = pool.create(id_in_pool(name)).map_err(|error| match error {
                    Error::Exists(_) => exists(name),
                    error => error,
                })?;
                Ok(Container::new(Arc::new(Core::create(store, *lease)?), Mode::ReadWrite))
            }
            FolderState::Folder(parent) => {
                check_name(name)?;
                let (pool, id) = pool(&parent.join(name));
                let store = pool.create(id).map_err(|error| match error {
                    Error::Exists(_) => exists(name),
                    error => error,
                })?;
                let core = Arc::new(Core::create(store, LEASE)?);
                locked(&OPEN).insert(key(&parent.join(name)), Arc::downgrade(&core));
                Ok(Container::new(core, Mode::ReadWrite))
            }
        }
    }

    /// Opens a container; without one it is `NotFound`.
    pub fn open(&self, name: &str, mode: Mode) -> Result<Container> {
        match &self.0 {
            FolderState::Memory(all) => {
                let core = locked(all).get(name).cloned().ok_or_else(|| missing(name))?;
                Ok(Container::new(core, mode))
            }
            FolderState::Pool { pool, lease } => {
                let store = pool.open(id_in_pool(name), mode).map_err(|error| match error {
                    Error::NotFound(_) => missing(name),
                    error => error,
                })?;
                Ok(Container::new(Arc::new(Core::open(store, mode, *lease)?), mode))
            }
            FolderState::Folder(parent) => {
                check_name(name)?;
                let core = share(&parent.join(name), mode).map_err(|error| match error {
                    Error::NotFound(_) => missing(name),
                    error => error,
                })?;
                Ok(Container::new(core, mode))
            }
        }
    }

    /// Removes a container; without one it is `NotFound`, and one that is open, by this process or another one that writes, is `Refused`.
    pub fn destroy(&self, name: &str) -> Result<()> {
        match &self.0 {
            FolderState::Memory(all) => {
                let mut all = locked(all);
                let core = all.get(name).ok_or_else(|| missing(name))?;
                if Arc::strong_count(core) > 1 {
                    return Err(Error::Refused(format!("{name:?} is open: close it first")));
                }
                all.remove(name);
                Ok(())
            }
            FolderState::Pool { pool, .. } => {
                container::check_unused(&*pool.open(id_in_pool(name), Mode::Read)?)?;
                pool.destroy(id_in_pool(name))
            }
            FolderState::Folder(parent) => {
                check_name(name)?;
                let folder = parent.join(name);
                let (pool, id) = pool(&folder);
                if !is_there(&folder) {
                    return Err(missing(name));
                }
                pool.destroy(id)?;
                // Whatever else is in it stays, and so does the folder.
                let _ = std::fs::remove_dir(&folder);
                Ok(())
            }
        }
    }

    /// Returns whether there is a container of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match &self.0 {
            FolderState::Memory(all) => locked(all).contains_key(name),
            FolderState::Pool { pool, .. } => pool.open(id_in_pool(name), Mode::Read).is_ok(),
            FolderState::Folder(parent) => check_name(name).is_ok() && is_there(&parent.join(name)),
        }
    }

    /// Returns the names of all containers, sorted.
    pub fn list(&self) -> Result<Vec<String>> {
        match &self.0 {
            FolderState::Memory(all) => Ok(locked(all).keys().cloned().collect()),
            FolderState::Pool { .. } => {
                Err(Error::Refused("a pool has UUIDs of containers, and no names".into()))
            }
            FolderState::Folder(parent) => {
                let failed = |source| Error::Io { what: format!("list {}", parent.display()), source };
                let mut names = Vec::new();
                for entry in std::fs::read_dir(parent).map_err(failed)? {
                    let entry = entry.map_err(failed)?;
                    if is_there(&entry.path()) {
                        names.extend(entry.file_name().into_string().ok());
                    }
                }
                names.sort();
                Ok(names)
            }
        }
    }
}

/// Returns the same for the same folder, whatever name it was opened by.
fn key(folder: &Path) -> PathBuf {
    let absolute = std::fs::canonicalize(folder).or_else(|_| std::path::absolute(folder));
    absolute.unwrap_or_else(|_| folder.to_owned())
}

/// Returns the open container of a folder, or opens it. The table is held: two threads must not open one at once.
fn share(folder: &Path, mode: Mode) -> Result<Arc<Core>> {
    let mut open = locked(&OPEN);
    open.retain(|_, core| core.strong_count() > 0);
    let known = open.get(&key(folder)).and_then(Weak::upgrade);
    if let Some(core) = known.filter(|core| mode == Mode::Read || core.is_writable()) {
        return Ok(core);
    }
    let (pool, id) = pool(folder);
    let core = Arc::new(Core::open(pool.open(id, mode)?, mode, LEASE)?);
    open.insert(key(folder), Arc::downgrade(&core));
    Ok(core)
}
