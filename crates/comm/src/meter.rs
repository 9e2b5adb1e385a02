//! Counts what a member says and hears: costs that do not depend on the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Result;

use crate::{Comm, Reduce};

/// What a member did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Collective calls.
    pub calls: u64,
    /// Bytes that it brought.
    pub sent: u64,
    /// Bytes that it got.
    pub received: u64,
}

/// A member whose calls are counted.
pub struct Meter {
    inner: Arc<dyn Comm>,
    calls: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("traffic", &self.traffic()).finish_non_exhaustive()
    }
}

fn total(all: &[Vec<u8>]) -> usize {
    all.iter().map(Vec::len).sum()
}

impl Meter {
    /// Returns a member that counts what `inner` does.
    pub fn new(inner: Arc<dyn Comm>) -> Self {
        let zero = || AtomicU64::new(0);
        Meter { inner, calls: zero(), sent: zero(), received: zero() }
    }

    /// Returns what was done so far.
    pub fn traffic(&self) -> Traffic {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic { calls: get(&self.calls), sent: get(&self.sent), received: get(&self.received) }
    }

    fn count<T>(&self, sent: usize, done: Result<T>, received: impl FnOnce(&T) -> usize) -> Result<T> {
        let done = done?;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(sent as u64, Ordering::Relaxed);
        self.received.fetch_add(received(&done) as u64, Ordering::Relaxed);
        Ok(done)
    }
}

impl Comm for Meter {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.count(bytes.len(), self.inner.allgather(bytes), |all| total(all))
    }

    fn allgather_equal(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.count(bytes.len(), self.inner.allgather_equal(bytes), |all| total(all))
    }

    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.count(bytes.len(), self.inner.gather(root, bytes), |all| total(all))
    }

    fn alltoall(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        self.count(total(&to), self.inner.alltoall(to), |all| total(all))
    }

    fn bcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let sent = if self.rank() == root { bytes.len() } else { 0 };
        let done = self.inner.bcast(root, bytes);
        self.count(sent, done, |()| bytes.len() - sent)
    }

    fn allreduce(&self, number: u64, reduce: Reduce) -> Result<u64> {
        self.count(8, self.inner.allreduce(number, reduce), |_| 8)
    }

    fn exscan(&self, number: u64) -> Result<u64> {
        self.count(8, self.inner.exscan(number), |_| 8)
    }

    fn barrier(&self) -> Result<()> {
        self.count(0, self.inner.barrier(), |()| 0)
    }
}
