//! Storage engines of connectors: memory, Ceph clusters, and those that a program adds to its registry.
//!
//! ```
//! use hyperslab_keyed::engine::register_engine;
//! use hyperslab_keyed::storage::strict;
//!
//! let mut registry = vol::Registry::new();
//! register_engine(&mut registry, "hash", strict::engine())?;
//! // Now `object+hash:run` is a container of this engine.
//! # Ok::<(), vol::Error>(())
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ::objects::{ContainerLocation, Engine, Pool, memory};
use model::{Error, Result};
use system::sync::{Mutex, MutexGuard};
use vol::Registry;

use crate::During;

/// The engine whose containers are lost with the connector.
pub const MEMORY: &str = "memory";
/// The engine of a Ceph cluster.
pub const RADOS: &str = "rados";
/// The engine of folders, which locations without an engine have too.
pub const EMBEDDED: &str = "embedded";

/// An engine as it is in a registry.
struct Registered(Arc<dyn Engine>);

/// Adds a storage engine to a registry: `object+name:` and `iod+name:` lead to it, to create and to open alike.
///
/// # Errors
/// Returns `Exists` if the name is taken, also by an engine of this library, and `Invalid` if it cannot stand in a location.
pub fn register_engine(registry: &mut Registry, name: &str, engine: Arc<dyn Engine>) -> Result<()> {
    match name {
        MEMORY | RADOS | EMBEDDED => Err(Error::exists("register storage engine").with("name", name)),
        _ => registry.register_engine(name, Arc::new(Registered(engine))),
    }
}

/// Where a container is, on an engine that a location names.
#[derive(Debug)]
pub struct EngineLocation {
    /// The pool, and the name of the container there.
    pub place: ContainerLocation,
    /// Whether other processes may write at the same time.
    pub is_concurrent: bool,
    /// How the container is created.
    pub options: Options,
}

/// What a location asks for behind a `?`: `object+memory:run?names=daos&class=RP_2G1`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `names=daos`: a new container spells its keys as the connector for DAOS does.
    pub daos_names: bool,
    /// `class=`: the class of objects that are created.
    pub class: Option<String>,
    /// `lease=SECONDS`: how long a writer that died keeps others away, where one process at a time writes.
    pub lease: Option<Duration>,
}

impl Options {
    /// Takes the options of this library from a path, and leaves those of the engine.
    ///
    /// # Errors
    /// Returns `Invalid` if a value is unknown.
    pub fn take(path: &str) -> Result<(String, Options)> {
        let mut options = Options::default();
        let Some((path, all)) = path.split_once('?') else { return Ok((path.to_owned(), options)) };
        let mut others = Vec::new();
        for option in all.split('&') {
            match option.split_once('=') {
                Some(("names", "daos")) => options.daos_names = true,
                Some(("names", "design")) => options.daos_names = false,
                Some(("names", other)) => {
                    return Err(Error::invalid("read location").with("names", other));
                }
                Some(("class", class)) => options.class = Some(class.to_owned()),
                Some(("lease", seconds)) => options.lease = Some(lease_of(seconds)?),
                _ => others.push(option),
            }
        }
        let path = match others.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{}", others.join("&")),
        };
        Ok((path, options))
    }
}

/// Returns a lease of so many seconds. What is stored of it has seconds, so a shorter one may be none.
fn lease_of(seconds: &str) -> Result<Duration> {
    match seconds.parse() {
        Ok(seconds @ 2..=3600) => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::invalid("read location").with("lease", seconds).with("wanted", "2 to 3600 seconds")),
    }
}

impl EngineLocation {
    fn new(engine: &str, place: ContainerLocation, is_concurrent: bool) -> Self {
        // The same key on two engines is not the same container, and a name may be another engine in another registry.
        let pool = Arc::as_ptr(&place.pool).cast::<()>();
        let key = format!("{engine}:{} of pool {pool:p}", place.key);
        EngineLocation {
            place: ContainerLocation { key, ..place },
            is_concurrent,
            options: Options::default(),
        }
    }
}

/// The pools that engines of this library keep.
#[derive(Debug)]
pub struct EnginePools {
    memory: Arc<dyn Pool>,
    /// Pools of clusters that were used: connecting takes longer than most operations.
    clusters: Mutex<HashMap<String, Arc<dyn Pool>>>,
}

impl Default for EnginePools {
    fn default() -> Self {
        EnginePools { memory: memory::pool(), clusters: Mutex::default() }
    }
}

fn registered<'r>(registry: &'r Registry, name: &str) -> Option<&'r dyn Engine> {
    registry.engine::<Registered>(name).map(|engine| &*engine.0)
}

/// Returns whether several processes may write to a container of an engine at the same time.
pub fn is_concurrent(registry: &Registry, engine: &str) -> bool {
    engine == RADOS || registered(registry, engine).is_some_and(Engine::is_concurrent)
}

fn unknown(registry: &Registry, name: &str) -> Error {
    let known: Vec<&str> = [MEMORY, RADOS, EMBEDDED].into_iter().chain(registry.engine_names()).collect();
    Error::unsupported("use storage engine").with("engine", name).with("known", known.join(", "))
}

impl EnginePools {
    /// Returns where the container of a path is on an engine.
    ///
    /// # Errors
    /// Returns `Unsupported` if there is no such engine.
    pub fn place(&self, registry: &Registry, engine: &str, path: &str) -> Result<EngineLocation> {
        let (path, options) = Options::take(path)?;
        Ok(EngineLocation { options, ..self.place_of(registry, engine, &path)? })
    }

    fn place_of(&self, registry: &Registry, engine: &str, path: &str) -> Result<EngineLocation> {
        match engine {
            MEMORY => Ok(self.in_memory(path)),
            RADOS => self.in_cluster(path),
            other => {
                let engine = registered(registry, other).ok_or_else(|| unknown(registry, other))?;
                let place = engine.location(path).during("find container")?;
                Ok(EngineLocation::new(other, place, engine.is_concurrent()))
            }
        }
    }

    /// Returns where a container is in memory.
    pub fn in_memory(&self, path: &str) -> EngineLocation {
        let (name, key) = (path.to_owned(), path.to_owned());
        EngineLocation::new(MEMORY, ContainerLocation { pool: self.memory.clone(), name, key }, false)
    }
}

/// Containers on a Ceph cluster: `pool/name`, and `?conf=` with the cluster's configuration file.
impl EnginePools {
    fn clusters(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Pool>>> {
        self.clusters.lock()
    }

    fn in_cluster(&self, path: &str) -> Result<EngineLocation> {
        let place = ClusterPath::parse(path)?;
        let known = self.clusters().get(&place.key()).cloned();
        let pool = match known {
            Some(pool) => pool,
            None => connect(&place)?,
        };
        // Of two threads that connected, one has its pool in the table: both use it, so that keys are the same.
        let pool = self.clusters().entry(place.key()).or_insert(pool).clone();
        Ok(place.on(pool))
    }

    /// Returns where a container is on a cluster that there is a connection to: no other cluster is looked for.
    pub fn in_known_cluster(&self, path: &str) -> Option<EngineLocation> {
        let place = ClusterPath::parse(path).ok()?;
        let pool = self.clusters().get(&place.key())?.clone();
        Some(place.on(pool))
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

    fn on(&self, pool: Arc<dyn Pool>) -> EngineLocation {
        let key = format!("{} {}", self.key(), self.name);
        EngineLocation::new(RADOS, ContainerLocation { pool, name: self.name.to_owned(), key }, true)
    }
}

#[cfg(feature = "rados")]
fn connect(place: &ClusterPath<'_>) -> Result<Arc<dyn Pool>> {
    let pool = ::objects::rados::pool(place.pool, place.conf.map(std::path::Path::new));
    pool.during("reach cluster")
}

#[cfg(not(feature = "rados"))]
fn connect(place: &ClusterPath<'_>) -> Result<Arc<dyn Pool>> {
    let problem = "this build has no Ceph client (feature rados)";
    Err(Error::unsupported("use storage engine").with("pool", place.pool).with("problem", problem))
}
