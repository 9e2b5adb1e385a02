//! One chunk from the file: its bytes as stored, and its elements.

use std::sync::Arc;

use model::{Context, Error, Result, Within};

use super::index::{ChunkAt, Chunks};
use crate::file::File;
use crate::object::dataset::Dataset;
use crate::work::Work;

/// Chunks up to this size may come from any number of stored bytes …
const EXPANSION_FREE_BYTES: u64 = 128 << 20;
/// … larger ones from at least one in this many. Deflate reaches 1,032.
const EXPANSION_MAX: u64 = 2048;

/// A chunk as it is stored.
pub(crate) fn raw(file: &File, chunks: &Chunks<'_>, at: ChunkAt, into: &mut Vec<u8>) -> Result<()> {
    let bytes = if chunks.filtered { at.bytes } else { chunks.chunk_bytes };
    // What is larger than the file is not worth an allocation.
    let len = bytes.within(file.store.limits.chunk_bytes_max.min(file.store.end()), "stored chunk")?;
    into.resize(len, 0);
    file.store.read(at.address, into, "chunk")
}

/// A large chunk must have something to show for it: few stored bytes that claim to be many are a bomb.
pub(crate) fn check_expansion(chunks: &Chunks<'_>, at: ChunkAt) -> Result<()> {
    if chunks.chunk_bytes <= EXPANSION_FREE_BYTES
        || at.bytes.saturating_mul(EXPANSION_MAX) >= chunks.chunk_bytes
    {
        return Ok(());
    }
    Err(Error::limit("decode chunk").with("bytes", chunks.chunk_bytes).with("stored bytes", at.bytes))
}

/// Chunks of one dataset that went through filters.
pub(crate) struct Filtered<'a> {
    pub(crate) file: &'a File,
    pub(crate) dataset: &'a Dataset,
    pub(crate) chunks: &'a Chunks<'a>,
}

impl Filtered<'_> {
    /// The elements of a chunk, which stay in the cache for later.
    pub(crate) fn load(&self, scaled: &[u64], at: ChunkAt, work: &mut Work) -> Result<Arc<Vec<u8>>> {
        if let Some(chunk) = self.cached(at) {
            return Ok(chunk);
        }
        check_expansion(self.chunks, at)?;
        let mut chunk = vec![0; self.chunks.chunk_bytes as usize];
        self.decode(scaled, at, &mut chunk, work)?;
        let chunk = Arc::new(chunk);
        self.file.chunks.put(self.dataset.address, at.address, &chunk);
        Ok(chunk)
    }

    pub(crate) fn cached(&self, at: ChunkAt) -> Option<Arc<Vec<u8>>> {
        self.file.chunks.get(self.dataset.address, at.address)
    }

    /// Decodes a chunk into a buffer of exactly its size.
    pub(crate) fn decode(&self, scaled: &[u64], at: ChunkAt, into: &mut [u8], work: &mut Work) -> Result<()> {
        self.decode_here(scaled, at, into, work).during_at("read chunk", at.address.0)
    }

    fn decode_here(&self, scaled: &[u64], at: ChunkAt, into: &mut [u8], work: &mut Work) -> Result<()> {
        check_expansion(self.chunks, at)?;
        raw(self.file, self.chunks, at, &mut work.raw)?;
        if self.chunks.layout.edge_chunks_unfiltered && self.chunks.is_edge(scaled) {
            let fits = work.raw.len() == into.len();
            let wrong = || Error::corrupt("decode chunk").with("bytes", work.raw.len());
            into.copy_from_slice(fits.then_some(&work.raw).ok_or_else(wrong)?);
            return Ok(());
        }
        self.file.unfilter_into(self.dataset.filters(), at.filter_mask, into, work)
    }
}
