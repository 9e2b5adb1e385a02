//! A layer that counts calls, bytes and blocks, so that tests can assert how much I/O an operation costs.

use std::collections::HashSet;
use std::io;

use system::sync::{Mutex, MutexGuard};

use crate::forward::forward;
use crate::{File, Handle, Lock, RequestCounts, Sync};

/// Size of the blocks that [`Counts::blocks_read`] and [`Counts::blocks_written`] count.
pub const BLOCK_BYTES: u64 = 4096;

/// What passed through a [`Meter`] since it was made or reset. Failed calls count as calls, not as bytes or blocks;
/// empty reads and writes count as calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of `len`.
    pub lens: u64,
    /// Calls of `read_at`, and ranges of `read_many_at`.
    pub reads: u64,
    /// Calls of `write_at`.
    pub writes: u64,
    /// Calls of `set_len`.
    pub set_lens: u64,
    /// Calls of `sync`.
    pub syncs: u64,
    /// Calls of `lock`.
    pub locks: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Distinct 4 KiB blocks touched by reads.
    pub blocks_read: u64,
    /// Distinct 4 KiB blocks touched by writes.
    pub blocks_written: u64,
    /// Requests to the server that stores the file, each attempt counted.
    pub requests: u64,
    /// Bytes of the server's answers.
    pub bytes_received: u64,
}

/// Counts what reaches the file below.
#[derive(Debug)]
pub struct Meter {
    inner: Handle,
    state: Mutex<MeterState>,
}

#[derive(Debug, Default)]
struct MeterState {
    counts: Counts,
    read: HashSet<u64>,
    written: HashSet<u64>,
    /// Requests before the counts were reset.
    earlier: RequestCounts,
}

impl Meter {
    /// Starts counting at zero.
    pub fn new(inner: Handle) -> Self {
        Meter { inner, state: Mutex::default() }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        let state = self.state();
        let sent = self.inner.request_counts().unwrap_or_default();
        Counts {
            blocks_read: state.read.len() as u64,
            blocks_written: state.written.len() as u64,
            requests: sent.requests - state.earlier.requests,
            bytes_received: sent.bytes - state.earlier.bytes,
            ..state.counts
        }
    }

    /// Starts again at zero, and returns the counts until now.
    pub fn reset(&self) -> Counts {
        let counts = self.counts();
        let earlier = self.inner.request_counts().unwrap_or_default();
        *self.state() = MeterState { earlier, ..MeterState::default() };
        counts
    }

    fn state(&self) -> MutexGuard<'_, MeterState> {
        self.state.lock()
    }
}

fn blocks(offset: u64, len: usize) -> std::ops::Range<u64> {
    let end = offset.saturating_add(len as u64);
    offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)
}

impl File for Meter {
    forward! { inner: is_remote prefetch request_counts }

    fn len(&self) -> io::Result<u64> {
        self.state().counts.lens += 1;
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.state().counts.reads += 1;
        self.inner.read_at(offset, buf)?;
        let mut state = self.state();
        state.counts.bytes_read += buf.len() as u64;
        if !buf.is_empty() {
            state.read.extend(blocks(offset, buf.len()));
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state().counts.writes += 1;
        self.inner.write_at(offset, data)?;
        let mut state = self.state();
        state.counts.bytes_written += data.len() as u64;
        if !data.is_empty() {
            state.written.extend(blocks(offset, data.len()));
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().counts.set_lens += 1;
        self.inner.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.state().counts.syncs += 1;
        self.inner.sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.state().counts.locks += 1;
        self.inner.lock(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use std::sync::Arc;

    #[test]
    fn counts_calls_bytes_and_distinct_blocks() {
        let meter = Meter::new(Arc::new(Memory::new()));
        meter.write_at(4090, &[1; 10]).unwrap();
        meter.write_at(0, &[1; 10]).unwrap();
        let (mut a, mut b) = ([0; 8], [0; 4]);
        meter.read_many_at(&mut [(0, &mut a), (4092, &mut b)]).unwrap();
        meter.sync(Sync::Data).unwrap();
        meter.len().unwrap();
        let expected = Counts {
            lens: 1,
            reads: 2,
            writes: 2,
            syncs: 1,
            bytes_read: 12,
            bytes_written: 20,
            blocks_read: 1,
            blocks_written: 2,
            ..Counts::default()
        };
        assert_eq!(meter.counts(), expected);
        assert_eq!(meter.reset(), expected);
        assert_eq!(meter.counts(), Counts::default());
    }

    #[test]
    fn failed_and_empty_calls_touch_no_block() {
        let meter = Meter::new(Arc::new(Memory::new()));
        meter.read_at(100, &mut [0; 4]).unwrap_err();
        meter.read_at(100, &mut []).unwrap();
        meter.write_at(u64::MAX, b"xx").unwrap_err();
        let expected = Counts { reads: 2, writes: 1, ..Counts::default() };
        assert_eq!(meter.counts(), expected);
    }
}
