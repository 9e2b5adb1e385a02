//! The bytes of one file in another.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::{Handle, Mode, Posix, Sync};

/// Bytes that are copied at a time.
const PART_BYTES: u64 = 4 << 20;

/// Copies all bytes of a file to another, which is as long then, and durable.
///
/// # Errors
/// Returns the error of either file; any part may have been copied then.
pub fn copy(from: &Handle, to: &Handle) -> io::Result<()> {
    let len = from.len()?;
    let mut at = 0;
    while at < len {
        let bytes = from.read_vec(at, PART_BYTES.min(len - at) as usize)?;
        to.write_at(at, &bytes)?;
        at += bytes.len() as u64;
    }
    to.set_len(len)?;
    to.sync(Sync::All)
}

/// Copies all bytes of a file to a new plain one, or leaves nothing there.
pub(crate) fn copy_to_new(from: &Handle, to: &Path) -> io::Result<()> {
    let file: Handle = Arc::new(Posix::open(to, Mode::CreateNew)?);
    copy(from, &file).inspect_err(|_| drop(std::fs::remove_file(to)))
}
