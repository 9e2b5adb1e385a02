//! The storage engines: where a container is, and under which UUID.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use keyed::{During, Engines, Location};
use model::properties::FileCreate;
use model::text::{from_path, to_path};
use model::{Error, Result};
use objects::{ContainerId, Mode, Pool};
use system::sync::{Mutex, MutexGuard};

use crate::ObjectMapping;

/// The location of a container.
#[derive(Debug, Clone)]
pub struct ObjectLocation {
    pool: Arc<dyn Pool>,
    id: ContainerId,
    key: String,
    /// Whether other processes may write at the same time.
    is_concurrent: bool,
    /// The folder that this container has for itself.
    folder: Option<PathBuf>,
}

impl ObjectLocation {
    fn exists(&self) -> Result<bool> {
        Ok(self.pool.list().during("list containers")?.contains(&self.id))
    }
}

impl Location for ObjectLocation {
    type Mapping = ObjectMapping;

    fn key(&self) -> &str {
        &self.key
    }

    fn create(&self, create: &FileCreate) -> Result<ObjectMapping> {
        let store = self.pool.create(self.id).during("create container")?;
        ObjectMapping::create(store, self.is_concurrent, create)
    }

    fn open(&self, is_writable: bool) -> Result<(ObjectMapping, FileCreate)> {
        let mode = if is_writable { Mode::ReadWrite } else { Mode::Read };
        let store = self.pool.open(self.id, mode).during("open container")?;
        ObjectMapping::open(store, self.is_concurrent)
    }

    fn destroy(&self, operation: &str) -> Result<()> {
        self.pool.destroy(self.id).during(operation)
    }

    fn remove_folder(&self) {
        if let Some(folder) = &self.folder {
            // A folder with other files stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// The engines: memory, folders, and Ceph clusters.
#[derive(Debug)]
pub struct ObjectEngines {
    memory: Arc<dyn Pool>,
    /// Pools of clusters that were used: connecting takes longer than most operations.
    clusters: Mutex<HashMap<String, Arc<dyn Pool>>>,
}

impl Default for ObjectEngines {
    fn default() -> Self {
        ObjectEngines { memory: objects::memory::pool(), clusters: Mutex::default() }
    }
}

/// The engine whose containers are lost with the connector.
const MEMORY: &str = "memory";
/// The engine of a Ceph cluster.
const RADOS: &str = "rados";
/// The name that older programs gave every container that has a folder for itself.
const ALONE: &str = "/";
/// The end of the UUIDs of containers in folders: other storage on the same engine has another.
const MARK: &[u8; 6] = b"object";

impl Engines for ObjectEngines {
    type Location = ObjectLocation;

    const VALUE: u32 = 540;
    const ABOUT: &'static str = "objects with two levels of keys: embedded, or on Ceph (object+rados:)";

    fn is_concurrent(engine: Option<&str>) -> bool {
        engine == Some(RADOS)
    }

    fn location(&self, engine: Option<&str>, path: &str) -> Result<ObjectLocation> {
        match engine {
            None => embedded(path),
            Some(MEMORY) => Ok(self.in_memory(path)),
            Some(RADOS) => self.in_cluster(path),
            Some(other) => Err(Error::unsupported("use storage engine")
                .with("engine", other)
                .with("known", format!("{MEMORY}, {RADOS}"))),
        }
    }

    fn find(&self, path: &str) -> Result<Option<ObjectLocation>> {
        let memory = self.in_memory(path);
        if memory.exists()? {
            return Ok(Some(memory));
        }
        if let Some(location) = self.in_known_cluster(path)
            && location.exists()?
        {
            return Ok(Some(location));
        }
        if path.is_empty() || !to_path(path).is_dir() {
            return Ok(None);
        }
        let location = embedded(path)?;
        Ok(location.exists()?.then_some(location))
    }

    /// Two that create a container in one folder must find the same one.
    fn lock(&self, engine: Option<&str>, path: &str) -> Option<std::fs::File> {
        if engine.is_some() || path.is_empty() {
            return None;
        }
        // If this fails, creating the container reports why.
        let path = to_path(path);
        std::fs::create_dir_all(&path).ok()?;
        let folder = std::fs::File::open(&path).ok()?;
        folder.lock().ok().map(|()| folder)
    }
}

impl ObjectEngines {
    fn in_memory(&self, path: &str) -> ObjectLocation {
        let (pool, id) = (self.memory.clone(), ContainerId::from_name(path));
        ObjectLocation { pool, id, key: format!("{MEMORY}:{path}"), is_concurrent: false, folder: None }
    }
}

/// Containers on a Ceph cluster: `pool/name`, and `?conf=` with the cluster's configuration file.
impl ObjectEngines {
    fn clusters(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Pool>>> {
        self.clusters.lock()
    }

    fn in_cluster(&self, path: &str) -> Result<ObjectLocation> {
        let place = ClusterPath::parse(path)?;
        let known = self.clusters().get(&place.key()).cloned();
        let pool = match known {
            Some(pool) => pool,
            None => connect(&place)?,
        };
        self.clusters().insert(place.key(), pool.clone());
        Ok(place.location(pool))
    }

    /// Returns the location on a cluster that there is a connection to: no other cluster is looked for.
    fn in_known_cluster(&self, path: &str) -> Option<ObjectLocation> {
        let place = ClusterPath::parse(path).ok()?;
        let pool = self.clusters().get(&place.key())?.clone();
        Some(place.location(pool))
    }
}

/// A location on a cluster.
struct ClusterPath<'p> {
    pool: &'p str,
    name: &'p str,
    conf: Option<&'p str>,
}

impl<'p> ClusterPath<'p> {
    fn parse(path: &'p str) -> Result<Self> {
        let (place, conf) = match path.split_once("?conf=") {
            Some((place, conf)) => (place, Some(conf)),
            None => (path, None),
        };
        match place.split_once('/') {
            Some((pool, name)) if !pool.is_empty() && !name.is_empty() => {
                Ok(ClusterPath { pool, name, conf })
            }
            _ => Err(Error::invalid("find container").with("path", path).with("wanted", "pool/name")),
        }
    }

    fn key(&self) -> String {
        format!("{}?conf={}", self.pool, self.conf.unwrap_or_default())
    }

    fn location(&self, pool: Arc<dyn Pool>) -> ObjectLocation {
        let key = format!("{RADOS}:{} {}", self.key(), self.name);
        ObjectLocation { pool, id: ContainerId::from_name(self.name), key, is_concurrent: true, folder: None }
    }
}

#[cfg(feature = "rados")]
fn connect(place: &ClusterPath<'_>) -> Result<Arc<dyn Pool>> {
    let pool = objects::rados::pool(place.pool, place.conf.map(std::path::Path::new));
    pool.during("reach cluster")
}

#[cfg(not(feature = "rados"))]
fn connect(place: &ClusterPath<'_>) -> Result<Arc<dyn Pool>> {
    let problem = "this build has no Ceph client (feature rados)";
    Err(Error::unsupported("use storage engine").with("pool", place.pool).with("problem", problem))
}

/// Returns a new UUID of version 8, whose bits are free to choose. All but the mark are random.
fn new_id() -> ContainerId {
    let mut id = crate::blobs::new_id();
    id[6] = id[6] & 0x0f | 0x80;
    id[10..].copy_from_slice(MARK);
    ContainerId(id)
}

/// Returns whether a UUID is that of a container of this connector.
fn is_ours(id: &ContainerId) -> bool {
    let has_mark = id.0.ends_with(MARK) && id.0[6] >> 4 == 8;
    has_mark || *id == ContainerId::from_name(ALONE)
}

/// Returns the location of the container in a folder.
fn embedded(path: &str) -> Result<ObjectLocation> {
    if path.is_empty() {
        return Err(Error::invalid("find container").with("problem", "the location names no folder"));
    }
    let folder = to_path(path).into_owned();
    let pool = objects::embedded::pool(&folder);
    let mut known = pool.list().unwrap_or_default();
    known.retain(is_ours);
    let id = match known[..] {
        [] => new_id(),
        [only] => only,
        _ => ContainerId::from_name(ALONE),
    };
    let absolute = std::fs::canonicalize(&folder).or_else(|_| std::path::absolute(&folder));
    let key = from_path(absolute.as_deref().unwrap_or(&folder));
    Ok(ObjectLocation { pool, id, key, is_concurrent: false, folder: Some(folder) })
}
