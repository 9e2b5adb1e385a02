//! Opening HDF5 files.

use std::sync::Arc;

use files::{Handle, Memory, Mode};
use model::properties::FileCreate;
use model::{Error, Result};
use vol::{
    Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, Extension, ExtensionInfo,
    FileAccess, LibVersion, Registered, Replicas,
};

use crate::chunk::cache::CACHE_BYTES;
use crate::consistency_flags;
use crate::container::{CAPABILITY, NativeContainer, OverwriteInPlace};
use crate::creation::{check_members, check_unused, create_in, rehearse};
use crate::driver;
use crate::file::File;
use crate::format::Address;
use crate::format::superblock::{self, Superblock};
use crate::free_sections::{FreeSections, IncreaseFileSize};
use crate::head::Head;
use crate::image::FileImage;
use crate::link_storage::LinkStorage;
use crate::lock::{self, LockState};
use crate::metadata_cache::{EvictObject, LogMetadataCache, ResetMetadataCacheCounts, SetMetadataCacheBytes};
use crate::open_files;
use crate::page_buffering::{self, ResetPageBufferStatistics};
use crate::recover;
use crate::state::{Core, Options};
use crate::statistics::{FileMetadata, MetadataCache, ObjectMetadata, PageBufferStatistics, RemoteRequests};
use crate::store::{Store, StoreParts};
use crate::stored_chunk::{StoredChunk, StoredChunks};
use crate::txn::Moved;
use crate::txn::redo::Redo;
use crate::version_bounds::SetVersionBounds;
use crate::virtual_views::SetVirtualView;
use crate::write::create_file;

/// Bytes of metadata that are cached for a file by default.
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
        Ok(open_file(driver::open(op)?, op.path, op.access, op.registry.registered())?)
    }

    fn open_known(&self, op: &ContainerOpen<'_>) -> Result<Option<Arc<dyn Container>>> {
        let Ok(source) = driver::open(op) else { return Ok(None) };
        match open_file(source, op.path, op.access, op.registry.registered()) {
            Ok(container) => Ok(Some(container)),
            Err(error) if self.is_accessible(op).unwrap_or(false) => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        // Before a file is created, or what is there goes.
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
            let entry = open_files::entry(identity);
            check_unused(&mut open_files::hold(&entry), op.path)?;
        }
        check_members(&file, op.create)?;
        // The lock goes with the handle.
        lock::take(&file, op.path, vol::Access::Write, op.access.locking).map(drop)
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        engine.is_none()
    }

    fn extensions(&self) -> &'static [ExtensionInfo] {
        &[
            ObjectMetadata::INFO,
            FileMetadata::INFO,
            LinkStorage::INFO,
            StoredChunk::INFO,
            StoredChunks::INFO,
            FreeSections::INFO,
            IncreaseFileSize::INFO,
            FileImage::INFO,
            OverwriteInPlace::INFO,
            RemoteRequests::INFO,
            MetadataCache::INFO,
            ResetMetadataCacheCounts::INFO,
            SetMetadataCacheBytes::INFO,
            EvictObject::INFO,
            LogMetadataCache::INFO,
            PageBufferStatistics::INFO,
            ResetPageBufferStatistics::INFO,
            SetVersionBounds::INFO,
            SetVirtualView::INFO,
        ]
    }

    fn uses_drivers(&self) -> bool {
        true
    }

    fn replicas(&self) -> Option<&dyn Replicas> {
        Some(Self::REPLICAS)
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        driver::delete(op)
    }

    fn recover(&self, op: &ContainerOpen<'_>) -> Result<Vec<String>> {
        recover::recover(op)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let access = &FileAccess { access: vol::Access::Read, ..op.access.clone() };
        match driver::open(&ContainerOpen { access, ..op.clone() }) {
            Ok(source) => {
                let head = Head::read(&source.file)?;
                let pending = pending_commit(&source, &head, access, &mut Vec::new())?;
                Ok(pending.is_some() || head.superblock(&source.file)?.is_some())
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

/// Creates a file on a driver of the caller, open for writing.
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

/// Opens a file through a driver of the caller. It is closed when the last `Arc` of the container is dropped.
pub fn open_handle(file: Handle, path: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
    let registered = vol::Registry::none().registered();
    driver::load_block(&file, &[], path)?;
    let container =
        open_file(ContainerFile { identity: None, ..ContainerFile::of(file) }, path, access, registered)?;
    Ok(vol::close_on_drop(container, path, access))
}

/// The bytes of a container.
pub(crate) struct ContainerFile {
    pub(crate) file: Handle,
    /// The identity of the file in this process, if it can be shared.
    pub(crate) identity: Option<open_files::Identity>,
    /// Whether consistency flags of another library's writer are cleared, instead of refusing the file.
    pub(crate) clears_flags: bool,
}

impl ContainerFile {
    /// Returns a file that a driver opened.
    pub(crate) fn of(file: Handle) -> ContainerFile {
        ContainerFile { identity: file.identity(), clears_flags: false, file }
    }
}

pub(crate) fn io<T>(result: std::io::Result<T>, operation: &str, path: &str) -> Result<T> {
    result.map_err(|e| Error::io(operation, &e).with("path", path))
}

/// Returns a container on the file as this process has it open for writing, or else on the file as it is.
pub(crate) fn open_file(
    source: ContainerFile,
    path: &str,
    access: &FileAccess,
    registered: &Registered,
) -> Result<Arc<NativeContainer>> {
    let writable = access.access == vol::Access::Write;
    let entry = source.identity.map(open_files::entry);
    let mut open = entry.as_ref().map(open_files::hold);
    if let Some(core) = open.as_ref().and_then(|open| open.join_writer()) {
        return join(core, path, access);
    }
    if writable && open.as_mut().is_some_and(|open| open.has_readers()) {
        let problem = "this process has it open to read";
        return Err(Error::busy("open file for writing").with("path", path).with("problem", problem));
    }
    let held = lock::take(&source.file, path, access.access, access.locking)?;
    let core = open_core(source, held, path, access, registered)?;
    if let Some(open) = &mut open {
        open.add(&core);
    }
    NativeContainer::new(File::new(core, path, access))
}

/// Returns one more handle on a file that is open for writing.
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
    mut source: ContainerFile,
    held: LockState,
    path: &str,
    access: &FileAccess,
    registered: &Registered,
) -> Result<Arc<Core>> {
    let writable = access.access == vol::Access::Write;
    let live = access.swmr && !writable;
    let mut warnings = Vec::new();
    let mut head = Head::read(&source.file)?;
    // What a writer that lives is about to publish is for itself to publish.
    let pending = if live { None } else { pending_commit(&source, &head, access, &mut warnings)? };
    // The superblock in the file may have been torn by the crash; the record has it whole.
    let found = match pending.as_ref().and_then(|redo| redo.entries.first()) {
        Some(first) => Some((first.at, Superblock::decode(&first.data)?)),
        None => head.superblock_of(&source.file, live)?,
    };
    let Some((base, superblock)) = found else { return Err(not_hdf5(&source.file)) };
    warnings.extend(consistency_flags::check(
        &superblock,
        &source.file,
        held,
        path,
        access,
        source.clears_flags,
    )?);
    if access.swmr && !consistency_flags::has_flags(&superblock) {
        return Err(no_swmr(path, &superblock));
    }
    if access.swmr && source.file.members().is_some() {
        let problem = "it has several members";
        return Err(Error::unsupported("open file with SWMR").with("path", path).with("problem", problem));
    }
    if let Some(redo) = &pending {
        // The members that the record brings bytes to, as the commit describes them.
        driver::load_block(&source.file, &redo.entries, path)?;
    }
    match &pending {
        Some(redo) if writable => redo.replay(&source.file)?,
        Some(redo) if redo.has_moves() => source.file = Arc::new(Moved::new(source.file, redo.moves())),
        _ => {}
    }
    let overlay = pending.into_iter().flat_map(|redo| redo.entries);
    let overlay =
        overlay.filter_map(|e| Some((Address(e.at.checked_sub(base)?), e.data))).collect::<Vec<_>>();
    let end = end_of_file(head.len, base, &superblock, live)?;
    let page_buffer = page_buffering::buffered(&source.file, access, || {
        let mut store = Store::of_file(source.file.clone(), base, superblock.clone(), head.clone());
        store.set_overlay(overlay.clone());
        store
    })?;
    let (file, is_file) = (source.file.clone(), source.identity.is_some() && source.file.is_system_file());
    let metadata_cache_bytes = access.metadata_cache_bytes.unwrap_or(METADATA_BYTES);
    let parts = StoreParts {
        file: source.file,
        superblock,
        limits: access.limits.clone(),
        budget: access.budget(),
        base,
        end,
        head,
        writable,
        live,
        cache_bytes: metadata_cache_bytes / 2,
        is_unlocked: held == LockState::Unknown,
        page_buffer,
    };
    let options = Options {
        chunk_cache_bytes: access.chunk_cache_bytes.unwrap_or(CACHE_BYTES),
        metadata_cache_bytes,
        low: access.version_low,
        high: access.version_high.unwrap_or(LibVersion::LATEST),
        placement: access.placement,
        durability: access.durability,
        cache_image: access.metadata_cache_image,
        cache_log: access.metadata_cache_log.clone(),
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
    finish_open(&core, held, path, access)?;
    Ok(core)
}

/// Marks the file as open, and gives up as much of the lock as its use allows.
fn finish_open(core: &Arc<Core>, held: LockState, path: &str, access: &FileAccess) -> Result<()> {
    let shared = &core.store.shared;
    match access.access {
        vol::Access::Write => {
            let file = File::new(core.clone(), path, access);
            file.writer()?.mark_open(access.swmr, file.durability)?;
            if access.swmr { shared.let_read(path, access.locking) } else { Ok(()) }
        }
        vol::Access::Read if access.swmr && held == LockState::Held => shared.unlock(),
        vol::Access::Read => Ok(()),
    }
}

pub(crate) fn no_swmr(path: &str, superblock: &Superblock) -> Error {
    let problem =
        "SWMR needs a superblock of version 3: create the file with a version bound of v110 or later";
    Error::invalid("open file with SWMR")
        .with("path", path)
        .with("superblock version", superblock.version)
        .with("problem", problem)
}

/// The warning about a commit that is in the redo record only.
pub(crate) const CUT_SHORT: &str = "the last commit was cut short; it is read from its redo record";

/// Returns a commit that was cut short, and that no other caller wrote over since.
fn pending_commit(
    source: &ContainerFile,
    head: &Head,
    access: &FileAccess,
    warnings: &mut Vec<String>,
) -> Result<Option<Redo>> {
    let stored = head.superblock(&source.file).ok().flatten();
    let stored_end = stored.map(|(base, superblock)| absolute_end(base, &superblock));
    let found = Redo::find(&source.file, head, stored_end, &access.limits, warnings)?;
    let Some(redo) = found else { return Ok(None) };
    if !brings_superblock(&redo) {
        warnings.push("the file ends with a redo record without a superblock; it is left alone".to_owned());
        return Ok(None);
    }
    if redo.applies(&source.file)? {
        warnings.push(CUT_SHORT.to_owned());
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

/// Returns whether a record has the superblock that states its own end.
fn brings_superblock(redo: &Redo) -> bool {
    let superblock = redo.entries.first().map(|first| (first.at, Superblock::decode(&first.data)));
    matches!(superblock, Some((base, Ok(superblock))) if absolute_end(base, &superblock) == redo.end)
}

/// Returns where a file ends whose superblock was found at `base`.
fn absolute_end(base: u64, superblock: &Superblock) -> u64 {
    superblock.end.wrapping_sub(superblock.base.wrapping_sub(base))
}

/// Returns the first address that is not allocated, of the first member where there are several. A file shorter than that has lost
/// its end.
fn end_of_file(len: u64, base: u64, superblock: &Superblock, live: bool) -> Result<u64> {
    let end = absolute_end(base, superblock);
    // A writer that lives may say where the file will end before it does.
    if end > len && !live {
        let error = Error::corrupt("open HDF5 file").with("problem", "file is truncated");
        return Err(error.with("bytes", len).with("expected", end));
    }
    end.checked_sub(base)
        .ok_or_else(|| Error::corrupt("open HDF5 file").with("end of file", end).with("base", base))
}
