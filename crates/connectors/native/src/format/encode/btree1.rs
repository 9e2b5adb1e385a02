//! Version 1 B-tree nodes and the keys of chunks (format spec III.A.1).

use model::Result;

use super::super::Sizes;
use super::super::btree1::{ChunkKey, Kind, Node};
use super::Encoder;

impl Node<'_> {
    /// Returns the node, with zeros where another child would go. Keys are one more than children.
    pub(crate) fn encode(&self, kind: Kind, k: u16, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::new("B-tree v1 node", sizes);
        let (key_bytes, node_bytes) = (kind.key_bytes(sizes), kind.node_bytes(k, sizes));
        e.reserve(node_bytes);
        e.require(self.keys.len() == self.children.len() + 1, "number of keys");
        e.require(self.keys.iter().all(|key| key.len() == key_bytes), "size of keys");
        e.require(self.children.len() <= 2 * usize::from(k), "number of children");
        e.raw(b"TREE").u8(kind.code()).u8(self.level).count(self.children.len(), 2);
        e.address(self.left).address(self.right);
        for (key, &child) in self.keys.iter().zip(&self.children) {
            e.raw(key).defined(child);
        }
        e.raw(self.keys.last().unwrap_or(&&[][..]));
        e.finish_in(node_bytes)
    }
}

/// Returns the key of a group: the offset of a name in the local heap.
pub(crate) fn group_key(name_offset: u64, sizes: Sizes) -> Result<Vec<u8>> {
    Encoder::new("group key", sizes).length(name_offset).finish()
}

impl ChunkKey {
    /// Returns the key of a chunk.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::plain("chunk key");
        e.u32(self.stored_bytes).u32(self.filter_mask);
        for &offset in self.offset.iter().chain([&self.byte_offset]) {
            e.u64(offset);
        }
        e.finish()
    }

    /// Returns the key after the last chunk of a tree: one chunk further in every dimension, and one element.
    /// `None` where that is beyond 64 bits.
    pub(crate) fn after(&self, shape: &[u64], element_bytes: u64) -> Option<Self> {
        let further = self.offset.iter().zip(shape).map(|(&at, &by)| at.checked_add(by));
        Some(ChunkKey {
            stored_bytes: 0,
            filter_mask: 0,
            offset: further.collect::<Option<_>>()?,
            byte_offset: element_bytes,
        })
    }
}
