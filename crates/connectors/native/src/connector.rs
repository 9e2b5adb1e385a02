//! Opening HDF5 files.

use std::path::Path;
use std::sync::Arc;

use files::{Family, Handle, Memory, Mode, Multi, Posix, Split};
use model::properties::FileCreate;
use model::{Context, Error, Result};
use vol::{Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess, Stack};

use crate::chunk::cache::CACHE_BYTES;
use crate::container::{CAPABILITY, NativeContainer};
use crate::file::{File, Options};
use crate::format::Address;
use crate::format::driver_info::{self, DriverInfo};
use crate::format::superblock::{self, Superblock};
use crate::store::{Store, StoreParts};
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
        let opened = plane(op.path, op.access)?;
        Ok(open_plane(opened, op.path, op.access)?)
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let mode = if op.truncate { Mode::Create } else { Mode::CreateNew };
        let file: Handle = Arc::new(io(Posix::open(op.path, mode), "create file", op.path)?);
        lock(&file, op.path)?;
        create_handle(file, op.path, op.create, op.access)
    }

    fn delete(&self, path: &str) -> Result<()> {
        std::fs::remove_file(path).map_err(|e| Error::io("delete file", &e).with("path", path))
    }

    fn is_accessible(&self, path: &str, access: &FileAccess) -> Result<bool> {
        let access = &FileAccess { access: vol::Access::Read, ..access.clone() };
        match plane(path, access) {
            Ok(plane) if pending_commit(&plane, access, &mut Vec::new())?.is_some() => Ok(true),
            Ok(plane) => Ok(find_superblock(&plane.file)?.is_some()),
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

/// Opens a file through a byte plane of the caller's own.
pub fn open_handle(file: Handle, path: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
    Ok(open_plane(Plane { file, is_plain: true }, path, access)?)
}

/// The bytes of a container.
struct Plane {
    file: Handle,
    /// One file whose size must agree with the superblock.
    is_plain: bool,
}

fn io<T>(result: std::io::Result<T>, operation: &str, path: &str) -> Result<T> {
    result.map_err(|e| Error::io(operation, &e).with("path", path))
}

/// The byte plane that the caller asked for or, like the HDF Group's tools, the one that fits the name.
fn plane(path: &str, access: &FileAccess) -> Result<Plane> {
    let stack = Stack::parse(access.driver.as_deref().unwrap_or(""))?;
    let (name, parameters) = match stack.0.first() {
        Some(entry) => (entry.name.as_str(), entry.parameters.clone()),
        None => (guess(path), Default::default()),
    };
    let number = |key: &str| parameters.get(key).and_then(|v| v.parse::<u64>().ok());
    let writes = access.access == vol::Access::Write;
    let mode = if writes { Mode::ReadWrite } else { Mode::Read };
    let (file, is_plain): (Handle, bool) = match name {
        "posix" | "sec2" | "stdio" | "log" | "direct" => {
            (Arc::new(io(Posix::open(path, mode), "open file", path)?), true)
        }
        "memory" | "core" => (Arc::new(io(Memory::open(path, Mode::Read), "open file", path)?), true),
        "family" => (family(path, number("member_bytes"))?, false),
        "split" => (Arc::new(io(Split::open(path, Mode::Read), "open split file", path)?), false),
        "multi" => (multi(path)?, false),
        other => return Err(Error::unsupported("open file").with("driver", other)),
    };
    Ok(Plane { file, is_plain })
}

fn guess(path: &str) -> &'static str {
    let beside = |suffix: &str| Path::new(&format!("{path}{suffix}")).is_file();
    match () {
        () if Path::new(path).exists() => "posix",
        () if path.contains('%') => "family",
        () if beside("-m.h5") && beside("-r.h5") => "split",
        () if beside("-s.h5") => "multi",
        () => "posix",
    }
}

/// A family says in its own driver block how large its members are; a member may be shorter than that.
fn family(path: &str, member_bytes: Option<u64>) -> Result<Handle> {
    if let Some(bytes) = member_bytes.filter(|&n| n > 0) {
        return Ok(Arc::new(io(Family::open_sized(path, Mode::Read, bytes), "open family of files", path)?));
    }
    let first: Handle = Arc::new(io(Family::open(path, Mode::Read), "open family of files", path)?);
    match driver_of(&first)? {
        Some(DriverInfo::Family { member_bytes }) => Ok(Arc::new(io(
            Family::open_sized(path, Mode::Read, member_bytes),
            "open family of files",
            path,
        )?)),
        _ => Ok(first),
    }
}

/// A multi file's superblock member says where the others begin and what they are called.
fn multi(path: &str) -> Result<Handle> {
    let name = |template: &str| template.replace("%s", path);
    let first = name("%s-s.h5");
    let head: Handle = Arc::new(io(Posix::open(&first, Mode::Read), "open multi file", &first)?);
    let Some(DriverInfo::Multi { mut members }) = driver_of(&head)? else {
        return Err(Error::corrupt("open multi file")
            .with("path", path)
            .with("problem", "it does not name its members"));
    };
    members.sort();
    let ends: Vec<Option<u64>> = members.iter().skip(1).map(|m| Some(m.0)).chain([None]).collect();
    let mut parts = Vec::new();
    for ((start, template), end) in members.iter().zip(ends) {
        // A member that never got data may be missing.
        if let Ok(file) = Posix::open(name(template), Mode::Read) {
            parts.push(files::Member { start: *start, end, file: Arc::new(file) });
        }
    }
    Ok(Arc::new(io(Multi::new(parts), "open multi file", path)?))
}

/// The driver information of superblocks 0 and 1, which follows the superblock.
fn driver_of(file: &Handle) -> Result<Option<DriverInfo>> {
    let Some((base, superblock)) = find_superblock(file)? else { return Ok(None) };
    let Some(at) = superblock.driver_info else { return Ok(None) };
    let mut head = [0; driver_info::BLOCK_HEAD_BYTES as usize];
    io(file.read_at(base + at.0, &mut head), "read driver information", "")?;
    let len = driver_info::block_data_bytes(&head)?.min(4096) as usize;
    let mut block = vec![0; head.len() + len];
    io(file.read_at(base + at.0, &mut block), "read driver information", "")?;
    driver_info::block(&block).map(Some)
}

/// Looks for the signature at 0, 512, 1024, 2048, … and decodes what follows it.
fn find_superblock(file: &Handle) -> Result<Option<(u64, Superblock)>> {
    let len = io(file.len(), "get size of file", "")?;
    let mut at = 0u64;
    while at < len {
        let mut bytes = vec![0; superblock::BYTES_MAX.min(usize::try_from(len - at).unwrap_or(usize::MAX))];
        io(file.read_at(at, &mut bytes), "read superblock", "")?;
        if bytes.starts_with(&superblock::SIGNATURE) {
            return Superblock::decode(&bytes).during_at("open HDF5 file", at).map(|s| Some((at, s)));
        }
        at = if at == 0 { 512 } else { at.saturating_mul(2) };
    }
    Ok(None)
}

fn open_plane(plane: Plane, path: &str, access: &FileAccess) -> Result<Arc<NativeContainer>> {
    let writable = access.access == vol::Access::Write;
    if writable && !plane.is_plain {
        return Err(Error::unsupported("write to a container of several files").with("path", path));
    }
    if writable {
        lock(&plane.file, path)?;
    }
    let mut warnings = Vec::new();
    let pending = pending_commit(&plane, access, &mut warnings)?;
    // The superblock in the file may have been torn by the crash; the record has it whole.
    let found = match pending.as_ref().and_then(|redo| redo.entries.first()) {
        Some(first) => Some((first.at, Superblock::decode(&first.data)?)),
        None => find_superblock(&plane.file)?,
    };
    let Some((base, superblock)) = found else { return Err(not_hdf5(&plane.file)) };
    if let Some(mark) = open_mark(&superblock) {
        if writable {
            return Err(Error::busy("open file for writing").with("path", path).with("problem", mark));
        }
        warnings.push(mark);
    }
    if writable && let Some(redo) = &pending {
        redo.replay(&plane.file)?;
    }
    let overlay = pending.into_iter().flat_map(|redo| redo.entries);
    let overlay =
        overlay.filter_map(|e| Some((Address(e.at.checked_sub(base)?), e.data))).collect::<Vec<_>>();
    let end = end_of_file(&plane, base, &superblock)?;
    let metadata_cache_bytes = access.metadata_cache_bytes.unwrap_or(METADATA_BYTES);
    let parts = StoreParts {
        file: plane.file,
        superblock,
        limits: access.limits.clone(),
        base,
        end,
        writable,
        cache_bytes: metadata_cache_bytes / 2,
    };
    let options = Options {
        path: path.to_owned(),
        resolver: access.resolver.clone(),
        chunk_cache_bytes: access.chunk_cache_bytes.unwrap_or(CACHE_BYTES),
        metadata_cache_bytes,
        low: access.version_low,
        durability: access.durability,
        virtual_view: access.virtual_view,
        warnings,
        writable,
    };
    let mut store = Store::new(parts);
    if !writable && !overlay.is_empty() {
        store.set_overlay(overlay);
    }
    NativeContainer::new(File::open(store, options)?)
}

/// Nobody else may write meanwhile, and nobody who locks may read.
fn lock(file: &Handle, path: &str) -> Result<()> {
    match file.lock(files::Lock::Exclusive) {
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Err(Error::busy("open file for writing")
            .with("path", path)
            .with("problem", "another program holds it")),
        // A file system without locks is no reason not to write.
        _ => Ok(()),
    }
}

/// A commit that was cut short, and that nobody else wrote over since.
fn pending_commit(plane: &Plane, access: &FileAccess, warnings: &mut Vec<String>) -> Result<Option<Redo>> {
    if !plane.is_plain {
        return Ok(None);
    }
    let Some(redo) = Redo::find(&plane.file, &access.limits)? else { return Ok(None) };
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

/// The first address that is not allocated. A plain file shorter than that has lost its end.
fn end_of_file(plane: &Plane, base: u64, superblock: &Superblock) -> Result<u64> {
    let len = io(plane.file.len(), "get size of file", "")?;
    if !plane.is_plain {
        return Ok(len.saturating_sub(base));
    }
    let shift = superblock.base.wrapping_sub(base);
    let end = superblock.end.wrapping_sub(shift);
    if end > len {
        let error = Error::corrupt("open HDF5 file").with("problem", "file is truncated");
        return Err(error.with("bytes", len).with("expected", end));
    }
    end.checked_sub(base)
        .ok_or_else(|| Error::corrupt("open HDF5 file").with("end of file", end).with("base", base))
}

/// What a file says that was not closed by its writer.
fn open_mark(superblock: &Superblock) -> Option<String> {
    let open = superblock.version >= 3 && superblock.flags & 0b101 != 0;
    let text = "the file is marked as open for writing: a writer holds it, or died without closing it";
    open.then(|| text.to_owned())
}
