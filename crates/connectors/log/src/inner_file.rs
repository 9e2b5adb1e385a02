//! The file of the inner container, which elements in logs are read from and written to as well.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use files::{Created, Driver, DriverInfo, Handle, Mode, Posix, PosixDriver, Target};
use model::text::to_path;
use model::{Context, Error, Result};
use system::sync::Mutex;
use vol::{Access, Connector, Container, ContainerCreate, ContainerOpen, FileAccess, Registry};

/// The name of [`LogFileDriver`], in a registry that only the inner connector gets.
const DRIVER: &str = "log-file";

/// Creates and opens files as the driver `posix` does, and shares the open file with the log: a path may lead to another
/// file the next time.
#[derive(Debug, Default)]
struct LogFileDriver(Mutex<Option<Arc<Posix>>>);

impl LogFileDriver {
    /// Returns an open file, of which the log gets a handle too.
    fn share(&self, file: Posix) -> Handle {
        let file = Arc::new(file);
        *self.0.lock() = Some(file.clone());
        file
    }
}

impl Driver for LogFileDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: DRIVER, aliases: &[], ..PosixDriver.info() }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        PosixDriver.check_create(target)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let (file, is_new) = match Posix::open(target.path, Mode::CreateNew) {
            Err(e) if may_exist && e.kind() == ErrorKind::AlreadyExists => {
                (Posix::open(target.path, Mode::ReadWrite)?, false)
            }
            created => (created?, true),
        };
        Ok(Created { file: self.share(file), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        Posix::open(target.path, mode).map(|file| self.share(file))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        PosixDriver.delete(target)
    }
}

/// A container of the inner connector with a handle of its file.
pub(crate) struct Inner {
    pub(crate) container: Arc<dyn Container>,
    pub(crate) file: Arc<Posix>,
}

impl Inner {
    /// Creates a container. Its path is followed once: elements go to the file that the container is in.
    pub(crate) fn create(connector: &dyn Connector, op: &ContainerCreate<'_>) -> Result<Inner> {
        let create = |registry: &Registry, access: &FileAccess| {
            connector.create(&ContainerCreate { engine: None, registry, access, ..op.clone() })
        };
        Inner::sharing_file(op.access, op.registry, create)
    }

    /// Opens a container. Its path is followed once, as by [`Inner::create`].
    pub(crate) fn open(connector: &dyn Connector, op: &ContainerOpen<'_>) -> Result<Inner> {
        let open = |registry: &Registry, access: &FileAccess| {
            connector.open(&ContainerOpen { engine: None, registry, access, ..op.clone() })
        };
        Inner::sharing_file(op.access, op.registry, open)
    }

    fn sharing_file(
        access: &FileAccess,
        registry: &Registry,
        begin: impl FnOnce(&Registry, &FileAccess) -> Result<Arc<dyn Container>>,
    ) -> Result<Inner> {
        let (mut registry, driver) = (registry.clone(), Arc::new(LogFileDriver::default()));
        registry.register_driver(driver.clone()).during("open log")?;
        let container = begin(&registry, &FileAccess { driver: Some(DRIVER.to_owned()), ..access.clone() })?;
        let no_file = || Error::unsupported("open log").with("problem", "the inner connector opened no file");
        let file = driver.0.lock().take().ok_or_else(no_file)?;
        Ok(Inner { container, file })
    }
}

/// Opens the file for elements in logs, in a process that does not lead the others.
pub(crate) fn open_file(path: &str, access: &FileAccess) -> Result<Posix> {
    let mode = if access.access == Access::Write { Mode::ReadWrite } else { Mode::Read };
    Posix::open(to_path(path), mode).map_err(|e| Error::io("open file", &e).with("path", path))
}
