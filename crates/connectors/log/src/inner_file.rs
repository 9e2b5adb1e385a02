//! The file of the inner container, opened once more for the elements in logs.

use std::io;
use std::sync::Arc;

use files::{Created, Driver, DriverInfo, Handle, Identity, Mode, Posix, PosixDriver, Target};
use model::text::to_path;
use model::{Context, Error, Result};
use system::sync::Mutex;
use vol::{Access, Connector, Container, ContainerCreate, ContainerOpen, FileAccess, Registry};

/// The name of [`WitnessDriver`], in a registry that only the inner connector gets.
const DRIVER: &str = "log-file";

/// Creates and opens files as the driver `posix` does, and remembers which file it was: a path may lead to another file the
/// next time.
#[derive(Debug, Default)]
struct WitnessDriver(Mutex<Option<Identity>>);

impl WitnessDriver {
    fn remember(&self, file: &Handle) {
        *self.0.lock() = file.identity();
    }
}

impl Driver for WitnessDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: DRIVER, aliases: &[], ..PosixDriver.info() }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        PosixDriver.check_create(target)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        PosixDriver.create(target, may_exist).inspect(|created| self.remember(&created.file))
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        PosixDriver.open(target, mode).inspect(|file| self.remember(file))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        PosixDriver.delete(target)
    }
}

/// A container of the inner connector with a handle of its file.
pub(crate) struct Inner {
    pub(crate) container: Arc<dyn Container>,
    pub(crate) file: Posix,
}

impl Inner {
    /// Creates a container, and opens its file for elements.
    ///
    /// # Errors
    /// Returns `Busy` if the file was replaced in between.
    pub(crate) fn create(connector: &dyn Connector, op: &ContainerCreate<'_>) -> Result<Inner> {
        let create = |registry: &Registry, access: &FileAccess| {
            connector.create(&ContainerCreate { engine: None, registry, access, ..op.clone() })
        };
        Inner::witnessed(op.path, op.access, op.registry, create)
    }

    /// Opens a container, and its file for elements. Errors are those of [`Inner::create`].
    pub(crate) fn open(connector: &dyn Connector, op: &ContainerOpen<'_>) -> Result<Inner> {
        let open = |registry: &Registry, access: &FileAccess| {
            connector.open(&ContainerOpen { engine: None, registry, access, ..op.clone() })
        };
        Inner::witnessed(op.path, op.access, op.registry, open)
    }

    fn witnessed(
        path: &str,
        access: &FileAccess,
        registry: &Registry,
        begin: impl FnOnce(&Registry, &FileAccess) -> Result<Arc<dyn Container>>,
    ) -> Result<Inner> {
        let (mut registry, witness) = (registry.clone(), Arc::new(WitnessDriver::default()));
        registry.register_driver(witness.clone()).during("open log")?;
        let container = begin(&registry, &FileAccess { driver: Some(DRIVER.to_owned()), ..access.clone() })?;
        let file = open_file(path, access)?;
        if *witness.0.lock() != Some(file.identity()) {
            return Err(replaced(path));
        }
        Ok(Inner { container, file })
    }
}

/// Opens the file itself, for elements in logs.
pub(crate) fn open_file(path: &str, access: &FileAccess) -> Result<Posix> {
    let mode = if access.access == Access::Write { Mode::ReadWrite } else { Mode::Read };
    Posix::open(to_path(path), mode).map_err(|e| Error::io("open file", &e).with("path", path))
}

/// The logs would be those of one file, and the elements those of another.
fn replaced(path: &str) -> Error {
    Error::busy("open log").with("path", path).with("problem", "the file was replaced meanwhile")
}
