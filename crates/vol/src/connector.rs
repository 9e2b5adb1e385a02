//! Connectors create and open containers; layer factories wrap them in layers.

use std::sync::Arc;

use model::{Error, Result};

use crate::{
    Capability, Container, ContainerCreate, ContainerOpen, ExtensionInfo, Registry, Replicas, Wrap, WrapCheck,
};

/// The identity and description of a connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorInfo {
    /// Unique name, as it stands in locations.
    pub name: &'static str,
    /// Unique number (`H5VL_class_value_t`).
    pub value: u32,
    /// Version of the connector.
    pub version: u32,
    /// The capabilities of its containers.
    pub capability: Capability,
    /// One line for people.
    pub about: &'static str,
}

/// Stores containers in one way.
pub trait Connector: Send + Sync {
    /// Returns the identity and description of the connector.
    fn info(&self) -> ConnectorInfo;

    /// Checks whether `create` would succeed with these properties at this path, as far as this can be known without
    /// changing what is there. The registry calls it before it creates or replaces anything, also for the targets of
    /// layers.
    ///
    /// # Errors
    /// Returns the error that `create` would return.
    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        let _ = op;
        Ok(())
    }

    /// Creates a container.
    ///
    /// # Errors
    /// Returns `Exists` if something is at the path and `op.truncate` is not set, `Unsupported` for properties that
    /// the connector lacks, and otherwise the error of the storage.
    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        Err(Error::unsupported("create container").with("path", op.path))
    }

    /// Opens a container.
    ///
    /// # Errors
    /// Returns `NotFound` if nothing is at the path, `Corrupt` if it cannot be read as a container of this connector,
    /// `Busy` if another process has it open in a way that excludes this one, and otherwise the error of the storage.
    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>>;

    /// Opens a container that `is_accessible` finds, or returns `None` if it finds none. A connector that can do both
    /// with one look at the storage implements it.
    ///
    /// # Errors
    /// Returns the error of `open`, for a container of this connector.
    fn open_known(&self, op: &ContainerOpen<'_>) -> Result<Option<Arc<dyn Container>>> {
        match self.is_accessible(op) {
            Ok(true) => self.open(op).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns whether a container is exactly one file or folder, at its path in the file system of this machine, so
    /// that renaming that moves the container.
    fn is_at_path(&self, engine: Option<&str>) -> bool {
        let _ = engine;
        false
    }

    /// Returns whether containers are files of a virtual file driver, so that [`crate::FileAccess::driver`] has a meaning.
    fn uses_drivers(&self) -> bool {
        false
    }

    /// Removes a container from the storage.
    ///
    /// # Errors
    /// Returns `Unsupported` if the connector cannot remove containers, and otherwise the error of the storage.
    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        Err(Error::unsupported("delete container").with("path", op.path))
    }

    /// Repairs a container whose writer died: finishes what the writer had promised, so that the container can be
    /// opened again. Returns sentences about what was repaired. They are none if nothing had to be repaired, and then
    /// nothing changed.
    ///
    /// # Errors
    /// Returns `Error::Unsupported` if the connector has nothing that a dead writer could leave behind, or repairs it
    /// whenever a container is opened, and `Error::Busy` if the writer is known to be alive.
    fn recover(&self, op: &ContainerOpen<'_>) -> Result<Vec<String>> {
        let _ = op;
        Err(Error::unsupported("recover container").with("connector", self.info().name))
    }

    /// Returns the functions that open a container in several processes together, or `None` if one process at a time
    /// writes to a container.
    fn replicas(&self) -> Option<&dyn Replicas> {
        None
    }

    /// Returns which processes may open a container of an engine for writing. `registry` has the engines that a program
    /// added.
    fn writers(&self, engine: Option<&str>, registry: &Registry) -> Writers {
        let _ = (engine, registry);
        Writers::One
    }

    /// Returns whether `open` would find a container of this connector.
    ///
    /// # Errors
    /// Returns the error of looking at the storage. That nothing is there is no error.
    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool>;

    /// Returns the extensions that containers of this connector answer in [`Container::optional`].
    fn extensions(&self) -> &'static [ExtensionInfo] {
        &[]
    }
}

/// Which processes may open a container for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writers {
    /// One process; others cannot tell whether it is still there.
    #[default]
    One,
    /// One process at a time, on whatever machine: while it is there, others get an error of kind `Busy`; when it died, another
    /// one may go on.
    OneAtATime,
    /// Several, each for itself and at the same time. After a commit of its own, each sees what the others committed.
    Many,
}

/// Puts layers over containers.
pub trait LayerFactory: Send + Sync {
    /// Returns the identity and description of the layer.
    fn info(&self) -> ConnectorInfo;
    /// Checks whether `wrap` would succeed, as far as this can be known before there is a container: its parameters,
    /// and the locations that the layer needs. Nothing is created or changed. The registry calls it before it creates
    /// or replaces anything.
    ///
    /// # Errors
    /// Returns the error that `wrap` would return.
    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        let _ = op;
        Ok(())
    }
    /// Wraps a container as the parameters of the stack string say.
    ///
    /// # Errors
    /// Returns `Invalid` if a parameter is unknown or has no valid value, and the error of opening other containers
    /// that the layer needs.
    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>>;

    /// Returns the extensions that this layer answers in [`Container::optional`].
    fn extensions(&self) -> &'static [ExtensionInfo] {
        &[]
    }
}
