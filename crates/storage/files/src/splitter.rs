//! A file whose changes go to a second one too, which is never read.

use std::fs;
use std::io::{self, Write};

use system::sync::Mutex;

use crate::forward::forward;
use crate::{DataKind, DriverBlock, File, Handle, Lock, Sync};

/// The failures of a write-only channel.
#[derive(Debug, Default)]
pub struct Failures {
    /// Where they are written, a line each.
    pub log: Option<fs::File>,
    /// Whether the file goes on without its copy.
    pub are_ignored: bool,
}

/// A file with a write-only channel: every change goes to the first file, and then to the second.
///
/// A change that fails on the first file is not made on the second. Where failures of the second are ignored, it is
/// tried again with the next change: a copy of which the log names a failure is not to be trusted.
#[derive(Debug)]
pub struct Splitter {
    read_write: Handle,
    /// `None` if it could not be opened and this is ignored.
    write_only: Option<Handle>,
    are_ignored: bool,
    log: Mutex<Option<fs::File>>,
}

impl Splitter {
    /// Returns a file on two that are open.
    ///
    /// # Errors
    /// Returns the error of the second file, if there is one and it is not ignored.
    pub fn new(read_write: Handle, write_only: io::Result<Handle>, failures: Failures) -> io::Result<Self> {
        let Failures { log, are_ignored } = failures;
        let log = Mutex::new(log);
        let write_only = match write_only {
            Ok(file) => Some(file),
            Err(error) => {
                judge(&log, are_ignored, "open", Err(error))?;
                None
            }
        };
        Ok(Splitter { read_write, write_only, are_ignored, log })
    }

    fn copy(&self, operation: &str, work: impl FnOnce(&Handle) -> io::Result<()>) -> io::Result<()> {
        match &self.write_only {
            Some(file) => judge(&self.log, self.are_ignored, operation, work(file)),
            None => Ok(()),
        }
    }
}

/// Logs a failure of the write-only channel, and passes it on unless failures are ignored.
fn judge(
    log: &Mutex<Option<fs::File>>,
    are_ignored: bool,
    operation: &str,
    done: io::Result<()>,
) -> io::Result<()> {
    let Err(error) = done else { return Ok(()) };
    if let Some(log) = &mut *log.lock() {
        // There is no other place to say that the log cannot be written.
        let _ = writeln!(log, "{operation}: write-only channel: {error}");
    }
    if are_ignored {
        return Ok(());
    }
    Err(io::Error::new(error.kind(), format!("{operation}: write-only channel: {error}")))
}

impl File for Splitter {
    forward! { read_write: len identity is_serial members bytes_end driver_block is_remote prefetch is_private
    request_counts }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.read_write.read_at(offset, buf)
    }

    fn read_vec(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.read_write.read_vec(offset, len)
    }

    fn read_many_at(&self, ranges: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        self.read_write.read_many_at(ranges)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.read_write.write_at(offset, data)?;
        self.copy("write", |file| file.write_at(offset, data))
    }

    fn publish(&self) -> io::Result<()> {
        self.read_write.publish()?;
        self.copy("publish", |file| file.publish())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.read_write.set_len(len)?;
        self.copy("truncate", |file| file.set_len(len))
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.read_write.sync(sync)?;
        self.copy("sync", |file| file.sync(sync))
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.read_write.lock(lock)?;
        let locked = self.copy("lock", |file| file.lock(lock));
        if locked.is_err() && lock != Lock::Unlock {
            self.read_write.lock(Lock::Unlock)?;
        }
        locked
    }

    fn set_allocated(&self, allocated: &[u64]) -> io::Result<()> {
        self.read_write.set_allocated(allocated)?;
        self.copy("allocate", |file| file.set_allocated(allocated))
    }

    fn trim(&self) -> io::Result<()> {
        self.read_write.trim()?;
        self.copy("trim", |file| file.trim())
    }

    fn set_driver_block(&self, block: &DriverBlock) -> io::Result<()> {
        self.read_write.set_driver_block(block)?;
        self.copy("open", |file| file.set_driver_block(block))
    }

    fn note_allocated(&self, kind: DataKind, offset: u64, len: u64) {
        self.read_write.note_allocated(kind, offset, len);
        if let Some(file) = &self.write_only {
            file.note_allocated(kind, offset, len);
        }
    }

    fn note_freed(&self, offset: u64, len: u64) {
        self.read_write.note_freed(offset, len);
        if let Some(file) = &self.write_only {
            file.note_freed(offset, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::{Memory, MemoryOptions};
    use std::io::ErrorKind;
    use std::sync::Arc;

    fn small() -> Arc<Memory> {
        Arc::new(Memory::with_options(Vec::new(), MemoryOptions { bytes_max: 8, ..MemoryOptions::default() }))
    }

    fn logged(dir: &Scratch, are_ignored: bool) -> Failures {
        Failures { log: Some(fs::File::create(dir.path("log")).unwrap()), are_ignored }
    }

    #[test]
    fn every_change_goes_to_both() {
        let (first, second) = (Arc::new(Memory::new()), Arc::new(Memory::new()));
        let file = Splitter::new(first.clone(), Ok(second.clone()), Failures::default()).unwrap();
        file.write_at(3, b"data").unwrap();
        file.set_len(6).unwrap();
        assert_eq!(first.image().unwrap(), b"\0\0\0dat");
        assert_eq!(second.image().unwrap(), b"\0\0\0dat");
    }

    #[test]
    fn a_failure_of_the_copy_is_an_error_and_in_the_log() {
        let dir = Scratch::new();
        let file = Splitter::new(Arc::new(Memory::new()), Ok(small()), logged(&dir, false)).unwrap();
        file.write_at(0, b"fits").unwrap();
        let error = file.write_at(4, b"does not").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        let log = fs::read_to_string(dir.path("log")).unwrap();
        assert!(log.starts_with("write: write-only channel: "), "{log}");
    }

    #[test]
    fn ignored_failures_are_in_the_log_only() {
        let dir = Scratch::new();
        let second = small();
        let file = Splitter::new(Arc::new(Memory::new()), Ok(second.clone()), logged(&dir, true)).unwrap();
        file.write_at(0, b"much too long").unwrap();
        file.write_at(0, b"short").unwrap();
        assert_eq!((file.len().unwrap(), second.image().unwrap().as_slice()), (13, &b"short"[..]));
        assert_eq!(fs::read_to_string(dir.path("log")).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_copy_that_cannot_be_opened_fails_unless_it_is_ignored() {
        let dir = Scratch::new();
        let missing = || Err(ErrorKind::NotFound.into());
        let refused = Splitter::new(Arc::new(Memory::new()), missing(), Failures::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        let file = Splitter::new(Arc::new(Memory::new()), missing(), logged(&dir, true)).unwrap();
        file.write_at(0, b"data").unwrap();
        assert!(fs::read_to_string(dir.path("log")).unwrap().starts_with("open: "));
    }

    #[test]
    fn a_change_that_fails_is_not_copied() {
        let second = Arc::new(Memory::new());
        let file = Splitter::new(small(), Ok(second.clone()), Failures::default()).unwrap();
        file.write_at(4, b"does not fit").unwrap_err();
        assert_eq!(second.len().unwrap(), 0);
    }
}
