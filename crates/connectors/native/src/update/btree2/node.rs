//! Nodes in memory: what they hold, and the way down to a record.

use std::sync::Arc;

use files::DataKind;
use model::{Context, Error, Result};

use super::{Order, Session, VisitedNodes};
use crate::format::Address;
use crate::format::btree2::{BTree2, Child};
use crate::pages::Block;
use crate::txn::PublishOrder;
use crate::update::Blocks;

/// A node and what is below it: read already, or only known from its parent.
#[derive(Debug)]
pub(super) struct Subtree {
    /// As the parent in the file has it; nothing for a new node.
    stored: Option<Child>,
    node: Option<Box<Node>>,
}

/// A node that was read or created.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) record_bytes: usize,
    /// One record after the other.
    pub(super) records: Vec<u8>,
    /// One more than records, or none in a leaf.
    pub(super) children: Vec<Subtree>,
    pub(super) is_changed: bool,
}

impl Subtree {
    pub(super) fn stored(child: Child) -> Self {
        Subtree { stored: Some(child), node: None }
    }

    pub(super) fn new(node: Node) -> Self {
        Subtree { stored: None, node: Some(Box::new(node)) }
    }

    /// Returns the same place in the file, with other content.
    pub(super) fn with_node(self, node: Node) -> Self {
        Subtree { node: Some(Box::new(node)), ..self }
    }

    /// Records of the node itself.
    pub(super) fn len(&self) -> usize {
        match (&self.node, &self.stored) {
            (Some(node), _) => node.len(),
            (None, stored) => stored.map_or(0, |child| usize::try_from(child.records).unwrap_or(usize::MAX)),
        }
    }

    /// Returns the node, which is read if need be.
    pub(super) fn load(&mut self, session: &mut Session<'_>, depth: u16) -> Result<&mut Node> {
        let node = match (self.node.take(), self.stored) {
            (Some(node), _) => node,
            (None, Some(child)) => Box::new(Node::read(session, child, depth)?),
            (None, None) => return Err(Error::corrupt("read B-tree v2").with("problem", "no node")),
        };
        Ok(self.node.insert(node))
    }

    /// Returns the node by value, and its place in the file.
    pub(super) fn into_node(mut self, session: &mut Session<'_>, depth: u16) -> Result<(Node, Self)> {
        self.load(session, depth)?;
        match self.node.take() {
            Some(node) => Ok((*node, self)),
            None => Err(Error::corrupt("read B-tree v2").with("problem", "no node")),
        }
    }

    /// Takes the node out of the file when the tree is stored.
    pub(super) fn drop_from(&mut self, used: &mut VisitedNodes) {
        used.dropped.extend(self.stored.take().map(|child| child.address));
    }

    /// Returns the child of a node without records, which leaves the tree.
    pub(super) fn take_only_child(&mut self, used: &mut VisitedNodes) -> Option<Subtree> {
        self.drop_from(used);
        self.node.take().and_then(|mut node| node.children.pop())
    }

    /// Writes the node if it changed, after those below it.
    pub(super) fn store(&mut self, header: &BTree2, depth: u16, blocks: &mut dyn Blocks) -> Result<Child> {
        if let Some(node) = self.node.as_mut().filter(|node| node.is_changed) {
            let len = u64::from(header.node_bytes);
            let mut child = node.store_children(header, depth, blocks)?;
            child.address = match self.stored {
                Some(old) => blocks.relocate(old.address, len, DataKind::Tree),
                None => blocks.allocate(len, DataKind::Tree),
            };
            let children: Vec<Child> = node.children.iter().filter_map(|child| child.stored).collect();
            let records: Vec<&[u8]> = node.records.chunks_exact(node.record_bytes).collect();
            blocks.write(
                child.address,
                &header.encode_node(depth, &records, &children)?,
                PublishOrder::First,
            )?;
            node.is_changed = false;
            self.stored = Some(child);
        }
        self.stored.ok_or_else(|| Error::corrupt("write B-tree v2").with("problem", "no node"))
    }

    pub(super) fn forget(&mut self) {
        self.node = None;
    }

    /// Lists the addresses of the node and of those below it.
    #[cfg(test)]
    pub(super) fn addresses(
        &mut self,
        session: &mut Session<'_>,
        depth: u16,
        found: &mut Vec<Address>,
    ) -> Result<()> {
        found.extend(self.stored.map(|child| child.address));
        // A leaf has nothing to tell.
        if depth > 0 {
            for child in &mut self.load(session, depth)?.children {
                child.addresses(session, depth - 1, found)?;
            }
            self.forget();
        }
        Ok(())
    }
}

impl Node {
    /// Returns a new leaf.
    pub(super) fn leaf(record: &[u8]) -> Self {
        Node { record_bytes: record.len(), records: record.to_vec(), children: Vec::new(), is_changed: true }
    }

    /// Returns a new node with nothing but this child.
    pub(super) fn above(child: Subtree) -> Self {
        let record_bytes = child.node.as_ref().map_or(1, |node| node.record_bytes);
        Node { record_bytes, records: Vec::new(), children: vec![child], is_changed: true }
    }

    fn read(session: &mut Session<'_>, child: Child, depth: u16) -> Result<Self> {
        let (at, header) = (child.address, session.header);
        if !session.used.read.insert(at) {
            return Err(Error::corrupt("read B-tree v2").at(at.0).with("problem", "node repeats"));
        }
        let bytes = session.blocks.read(at, u64::from(header.node_bytes), "B-tree v2 node")?;
        let node = header
            .node(Block::from(Arc::new(bytes)), depth, child.records)
            .during_at("read B-tree v2", at.0)?;
        Ok(Node {
            record_bytes: usize::from(header.record_bytes),
            records: (0..node.len()).map(|i| node.record(i)).collect::<Vec<_>>().concat(),
            children: node.children.iter().map(|&child| Subtree::stored(child)).collect(),
            is_changed: false,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.records.len() / self.record_bytes
    }

    pub(super) fn record(&self, at: usize) -> &[u8] {
        &self.records[at * self.record_bytes..(at + 1) * self.record_bytes]
    }

    pub(super) fn child(&mut self, at: usize) -> Result<&mut Subtree> {
        self.children.get_mut(at).ok_or_else(|| Error::corrupt("read B-tree v2").with("child", at))
    }

    /// Returns where a record is, or before which one it would be.
    pub(super) fn search(&self, order: &mut Order<'_>) -> Result<std::result::Result<usize, usize>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match order(self.record(middle))? {
                std::cmp::Ordering::Equal => return Ok(Ok(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(Err(low))
    }

    fn put(&mut self, at: usize, record: &[u8]) {
        let at = at * self.record_bytes;
        self.records.splice(at..at, record.iter().copied());
        self.is_changed = true;
    }

    fn take(&mut self, at: usize) -> Vec<u8> {
        self.is_changed = true;
        self.records.drain(at * self.record_bytes..(at + 1) * self.record_bytes).collect()
    }

    fn exchange(&mut self, at: usize, record: &[u8]) -> Vec<u8> {
        let old = self.record(at).to_vec();
        self.records[at * self.record_bytes..(at + 1) * self.record_bytes].copy_from_slice(record);
        self.is_changed = true;
        old
    }

    /// Adds a record here or below. This node may have one too many afterwards, those below it do not.
    pub(super) fn insert(
        &mut self,
        session: &mut Session<'_>,
        depth: u16,
        order: &mut Order<'_>,
        record: &[u8],
    ) -> Result<bool> {
        let Err(at) = self.search(order)? else { return Ok(false) };
        if depth == 0 {
            self.put(at, record);
            return Ok(true);
        }
        let child = self.child(at)?.load(session, depth - 1)?;
        if !child.insert(session, depth - 1, order, record)? {
            return Ok(false);
        }
        self.is_changed = true;
        self.relieve(session, depth, at)?;
        Ok(true)
    }

    pub(super) fn replace(
        &mut self,
        session: &mut Session<'_>,
        depth: u16,
        order: &mut Order<'_>,
        record: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        match self.search(order)? {
            Ok(at) => Ok(Some(self.exchange(at, record))),
            Err(_) if depth == 0 => Ok(None),
            Err(at) => {
                let child = self.child(at)?.load(session, depth - 1)?;
                let replaced = child.replace(session, depth - 1, order, record)?;
                self.is_changed |= replaced.is_some();
                Ok(replaced)
            }
        }
    }

    /// Takes out a record here or below. This node may have too few afterwards, those below it do not.
    pub(super) fn remove(
        &mut self,
        session: &mut Session<'_>,
        depth: u16,
        order: &mut Order<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let (removed, below) = match self.search(order)? {
            Ok(at) if depth == 0 => return Ok(Some(self.take(at))),
            Err(_) if depth == 0 => return Ok(None),
            // The next record takes its place.
            Ok(at) => {
                let child = self.child(at + 1)?.load(session, depth - 1)?;
                let next = child.take_first(session, depth - 1)?;
                (self.exchange(at, &next), at + 1)
            }
            Err(at) => {
                let child = self.child(at)?.load(session, depth - 1)?;
                let Some(removed) = child.remove(session, depth - 1, order)? else { return Ok(None) };
                (removed, at)
            }
        };
        self.is_changed = true;
        self.refill(session, depth, below)?;
        Ok(Some(removed))
    }

    /// Takes out the first record of all that are here and below.
    fn take_first(&mut self, session: &mut Session<'_>, depth: u16) -> Result<Vec<u8>> {
        if depth == 0 {
            return match self.len() {
                0 => Err(Error::corrupt("change B-tree v2").with("problem", "leaf without records")),
                _ => Ok(self.take(0)),
            };
        }
        let first = self.child(0)?.load(session, depth - 1)?.take_first(session, depth - 1)?;
        self.is_changed = true;
        self.refill(session, depth, 0)?;
        Ok(first)
    }

    /// Writes what changed below; the node as its parent shall have it, but for its address.
    fn store_children(&mut self, header: &BTree2, depth: u16, blocks: &mut dyn Blocks) -> Result<Child> {
        let mut total = self.len() as u64;
        for child in &mut self.children {
            let stored = child.store(header, depth.saturating_sub(1), blocks)?;
            total = total.saturating_add(stored.total);
        }
        if total > header.subtree_max(depth) {
            return Err(Error::corrupt("change B-tree v2").with("records of subtree", total));
        }
        Ok(Child { address: Address(0), records: self.len() as u64, total })
    }
}
