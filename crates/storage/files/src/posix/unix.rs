//! Calls of Unix systems that read and write without copies.

use std::fs::{File, FileType, OpenOptions};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Caching;

/// Slices that one system call takes (`IOV_MAX`).
const SLICES_MAX: usize = 1024;

pub(super) fn read_slices(file: &File, range: Range<u64>, slices: &mut [IoSliceMut<'_>]) -> Result<()> {
    let (mut rest, mut at) = (slices, range.start);
    while at < range.end {
        let count = rest.len().min(SLICES_MAX);
        match rustix::io::preadv(file, &mut rest[..count], at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(done) => {
                at += done as u64;
                IoSliceMut::advance_slices(&mut rest, done);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

pub(super) fn write_slices(file: &File, range: Range<u64>, slices: &mut [IoSlice<'_>]) -> Result<()> {
    let (mut rest, mut at) = (slices, range.start);
    while at < range.end {
        match rustix::io::pwritev(file, &rest[..rest.len().min(SLICES_MAX)], at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(done) => {
                at += done as u64;
                IoSlice::advance_slices(&mut rest, done);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads into memory that nothing was written to before.
pub(super) fn read_vec(file: &File, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let at = offset + bytes.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The capacity may be more than was asked for.
    bytes.truncate(len);
    Ok(bytes)
}

/// Returns an error for what cannot be read at offsets: a pipe, a socket, a terminal.
pub(super) fn check_kind(kind: FileType) -> Result<()> {
    match kind {
        kind if kind.is_file() || kind.is_block_device() => Ok(()),
        kind if kind.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(std::io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Opening returns at once, also that of a pipe without another end.
pub(super) fn wait_for_nothing(options: &mut OpenOptions, caching: Caching) -> Result<()> {
    let direct = if caching == Caching::Bypassed { direct()? } else { OFlags::empty() };
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY | direct).bits() as i32);
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn direct() -> Result<OFlags> {
    Ok(OFlags::DIRECT)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn direct() -> Result<OFlags> {
    Err(super::no_direct())
}

/// A lock replaces the one that is held.
pub(super) fn before_lock(_: &File) -> Result<()> {
    Ok(())
}

pub(super) fn unlock(file: &File) -> Result<()> {
    file.unlock()
}
