//! Families of files with members of another size, in one file, and files as families: what `h5repart` does.

use std::io;
use std::path::Path;
use std::sync::Arc;

use files::{Family, Handle, Mode, Posix, Relabelled};
use model::text::to_path;
use model::{Error, Result};
use vol::{Container, FileAccess, Registry};

use crate::connector::{ContainerFile, io as io_of, open_core};
use crate::container::NativeContainer;
use crate::driver;
use crate::file::File;
use crate::lock::{self, LockState};

/// How the bytes of a file are stored anew.
#[derive(Debug, Clone, Copy)]
pub struct Repartition<'a> {
    /// A file, or a family of files if it has a `%d`.
    pub from: &'a str,
    /// The new file, or the new family if it has a `%d`.
    pub to: &'a str,
    /// Bytes of each member of the new family; `None` is as many as the old one has.
    pub member_bytes: Option<u64>,
}

/// Copies a file or a family of files to a new file or a new family with members of another size. What the file says of its
/// driver is changed with it. The old one stays.
///
/// # Errors
/// Returns `Exists` if something is at `to`, and `Busy` if the file is being written. After an error nothing is left at `to`.
pub fn repartition(op: &Repartition<'_>) -> Result<()> {
    let failed = |e: io::Error| driver::failed("repartition file", &e, op.from);
    let from = open(&to_path(op.from)).map_err(failed)?;
    driver::load_block(&from.file, &[], op.from)?;
    // The lock goes with the handle.
    lock::take(&from.file, op.from, vol::Access::Read, vol::Locking::BestEffort)?;
    let path = to_path(op.to);
    let to =
        create(&path, op, from.member_bytes()).map_err(|e| driver::failed("repartition file", &e, op.to))?;
    fill(&from.file, &to, op).inspect_err(|_| {
        // Half a file is none. The error that led here says more than one about this.
        let _ = remove(&path);
    })
}

/// A file, and the family that it is.
struct OpenedSource {
    file: Handle,
    family: Option<Arc<Family>>,
}

impl OpenedSource {
    fn member_bytes(&self) -> Option<u64> {
        self.family.as_ref().map(|family| family.member_bytes())
    }
}

/// Returns whether a name has a place for a number.
fn is_family(path: &Path) -> bool {
    files::family::is_pattern(path)
}

fn open(path: &Path) -> io::Result<OpenedSource> {
    if !is_family(path) {
        return Ok(OpenedSource { file: Arc::new(Posix::open(path, Mode::Read)?), family: None });
    }
    let family = Arc::new(Family::open(path, Mode::Read)?);
    Ok(OpenedSource { file: family.clone(), family: Some(family) })
}

fn create(path: &Path, op: &Repartition<'_>, member_bytes: Option<u64>) -> io::Result<Handle> {
    match is_family(path) {
        true => Ok(Arc::new(Family::create(path, op.member_bytes.or(member_bytes), false)?.0)),
        false => Ok(Arc::new(Posix::open(path, Mode::CreateNew)?)),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let drivers = files::Drivers::default();
    drivers.named(if is_family(path) { "family" } else { "posix" })?.delete(path, &drivers)
}

fn fill(from: &Handle, to: &Handle, op: &Repartition<'_>) -> Result<()> {
    io_of(files::copy(from, to), "repartition file", op.to)?;
    let access = FileAccess::write();
    let source = ContainerFile { identity: None, ..ContainerFile::of(Arc::new(Relabelled::new(to.clone()))) };
    let core = open_core(source, LockState::Held, op.to, &access, Registry::none().registered())?;
    let file = File::new(core, op.to, &access);
    // A file that never was a family may have no place for it, and needs none: the first member says how large members are.
    // libhdf5 wants it where the superblock has an extension.
    if file.driver.is_some() || to.driver_block().is_some() && file.store.superblock.extension.is_some() {
        file.writer()?.replace_driver_info(to.driver_block().as_ref())?;
    }
    NativeContainer::new(file)?.close().map_err(|e: Error| e.with("path", op.to))
}
