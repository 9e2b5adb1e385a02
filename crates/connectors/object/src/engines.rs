//! Which engine holds a container, and under which identity.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use model::text::{from_path, to_path};
use model::{Error, Result};
use objects::{ContainerId, Pool};
use system::sync::{Mutex, MutexGuard};

use crate::error::stored;

/// A container's place.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) pool: Arc<dyn Pool>,
    pub(crate) id: ContainerId,
    /// The same for the same container, whatever name it was opened by.
    pub(crate) key: String,
    /// Whether other processes may write at the same time.
    pub(crate) is_concurrent: bool,
    /// The folder that is there for this container only.
    pub(crate) folder: Option<PathBuf>,
}

impl Site {
    /// Takes away what is left of a container that was destroyed.
    pub(crate) fn clean(&self) {
        if let Some(folder) = &self.folder {
            // Whatever else is in it stays, and so does the folder.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Engines of a connector.
#[derive(Debug, Clone)]
pub(crate) struct Engines {
    memory: Arc<dyn Pool>,
    /// Pools of clusters that were used: a connection takes longer than most of what is done with it.
    clusters: Arc<Mutex<HashMap<String, Arc<dyn Pool>>>>,
}

/// The engine whose containers go with the process.
const MEMORY: &str = "memory";
/// The engine of a Ceph cluster.
const RADOS: &str = "rados";
/// The name that older programs gave every container that has a folder for itself.
const ALONE: &str = "/";
/// What the identities of containers in folders end with, so that other storage on the same engine is not taken for one.
const MARK: &[u8; 6] = b"object";

impl Engines {
    pub(crate) fn new() -> Self {
        Engines { memory: objects::memory::pool(), clusters: Arc::default() }
    }

    /// Where a location is.
    pub(crate) fn site(&self, engine: Option<&str>, path: &str) -> Result<Site> {
        match engine {
            None => embedded(path),
            Some(MEMORY) => Ok(self.in_memory(path)),
            Some(RADOS) => self.in_cluster(path),
            Some(other) => Err(Error::unsupported("use storage engine")
                .with("engine", other)
                .with("known", format!("{MEMORY}, {RADOS}"))),
        }
    }

    /// Keeps others from making a container in the folder of a location, as long as the answer is there.
    pub(crate) fn hold(engine: Option<&str>, path: &str) -> Option<std::fs::File> {
        if engine.is_some() || path.is_empty() {
            return None;
        }
        // Where this fails, making the container says why.
        let path = to_path(path);
        std::fs::create_dir_all(&path).ok()?;
        let folder = std::fs::File::open(&path).ok()?;
        folder.lock().ok().map(|()| folder)
    }

    fn in_memory(&self, path: &str) -> Site {
        let (pool, id) = (self.memory.clone(), ContainerId::from_name(path));
        Site { pool, id, key: format!("{MEMORY}:{path}"), is_concurrent: false, folder: None }
    }

    /// Where a path is whose engine nobody named, if something is there.
    pub(crate) fn find(&self, path: &str) -> Result<Option<Site>> {
        let memory = self.in_memory(path);
        if is_there(&memory)? {
            return Ok(Some(memory));
        }
        if let Some(site) = self.in_known_cluster(path)
            && is_there(&site)?
        {
            return Ok(Some(site));
        }
        if path.is_empty() || !to_path(path).is_dir() {
            return Ok(None);
        }
        let site = embedded(path)?;
        Ok(is_there(&site)?.then_some(site))
    }
}

/// Containers on a Ceph cluster: `pool/name`, and `?conf=` with the cluster's configuration file.
impl Engines {
    fn clusters(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Pool>>> {
        self.clusters.lock()
    }

    fn in_cluster(&self, path: &str) -> Result<Site> {
        let place = ClusterPath::parse(path)?;
        let known = self.clusters().get(&place.key()).cloned();
        let pool = match known {
            Some(pool) => pool,
            None => connect(&place)?,
        };
        self.clusters().insert(place.key(), pool.clone());
        Ok(place.site(pool))
    }

    /// The same where there is a connection: nobody looks for a cluster to find out what a path means.
    fn in_known_cluster(&self, path: &str) -> Option<Site> {
        let place = ClusterPath::parse(path).ok()?;
        let pool = self.clusters().get(&place.key())?.clone();
        Some(place.site(pool))
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

    fn site(&self, pool: Arc<dyn Pool>) -> Site {
        let key = format!("{RADOS}:{} {}", self.key(), self.name);
        Site { pool, id: ContainerId::from_name(self.name), key, is_concurrent: true, folder: None }
    }
}

#[cfg(feature = "rados")]
fn connect(place: &ClusterPath<'_>) -> Result<Arc<dyn Pool>> {
    let pool = objects::rados::pool(place.pool, place.conf.map(std::path::Path::new));
    pool.map_err(|error| stored("reach cluster", &error))
}

#[cfg(not(feature = "rados"))]
fn connect(place: &ClusterPath<'_>) -> Result<Arc<dyn Pool>> {
    let problem = "this build has no Ceph client (feature rados)";
    Err(Error::unsupported("use storage engine").with("pool", place.pool).with("problem", problem))
}

fn is_there(site: &Site) -> Result<bool> {
    let known = site.pool.list().map_err(|error| stored("list containers", &error))?;
    Ok(known.contains(&site.id))
}

/// A new identity: a UUID of version 8, which leaves its bits to whoever makes it. All but the mark are random.
fn new_id() -> ContainerId {
    let mut id = crate::blobs::new_id();
    id[6] = id[6] & 0x0f | 0x80;
    id[10..].copy_from_slice(MARK);
    ContainerId(id)
}

/// Whether an identity is that of a container of this connector.
fn is_ours(id: &ContainerId) -> bool {
    let has_mark = id.0.ends_with(MARK) && id.0[6] >> 4 == 8;
    has_mark || *id == ContainerId::from_name(ALONE)
}

/// A folder with one container in it.
fn embedded(path: &str) -> Result<Site> {
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
    Ok(Site { pool, id, key, is_concurrent: false, folder: Some(folder) })
}
