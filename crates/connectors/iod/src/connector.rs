//! The connector: containers by location, and those that are open.

use std::path::Path;
use std::sync::Arc;

use iod_storage::{Mode, Service};
use keyed::Open;
use model::text::to_path;
use model::{Error, Result};
use vol::{
    Access, Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess,
};

use crate::container::IodContainer;
use crate::shared::Shared;

/// Everything in the model but times, and elements that lie elsewhere.
pub(crate) const CAPABILITY: Capability =
    Capability { times: false, external_data: false, virtual_datasets: false, ..Capability::ALL };

/// Name in locations.
pub(crate) const NAME: &str = "iod";

/// The engine whose containers go with the connector.
const MEMORY: &str = "memory";

/// Keeps containers in key-value stores, arrays and blobs. Clones share what they have open.
#[derive(Debug, Clone)]
pub struct IodConnector {
    memory: Service,
    open: Open<Shared>,
}

impl Default for IodConnector {
    fn default() -> Self {
        Self::new()
    }
}

/// A container's place.
struct Site {
    service: Service,
    name: String,
    /// The same for the same container, whatever name it was opened by.
    key: String,
}

/// A folder is a container of the folder that it lies in.
fn in_folder(path: &str) -> Result<Site> {
    let invalid = || Error::invalid("find container").with("path", path);
    if path.is_empty() {
        return Err(invalid().with("problem", "the location names no folder"));
    }
    let given = to_path(path);
    let folder = std::fs::canonicalize(&given).or_else(|_| std::path::absolute(&given));
    let folder = folder.map_err(|error| Error::io("find container", &error).with("path", path))?;
    let name = folder.file_name().and_then(|name| name.to_str()).ok_or_else(invalid)?;
    let parent = folder.parent().unwrap_or(Path::new("/"));
    let key = folder.display().to_string();
    Ok(Site { service: Service::folder(parent), name: name.to_owned(), key })
}

fn stored(operation: &str, error: &iod_storage::Error) -> Error {
    keyed::stored(operation, error)
}

impl IodConnector {
    /// A connector with nothing open, and a memory of its own.
    pub fn new() -> Self {
        IodConnector { memory: Service::memory(), open: Open::default() }
    }

    fn in_memory(&self, path: &str) -> Site {
        let key = format!("{MEMORY}:{path}");
        Site { service: self.memory.clone(), name: path.to_owned(), key }
    }

    fn site(&self, engine: Option<&str>, path: &str) -> Result<Site> {
        match engine {
            None => in_folder(path),
            Some(MEMORY) => Ok(self.in_memory(path)),
            Some(other) => {
                Err(Error::unsupported("use storage engine").with("engine", other).with("known", MEMORY))
            }
        }
    }

    /// Where a path is whose engine nobody named, if something is there.
    fn find_site(&self, path: &str) -> Option<Site> {
        let is_there = |site: &Site| site.service.contains(&site.name);
        let memory = self.in_memory(path);
        if is_there(&memory) {
            return Some(memory);
        }
        in_folder(path).ok().filter(is_there)
    }

    fn destroy(&self, site: &Site, operation: &str) -> Result<()> {
        self.open.while_closed(&site.key, operation, || {
            site.service.destroy(&site.name).map_err(|error| stored(operation, &error))
        })
    }

    fn make(&self, site: &Site, op: &ContainerCreate<'_>) -> Result<Arc<Shared>> {
        if site.service.contains(&site.name) {
            match op.truncate {
                true => self.destroy(site, "replace container")?,
                false => return Err(Error::exists("create container").with("path", op.path)),
            }
        }
        let storage = site.service.create(&site.name).map_err(|error| stored("create container", &error))?;
        Ok(self.open.insert(&site.key, Shared::create(storage, op.create)?))
    }

    fn find(&self, site: &Site, access: Access) -> Result<Arc<Shared>> {
        let mode = if access == Access::Write { Mode::ReadWrite } else { Mode::Read };
        let fits = |shared: &Shared| mode == Mode::Read || shared.mode == Mode::ReadWrite;
        self.open.find(&site.key, fits, || {
            let storage = site.service.open(&site.name, mode);
            Shared::open(storage.map_err(|error| stored("open container", &error))?, mode)
        })
    }
}

impl Connector for IodConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: NAME,
            value: 542,
            version: 1,
            capability: CAPABILITY,
            about: "key-value stores, arrays and blobs, as an I/O dispatcher has them",
        }
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        match op.engine {
            None => vol::places::check_can_create_folders(&to_path(op.path)),
            Some(_) => Ok(()),
        }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let site = self.site(op.engine, op.path)?;
        let shared = self.make(&site, op)?;
        // A new container can be written, whatever the access asked for: there is nothing to read in it.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        Ok(Arc::new(IodContainer::new(shared, op.path, access)))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let site = self.site(op.engine, op.path)?;
        let shared = self.find(&site, op.access.access).map_err(|error| error.with("path", op.path))?;
        Ok(Arc::new(IodContainer::new(shared, op.path, op.access.clone())))
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        engine.is_none()
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        let missing = || Error::not_found("find container").with("path", path);
        let site = self.find_site(path).ok_or_else(missing)?;
        self.destroy(&site, "delete container")
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Ok(self.find_site(path).is_some())
    }
}
