//! The storage engines: folders, memory, and pools of any engine that a location names.

use std::path::Path;

use iod_storage::{Mode, Service};
use keyed::engine::{self, EMBEDDED, EngineLocation, EnginePools, MEMORY, Options};
use keyed::{During, Engines, Location};
use model::properties::FileCreate;
use model::text::to_path;
use model::{Error, Result};
use vol::{Registry, Writers};

use crate::IodMapping;

/// The location of a container.
#[derive(Debug)]
pub struct IodLocation {
    service: Service,
    name: String,
    key: String,
}

impl IodLocation {
    fn exists(&self) -> bool {
        self.service.contains(&self.name)
    }
}

impl Location for IodLocation {
    type Mapping = IodMapping;

    fn key(&self) -> &str {
        &self.key
    }

    fn create(&self, create: &FileCreate) -> Result<IodMapping> {
        if self.exists() {
            return Err(Error::exists("create container"));
        }
        IodMapping::create(self.service.create(&self.name).during("create container")?, create)
    }

    fn open(&self, is_writable: bool) -> Result<(IodMapping, FileCreate)> {
        let mode = if is_writable { Mode::ReadWrite } else { Mode::Read };
        IodMapping::open(self.service.open(&self.name, mode).during("open container")?)
    }

    fn destroy(&self, operation: &str) -> Result<()> {
        self.service.destroy(&self.name).during(operation)
    }
}

/// The engines: folders, memory, and those that a location names.
#[derive(Debug)]
pub struct IodEngines {
    memory: Service,
    pools: EnginePools,
}

impl Default for IodEngines {
    fn default() -> Self {
        IodEngines { memory: Service::memory(), pools: EnginePools::default() }
    }
}

impl From<EngineLocation> for IodLocation {
    fn from(found: EngineLocation) -> Self {
        let EngineLocation { place, options, .. } = found;
        let service = match options.lease {
            Some(lease) => Service::leased_pool(place.pool, lease),
            None => Service::pool(place.pool),
        };
        IodLocation { service, name: place.name, key: place.key }
    }
}

impl Engines for IodEngines {
    type Location = IodLocation;

    const VALUE: u32 = 542;
    const ABOUT: &'static str = "key-value stores, arrays and blobs: embedded, or on Ceph (iod+rados:)";

    /// One process at a time has the lease of a container in a pool that several processes reach.
    fn writers(registry: &Registry, engine: Option<&str>) -> Writers {
        match engine.is_some_and(|name| engine::is_concurrent(registry, name)) {
            true => Writers::OneAtATime,
            false => Writers::One,
        }
    }

    fn location(&self, registry: &Registry, engine: Option<&str>, path: &str) -> Result<IodLocation> {
        match engine {
            None => in_folder(path),
            Some(MEMORY) => Ok(self.in_memory(path)),
            Some(EMBEDDED) => in_folder(path),
            Some(other) => {
                let found = self.pools.place(registry, other, path)?;
                match (Options { lease: None, ..found.options.clone() }) == Options::default() {
                    true => Ok(found.into()),
                    false => Err(Error::unsupported("use options of a container").with("path", path)),
                }
            }
        }
    }

    fn find(&self, registry: &Registry, engine: Option<&str>, path: &str) -> Result<Option<IodLocation>> {
        if engine.is_some() {
            return Ok(Some(self.location(registry, engine, path)?).filter(IodLocation::exists));
        }
        let cluster = self.pools.in_known_cluster(path).map(IodLocation::from);
        let named = [Some(self.in_memory(path)), cluster, in_folder(path).ok()];
        Ok(named.into_iter().flatten().find(IodLocation::exists))
    }
}

impl IodEngines {
    fn in_memory(&self, path: &str) -> IodLocation {
        let key = format!("{MEMORY}:{path}");
        IodLocation { service: self.memory.clone(), name: path.to_owned(), key }
    }
}

/// Returns the location of a folder: a container of the folder that it is in.
fn in_folder(path: &str) -> Result<IodLocation> {
    let invalid = || Error::invalid("find container").with("path", path);
    if path.is_empty() {
        return Err(invalid().with("problem", "the location names no folder"));
    }
    let given = to_path(path);
    let failed = |error| Error::io("find container", &error).with("path", path);
    let absolute = std::path::absolute(&given).map_err(failed)?;
    let real = std::fs::canonicalize(&given).unwrap_or_else(|_| absolute.clone());
    let key = real.display().to_string();
    // The path as it was given leads to the folder itself; the other one is a name for it, unless the given one has none.
    let folder = if absolute.file_name().is_some() { absolute } else { real };
    let name = folder.file_name().and_then(|name| name.to_str()).ok_or_else(invalid)?;
    let parent = folder.parent().unwrap_or(Path::new("/"));
    Ok(IodLocation { service: Service::folder(parent), name: name.to_owned(), key })
}
