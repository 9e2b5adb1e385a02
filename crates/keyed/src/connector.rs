//! `vol::Connector` on any mapping: containers by location, and those that are open.

use std::fmt::Debug;
use std::fs::File;
use std::sync::Arc;

use model::properties::FileCreate;
use model::text::to_path;
use model::{Error, Kind, Result};
use vol::{
    Access, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess, Registry,
    Writers,
};

use crate::handle::CAPABILITY;
use crate::mapping::Mapping;
use crate::open_containers::OpenContainers;
use crate::{KeyedContainer, Shared};

/// The location of one container.
pub trait Location {
    /// The mapping of the containers.
    type Mapping: Mapping;

    /// Returns a key that is the same for the same container, whatever path it was opened by.
    fn key(&self) -> &str;

    /// Creates the container with an empty root group, and makes it durable.
    ///
    /// # Errors
    /// Returns `Exists` if there is a container.
    fn create(&self, create: &FileCreate) -> Result<Self::Mapping>;

    /// Opens the container, and returns its creation properties too.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no container, `Unsupported` if its layout is newer, and `Corrupt` if it was never
    /// completed.
    fn open(&self, is_writable: bool) -> Result<(Self::Mapping, FileCreate)>;

    /// Removes the container.
    fn destroy(&self, operation: &str) -> Result<()>;

    /// Removes the folder of a container that was removed, if it is empty.
    fn remove_folder(&self) {}
}

/// The storage engines of a connector. Those that a program added are in the registry.
pub trait Engines: Debug + Default + Send + Sync {
    /// Where a container is.
    type Location: Location;

    /// The connector's number (`H5VL_class_value_t`).
    const VALUE: u32;
    /// One line about the connector.
    const ABOUT: &'static str;

    /// Returns the location of a path on an engine, or on the default engine.
    ///
    /// # Errors
    /// Returns `Unsupported` if there is no such engine.
    fn location(&self, registry: &Registry, engine: Option<&str>, path: &str) -> Result<Self::Location>;

    /// Returns the location of the container at a path, or `None` if there is none. Without an engine, folders, memory and
    /// clusters that are known are looked at.
    fn find(&self, registry: &Registry, engine: Option<&str>, path: &str) -> Result<Option<Self::Location>>;

    /// Returns which processes may write to a container of an engine.
    fn writers(registry: &Registry, engine: Option<&str>) -> Writers {
        let _ = (registry, engine);
        Writers::One
    }

    /// Locks a path until the returned file is closed, so that others cannot create a container there.
    fn lock(&self, engine: Option<&str>, path: &str) -> Option<File> {
        let _ = (engine, path);
        None
    }
}

type MappingOf<E> = <<E as Engines>::Location as Location>::Mapping;

/// A connector for containers on keys of a store. Clones share the containers that are open.
#[derive(Debug)]
pub struct KeyedConnector<E: Engines> {
    engines: Arc<E>,
    open: OpenContainers<Shared<MappingOf<E>>>,
}

impl<E: Engines> Clone for KeyedConnector<E> {
    fn clone(&self) -> Self {
        KeyedConnector { engines: self.engines.clone(), open: self.open.clone() }
    }
}

impl<E: Engines> Default for KeyedConnector<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Engines> KeyedConnector<E> {
    /// Returns a connector without open containers, whose memory engine is empty.
    #[must_use]
    pub fn new() -> Self {
        KeyedConnector { engines: Arc::default(), open: OpenContainers::default() }
    }

    fn create_at(
        &self,
        location: &E::Location,
        op: &ContainerCreate<'_>,
    ) -> Result<Arc<Shared<MappingOf<E>>>> {
        let mapping = match location.create(op.create) {
            Err(error) if error.kind() == Kind::Exists && op.truncate => {
                self.open.while_closed(location.key(), "replace container", || {
                    location.destroy("replace container")?;
                    location.create(op.create)
                })
            }
            created => created,
        };
        let mapping = mapping.map_err(|error| match error.kind() {
            Kind::Exists => Error::exists("create container").with("path", op.path),
            _ => error,
        })?;
        let filters = op.registry.registered().filters.clone();
        Ok(self.open.insert(location.key(), Shared::new(mapping, op.create.clone(), true, filters)))
    }

    fn open_at(&self, location: &E::Location, op: &ContainerOpen<'_>) -> Result<Arc<Shared<MappingOf<E>>>> {
        let is_writable = op.access.access == Access::Write;
        let fits = |shared: &Shared<_>| !is_writable || shared.is_writable;
        self.open.find(location.key(), fits, || {
            let (mapping, create) = location.open(is_writable)?;
            Ok(Shared::new(mapping, create, is_writable, op.registry.registered().filters.clone()))
        })
    }
}

impl<E: Engines> Connector for KeyedConnector<E>
where
    E: 'static,
{
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: <MappingOf<E> as crate::mapping::Objects>::NAME,
            value: E::VALUE,
            version: 1,
            capability: CAPABILITY,
            about: E::ABOUT,
        }
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        match op.engine {
            None => vol::places::check_can_create_folders(&to_path(op.path)),
            Some(_) => Ok(()),
        }
    }

    fn writers(&self, engine: Option<&str>, registry: &Registry) -> Writers {
        E::writers(registry, engine)
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let _lock = self.engines.lock(op.engine, op.path);
        let location = self.engines.location(op.registry, op.engine, op.path)?;
        let shared = self.create_at(&location, op)?;
        // A new container can be written, whatever the access says: there is nothing to read in it.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        Ok(Arc::new(KeyedContainer::new(shared, op.path, access)))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let location = self.engines.location(op.registry, op.engine, op.path)?;
        let shared = self.open_at(&location, op).map_err(|error| error.with("path", op.path))?;
        Ok(Arc::new(KeyedContainer::new(shared, op.path, op.access.clone())))
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        engine.is_none()
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        let missing = || Error::not_found("find container").with("path", path);
        let location = self.engines.find(op.registry, op.engine, path)?.ok_or_else(missing)?;
        self.open.while_closed(location.key(), "delete container", || {
            location.destroy("delete container")?;
            location.remove_folder();
            Ok(())
        })
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        Ok(self.engines.find(op.registry, op.engine, op.path)?.is_some())
    }
}

/// Checks the version of a stored layout against the version that this program writes.
///
/// # Errors
/// Returns `Unsupported` if the layout is newer, and `Corrupt` if there is no version, or none that is valid.
pub fn check_version(found: Option<&[u8]>, known: u32) -> Result<()> {
    let found = found.ok_or_else(|| incomplete("it has no layout version: it was never completed"))?;
    let invalid = || incomplete("its layout version makes no sense");
    let version = found.try_into().map(u32::from_le_bytes).map_err(|_| invalid())?;
    match version {
        version if version == known => Ok(()),
        newer if newer > known => Err(Error::unsupported("open container of a newer layout")
            .with("layout version", newer)
            .with("known", known)),
        older => Err(invalid().with("layout version", older)),
    }
}

/// Returns the error for a container that was never completed.
pub fn incomplete(problem: &str) -> Error {
    Error::corrupt("open container").with("problem", problem)
}
