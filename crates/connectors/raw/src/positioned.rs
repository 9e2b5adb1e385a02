//! Reading and writing at a place of a file, from any thread.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};

#[cfg(unix)]
fn read_some(file: &File, into: &mut [u8], at: u64) -> Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(windows)]
fn read_some(file: &File, into: &mut [u8], at: u64) -> Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}

#[cfg(unix)]
fn write_some(file: &File, from: &[u8], at: u64) -> Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, from, at)
}

#[cfg(windows)]
fn write_some(file: &File, from: &[u8], at: u64) -> Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, from, at)
}

/// Reads until the buffer is full or the file ends; how much there was.
pub(crate) fn read_at(file: &File, into: &mut [u8], at: u64) -> Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match read_some(file, &mut into[done..], at + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Reads all of the buffer.
pub(crate) fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> Result<()> {
    match read_at(file, into, at)? == into.len() {
        true => Ok(()),
        false => Err(Error::from(ErrorKind::UnexpectedEof)),
    }
}

/// Writes all of the buffer.
pub(crate) fn write_all_at(file: &File, mut from: &[u8], mut at: u64) -> Result<()> {
    while !from.is_empty() {
        match write_some(file, from, at) {
            Ok(0) => return Err(Error::from(ErrorKind::WriteZero)),
            Ok(n) => (from, at) = (&from[n..], at + n as u64),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
