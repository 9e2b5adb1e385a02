//! Decoded chunks, within a budget of bytes.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::format::Address;
use crate::store::{ByBytes, byte_cache};

/// Default budget for one file.
pub(crate) const CACHE_BYTES: u64 = 64 << 20;

/// Chunks by dataset and by their address in the file.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    bytes_max: u64,
    chunks: Cache<(Address, Address), Arc<[u8]>, ByBytes>,
}

impl ChunkCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        ChunkCache { bytes_max, chunks: byte_cache(bytes_max.max(1)) }
    }

    pub(crate) fn get(&self, dataset: Address, chunk: Address) -> Option<Arc<[u8]>> {
        self.chunks.get(&(dataset, chunk))
    }

    /// Keeps a chunk, unless it alone would fill half of the budget.
    pub(crate) fn put(&self, dataset: Address, chunk: Address, bytes: &Arc<[u8]>) {
        if bytes.len() as u64 <= self.bytes_max / 2 {
            self.chunks.insert((dataset, chunk), bytes.clone());
        }
    }
}
