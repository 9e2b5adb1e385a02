//! Version 1 B-tree nodes (format spec III.A.1).

use model::Result;
use model::bytes::Cursor;

use super::{Address, SizedFields, Sizes};

/// The kind of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Names of a group.
    Group,
    /// Chunks of a dataset of this rank.
    Chunk { rank: usize },
}

impl Kind {
    pub(super) fn code(self) -> u8 {
        match self {
            Kind::Group => 0,
            Kind::Chunk { .. } => 1,
        }
    }

    pub(crate) fn key_bytes(self, sizes: Sizes) -> usize {
        match self {
            Kind::Group => sizes.length,
            Kind::Chunk { rank } => 8 + 8 * (rank + 1),
        }
    }

    /// Returns the number of bytes of a node.
    pub(crate) fn node_bytes(self, k: u16, sizes: Sizes) -> u64 {
        let (k, key) = (u64::from(k), self.key_bytes(sizes) as u64);
        8 + 2 * sizes.offset as u64 + 2 * k * sizes.offset as u64 + (2 * k + 1) * key
    }
}

/// A node: keys stand before and after every child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    pub(crate) level: u8,
    pub(crate) left: Option<Address>,
    pub(crate) right: Option<Address>,
    pub(crate) keys: Vec<&'a [u8]>,
    pub(crate) children: Vec<Address>,
}

impl<'a> Node<'a> {
    pub(crate) fn decode(bytes: &'a [u8], kind: Kind, k: u16, sizes: Sizes) -> Result<Self> {
        let mut c = Cursor::new(bytes, "B-tree v1 node");
        c.signature(b"TREE")?;
        let (code, level, used) = (c.u8()?, c.u8()?, c.u16()?);
        if code != kind.code() {
            return Err(c.corrupt(format!("node type {code}")));
        }
        if u32::from(used) > 2 * u32::from(k) {
            return Err(c.corrupt(format!("{used} entries where {} fit", 2 * u32::from(k))));
        }
        let (left, right) = (c.address(sizes)?, c.address(sizes)?);
        let key_bytes = kind.key_bytes(sizes);
        let mut keys = Vec::with_capacity(usize::from(used) + 1);
        let mut children = Vec::with_capacity(usize::from(used));
        keys.push(c.take(key_bytes)?);
        for _ in 0..used {
            children.push(c.defined_address(sizes)?);
            keys.push(c.take(key_bytes)?);
        }
        Ok(Node { level, left, right, keys, children })
    }
}

/// The key of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkKey {
    pub(crate) stored_bytes: u32,
    pub(crate) filter_mask: u32,
    /// First element in each dimension.
    pub(crate) offset: Vec<u64>,
    /// Offset within an element: 0 in the key of a chunk, the element's size in a tree's last key.
    pub(crate) byte_offset: u64,
}

impl ChunkKey {
    pub(crate) fn decode(key: &[u8], rank: usize) -> Result<Self> {
        let mut c = Cursor::new(key, "chunk key");
        let (stored_bytes, filter_mask) = (c.u32()?, c.u32()?);
        let offset = (0..rank).map(|_| c.u64()).collect::<Result<_>>()?;
        Ok(ChunkKey { stored_bytes, filter_mask, offset, byte_offset: c.u64()? })
    }
}
