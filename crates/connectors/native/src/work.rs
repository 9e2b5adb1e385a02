//! Buffers that are used again: megabytes that are fresh for every chunk cost more than what is done with them.

use system::sync::Mutex;

use crate::chunk::pieces::FileRun;

/// Buffers of one worker.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// A chunk as it is stored.
    pub(crate) raw: Vec<u8>,
    /// A chunk, or a part of the file.
    pub(crate) plain: Vec<u8>,
    pub(crate) pieces: Vec<FileRun>,
    /// Buffers of filters between their stages.
    pub(crate) filters: filters::Scratch,
}

/// Buffers that are larger are freed.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// Workers whose buffers are used again.
const KEPT_MAX: usize = 8;

impl Work {
    fn is_worth_keeping(&self) -> bool {
        self.raw.capacity() + self.plain.capacity() <= KEPT_BYTES_MAX
    }
}

/// Buffers that no one uses at the moment.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "they are taken and put back for every small read, and are large")]
pub(crate) struct WorkBuffers(Mutex<Vec<Box<Work>>>);

impl WorkBuffers {
    /// Calls `f` with buffers that are its own meanwhile.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Work) -> T) -> T {
        let taken = self.0.lock().pop();
        let mut work = taken.unwrap_or_default();
        let done = f(&mut work);
        if work.is_worth_keeping() {
            let mut kept = self.0.lock();
            if kept.len() < KEPT_MAX {
                kept.push(work);
            }
        }
        done
    }
}

/// Returns the first `len` bytes of a buffer, whatever they hold.
pub(crate) fn sized(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}
