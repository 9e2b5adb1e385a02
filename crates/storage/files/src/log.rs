//! A file that says what is read and written where: address, length, kind of structure and time, in a text.

mod flags;
mod kinds;
mod trace;

use std::io::{self, Write};

use system::clock::Instant;
use system::sync::Mutex;

use self::trace::{Operation, Trace};
use crate::forward::forward;
use crate::{DataKind, File, Handle, Sync};

pub use self::flags::LogFlags;

/// A file whose accesses are logged.
///
/// The log is for people. That it cannot be written is no error of the file: its lines are lost then.
pub struct Log {
    inner: Handle,
    flags: LogFlags,
    trace: Mutex<Trace>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("inner", &self.inner).field("flags", &self.flags).finish_non_exhaustive()
    }
}

impl Log {
    /// Logs what passes through to `inner`. Addresses from `tracked_end` on are not counted byte by byte.
    pub fn new(inner: Handle, out: Box<dyn Write + Send>, flags: LogFlags, tracked_end: u64) -> Self {
        Log { inner, flags, trace: Mutex::new(Trace::new(out, flags, tracked_end)) }
    }

    /// Notes how long it took to open the file.
    pub(crate) fn opened(&self, begun: Instant) {
        if self.flags.has(LogFlags::TIME_OPEN) {
            self.trace.lock().line(format_args!("Open took: ({:.6} s)", begun.elapsed().as_secs_f64()));
        }
    }

    fn timed<T>(
        &self,
        operation: Operation,
        offset: u64,
        len: usize,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let begun = Instant::now();
        let done = work();
        let took = begun.elapsed();
        self.trace.lock().note(operation, offset, len as u64, begun, took, done.as_ref().err());
        done
    }
}

impl File for Log {
    forward! { inner: len lock identity is_serial members bytes_end set_allocated trim driver_block set_driver_block }
    forward! { inner: is_remote prefetch is_private publish request_counts }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.timed(Operation::Read, offset, buf.len(), || self.inner.read_at(offset, buf))?;
        self.trace.lock().recognize(offset, buf);
        Ok(())
    }

    fn read_vec(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let bytes = self.timed(Operation::Read, offset, len, || self.inner.read_vec(offset, len))?;
        self.trace.lock().recognize(offset, &bytes);
        Ok(bytes)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.trace.lock().recognize(offset, data);
        self.timed(Operation::Write, offset, data.len(), || self.inner.write_at(offset, data))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.timed(Operation::Truncate, len, 0, || self.inner.set_len(len))
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        let synced = self.timed(Operation::Sync, 0, 0, || self.inner.sync(sync));
        self.trace.lock().flush();
        synced
    }

    fn note_allocated(&self, kind: DataKind, offset: u64, len: u64) {
        self.trace.lock().allocated(kind, offset, len);
        self.inner.note_allocated(kind, offset, len);
    }

    fn note_freed(&self, offset: u64, len: u64) {
        self.trace.lock().freed(offset, len);
        self.inner.note_freed(offset, len);
    }
}

#[cfg(test)]
#[path = "log/tests.rs"]
mod tests;
