//! Searching and walking version 1 B-trees.

use std::cmp::Ordering;
use std::collections::HashSet;

use model::{Context, Error, Result};

use crate::format::Address;
use crate::format::btree1::{Kind, Node};
use crate::reader::Reader;

/// Chooses a child by the keys of a node.
type ChildOf<'c> = dyn FnMut(&[&[u8]]) -> Result<Option<usize>> + 'c;

/// A tree of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) root: Address,
    pub(crate) kind: Kind,
}

impl Tree {
    fn k(&self, file: &Reader) -> u16 {
        match self.kind {
            Kind::Group => file.tree_k.group_internal,
            Kind::Chunk { .. } => file.tree_k.chunk,
        }
    }

    fn with_node<T>(
        &self,
        file: &Reader,
        address: Address,
        level: Option<u8>,
        f: impl FnOnce(&Node<'_>) -> Result<T>,
    ) -> Result<T> {
        let (k, sizes) = (self.k(file), file.store.sizes());
        // Old files end in the middle of a node's unused tail.
        let bytes = file.store.block_up_to(address, self.kind.node_bytes(k, sizes), "B-tree v1 node")?;
        let node = Node::decode(&bytes, self.kind, k, sizes).during_at("read B-tree v1", address.0)?;
        if level.is_some_and(|level| node.level != level) {
            return Err(Error::corrupt("read B-tree v1")
                .at(address.0)
                .with("problem", "node at the wrong level"));
        }
        f(&node)
    }

    /// Returns about how many entries its leaves have, as far as its root tells.
    pub(crate) fn count_hint(&self, file: &Reader) -> Result<u64> {
        // Nodes are between half full and full.
        let per_node = 3 * u64::from(self.k(file)) / 2;
        self.with_node(file, self.root, None, |node| {
            let below = per_node.saturating_pow(u32::from(node.level));
            Ok(below.saturating_mul(node.children.len() as u64))
        })
    }

    /// Returns the child of a leaf that would hold what is sought, and its key. `order` compares keys with it.
    pub(crate) fn find(
        &self,
        file: &Reader,
        child_of: &mut ChildOf<'_>,
    ) -> Result<Option<(Vec<u8>, Address)>> {
        let (mut address, mut level) = (self.root, None);
        loop {
            let step = self.with_node(file, address, level, |node| {
                let Some(at) = child_of(&node.keys)? else { return Ok(None) };
                let child = node.children.get(at).copied();
                Ok(child.map(|child| (node.keys[at].to_vec(), child, node.level)))
            })?;
            match step {
                None => return Ok(None),
                Some((key, child, 0)) => return Ok(Some((key, child))),
                Some((_, child, above)) => (address, level) = (child, Some(above - 1)),
            }
        }
    }

    /// Calls `visit` with every leaf entry, in order.
    pub(crate) fn walk(
        &self,
        file: &Reader,
        visit: &mut dyn FnMut(&[u8], Address) -> Result<()>,
    ) -> Result<()> {
        self.walk_node(file, self.root, None, &mut HashSet::new(), visit)
    }

    /// Returns the nodes and their bytes, and calls `visit` with every leaf entry.
    pub(crate) fn nodes(
        &self,
        file: &Reader,
        visit: &mut dyn FnMut(&[u8], Address) -> Result<()>,
    ) -> Result<Vec<(Address, u64)>> {
        let mut seen = HashSet::new();
        self.walk_node(file, self.root, None, &mut seen, visit)?;
        let bytes = self.kind.node_bytes(self.k(file), file.store.sizes());
        Ok(seen.into_iter().map(|at| (at, bytes)).collect())
    }

    fn walk_node(
        &self,
        file: &Reader,
        address: Address,
        level: Option<u8>,
        seen: &mut HashSet<Address>,
        visit: &mut dyn FnMut(&[u8], Address) -> Result<()>,
    ) -> Result<()> {
        if !seen.insert(address) {
            return Err(Error::corrupt("walk B-tree v1").at(address.0).with("problem", "node repeats"));
        }
        self.with_node(file, address, level, |node| {
            for (key, &child) in node.keys.iter().zip(&node.children) {
                match node.level {
                    0 => visit(key, child)?,
                    above => self.walk_node(file, child, Some(above - 1), seen, visit)?,
                }
            }
            Ok(())
        })
    }
}

/// Returns the child between whose keys something lies: `order(key)` compares a key with it. With `right_closed`,
/// a child holds what is greater than its left key up to its right one; else from its left key on.
pub(crate) fn between(
    keys: &[&[u8]],
    right_closed: bool,
    order: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
) -> Result<Option<usize>> {
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = low.midpoint(high);
        let before = match order(keys[middle])? {
            Ordering::Less => true,
            Ordering::Equal => !right_closed,
            Ordering::Greater => false,
        };
        if before { low = middle + 1 } else { high = middle }
    }
    // `low` keys lie before it.
    Ok(low.checked_sub(1).filter(|&at| at + 1 < keys.len()))
}
