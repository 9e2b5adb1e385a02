//! Files of Unix systems.

use std::fs::{File, FileType};
use std::io::Result;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::Identity;

pub(super) fn read_some(file: &File, into: &mut [u8], at: u64) -> Result<usize> {
    file.read_at(into, at)
}

pub(super) fn write_some(file: &File, bytes: &[u8], at: u64) -> Result<usize> {
    file.write_at(bytes, at)
}

pub(super) fn identity(file: &File) -> Result<Identity> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

pub(super) fn kind_and_identity(file: &File) -> Result<(FileType, Identity)> {
    let metadata = file.metadata()?;
    Ok((metadata.file_type(), (metadata.dev(), metadata.ino())))
}

pub(super) fn identity_at(path: &Path) -> Result<Identity> {
    let metadata = path.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

pub(super) fn next_data(file: &File, at: u64) -> Result<Option<Range<u64>>> {
    match seek(file, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(start) => Ok(Some(start..seek(file, SeekFrom::Hole(start))?.max(start + 1))),
    }
}

#[cfg(target_os = "linux")]
pub(super) fn reserve(file: &File, len: u64) -> Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::empty(), 0, len) {
        // Where the file system cannot reserve space, bytes that are written take it.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => super::extend_with_zeros(file, len),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reserve(file: &File, len: u64) -> Result<()> {
    super::extend_with_zeros(file, len)
}
