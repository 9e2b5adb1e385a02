//! Version 1 B-trees of chunks that change chunk by chunk.

use std::collections::BTreeSet;

use model::{Error, Result};

use super::Blocks;
use super::btree1::{Path, Side, Tree};
use crate::format::Address;
use crate::format::btree1::{ChunkKey, Kind};

/// The index of a chunked dataset whose layout message has version 3 or less.
#[derive(Debug)]
pub(crate) struct ChunkTree {
    tree: Tree,
    /// Chunk dimensions, and bytes of an element: they give the key after the last chunk.
    shape: Vec<u64>,
    element_bytes: u64,
    /// Chunks that are gone, though the tree has them until all changes are known: one that is removed and made again is to be in
    /// the same node, or a reader could miss it in between.
    removed: BTreeSet<Vec<u64>>,
}

/// The geometry of a tree.
#[derive(Debug, Clone)]
pub(crate) struct Geometry {
    pub(crate) shape: Vec<u64>,
    pub(crate) element_bytes: u64,
    /// Half of the most children of a node.
    pub(crate) k: u16,
}

impl Geometry {
    fn check(&self) -> Result<()> {
        match self.k {
            0 => Err(Error::unsupported("change chunk index").with("problem", "nodes without children")),
            _ => Ok(()),
        }
    }
}

impl ChunkTree {
    /// Returns the tree whose root is at `root`.
    pub(crate) fn open(root: Address, geometry: Geometry, blocks: &dyn Blocks) -> Result<Self> {
        geometry.check()?;
        let Geometry { shape, element_bytes, k } = geometry;
        let tree = Tree::open(Kind::Chunk { rank: shape.len() }, k, root, blocks.sizes());
        Ok(ChunkTree { tree, shape, element_bytes, removed: BTreeSet::new() })
    }

    /// Returns a tree without chunks.
    #[cfg(test)]
    pub(crate) fn new(geometry: Geometry, blocks: &mut dyn Blocks) -> Result<Self> {
        geometry.check()?;
        let Geometry { shape, element_bytes, k } = geometry;
        let origin =
            ChunkKey { stored_bytes: 0, filter_mask: 0, offset: vec![0; shape.len()], byte_offset: 0 };
        let tree = Tree::new(Kind::Chunk { rank: shape.len() }, k, origin.encode()?, blocks);
        Ok(ChunkTree { tree, shape, element_bytes, removed: BTreeSet::new() })
    }

    /// Returns where the root is, for good.
    pub(crate) fn root(&self) -> Address {
        self.tree.root()
    }

    fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the way to the last chunk that is not after `offset`, or to the first one.
    fn path(&mut self, blocks: &dyn Blocks, offset: &[u64]) -> Result<Option<Path>> {
        let rank = self.rank();
        if offset.len() != rank {
            return Err(Error::invalid("find chunk").with("rank", offset.len()));
        }
        self.tree.path(blocks, &mut |keys| {
            let (mut low, mut high) = (0, keys.len());
            while low < high {
                let middle = low.midpoint(high);
                match is_after(&keys[middle], rank, offset)? {
                    true => high = middle,
                    false => low = middle + 1,
                }
            }
            Ok(low.saturating_sub(1))
        })
    }

    /// Returns the chunk that starts at `offset`.
    pub(crate) fn find(
        &mut self,
        blocks: &dyn Blocks,
        offset: &[u64],
    ) -> Result<Option<(ChunkKey, Address)>> {
        let Some(path) = self.path(blocks, offset)?.filter(|_| !self.removed.contains(offset)) else {
            return Ok(None);
        };
        let rank = self.rank();
        let (node, child) = self.tree.leaf(blocks, &path)?;
        let key = ChunkKey::decode(&node.keys[child], rank)?;
        let at = node.children[child];
        Ok((key.offset == offset).then_some((key, at)))
    }

    /// Adds a chunk, or puts it in the place of the one with the same offset, which is returned.
    pub(crate) fn insert(
        &mut self,
        blocks: &mut dyn Blocks,
        key: &ChunkKey,
        at: Address,
    ) -> Result<Option<(ChunkKey, Address)>> {
        let bytes = key.encode()?;
        let Some(mut path) = self.path(blocks, &key.offset)? else {
            let end = self.after(key)?;
            self.tree.start(blocks, &[bytes, end], at)?;
            return Ok(None);
        };
        let rank = self.rank();
        let (node, child) = self.tree.leaf(blocks, &path)?;
        let (there, place) = (ChunkKey::decode(&node.keys[child], rank)?, node.children[child]);
        if there.offset == key.offset {
            // Copies of its key in other nodes are compared by their offsets only.
            self.tree.replace(blocks, &path, bytes, at)?;
            let was_removed = self.removed.remove(&key.offset);
            return Ok(Some((there, place)).filter(|_| !was_removed));
        }
        if there.offset > key.offset {
            // It comes before all others: its key is the first, and the other's goes between them.
            self.tree.set_key(blocks, &mut path, Side::Left, &bytes)?;
            self.tree.insert(blocks, &path, Side::Left, there.encode()?, at)?;
            return Ok(None);
        }
        // Readers that compare nothing but offsets need a greater one after the last chunk.
        if ChunkKey::decode(&node.keys[child + 1], rank)?.offset <= key.offset {
            let end = self.after(key)?;
            self.tree.set_key(blocks, &mut path, Side::Right, &end)?;
        }
        self.tree.insert(blocks, &path, Side::Right, bytes, at)?;
        Ok(None)
    }

    /// Takes out the chunk that starts at `offset`, and returns it.
    pub(crate) fn remove(
        &mut self,
        blocks: &dyn Blocks,
        offset: &[u64],
    ) -> Result<Option<(ChunkKey, Address)>> {
        let found = self.find(blocks, offset)?;
        if found.is_some() {
            self.removed.insert(offset.to_vec());
        }
        Ok(found)
    }

    /// Returns the key after the last chunk.
    fn after(&self, key: &ChunkKey) -> Result<Vec<u8>> {
        let too_far = || Error::limit("insert chunk").with("problem", "offsets beyond 64 bits");
        key.after(&self.shape, self.element_bytes).ok_or_else(too_far)?.encode()
    }

    /// Writes every changed node.
    pub(crate) fn finish(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        for offset in std::mem::take(&mut self.removed) {
            if let Some(mut path) = self.path(blocks, &offset)? {
                self.tree.remove(blocks, &mut path)?;
            }
        }
        self.tree.finish(blocks)
    }
}

/// Returns whether a key is that of a chunk after `offset`.
fn is_after(key: &[u8], rank: usize, offset: &[u64]) -> Result<bool> {
    let key = ChunkKey::decode(key, rank)?;
    Ok((key.offset.as_slice(), key.byte_offset) > (offset, 0))
}
