//! Decoded chunks, within a budget of bytes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use system::sync::RwLock;

use crate::format::Address;
use crate::lazy_cache::LazyCache;

/// Default budget for one file.
pub(crate) const CACHE_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<(Address, Address), Arc<Vec<u8>>> for ByBytes {
    fn weight(&self, _: &(Address, Address), chunk: &Arc<Vec<u8>>) -> u64 {
        chunk.len() as u64 + 64
    }
}

/// Chunks within one budget, by dataset and by their address in the file.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: u64,
    chunks: LazyCache<(Address, Address), Arc<Vec<u8>>, ByBytes>,
}

impl Budget {
    fn new(bytes_max: u64) -> Self {
        Budget { bytes_max, chunks: LazyCache::of_large(bytes_max.max(1), ByBytes) }
    }

    /// Returns whether this many bytes may stay without driving out most of the others.
    pub(crate) fn has_space(&self, bytes: u64) -> bool {
        bytes <= self.bytes_max / 2
    }
}

/// The decoded chunks of a file. Datasets share a budget unless they were given one of their own.
///
/// What is in use is held by a caller that uses it, so that a small budget cannot take it away from the operation at hand.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    shared: Arc<Budget>,
    own: RwLock<HashMap<Address, Arc<Budget>>>,
    has_own: std::sync::atomic::AtomicBool,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl ChunkCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        ChunkCache {
            shared: Arc::new(Budget::new(bytes_max)),
            own: RwLock::default(),
            has_own: false.into(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Returns the budget that a dataset's chunks come under.
    pub(crate) fn budget(&self, dataset: Address) -> Arc<Budget> {
        if self.has_own.load(Ordering::Acquire)
            && let Some(own) = self.own.read().get(&dataset)
        {
            return own.clone();
        }
        self.shared.clone()
    }

    /// Gives a dataset a budget of its own.
    pub(crate) fn set_budget(&self, dataset: Address, bytes_max: u64) {
        let budget = Arc::new(Budget::new(bytes_max));
        self.own.write().insert(dataset, budget);
        self.has_own.store(true, Ordering::Release);
    }

    pub(crate) fn get(&self, dataset: Address, chunk: Address) -> Option<Arc<Vec<u8>>> {
        let found = self.budget(dataset).chunks.get(&(dataset, chunk));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Adds a chunk, unless it alone would fill half of the budget.
    pub(crate) fn put(&self, dataset: Address, chunk: Address, bytes: &Arc<Vec<u8>>) {
        let budget = self.budget(dataset);
        if budget.has_space(bytes.len() as u64) {
            budget.chunks.insert((dataset, chunk), bytes.clone());
        }
    }

    /// Removes a chunk that no longer exists or has other elements.
    pub(crate) fn remove(&self, dataset: Address, chunk: Address) {
        self.budget(dataset).chunks.remove(&(dataset, chunk));
    }

    /// Removes all chunks, because objects were removed and their addresses may be used again.
    pub(crate) fn clear(&self) {
        self.shared.chunks.clear();
        self.own.write().clear();
    }

    /// Forgets the elements of all chunks, which may have changed. Budgets stay.
    pub(crate) fn forget_all(&self) {
        self.shared.chunks.clear();
        self.own.read().values().for_each(|budget| budget.chunks.clear());
    }

    /// Returns the number of chunks that were found and that were not, the bytes that are cached, and the bytes that
    /// may be.
    pub(crate) fn statistics(&self) -> [u64; 4] {
        let own = self.own.read();
        let budgets = || own.values().chain([&self.shared]);
        [
            self.hits.load(Ordering::Relaxed),
            self.misses.load(Ordering::Relaxed),
            budgets().map(|budget| budget.chunks.weight()).sum(),
            budgets().map(|budget| budget.bytes_max).sum(),
        ]
    }
}
