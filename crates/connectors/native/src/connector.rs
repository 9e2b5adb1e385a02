//! Opening HDF5 files.

use std::sync::Arc;

use files::{Handle, Memory, Mode};
use model::properties::FileCreate;
use model::{Error, Result};
use vol::{
    Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, Extension, ExtensionInfo,
    FileAccess, Registered,
};

use crate::chunk::cache::CACHE_BYTES;
use crate::container::{CAPABILITY, NativeContainer, OverwriteInPlace};
use crate::creation::{check_unused, create_in, rehearse};
use crate::driver;
use crate::file::File;
use crate::format::Address;
use crate::format::superblock::{self, Superblock};
use crate::head::Head;
use crate::image::FileImage;
use crate::lock::{self, Held};
use crate::marks;
use crate::open_files;
use crate::state::{Core, Options};
use crate::statistics::{FileMetadata, ObjectMetadata};
use crate::store::{Store, StoreParts};
use crate::txn::Moved;
use crate::txn::redo::Redo;
use crate::write::create_file;

/// Bytes of metadata kept for a file, unless the caller says otherwise.
const METADATA_BYTES: u64 = 64 << 20;

/// The native connector: containers are HDF5 files.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeConnector;

impl Connector for NativeConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "native",
            // H5VL_NATIVE_VALUE.
            value: 0,
            version: 1,
            capability: CAPABILITY,
            about: "HDF5 files",
        }
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        Ok(open_plane(driver::open(op)?, op.path, op.access, op.registry.registered())?)
    }

    fn open_known(&self, op: &ContainerOpen<'_>) -> Result<Option<Arc<dyn Container>>> {
        let Ok(plane) = driver::open(op) else { return Ok(None) };
        match open_plane(plane, op.path, op.access, op.registry.registered()) {
            Ok(container) => Ok(Some(container)),
            Err(error) if self.is_accessible(op).unwrap_or(false) => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        // Before a file is made, or what is there goes.
        rehearse(op)?;
        let chosen = driver::of_new(op)?;
        let made = chosen.create(op.truncate);
        let made = made.map_err(|e| driver::failed("create file", &e, op.path))?;
        let is_new = made.is_new;
        let made = create_in(made.file, op);
        if made.is_err() && is_new {
            // Half a file is none. The error that led here says more than one about this.
            let _ = chosen.delete();
        }
        Ok(made?)
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        rehearse(op)?;
        let chosen = driver::of_new(op)?;
        let failed = |e: std::io::Error| driver::failed("create file", &e, op.path);
        let file = match chosen.open(Mode::ReadWrite) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return chosen.check_create().map_err(failed);
            }
            Ok(_) if !op.truncate => {
                return Err(Error::exists("create file").with("path", op.path));
            }
            opened => opened.map_err(failed)?,
        };
        if let Some(identity) = file.identity() {
            let slot = open_files::slot(identity);
            check_unused(&mut open_files::hold(&slot), op.path)?;
        }
        // The lock goes with the handle.
        lock::take(&file, op.path, vol::Access::Write, op.access.locking).map(drop)
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        engine.is_none()
    }

    fn extensions(&self) -> &'static [ExtensionInfo] {
        &[ObjectMetadata::INFO, FileMetadata::INFO, FileImage::INFO, OverwriteInPlace::INFO]
    }

    fn uses_drivers(&self) -> bool {
        true
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        driver::delete(op)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let access = &FileAccess { access: vol::Access::Read, ..op.access.clone() };
        match driver::open(&ContainerOpen { access, ..op.clone() }) {
            Ok(plane) => {
                let head = Head::read(&plane.file)?;
                let pending = pending_commit(&plane, &head, access, &mut Vec::new())?;
                Ok(pending.is_some() || head.superblock(&plane.file)?.is_some())
            }
            Err(error) if error.kind() == model::Kind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Opens a file that is already in memory.
pub fn open_image(image: Vec<u8>, access: &FileAccess) -> Result<Arc<dyn Container>> {
    open_handle(Arc::new(Memory::from_image(image)), "(image)", access)
}

/// Makes a file on a byte plane of the caller's own, open for writing.
pub fn create_handle(
    file: Handle,
    path: &str,
    create: &FileCreate,
    access: &FileAccess,
) -> Result<Arc<dyn Container>> {
    create_file(&file, create, access.version_low)?;
    let access = FileAccess { access: vol::Access::Write, ..access.clone() };
    open_handle(file, path, &access)
}

/// Opens a file through a byte plane of the caller's own. It is closed when the last `Arc` of the container is dropped.
pub fn open_handle(file: Handle, path: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
    let registered = vol::Registry::none().registered();
    let container = open_plane(Plane { identity: None, ..Plane::of(file) }, path, access, registered)?;
    Ok(vol::close_on_drop(container, path, access))
}

/// The bytes of a container.
pub(crate) struct Plane {
    pub(crate) file: Handle,
    /// One file whose size must agree with the superblock.
    pub(crate) is_plain: bool,
    /// What this process knows the file by, where it can be shared.
    pub(crate) identity: Option<open_files::Identity>,
}

impl Plane {
    /// A file that a driver opened.
    pub(crate) fn of(file: Handle) -> Plane {
        Plane { is_plain: file.is_one_range(), identity: file.identity(), file }
    }
}

pub(crate) fn io<T>(result: std::io::Result<T>, operation: &str, path: &str) -> Result<T> {
    result.map_err(|e| Error::io(operation, &e).with("path", path))
}

/// A container on the file as this process has it open for writing, or else on the file as it is.
fn open_plane(
    plane: Plane,
    path: &str,
    access: &FileAccess,
    registered: &Registered,
) -> Result<Arc<NativeContainer>> {
    let writable = access.access == vol::Access::Write;
    if writable && !plane.is_plain {
        return Err(Error::unsupported("write to a container of several files").with("path", path));
    }
    let slot = plane.identity.map(open_files::slot);
    let mut open = slot.as_ref().map(open_files::hold);
    if let Some(core) = open.as_ref().and_then(|open| open.join_writer()) {
        return join(core, path, access);
    }
    if writable && open.as_mut().is_some_and(|open| open.has_readers()) {
        let problem = "this process has it open to read";
        return Err(Error::busy("open file for writing").with("path", path).with("problem", problem));
    }
    let held = lock::take(&plane.file, path, access.access, access.locking)?;
    let core = open_core(plane, held, path, access, registered)?;
    if let Some(open) = &mut open {
        open.add(&core);
    }
    NativeContainer::new(File::new(core, path, access))
}

/// One more handle on a file that is open for writing.
fn join(core: Arc<Core>, path: &str, access: &FileAccess) -> Result<Arc<NativeContainer>> {
    let file = File::new(core, path, access);
    let differs = access.swmr && file.writable && !file.is_swmr_writer()?;
    let refused = || {
        let problem = "it is open for writing already, without SWMR";
        Error::busy("open file for SWMR writing").with("path", path).with("problem", problem)
    };
    let joined = if differs { Err(refused()) } else { NativeContainer::new(file.clone()) };
    if joined.is_err() {
        file.leave();
    }
    joined
}

pub(crate) fn open_core(
    mut plane: Plane,
    held: Held,
    path: &str,
    access: &FileAccess,
    registered: &Registered,
) -> Result<Arc<Core>> {
    let writable = access.access == vol::Access::Write;
    let live = access.swmr && !writable;
    let mut warnings = Vec::new();
    let mut head = Head::read(&plane.file)?;
    // What a writer that lives is about to publish is for itself to publish.
    let pending = if live { None } else { pending_commit(&plane, &head, access, &mut warnings)? };
    // The superblock in the file may have been torn by the crash; the record has it whole.
    let found = match pending.as_ref().and_then(|redo| redo.entries.first()) {
        Some(first) => Some((first.at, Superblock::decode(&first.data)?)),
        None => head.superblock_of(&plane.file, live)?,
    };
    let Some((base, superblock)) = found else { return Err(not_hdf5(&plane.file)) };
    warnings.extend(marks::check(&superblock, &plane.file, held, path, access)?);
    if access.swmr && !marks::has_room(&superblock) {
        return Err(no_swmr(path, &superblock));
    }
    match &pending {
        Some(redo) if writable => redo.replay(&plane.file)?,
        Some(redo) if redo.has_moves() => plane.file = Arc::new(Moved::new(plane.file, redo.moves())),
        _ => {}
    }
    let overlay = pending.into_iter().flat_map(|redo| redo.entries);
    let overlay =
        overlay.filter_map(|e| Some((Address(e.at.checked_sub(base)?), e.data))).collect::<Vec<_>>();
    let end = end_of_file(&plane, head.len, base, &superblock, live)?;
    let (file, is_file) = (plane.file.clone(), plane.identity.is_some() && plane.file.is_system_file());
    let metadata_cache_bytes = access.metadata_cache_bytes.unwrap_or(METADATA_BYTES);
    let parts = StoreParts {
        file: plane.file,
        superblock,
        limits: access.limits.clone(),
        budget: access.budget(),
        base,
        end,
        head,
        writable,
        live,
        cache_bytes: metadata_cache_bytes / 2,
        is_unlocked: held == Held::Unknown,
    };
    let options = Options {
        chunk_cache_bytes: access.chunk_cache_bytes.unwrap_or(CACHE_BYTES),
        metadata_cache_bytes,
        low: access.version_low,
        durability: access.durability,
        warnings,
        writable,
        is_file,
        registered: registered.clone(),
    };
    let mut store = Store::new(parts);
    if !writable && !overlay.is_empty() {
        store.set_overlay(overlay);
    }
    let core = Arc::new(Core::open(store, options)?);
    if let Some(block) = &core.driver {
        driver::set_block(&file, block, path)?;
    }
    settle_in(&core, held, path, access)?;
    Ok(core)
}

/// Marks the file as open, and gives up as much of the lock as its use allows.
fn settle_in(core: &Arc<Core>, held: Held, path: &str, access: &FileAccess) -> Result<()> {
    let shared = &core.store.shared;
    match access.access {
        vol::Access::Write => {
            let file = File::new(core.clone(), path, access);
            file.writer()?.mark_open(access.swmr, file.durability)?;
            if access.swmr { shared.let_read(path, access.locking) } else { Ok(()) }
        }
        vol::Access::Read if access.swmr && held == Held::Sure => shared.unlock(),
        vol::Access::Read => Ok(()),
    }
}

pub(crate) fn no_swmr(path: &str, superblock: &Superblock) -> Error {
    let problem = "SWMR needs a superblock of version 3: make the file with a version bound of v110 or later";
    Error::invalid("open file with SWMR")
        .with("path", path)
        .with("superblock version", superblock.version)
        .with("problem", problem)
}

/// A commit that was cut short, and that nobody else wrote over since.
fn pending_commit(
    plane: &Plane,
    head: &Head,
    access: &FileAccess,
    warnings: &mut Vec<String>,
) -> Result<Option<Redo>> {
    if !plane.is_plain {
        return Ok(None);
    }
    let stored = head.superblock(&plane.file).ok().flatten();
    let stored_end = stored.map(|(base, superblock)| absolute_end(base, &superblock));
    let found = Redo::find(&plane.file, head, stored_end, &access.limits, warnings)?;
    let Some(redo) = found else { return Ok(None) };
    if !brings_superblock(&redo) {
        warnings.push("the file ends with a redo record without a superblock; it is left alone".to_owned());
        return Ok(None);
    }
    if redo.applies(&plane.file)? {
        warnings.push("the last commit was cut short; it is read from its redo record".to_owned());
        return Ok(Some(redo));
    }
    warnings.push(redo.foreign().to_string());
    Ok(None)
}

fn not_hdf5(file: &Handle) -> Error {
    let mut start = [0; 16];
    let len = file.len().unwrap_or(0).min(16) as usize;
    let read = file.read_at(0, &mut start[..len]).is_ok();
    superblock::not_hdf5(if read { &start[..len] } else { &[] })
}

/// Whether a record has the superblock that states its own end.
fn brings_superblock(redo: &Redo) -> bool {
    let superblock = redo.entries.first().map(|first| (first.at, Superblock::decode(&first.data)));
    matches!(superblock, Some((base, Ok(superblock))) if absolute_end(base, &superblock) == redo.end)
}

/// Where a file ends whose superblock was found at `base`.
fn absolute_end(base: u64, superblock: &Superblock) -> u64 {
    superblock.end.wrapping_sub(superblock.base.wrapping_sub(base))
}

/// The first address that is not allocated. A plain file shorter than that has lost its end.
fn end_of_file(plane: &Plane, len: u64, base: u64, superblock: &Superblock, live: bool) -> Result<u64> {
    if !plane.is_plain {
        return Ok(len.saturating_sub(base));
    }
    let end = absolute_end(base, superblock);
    // A writer that lives may say where the file will end before it does.
    if end > len && !live {
        let error = Error::corrupt("open HDF5 file").with("problem", "file is truncated");
        return Err(error.with("bytes", len).with("expected", end));
    }
    end.checked_sub(base)
        .ok_or_else(|| Error::corrupt("open HDF5 file").with("end of file", end).with("base", base))
}
