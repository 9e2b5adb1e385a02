//! Chunks of a dataset as they lie in storage.

use model::Result;

use crate::Dataset;

/// Chunks asked for at a time.
const PAGE: u64 = 4096;

/// A chunk as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Coordinates of its first element.
    pub offset: Vec<u64>,
    /// Bit i is set if filter i was not applied.
    pub filter_mask: u32,
    /// The address in the file, or `u64::MAX` if the storage has no addresses.
    pub addr: u64,
    /// Bytes in storage.
    pub size: u64,
}

impl ChunkInfo {
    fn new(chunk: vol::ChunkInfo) -> Self {
        let addr = chunk.address.unwrap_or(u64::MAX);
        ChunkInfo { offset: chunk.offset, filter_mask: chunk.filter_mask, addr, size: chunk.bytes }
    }

    /// Returns the positions of the filters that were not applied.
    pub fn disabled_filters(&self) -> Vec<usize> {
        (0..32).filter(|i| self.filter_mask & (1 << i) != 0).collect()
    }
}

impl Dataset {
    /// Returns the number of chunks that are stored, or `None` if the dataset has no chunks or they cannot be listed.
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

    /// Returns the stored chunk with this index among the stored chunks.
    pub fn chunk_info(&self, index: usize) -> Option<ChunkInfo> {
        self.is_chunked().then_some(())?;
        let page = self.session.container.chunk_list(self.token, index as u64, 1).ok()?;
        page.entries.into_iter().next().map(ChunkInfo::new)
    }

    /// Calls `visit` with every stored chunk, until it returns a number other than 0.
    ///
    /// # Errors
    /// Returns `Invalid` if the dataset is not chunked, and `Unsupported` if the connector stores no chunks.
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

    /// Returns the number of bytes in storage, or 0 if it is unknown.
    pub fn storage_size(&self) -> u64 {
        self.storage().map_or(0, |storage| storage.bytes)
    }

    /// Returns the offset of the elements in the file, if they are contiguous.
    pub fn offset(&self) -> Option<u64> {
        self.storage().ok()?.offset
    }
}
