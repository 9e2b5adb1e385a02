//! Decoded chunks, within a budget of bytes.

use std::sync::Arc;

use quick_cache::Weighter;

use crate::format::Address;
use crate::kept::Kept;

/// Default budget for one file.
pub(crate) const CACHE_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<(Address, Address), Arc<Vec<u8>>> for ByBytes {
    fn weight(&self, _: &(Address, Address), chunk: &Arc<Vec<u8>>) -> u64 {
        chunk.len() as u64 + 64
    }
}

/// Chunks by dataset and by their address in the file.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    bytes_max: u64,
    chunks: Kept<(Address, Address), Arc<Vec<u8>>, ByBytes>,
}

impl ChunkCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        ChunkCache { bytes_max, chunks: Kept::new(bytes_max.max(1), ByBytes) }
    }

    pub(crate) fn get(&self, dataset: Address, chunk: Address) -> Option<Arc<Vec<u8>>> {
        self.chunks.get(&(dataset, chunk))
    }

    /// Keeps a chunk, unless it alone would fill half of the budget.
    pub(crate) fn put(&self, dataset: Address, chunk: Address, bytes: &Arc<Vec<u8>>) {
        if bytes.len() as u64 <= self.bytes_max / 2 {
            self.chunks.insert((dataset, chunk), bytes.clone());
        }
    }
}
