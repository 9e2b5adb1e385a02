//! Version 1 B-trees: what a walk finds, and what holds of every one.

use super::Memory;
use crate::format::Address;
use crate::format::btree1::{Kind, Node};
use crate::update::Blocks;

/// A tree with all of its nodes, read again.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Left key, child and right key of each entry of level 0.
    pub(super) entries: Vec<(Vec<u8>, Address, Vec<u8>)>,
    pub(super) blocks: Vec<(Address, u64)>,
    /// Nodes of each level from left to right, with their neighbours and outer keys.
    levels: Vec<Vec<NodeStore>>,
}

#[derive(Debug)]
struct NodeStore {
    at: Address,
    left: Option<Address>,
    right: Option<Address>,
    first: Vec<u8>,
    last: Vec<u8>,
}

/// Walks a tree as far as its pointers down lead.
pub(super) fn walk(memory: &Memory, root: Address, kind: Kind, k: u16) -> Walk {
    let mut walk = Walk::default();
    walk_node(memory, root, (kind, k), None, &mut walk);
    walk
}

fn walk_node(memory: &Memory, at: Address, (kind, k): (Kind, u16), level: Option<u8>, walk: &mut Walk) {
    let bytes = memory.read(at, kind.node_bytes(k, memory.sizes), "node").unwrap();
    let node = Node::decode(&bytes, kind, k, memory.sizes).unwrap();
    assert!(level.is_none_or(|level| level == node.level));
    assert!(level.is_none() || !node.children.is_empty());
    walk.blocks.push((at, bytes.len() as u64));
    walk.levels.resize_with(walk.levels.len().max(usize::from(node.level) + 1), Vec::new);
    walk.levels[usize::from(node.level)].push(NodeStore {
        at,
        left: node.left,
        right: node.right,
        first: node.keys[0].to_vec(),
        last: node.keys[node.children.len()].to_vec(),
    });
    for (i, &child) in node.children.iter().enumerate() {
        match node.level {
            0 => walk.entries.push((node.keys[i].to_vec(), child, node.keys[i + 1].to_vec())),
            above => walk_node(memory, child, (kind, k), Some(above - 1), walk),
        }
    }
}

impl Walk {
    /// Neighbours know each other, and the keys between them are the same.
    pub(super) fn check_siblings(&self, offsets_only: bool) {
        let part = |key: &[u8]| if offsets_only { key[8..].to_vec() } else { key.to_vec() };
        for level in &self.levels {
            assert!(level.first().is_none_or(|place| place.left.is_none()));
            assert!(level.last().is_none_or(|place| place.right.is_none()));
            for pair in level.windows(2) {
                assert_eq!((pair[0].right, pair[1].left), (Some(pair[1].at), Some(pair[0].at)));
                assert_eq!(part(&pair[0].last), part(&pair[1].first));
            }
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }
}
