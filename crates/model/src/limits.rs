//! Bounds that every number read from storage passes before it sizes anything.

use crate::{Budget, Error, Result};

/// The resources that a reader of untrusted bytes may use. Every field is a maximum.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one metadata structure (header block, heap, tree node, …).
    pub metadata_bytes_max: u64,
    /// Bytes of one element.
    pub element_bytes_max: u64,
    /// Bytes of one chunk, before or after filters.
    pub chunk_bytes_max: u64,
    /// Chunks up to this size may come from any number of stored bytes …
    pub chunk_expansion_free_bytes: u64,
    /// … larger ones have at most so many times their stored bytes: few bytes that claim to be many are a bomb. Deflate reaches
    /// 1,032; codecs for repeating data reach more.
    pub chunk_expansion_max: u64,
    /// Bytes of one variable-length value.
    pub blob_bytes_max: u64,
    /// Bytes that one call may allocate for its result.
    pub result_bytes_max: u64,
    /// Nesting of types, heaps and trees.
    pub depth_max: u32,
    /// Links followed for one path.
    pub link_traversals_max: u32,
    /// Messages, links, attributes or entries of one object.
    pub entries_max: u64,
    /// Blocks of one serialized selection.
    pub selection_blocks_max: u64,
    /// Bytes of a redo record: what one commit of an HDF5 file overwrites in place. It limits writers and readers.
    pub redo_bytes_max: u64,
    /// Bytes of memory that one open container may take at the same time, for all that its content sizes: see [`Budget`].
    pub memory_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            metadata_bytes_max: 256 << 20,
            element_bytes_max: 128 << 20,
            chunk_bytes_max: 4 << 30,
            chunk_expansion_free_bytes: 128 << 20,
            chunk_expansion_max: 2048,
            blob_bytes_max: 1 << 30,
            result_bytes_max: 1 << 40,
            depth_max: 64,
            link_traversals_max: 16,
            entries_max: 1 << 28,
            selection_blocks_max: 1 << 24,
            redo_bytes_max: 17 << 28,
            memory_bytes_max: 16 << 30,
        }
    }
}

impl Limits {
    /// Returns limits for untrusted input: enough for real files, little for hostile ones.
    pub fn strict() -> Self {
        Limits {
            metadata_bytes_max: 64 << 20,
            element_bytes_max: 32 << 20,
            chunk_bytes_max: 256 << 20,
            chunk_expansion_free_bytes: 128 << 20,
            chunk_expansion_max: 2048,
            blob_bytes_max: 64 << 20,
            result_bytes_max: 512 << 20,
            depth_max: 32,
            link_traversals_max: 16,
            entries_max: 1 << 22,
            selection_blocks_max: 1 << 20,
            redo_bytes_max: 256 << 20,
            memory_bytes_max: 768 << 20,
        }
    }

    /// Returns an account for one open container.
    pub fn budget(&self) -> Budget {
        Budget::new("container", self.memory_bytes_max)
    }
}

/// `n.within(limits.metadata_bytes_max, "local heap")?` turns a stored number into a size.
pub trait Within {
    /// Returns the number as a `usize`, or an error of kind `Limit` that names what it was for.
    fn within(self, max: u64, what: &str) -> Result<usize>;
}

impl Within for u64 {
    fn within(self, max: u64, what: &str) -> Result<usize> {
        if self > max {
            return Err(Error::limit(format!("size of {what}")).with("value", self).with("limit", max));
        }
        usize::try_from(self).map_err(|_| Error::limit(format!("size of {what}")).with("value", self))
    }
}
