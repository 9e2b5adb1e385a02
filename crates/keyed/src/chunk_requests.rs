//! Requests for elements of chunks.

/// A filtered chunk as stored: its filter mask and its bytes.
pub type StoredChunk = (u32, Vec<u8>);

/// Elements of one chunk to read, in C order within it. Those that were never written leave their bytes of `into`
/// unchanged.
#[derive(Debug)]
pub struct ChunkRead<'a> {
    /// The first element of the chunk.
    pub start: &'a [u64],
    /// The first element to read, within the chunk.
    pub first: u64,
    /// The buffer for whole elements.
    pub into: &'a mut [u8],
}

/// Elements of one chunk to write.
#[derive(Debug)]
pub struct ChunkWrite<'a> {
    /// The first element of the chunk.
    pub start: &'a [u64],
    /// Runs of elements in C order within the chunk: the first element, and the bytes.
    pub runs: Vec<(u64, &'a [u8])>,
}
