//! The file of a container, through the virtual file drivers of the registry.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use files::{Created, Driver, DriverBlock, Handle, Mode, Parameters, Target};
use model::text::to_path;
use model::{Error, Result};
use vol::{Access, ContainerCreate, ContainerOpen, FileAccess, Registry};

use crate::connector::Plane;
use crate::format::driver_info;
use crate::head::Head;

/// The driver of paths for which none is named.
const DEFAULT: &str = "posix";

/// A driver with what it is called with.
pub(crate) struct Chosen<'a> {
    driver: &'a Arc<dyn Driver>,
    parameters: Parameters,
    path: std::borrow::Cow<'a, Path>,
}

impl<'a> Chosen<'a> {
    /// The driver that the caller names, or else that of plain files.
    pub(crate) fn named(registry: &'a Registry, path: &'a str, access: &FileAccess) -> Result<Chosen<'a>> {
        let (driver, parameters) = match registry.driver(access)? {
            Some(named) => named,
            None => (default_driver(registry)?, Parameters::default()),
        };
        Ok(Chosen { driver, parameters, path: to_path(path) })
    }

    /// Calls `f` with the driver that the caller names or, like the HDF Group's tools, with the one whose files the path names
    /// where no file is.
    fn on_existing<T>(
        op: &ContainerOpen<'_>,
        operation: &str,
        f: impl Fn(&dyn Driver, &Target<'_>) -> io::Result<T>,
    ) -> Result<T> {
        let mut chosen = Chosen::named(op.registry, op.path, op.access)?;
        let mut done = f(&**chosen.driver, &chosen.target());
        if op.access.driver.is_none()
            && done.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
            && let Some(driver) = op.registry.drivers().recognize(&chosen.path)
        {
            chosen.driver = driver;
            done = f(&**chosen.driver, &chosen.target());
        }
        done.map_err(|e| failed(operation, &e, op.path))
    }

    fn target(&self) -> Target<'_> {
        Target { path: &self.path, parameters: &self.parameters }
    }

    /// Opens the file, if there is one.
    pub(crate) fn open(&self, mode: Mode) -> io::Result<Handle> {
        self.driver.open(&self.target(), mode)
    }

    /// Returns the error of creating the file, as far as it can be known before.
    pub(crate) fn check_create(&self) -> io::Result<()> {
        self.driver.check_create(&self.target())
    }

    pub(crate) fn create(&self, may_exist: bool) -> io::Result<Created> {
        self.driver.create(&self.target(), may_exist)
    }

    pub(crate) fn delete(&self) -> io::Result<()> {
        self.driver.delete(&self.target())
    }
}

fn default_driver(registry: &Registry) -> Result<&Arc<dyn Driver>> {
    let missing = || Error::unsupported("find driver").with("driver", DEFAULT);
    registry.drivers().get(DEFAULT).ok_or_else(missing)
}

/// The driver of a new container.
pub(crate) fn of_new<'a>(op: &ContainerCreate<'a>) -> Result<Chosen<'a>> {
    Chosen::named(op.registry, op.path, op.access)
}

/// Opens the file of a container.
pub(crate) fn open(op: &ContainerOpen<'_>) -> Result<Plane> {
    let mode = if op.access.access == Access::Write { Mode::ReadWrite } else { Mode::Read };
    let file = Chosen::on_existing(op, "open file", |driver, target| driver.open(target, mode))?;
    if let Some(block) = stored_block(&file)? {
        set_block(&file, &block, op.path)?;
    }
    Ok(Plane::of(file))
}

/// Deletes the file of a container with all its members.
pub(crate) fn delete(op: &ContainerOpen<'_>) -> Result<()> {
    Chosen::on_existing(op, "delete file", |driver, target| driver.delete(target))
}

/// Gives a driver what it stored in the file.
pub(crate) fn set_block(file: &Handle, block: &DriverBlock, path: &str) -> Result<()> {
    file.set_driver_block(block).map_err(|e| failed("open file", &e, path))
}

/// What went wrong, by the kind that callers know it by.
pub(crate) fn failed(operation: &str, error: &io::Error, path: &str) -> Error {
    let base = match error.kind() {
        ErrorKind::Unsupported => Error::unsupported(operation).with("problem", error),
        ErrorKind::InvalidInput => Error::invalid(operation).with("problem", error),
        ErrorKind::InvalidData => Error::corrupt(operation).with("problem", error),
        _ => Error::io(operation, error),
    };
    base.with("path", path)
}

/// The driver information of superblocks 0 and 1, which follows the superblock. That of later ones is in the extension, and
/// is read with it.
fn stored_block(file: &Handle) -> Result<Option<DriverBlock>> {
    if file.driver_block().is_none() {
        return Ok(None);
    }
    let Some((base, superblock)) = Head::read(file)?.superblock(file)? else { return Ok(None) };
    let Some(at) = superblock.driver_info else { return Ok(None) };
    let read = |len: usize| {
        let bytes = file.read_vec(base.saturating_add(at.0), len);
        bytes.map_err(|e| Error::io("read driver information", &e))
    };
    let head = read(driver_info::BLOCK_HEAD_BYTES as usize)?;
    let len = driver_info::block_data_bytes(&head)?.min(4096) as usize;
    driver_info::block(&read(head.len() + len)?).map(Some)
}
