//! The storage engines: folders, and memory.

use std::path::Path;

use iod_storage::{Mode, Service};
use keyed::{During, Engines, Location};
use model::properties::FileCreate;
use model::text::to_path;
use model::{Error, Result};

use crate::IodMapping;

/// The engine whose containers are lost with the connector.
const MEMORY: &str = "memory";

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

/// The engines: folders, and memory.
#[derive(Debug)]
pub struct IodEngines {
    memory: Service,
}

impl Default for IodEngines {
    fn default() -> Self {
        IodEngines { memory: Service::memory() }
    }
}

impl Engines for IodEngines {
    type Location = IodLocation;

    const VALUE: u32 = 542;
    const ABOUT: &'static str = "key-value stores, arrays and blobs, as an I/O dispatcher has them";

    fn location(&self, engine: Option<&str>, path: &str) -> Result<IodLocation> {
        match engine {
            None => in_folder(path),
            Some(MEMORY) => Ok(self.in_memory(path)),
            Some(other) => {
                Err(Error::unsupported("use storage engine").with("engine", other).with("known", MEMORY))
            }
        }
    }

    fn find(&self, path: &str) -> Result<Option<IodLocation>> {
        let memory = self.in_memory(path);
        if memory.exists() {
            return Ok(Some(memory));
        }
        Ok(in_folder(path).ok().filter(IodLocation::exists))
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
