//! The connector: containers by location, and those that are open.

use std::sync::Arc;

use keyed::Open;
use model::{Error, Result};
use objects::Mode;
use vol::{
    Access, Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess,
};

use crate::container::ObjectContainer;
use crate::engines::{Engines, Site};
use crate::error::{During, stored};
use crate::shared::Shared;

/// Everything in the model but times, and elements that lie elsewhere.
pub(crate) const CAPABILITY: Capability =
    Capability { times: false, external_data: false, virtual_datasets: false, ..Capability::ALL };

/// Name in locations.
pub(crate) const NAME: &str = "object";

/// Keeps containers in object stores. Clones share what they have open.
#[derive(Debug, Clone)]
pub struct ObjectConnector {
    engines: Engines,
    open: Open<Shared>,
}

impl Default for ObjectConnector {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectConnector {
    /// A connector with nothing open, and a memory engine of its own.
    pub fn new() -> Self {
        ObjectConnector { engines: Engines::new(), open: Open::default() }
    }

    fn make(&self, site: &Site, op: &ContainerCreate<'_>) -> Result<Arc<Shared>> {
        let exists = || Error::exists("create container").with("path", op.path);
        let made = match site.pool.create(site.id) {
            Err(objects::Error::Exists(_)) if op.truncate => {
                self.open.while_closed(&site.key, "replace container", || {
                    site.pool.destroy(site.id).during("replace container")?;
                    Ok(site.pool.create(site.id))
                })?
            }
            made => made,
        };
        let store = made.map_err(|error| match error {
            objects::Error::Exists(_) => exists(),
            error => stored("create container", &error),
        })?;
        Ok(self.open.insert(&site.key, Shared::create(store, site.is_concurrent, op.create)?))
    }

    fn find(&self, site: &Site, access: Access) -> Result<Arc<Shared>> {
        let mode = if access == Access::Write { Mode::ReadWrite } else { Mode::Read };
        let fits = |shared: &Shared| mode == Mode::Read || shared.mode == Mode::ReadWrite;
        self.open.find(&site.key, fits, || {
            let store = site.pool.open(site.id, mode).during("open container")?;
            Shared::open(store, site.is_concurrent, mode)
        })
    }
}

impl Connector for ObjectConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: NAME,
            value: 540,
            version: 1,
            capability: CAPABILITY,
            about: "objects with two levels of keys: embedded, or on Ceph (object+rados:)",
        }
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        match op.engine {
            None => vol::places::check_can_create_folders(&model::text::to_path(op.path)),
            Some(_) => Ok(()),
        }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        // Two that make a container in one folder must find the same one.
        let _alone = Engines::hold(op.engine, op.path);
        let site = self.engines.site(op.engine, op.path)?;
        let shared = self.make(&site, op)?;
        // A new container can be written, whatever the access asked for: there is nothing to read in it.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        Ok(Arc::new(ObjectContainer::new(shared, op.path, access)))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let site = self.engines.site(op.engine, op.path)?;
        let shared = self.find(&site, op.access.access).map_err(|error| error.with("path", op.path))?;
        Ok(Arc::new(ObjectContainer::new(shared, op.path, op.access.clone())))
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        engine.is_none()
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        let missing = || Error::not_found("find container").with("path", path);
        let site = self.engines.find(path)?.ok_or_else(missing)?;
        self.open.while_closed(&site.key, "delete container", || {
            site.pool.destroy(site.id).during("delete container")?;
            site.clean();
            Ok(())
        })
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Ok(self.engines.find(path)?.is_some())
    }
}
