//! Nodes with too many children.

use files::DataKind;
use model::{Error, Result};

use super::{Node, Side, Step, Tree, wrong};
use crate::format::Address;
use crate::update::Blocks;

impl Tree {
    /// Splits the nodes of a path that have too many children, from the last one up.
    pub(super) fn split_full(&mut self, blocks: &mut dyn Blocks, path: &[Step], at_end: bool) -> Result<()> {
        for (i, step) in path.iter().enumerate().rev() {
            let most = self.children_max();
            if self.node(blocks, step.node)?.children.len() <= most {
                break;
            }
            match i.checked_sub(1).map(|i| path[i]) {
                Some(above) => self.split(blocks, *step, above, at_end)?,
                None => self.split_root(blocks, at_end)?,
            }
        }
        Ok(())
    }

    /// Returns the halves of a node. One that grows at its end, where nothing comes after it, leaves a full one behind.
    fn halves(&mut self, blocks: &dyn Blocks, at: Address, at_end: bool) -> Result<(Node, Node)> {
        let most = self.children_max();
        let node = self.node(blocks, at)?;
        let count = match at_end && node.right.is_none() {
            true => most.min(node.children.len() - 1),
            false => node.children.len() / 2,
        };
        let mut left = Node { is_changed: true, ..node.clone() };
        let right = Node {
            keys: left.keys.split_off(count),
            children: left.children.split_off(count),
            ..left.clone_bare()
        };
        left.keys.push(right.keys[0].clone());
        Ok((left, right))
    }

    /// Splits a node. Its halves go to new space, unless nothing committed is where it is.
    fn split(&mut self, blocks: &mut dyn Blocks, step: Step, above: Step, at_end: bool) -> Result<()> {
        let (mut left, mut right) = self.halves(blocks, step.node, at_end)?;
        let left_at = blocks.relocate(step.node, self.node_bytes(), DataKind::Tree);
        let right_at = blocks.allocate(self.node_bytes(), DataKind::Tree);
        if let Some(sibling) = right.right {
            let node = self.sibling(blocks, step.node, sibling, Side::Right)?;
            (node.left, node.is_changed) = (Some(right_at), true);
        }
        if let Some(sibling) = left.left.filter(|_| left_at != step.node) {
            let node = self.sibling(blocks, step.node, sibling, Side::Left)?;
            (node.right, node.is_changed) = (Some(left_at), true);
        }
        (left.right, right.left) = (Some(right_at), Some(left_at));
        let key = right.keys[0].clone();
        self.nodes.remove(&step.node);
        self.nodes.insert(left_at, left);
        self.nodes.insert(right_at, right);
        let parent = self.node(blocks, above.node)?;
        parent.children[above.child] = left_at;
        parent.children.insert(above.child + 1, right_at);
        parent.keys.insert(above.child + 1, key);
        parent.is_changed = true;
        Ok(())
    }

    /// Splits the root: both halves go to new space, and it becomes what is above them.
    fn split_root(&mut self, blocks: &mut dyn Blocks, at_end: bool) -> Result<()> {
        let root = self.root;
        let (mut left, mut right) = self.halves(blocks, root, at_end)?;
        let level = left.level.checked_add(1).ok_or_else(|| Error::limit("change B-tree v1"))?;
        let [left_at, right_at] = [(), ()].map(|()| blocks.allocate(self.node_bytes(), DataKind::Tree));
        (left.left, left.right) = (None, Some(right_at));
        (right.left, right.right) = (Some(left_at), None);
        let last = right.keys.last().cloned().ok_or_else(|| wrong("number of keys"))?;
        let keys = vec![left.keys[0].clone(), right.keys[0].clone(), last];
        let node = Node {
            level,
            left: None,
            right: None,
            keys,
            children: vec![left_at, right_at],
            is_changed: true,
        };
        self.nodes.insert(left_at, left);
        self.nodes.insert(right_at, right);
        self.nodes.insert(root, node);
        Ok(())
    }
}

impl Node {
    /// Returns a changed node of the same level and with the same neighbours.
    fn clone_bare(&self) -> Self {
        let Node { level, left, right, .. } = *self;
        Node { level, left, right, keys: Vec::new(), children: Vec::new(), is_changed: true }
    }
}
