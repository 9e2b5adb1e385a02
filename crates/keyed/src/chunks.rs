//! Where chunks are.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use model::Result;

use crate::Dataset;

/// A chunk as its filters made it: its filter mask and its bytes.
pub type Stored = (u32, Vec<u8>);

/// Elements of one chunk to read, in C order within it. Those that nobody wrote leave their bytes of `into` as they
/// were.
#[derive(Debug)]
pub struct ChunkRead<'a> {
    /// The first element of the chunk.
    pub start: &'a [u64],
    /// The first element to read, within the chunk.
    pub first: u64,
    /// Room for whole elements.
    pub into: &'a mut [u8],
}

/// Elements of one chunk to write: runs in C order within it, each from an element on.
#[derive(Debug)]
pub struct ChunkWrite<'a> {
    /// The first element of the chunk.
    pub start: &'a [u64],
    /// What changes.
    pub runs: Vec<(u64, &'a [u8])>,
}

/// Chunks of datasets. Those of datasets without filters hold elements, of which any may be absent; those of others hold
/// one value.
pub trait Chunks: Sync {
    /// What a dataset is called.
    type Id: Copy + Eq + Hash + Debug + Send + Sync;

    /// Whether the store is far away, so that many requests in one call are better than many calls.
    fn is_far(&self) -> bool {
        false
    }

    /// Chunks of a dataset came or went.
    fn changed(&self, id: Self::Id);

    /// Reads elements.
    fn fetch(&self, id: Self::Id, dataset: &Dataset, reads: &mut [ChunkRead<'_>]) -> Result<()>;
    /// Writes elements.
    fn update(&self, id: Self::Id, dataset: &Dataset, writes: &[ChunkWrite<'_>]) -> Result<()>;
    /// Makes elements of a chunk absent again.
    fn punch(&self, id: Self::Id, start: &[u64], ranges: &[Range<u64>]) -> Result<()>;

    /// Chunks as filters made them; `None` where nothing is.
    fn stored(&self, id: Self::Id, dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<Option<Stored>>>;
    /// Replaces chunks as filters made them.
    fn store(&self, id: Self::Id, dataset: &Dataset, starts: &[&[u64]], chunks: &[Stored]) -> Result<()>;
    /// Masks and sizes of such chunks.
    fn stored_sizes(&self, id: Self::Id, dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<(u32, u64)>>;

    /// Whether something of a chunk is there.
    fn has(&self, id: Self::Id, dataset: &Dataset, start: &[u64]) -> Result<bool>;
    /// Removes a chunk.
    fn remove(&self, id: Self::Id, dataset: &Dataset, start: &[u64]) -> Result<()>;
    /// First elements of the chunks that are there, in C order.
    fn starts(&self, id: Self::Id, dataset: &Dataset) -> Result<Vec<Vec<u64>>>;
}
