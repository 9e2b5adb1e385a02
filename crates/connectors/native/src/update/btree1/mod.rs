//! Version 1 B-trees that change child by child.
//!
//! The root stays where it is, and so does every node that only gains or loses a child: it is overwritten in one write.
//! A node that splits leaves its place; its halves go to new space, and what was above it is overwritten. Nothing ever moves
//! from one node of the last commit to another, so that each of them can be published on its own.
//! Nodes of groups whose keys change on several levels move too, all but the root, which publishes them together.
//! As in libhdf5, nodes do not merge: one that loses its last child leaves the tree.

mod split;

use std::collections::BTreeMap;

use files::DataKind;
use model::{Context, Error, Result};

use super::Blocks;
use crate::format::btree1::{self, Kind};
use crate::format::{Address, Sizes};
use crate::txn::PublishOrder;

/// Chooses a child by the keys of a node that has some.
pub(super) type Choice<'c> = dyn FnMut(&[Vec<u8>]) -> Result<usize> + 'c;

/// A tree that is being changed.
#[derive(Debug)]
pub(super) struct Tree {
    kind: Kind,
    k: u16,
    sizes: Sizes,
    root: Address,
    /// Nodes that were read or created.
    nodes: BTreeMap<Address, Node>,
}

/// A node in memory.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) level: u8,
    left: Option<Address>,
    right: Option<Address>,
    /// One more than children.
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) children: Vec<Address>,
    is_changed: bool,
}

/// A node on the way down, and which of its children comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) node: Address,
    pub(super) child: usize,
}

/// From the root to a node of level 0.
pub(super) type Path = Vec<Step>;

/// An end of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Node {
    fn sibling(&mut self, side: Side) -> &mut Option<Address> {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }

    fn set_key(&mut self, at: usize, key: &[u8]) -> Result<()> {
        let slot = self.keys.get_mut(at).ok_or_else(|| wrong("number of keys"))?;
        self.is_changed |= slot != key;
        *slot = key.to_vec();
        Ok(())
    }

    /// Sets the key at an end.
    fn set_edge_key(&mut self, side: Side, key: &[u8]) -> Result<()> {
        let at = if side == Side::Left { 0 } else { self.children.len() };
        self.set_key(at, key)
    }
}

fn wrong(problem: &str) -> Error {
    Error::corrupt("change B-tree v1").with("problem", problem)
}

impl Tree {
    /// Returns the tree whose root is at `root`.
    pub(super) fn open(kind: Kind, k: u16, root: Address, sizes: Sizes) -> Self {
        Tree { kind, k, sizes, root, nodes: BTreeMap::new() }
    }

    /// Returns a tree of one node without children, which has this key.
    #[cfg(test)]
    pub(super) fn new(kind: Kind, k: u16, key: Vec<u8>, blocks: &mut dyn Blocks) -> Self {
        let root = blocks.allocate(kind.node_bytes(k, blocks.sizes()), DataKind::Tree);
        let mut tree = Self::open(kind, k, root, blocks.sizes());
        let node = Node {
            level: 0,
            left: None,
            right: None,
            keys: vec![key],
            children: Vec::new(),
            is_changed: true,
        };
        tree.nodes.insert(root, node);
        tree
    }

    pub(super) fn root(&self) -> Address {
        self.root
    }

    fn node_bytes(&self) -> u64 {
        self.kind.node_bytes(self.k, self.sizes)
    }

    fn children_max(&self) -> usize {
        2 * usize::from(self.k)
    }

    /// Returns the side of a child whose key goes with it when it leaves: names have their upper bound, chunks their own key.
    fn own_side(&self) -> Side {
        match self.kind {
            Kind::Group => Side::Right,
            Kind::Chunk { .. } => Side::Left,
        }
    }

    /// Returns the node at `at`, which is read if need be.
    pub(super) fn node(&mut self, blocks: &dyn Blocks, at: Address) -> Result<&mut Node> {
        if !self.nodes.contains_key(&at) {
            let bytes = blocks.read(at, self.node_bytes(), "B-tree v1 node")?;
            let node = btree1::Node::decode(&bytes, self.kind, self.k, self.sizes)
                .during_at("read B-tree v1", at.0)?;
            let node = Node {
                level: node.level,
                left: node.left,
                right: node.right,
                keys: node.keys.iter().map(|key| key.to_vec()).collect(),
                children: node.children,
                is_changed: false,
            };
            self.nodes.insert(at, node);
        }
        self.nodes.get_mut(&at).ok_or_else(|| wrong("no node"))
    }

    /// Returns the way to a child of level 0; nothing in a tree without children.
    pub(super) fn path(&mut self, blocks: &dyn Blocks, choose: &mut Choice<'_>) -> Result<Option<Path>> {
        let (mut path, mut at) = (Path::new(), self.root);
        let mut above = None;
        loop {
            let is_root = path.is_empty();
            let node = self.node(blocks, at)?;
            if above.is_some_and(|above: u8| above.checked_sub(1) != Some(node.level)) {
                return Err(wrong("node at the wrong level").at(at.0));
            }
            if node.children.is_empty() {
                return if is_root && node.level == 0 {
                    Ok(None)
                } else {
                    Err(wrong("node without children").at(at.0))
                };
            }
            let child = choose(&node.keys)?.min(node.children.len() - 1);
            path.push(Step { node: at, child });
            if node.level == 0 {
                return Ok(Some(path));
            }
            (above, at) = (Some(node.level), node.children[child]);
        }
    }

    /// Returns the node at the end of a path, and which child is meant.
    pub(super) fn leaf(&mut self, blocks: &dyn Blocks, path: &Path) -> Result<(&mut Node, usize)> {
        let step = *path.last().ok_or_else(|| wrong("no path"))?;
        let node = self.node(blocks, step.node)?;
        if step.child < node.children.len() { Ok((node, step.child)) } else { Err(wrong("no child")) }
    }

    /// Puts another address in the place of a child.
    pub(super) fn set_child(&mut self, blocks: &dyn Blocks, path: &Path, child: Address) -> Result<()> {
        let (node, at) = self.leaf(blocks, path)?;
        node.children[at] = child;
        node.is_changed = true;
        Ok(())
    }

    /// Puts another child, with its key on the left, in the place of one.
    pub(super) fn replace(
        &mut self,
        blocks: &dyn Blocks,
        path: &Path,
        key: Vec<u8>,
        child: Address,
    ) -> Result<()> {
        let (node, at) = self.leaf(blocks, path)?;
        (node.keys[at], node.children[at], node.is_changed) = (key, child, true);
        Ok(())
    }

    /// Adds the first child of a tree that has none.
    pub(super) fn start(&mut self, blocks: &dyn Blocks, keys: &[Vec<u8>; 2], child: Address) -> Result<()> {
        let node = self.node(blocks, self.root)?;
        (node.level, node.keys, node.children) = (0, keys.to_vec(), vec![child]);
        node.is_changed = true;
        Ok(())
    }

    /// Sets the key on one side of a child, wherever it stands: in this node, in its neighbour, in those above.
    pub(super) fn set_key(
        &mut self,
        blocks: &mut dyn Blocks,
        path: &mut Path,
        side: Side,
        key: &[u8],
    ) -> Result<()> {
        let (node, child) = self.leaf(blocks, path)?;
        node.set_key(child + usize::from(side == Side::Right), key)?;
        let is_edge = if side == Side::Left { child == 0 } else { child + 1 == node.children.len() };
        if is_edge { self.set_edge(blocks, path, side, key) } else { Ok(()) }
    }

    /// Sets the key between the node at the end of `path` and its neighbour in the latter and above.
    fn set_edge(&mut self, blocks: &mut dyn Blocks, path: &mut [Step], side: Side, key: &[u8]) -> Result<()> {
        for i in (0..path.len()).rev() {
            let at = path[i].node;
            if let Some(sibling) = *self.node(blocks, at)?.sibling(side) {
                self.sibling(blocks, at, sibling, side)?.set_edge_key(opposite(side), key)?;
            }
            let Some(above) = i.checked_sub(1).map(|i| path[i]) else { return Ok(()) };
            self.relocate(blocks, &mut path[i], above)?;
            let node = self.node(blocks, above.node)?;
            node.set_key(above.child + usize::from(side == Side::Right), key)?;
            let is_edge =
                if side == Side::Left { above.child == 0 } else { above.child + 1 == node.children.len() };
            if !is_edge {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves a node of a group whose key changes in the node above as well to new space, unless nothing committed is where it
    /// is: both are published in one write then, that of the root. In between, libhdf5 would list links that it does not find.
    fn relocate(&mut self, blocks: &mut dyn Blocks, step: &mut Step, above: Step) -> Result<()> {
        let old = step.node;
        if self.kind != Kind::Group || blocks.is_fresh(old, self.node_bytes()) {
            return Ok(());
        }
        step.node = blocks.relocate(old, self.node_bytes(), DataKind::Tree);
        let mut node = Node { is_changed: true, ..self.node(blocks, old)?.clone() };
        for side in [Side::Left, Side::Right] {
            if let Some(sibling) = *node.sibling(side) {
                let neighbour = self.sibling(blocks, old, sibling, side)?;
                (*neighbour.sibling(opposite(side)), neighbour.is_changed) = (Some(step.node), true);
            }
        }
        self.nodes.remove(&old);
        self.nodes.insert(step.node, node);
        let parent = self.node(blocks, above.node)?;
        (parent.children[above.child], parent.is_changed) = (step.node, true);
        Ok(())
    }

    /// Returns the neighbour on one side, which must know this node as its own neighbour.
    fn sibling(
        &mut self,
        blocks: &dyn Blocks,
        at: Address,
        sibling: Address,
        side: Side,
    ) -> Result<&mut Node> {
        let level = self.node(blocks, at)?.level;
        let node = self.node(blocks, sibling)?;
        if node.level == level && *node.sibling(opposite(side)) == Some(at) && at != sibling {
            return Ok(node);
        }
        Err(wrong("neighbours do not know each other").at(sibling.0))
    }

    /// Adds a child right after the one at the end of `path`, or before it; `key` stands between them.
    pub(super) fn insert(
        &mut self,
        blocks: &mut dyn Blocks,
        path: &Path,
        side: Side,
        key: Vec<u8>,
        child: Address,
    ) -> Result<()> {
        let (node, at) = self.leaf(blocks, path)?;
        node.keys.insert(at + 1, key);
        node.children.insert(at + usize::from(side == Side::Right), child);
        node.is_changed = true;
        let at_end = side == Side::Right && at + 2 == node.children.len();
        self.split_full(blocks, path, at_end)
    }

    /// Takes a child out. Nodes without children leave the tree; a root without children has level 0.
    pub(super) fn remove(&mut self, blocks: &mut dyn Blocks, path: &mut Path) -> Result<()> {
        let own = self.own_side();
        for i in (0..path.len()).rev() {
            let step = path[i];
            let node = self.node(blocks, step.node)?;
            let (count, child) = (node.children.len(), step.child);
            if count == 1 && i > 0 {
                self.unlink(blocks, step.node)?;
                continue;
            }
            node.children.remove(child);
            node.keys.remove(child + usize::from(own == Side::Right));
            node.is_changed = true;
            if count == 1 {
                node.level = 0;
                return Ok(());
            }
            let (is_edge, key) = match own {
                Side::Right => (child + 1 == count, node.keys[count - 1].clone()),
                Side::Left => (child == 0, node.keys[0].clone()),
            };
            return if is_edge { self.set_edge(blocks, &mut path[..=i], own, &key) } else { Ok(()) };
        }
        Ok(())
    }

    /// Takes a node with one child out of the row of its neighbours, whose keys stay joined.
    fn unlink(&mut self, blocks: &mut dyn Blocks, at: Address) -> Result<()> {
        let node = self.node(blocks, at)?.clone();
        let own = self.own_side();
        for (side, sibling, other) in
            [(Side::Left, node.left, node.right), (Side::Right, node.right, node.left)]
        {
            let Some(sibling) = sibling else { continue };
            let neighbour = self.sibling(blocks, at, sibling, side)?;
            *neighbour.sibling(opposite(side)) = other;
            neighbour.is_changed = true;
            if side == own {
                // What the other end of the node was is now the end of the neighbour.
                let key = if own == Side::Right { &node.keys[0] } else { &node.keys[1] };
                neighbour.set_edge_key(opposite(side), key)?;
            }
        }
        self.nodes.remove(&at);
        blocks.release(at, self.node_bytes());
        Ok(())
    }

    /// Writes every changed node, and releases all.
    pub(super) fn finish(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        for (at, node) in std::mem::take(&mut self.nodes) {
            if node.is_changed {
                let keys = node.keys.iter().map(Vec::as_slice).collect();
                let Node { level, left, right, children, .. } = node;
                let node = btree1::Node { level, left, right, keys, children };
                blocks.write(at, &node.encode(self.kind, self.k, self.sizes)?, PublishOrder::Middle)?;
            }
        }
        Ok(())
    }
}

fn opposite(side: Side) -> Side {
    match side {
        Side::Left => Side::Right,
        Side::Right => Side::Left,
    }
}
