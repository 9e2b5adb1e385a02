//! Chunks of a dataset as they lie in storage.

use model::Result;

use crate::Dataset;

/// Chunks asked for at a time.
const PAGE: u64 = 4096;

/// A chunk as it lies in storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Its first element, in each dimension.
    pub offset: Vec<u64>,
    /// Bit i is set where filter i was not applied.
    pub filter_mask: u32,
    /// Where it lies in the file; `u64::MAX` where its storage has no addresses.
    pub addr: u64,
    /// Bytes in storage.
    pub size: u64,
}

impl ChunkInfo {
    fn new(chunk: vol::ChunkInfo) -> Self {
        let addr = chunk.address.unwrap_or(u64::MAX);
        ChunkInfo { offset: chunk.offset, filter_mask: chunk.filter_mask, addr, size: chunk.bytes }
    }

    /// Returns the filters that were not applied, by their place.
    pub fn disabled_filters(&self) -> Vec<usize> {
        (0..32).filter(|i| self.filter_mask & (1 << i) != 0).collect()
    }
}

impl Dataset {
    /// Returns the number of chunks that are stored; `None` for a dataset without chunks, or where they cannot be listed.
    pub fn num_chunks(&self) -> Option<usize> {
        self.is_chunked().then_some(())?;
        let mut count = 0;
        self.chunks_visit(|_| {
            count += 1;
            0
        })
        .ok()?;
        Some(count)
    }

    /// Returns a stored chunk, by its place among those that are stored.
    pub fn chunk_info(&self, index: usize) -> Option<ChunkInfo> {
        self.is_chunked().then_some(())?;
        let page = self.session.container.chunk_list(self.token, index as u64, 1).ok()?;
        page.entries.into_iter().next().map(ChunkInfo::new)
    }

    /// Calls `visit` with every stored chunk, until it answers something else than 0.
    pub fn chunks_visit(&self, mut visit: impl FnMut(&ChunkInfo) -> i32) -> Result<()> {
        let mut skip = 0;
        loop {
            let page = self.session.container.chunk_list(self.token, skip, PAGE)?;
            skip += page.entries.len() as u64;
            let mut chunks = page.entries.into_iter().map(ChunkInfo::new);
            if chunks.any(|chunk| visit(&chunk) != 0) || !page.more {
                return Ok(());
            }
        }
    }

    /// Returns the number of bytes in storage; 0 where nothing says how many.
    pub fn storage_size(&self) -> u64 {
        self.storage().map_or(0, |storage| storage.bytes)
    }

    /// Returns where elements lie in the file, for a dataset in one piece.
    pub fn offset(&self) -> Option<u64> {
        self.storage().ok()?.offset
    }
}
