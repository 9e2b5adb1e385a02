//! A system without files: WebAssembly without an operating system. No file is ever open there.

use std::fs::{File, FileType};
use std::io::{ErrorKind, Result};
use std::ops::Range;
use std::path::Path;

use super::Identity;

pub(super) fn read_some(_: &File, _: &mut [u8], _: u64) -> Result<usize> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn write_some(_: &File, _: &[u8], _: u64) -> Result<usize> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn identity(_: &File) -> Result<Identity> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn kind_and_identity(_: &File) -> Result<(FileType, Identity)> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn identity_at(_: &Path) -> Result<Identity> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn next_data(_: &File, _: u64) -> Result<Option<Range<u64>>> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn reserve(file: &File, len: u64) -> Result<()> {
    super::extend_with_zeros(file, len)
}
