//! The virtual file driver of a container: the one that the caller asked for or, like the HDF Group's tools, the one that fits
//! the name.

use std::sync::Arc;

use files::{Family, Handle, Memory, Mode, Multi, Posix, Split};
use model::text::to_path;
use model::{Error, Result};
use vol::{FileAccess, Stack};

use crate::format::driver_info::{self, DriverInfo};
use crate::head::Head;
use crate::open_files;

/// The bytes of a container.
pub(crate) struct Plane {
    pub(crate) file: Handle,
    /// One file whose size must agree with the superblock.
    pub(crate) is_plain: bool,
    /// What this process knows the file by, where it can be shared.
    pub(crate) identity: Option<open_files::Identity>,
}

pub(crate) fn io<T>(result: std::io::Result<T>, operation: &str, path: &str) -> Result<T> {
    result.map_err(|e| Error::io(operation, &e).with("path", path))
}

/// The byte plane that the caller asked for or, like the HDF Group's tools, the one that fits the name.
pub(crate) fn plane(path: &str, access: &FileAccess) -> Result<Plane> {
    let location = path;
    let path = &*to_path(location);
    let writes = access.access == vol::Access::Write;
    let mode = if writes { Mode::ReadWrite } else { Mode::Read };
    let stack = access.driver.as_deref().map(Stack::parse).transpose()?;
    let (name, parameters) = match stack.as_ref().and_then(|stack| stack.0.first()) {
        Some(entry) => (entry.name.as_str(), entry.parameters.clone()),
        None => match Posix::open(path, mode) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => (guess(location), Default::default()),
            opened => return posix(opened, location),
        },
    };
    let number = |key: &str| parameters.get(key).and_then(|v| v.parse::<u64>().ok());
    let (file, is_plain): (Handle, bool) = match name {
        name if is_posix(name) => return posix(Posix::open(path, mode), location),
        name if is_memory(name) => {
            (Arc::new(io(Memory::open(path, Mode::Read), "open file", location)?), true)
        }
        "family" => (family(location, number("member_bytes"))?, false),
        "split" => (Arc::new(io(Split::open(path, Mode::Read), "open split file", location)?), false),
        "multi" => (multi(location)?, false),
        other => return Err(Error::unsupported("open file").with("driver", other)),
    };
    Ok(Plane { file, is_plain, identity: None })
}

/// Drivers of libhdf5 that keep a file as it is.
pub(crate) fn is_posix(driver: &str) -> bool {
    matches!(driver, "posix" | "sec2" | "stdio" | "log" | "direct")
}

pub(crate) fn is_memory(driver: &str) -> bool {
    matches!(driver, "memory" | "core")
}

fn posix(opened: std::io::Result<Posix>, path: &str) -> Result<Plane> {
    let file = io(opened, "open file", path)?;
    let identity = Some(file.identity());
    Ok(Plane { file: Arc::new(file), is_plain: true, identity })
}

/// What a name that is no file may stand for.
fn guess(path: &str) -> &'static str {
    let beside = |suffix: &str| to_path(&format!("{path}{suffix}")).is_file();
    match () {
        () if path.contains('%') => "family",
        () if beside("-m.h5") && beside("-r.h5") => "split",
        () if beside("-s.h5") => "multi",
        () => "posix",
    }
}

/// A family says in its own driver block how large its members are; a member may be shorter than that.
fn family(path: &str, member_bytes: Option<u64>) -> Result<Handle> {
    if let Some(bytes) = member_bytes.filter(|&n| n > 0) {
        return Ok(Arc::new(io(
            Family::open_sized(to_path(path), Mode::Read, bytes),
            "open family of files",
            path,
        )?));
    }
    let first: Handle = Arc::new(io(Family::open(to_path(path), Mode::Read), "open family of files", path)?);
    match driver_of(&first)? {
        Some(DriverInfo::Family { member_bytes }) => Ok(Arc::new(io(
            Family::open_sized(to_path(path), Mode::Read, member_bytes),
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
    let head: Handle = Arc::new(io(Posix::open(to_path(&first), Mode::Read), "open multi file", &first)?);
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
        if let Ok(file) = Posix::open(to_path(&name(template)), Mode::Read) {
            parts.push(files::Member { start: *start, end, file: Arc::new(file) });
        }
    }
    Ok(Arc::new(io(Multi::new(parts), "open multi file", path)?))
}

/// The driver information of superblocks 0 and 1, which follows the superblock.
fn driver_of(file: &Handle) -> Result<Option<DriverInfo>> {
    let Some((base, superblock)) = Head::read(file)?.superblock(file)? else { return Ok(None) };
    let Some(at) = superblock.driver_info else { return Ok(None) };
    let mut head = [0; driver_info::BLOCK_HEAD_BYTES as usize];
    io(file.read_at(base + at.0, &mut head), "read driver information", "")?;
    let len = driver_info::block_data_bytes(&head)?.min(4096) as usize;
    let mut block = vec![0; head.len() + len];
    io(file.read_at(base + at.0, &mut block), "read driver information", "")?;
    driver_info::block(&block).map(Some)
}
