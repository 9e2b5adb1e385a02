//! Files of systems other than Unix.

use std::fs::{File, FileType, OpenOptions};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::ops::Range;

use super::Caching;

pub(super) fn read_slices(file: &File, range: Range<u64>, slices: &mut [IoSliceMut<'_>]) -> Result<()> {
    let mut at = range.start;
    slices.iter_mut().try_for_each(|slice| {
        system::file::read_exact_at(file, slice, at)?;
        at += slice.len() as u64;
        Ok(())
    })
}

pub(super) fn write_slices(file: &File, range: Range<u64>, slices: &mut [IoSlice<'_>]) -> Result<()> {
    let mut at = range.start;
    slices.iter().try_for_each(|slice| {
        system::file::write_all_at(file, slice, at)?;
        at += slice.len() as u64;
        Ok(())
    })
}

pub(super) fn read_vec(file: &File, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    system::file::read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}

/// Returns an error for what cannot be read at offsets.
pub(super) fn check_kind(kind: FileType) -> Result<()> {
    match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(std::io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Opening a file waits for nothing anyway.
pub(super) fn wait_for_nothing(_: &mut OpenOptions, caching: Caching) -> Result<()> {
    if caching == Caching::Bypassed { Err(super::no_direct()) } else { Ok(()) }
}

/// Errors of an unlock without a lock: `ERROR_NOT_LOCKED`, and what wine returns instead.
const NOT_LOCKED: [i32; 2] = [158, 33];

/// Locks of one handle add up and are in each other's way, so what is held is released first.
pub(super) fn before_lock(file: &File) -> Result<()> {
    unlock(file)
}

pub(super) fn unlock(file: &File) -> Result<()> {
    match file.unlock() {
        Err(error) if error.raw_os_error().is_some_and(|code| NOT_LOCKED.contains(&code)) => Ok(()),
        unlocked => unlocked,
    }
}
