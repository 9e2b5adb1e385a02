//! Connectors make containers; layer factories put something over them.

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
    /// Returns the identity and description.
    fn info(&self) -> ConnectorInfo;

    /// Returns the error that `create` would return for these properties at this path, as far as it can be known without
    /// changing what is there. The registry asks before anything is made or replaced, also for the targets of layers.
    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        let _ = op;
        Ok(())
    }

    /// Creates a container.
    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        Err(Error::unsupported("create container").with("path", op.path))
    }

    /// Opens a container.
    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>>;

    /// Opens a container that `is_accessible` finds; `None` where it finds none. A connector that need not look twice
    /// does both at once.
    fn open_known(&self, op: &ContainerOpen<'_>) -> Result<Option<Arc<dyn Container>>> {
        match self.is_accessible(op) {
            Ok(true) => self.open(op).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns whether all of a container lies at its path in the file system of this machine, as one file or folder, so that
    /// a caller that renames that moves the container.
    fn is_at_path(&self, engine: Option<&str>) -> bool {
        let _ = engine;
        false
    }

    /// Returns whether containers are files of a virtual file driver, so that [`crate::FileAccess::driver`] has a meaning.
    fn uses_drivers(&self) -> bool {
        false
    }

    /// Removes a container.
    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        Err(Error::unsupported("delete container").with("path", op.path))
    }

    /// Repairs a container whose writer died: finishes what the writer had promised, and lets the container be opened again.
    /// Returns what was repaired, as sentences for people; none if there was nothing to repair, and then nothing changed.
    ///
    /// # Errors
    /// Returns `Error::Unsupported` if the connector has nothing that a dead writer could leave behind, or repairs it
    /// whenever a container is opened, and `Error::Busy` if the writer is known to be alive.
    fn recover(&self, op: &ContainerOpen<'_>) -> Result<Vec<String>> {
        let _ = op;
        Err(Error::unsupported("recover container").with("connector", self.info().name))
    }

    /// Returns what opens containers that several processes have open together, or `None` if one process at a time writes to
    /// a container.
    fn replicas(&self) -> Option<&dyn Replicas> {
        None
    }

    /// Returns which processes may open a container of an engine for writing. `registry` has the engines that a program
    /// added.
    fn writers(&self, engine: Option<&str>, registry: &Registry) -> Writers {
        let _ = (engine, registry);
        Writers::One
    }

    /// Returns whether `open` would find a container of this connector there.
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
    /// Returns the identity and description.
    fn info(&self) -> ConnectorInfo;
    /// Returns the error that `wrap` would return, as far as it can be known before there is a container: parameters, and
    /// places that the layer needs. Nothing is made or changed. The registry asks before anything is made or replaced.
    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        let _ = op;
        Ok(())
    }
    /// Wraps a container as the parameters of the stack string say.
    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>>;

    /// Returns the extensions that this layer answers in [`Container::optional`].
    fn extensions(&self) -> &'static [ExtensionInfo] {
        &[]
    }
}
