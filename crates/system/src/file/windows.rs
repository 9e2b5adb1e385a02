//! Files of Windows.

use std::fs::{File, FileType};
use std::io::Result;
use std::ops::Range;
use std::os::windows::fs::FileExt;
use std::path::Path;

use super::Identity;

/// The error of a read past the end of a file (`ERROR_HANDLE_EOF`).
const END_OF_FILE: i32 = 38;

pub(super) fn read_some(file: &File, into: &mut [u8], at: u64) -> Result<usize> {
    match file.seek_read(into, at) {
        Err(error) if error.raw_os_error() == Some(END_OF_FILE) => Ok(0),
        read => read,
    }
}

pub(super) fn write_some(file: &File, bytes: &[u8], at: u64) -> Result<usize> {
    file.seek_write(bytes, at)
}

pub(super) fn identity(file: &File) -> Result<Identity> {
    let found = winapi_util::file::information(file)?;
    Ok((found.volume_serial_number(), found.file_index()))
}

pub(super) fn kind_and_identity(file: &File) -> Result<(FileType, Identity)> {
    Ok((file.metadata()?.file_type(), identity(file)?))
}

pub(super) fn identity_at(path: &Path) -> Result<Identity> {
    identity(&File::open(path)?)
}

pub(super) fn next_data(file: &File, at: u64) -> Result<Option<Range<u64>>> {
    let end = file.metadata()?.len();
    Ok((at < end).then_some(at..end))
}

pub(super) fn reserve(file: &File, len: u64) -> Result<()> {
    super::extend_with_zeros(file, len)
}
