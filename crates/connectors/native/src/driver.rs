//! The file of a container, through the virtual file drivers of the registry.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use files::{Created, Driver, DriverBlock, DriverParameters, Drivers, Handle, Mode, Target};
use model::text::to_path;
use model::{Error, Result};
use vol::{Access, ContainerCreate, ContainerOpen, FileAccess, Registry};

use crate::connector::ContainerFile;
use crate::format::header::kind;
use crate::format::superblock::Superblock;
use crate::format::{Address, driver_info};
use crate::head::Head;
use crate::object::header::Header;
use crate::store::Store;
use crate::txn::redo::RedoEntry;

/// The driver of paths for which none is named.
const DEFAULT: &str = "posix";

/// A driver with what it is called with.
pub(crate) struct ChosenDriver<'a> {
    driver: &'a Arc<dyn Driver>,
    parameters: DriverParameters,
    path: std::borrow::Cow<'a, Path>,
    drivers: &'a Drivers,
}

impl<'a> ChosenDriver<'a> {
    /// Returns the driver that the caller names, or else that of plain files.
    pub(crate) fn named(
        registry: &'a Registry,
        path: &'a str,
        access: &FileAccess,
    ) -> Result<ChosenDriver<'a>> {
        let (driver, parameters) = match registry.driver(access)? {
            Some(named) => named,
            None => match registry.drivers().of_address(path) {
                Some(driver) => (driver, DriverParameters::default()),
                None => (default_driver(registry)?, DriverParameters::default()),
            },
        };
        Ok(ChosenDriver { driver, parameters, path: to_path(path), drivers: registry.drivers() })
    }

    /// Calls `f` with the driver that the caller names or, like the HDF Group's tools, with the one whose files the path names
    /// where no file is.
    fn on_existing<T>(
        op: &ContainerOpen<'_>,
        operation: &str,
        f: impl Fn(&dyn Driver, &Target<'_>) -> io::Result<T>,
    ) -> Result<T> {
        let mut chosen = ChosenDriver::named(op.registry, op.path, op.access)?;
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
        Target { path: &self.path, parameters: &self.parameters, drivers: self.drivers }
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

/// Returns the driver of a new container.
pub(crate) fn of_new<'a>(op: &ContainerCreate<'a>) -> Result<ChosenDriver<'a>> {
    ChosenDriver::named(op.registry, op.path, op.access)
}

/// Opens the file of a container.
pub(crate) fn open(op: &ContainerOpen<'_>) -> Result<ContainerFile> {
    let mode = if op.access.access == Access::Write { Mode::ReadWrite } else { Mode::Read };
    let file = ChosenDriver::on_existing(op, "open file", |driver, target| driver.open(target, mode))?;
    load_block(&file, &[], op.path)?;
    Ok(ContainerFile::of(file))
}

/// Deletes the file of a container with all its members.
pub(crate) fn delete(op: &ContainerOpen<'_>) -> Result<()> {
    ChosenDriver::on_existing(op, "delete file", |driver, target| driver.delete(target))
}

/// Gives a driver the information that the file has of it.
pub(crate) fn set_block(file: &Handle, block: &DriverBlock, path: &str) -> Result<()> {
    file.set_driver_block(block).map_err(|e| failed("open file", &e, path))
}

/// Returns what went wrong, by the kind that callers know it by.
pub(crate) fn failed(operation: &str, error: &io::Error, path: &str) -> Error {
    let base = match error.kind() {
        ErrorKind::Unsupported => Error::unsupported(operation).with("problem", error),
        ErrorKind::InvalidInput => Error::invalid(operation).with("problem", error),
        ErrorKind::InvalidData => Error::corrupt(operation).with("problem", error),
        _ => Error::io(operation, error),
    };
    base.with("path", path)
}

/// Gives a driver what it stored in the file. `changes` stand for what is there, if a commit was interrupted.
pub(crate) fn load_block(file: &Handle, changes: &[RedoEntry], path: &str) -> Result<()> {
    if file.driver_block().is_none() {
        return Ok(());
    }
    let head = Head::read(file)?;
    let superblock = match changes.first() {
        Some(first) => Some((first.at, Superblock::decode(&first.data)?)),
        None => head.superblock(file).ok().flatten(),
    };
    let Some((base, superblock)) = superblock else { return Ok(()) };
    let mut store = Store::of_file(file.clone(), base, superblock, head);
    let changes = changes.iter().filter_map(|e| Some((Address(e.at.checked_sub(base)?), e.data.clone())));
    store.set_overlay(changes.collect());
    // What cannot be read is found by the reader of the file, which says what is wrong.
    match stored_block(&store) {
        Ok(Some(block)) => set_block(file, &block, path),
        _ => Ok(()),
    }
}

/// Returns the driver information: a block after superblocks 0 and 1, a message in the extension of later ones.
fn stored_block(store: &Store) -> Result<Option<DriverBlock>> {
    if let Some(at) = store.superblock.driver_info {
        let head = store.block(at, driver_info::BLOCK_HEAD_BYTES, "driver information")?;
        let bytes = driver_info::BLOCK_HEAD_BYTES + driver_info::block_data_bytes(&head)?;
        return driver_info::block(&store.block(at, bytes, "driver information")?).map(Some);
    }
    let Some(at) = store.superblock.extension else { return Ok(None) };
    let header = Header::load(store, at)?;
    header.message(kind::DRIVER_INFO).map(|message| driver_info::message(message.body)).transpose()
}
