//! Files of the operating system, as far as systems differ: positioned reads and writes, identities, holes, reserved space.

#[cfg(not(any(unix, windows)))]
#[path = "file/absent.rs"]
mod of_system;
#[cfg(unix)]
#[path = "file/unix.rs"]
mod of_system;
#[cfg(windows)]
#[path = "file/windows.rs"]
mod of_system;

use std::fs::{File, FileType};
use std::io::{ErrorKind, Result};
use std::ops::Range;
use std::path::Path;

/// Device and number of a file: equal for two handles of one file, whatever it is called.
pub type Identity = (u64, u64);

/// Reads from `at` until the buffer is full or the file ends. Returns how many bytes there were.
pub fn read_at(file: &File, into: &mut [u8], at: u64) -> Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match of_system::read_some(file, &mut into[done..], at + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Fills the buffer with the bytes from `at` on.
///
/// # Errors
/// Returns `UnexpectedEof` if the file ends before.
pub fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> Result<()> {
    match read_at(file, into, at)? == into.len() {
        true => Ok(()),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Writes all bytes at `at`. After an error some of them may be written.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match of_system::write_some(file, bytes, at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => (bytes, at) = (&bytes[count..], at + count as u64),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the identity of an open file.
pub fn identity(file: &File) -> Result<Identity> {
    of_system::identity(file)
}

/// Returns what kind of file an open file is, and its identity: one question to the system where it can answer both.
pub fn kind_and_identity(file: &File) -> Result<(FileType, Identity)> {
    of_system::kind_and_identity(file)
}

/// Returns the identity of the file at a path.
pub fn identity_at(path: &Path) -> Result<Identity> {
    of_system::identity_at(path)
}

/// Returns the next bytes at or after `at` that are stored, or `None` if only a hole follows. Where the system does not know
/// holes, all bytes are stored.
pub fn next_data(file: &File, at: u64) -> Result<Option<Range<u64>>> {
    of_system::next_data(file, at)
}

/// Creates a file at least `len` bytes long, with space on the medium for all of them. The file must be empty or have been
/// reserved by this function.
///
/// # Errors
/// Returns `StorageFull` if the medium has not as much space.
pub fn reserve(file: &File, len: u64) -> Result<()> {
    of_system::reserve(file, len)
}

/// Bytes that are written at once where zeros reserve space.
const ZEROS_BYTES: usize = 1 << 16;

/// Extends a file to `len` with zeros that are written: they take space where the system reserves none.
fn extend_with_zeros(file: &File, len: u64) -> Result<()> {
    let (zeros, mut at) = (vec![0; ZEROS_BYTES], file.metadata()?.len());
    while at < len {
        let count = (len - at).min(ZEROS_BYTES as u64);
        write_all_at(file, &zeros[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

#[cfg(test)]
#[path = "file/tests.rs"]
mod tests;
