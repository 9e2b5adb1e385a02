//! The position of one chunk, and the number of chunks: extensions of the native connector.

use model::{Error, Result, Token};
use vol::{ChunkInfo, ExtensionValue};

/// Finds a chunk by its first element, without a list of all: the extension `native.stored_chunk`. The answer is what
/// [`StoredChunk::info`] takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChunk {
    /// The dataset.
    pub dataset: Token,
    /// The first element of the chunk, in each dimension.
    pub offset: Vec<u64>,
}

vol::extension! { StoredChunk = "native.stored_chunk": Read, StoredChunk => Vec<u64> }

vol::extension! {
    /// Returns how many chunks of a dataset are stored, as a list of all would tell it: the extension
    /// `native.stored_chunks`.
    pub struct StoredChunks = "native.stored_chunks": Read, Token => u64;
}

impl StoredChunk {
    /// Returns the chunk that an answer tells of, or `None` if it is not stored.
    pub fn info(self, answer: &[u64]) -> Option<ChunkInfo> {
        let [filter_mask, bytes, address] = *answer else { return None };
        let filter_mask = u32::try_from(filter_mask).ok()?;
        Some(ChunkInfo { offset: self.offset, filter_mask, bytes, address: Some(address) })
    }

    /// Returns the answer for a chunk.
    pub(crate) fn answer(found: Option<ChunkInfo>) -> Vec<u64> {
        found.map_or_else(Vec::new, |chunk| {
            vec![chunk.filter_mask.into(), chunk.bytes, chunk.address.unwrap_or(u64::MAX)]
        })
    }
}

/// The dataset, and each coordinate as eight bytes, little-endian.
impl ExtensionValue for StoredChunk {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.dataset.0[..], &self.offset.to_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let malformed = || Error::invalid("decode name of a chunk").with("bytes", bytes.len());
        let (token, offset) = bytes.split_first_chunk::<{ size_of::<Token>() }>().ok_or_else(malformed)?;
        Ok(StoredChunk { dataset: Token(*token), offset: Vec::from_bytes(offset)? })
    }
}
