//! Version 2 B-trees that change record by record.
//!
//! Nodes that are read stay in memory until [`Tree::finish`], which writes each changed one once, to new space where the last
//! commit has it. Nodes split and merge at the counts of libhdf5, so that it can go on with the tree: no node but the root
//! ever has fewer records than the merge count, or more than the split count.

mod balance;
mod node;

use std::cmp::Ordering;
use std::collections::HashSet;

use files::DataKind;
use model::{Context, Error, Result};

use self::node::{Node, Subtree};
use super::Blocks;
use crate::format::Address;
use crate::format::btree2::{BTree2, Child};
use crate::format::encode::btree2::Root;
use crate::txn::PublishOrder;

/// Compares a record of the tree with what is sought.
pub(crate) type Order<'o> = dyn FnMut(&[u8]) -> Result<Ordering> + 'o;

/// A tree that is being changed.
#[derive(Debug)]
pub(crate) struct Tree {
    header: BTree2,
    /// Where the header is; nowhere yet for a new tree.
    at: Option<Address>,
    root: Option<Subtree>,
    used: VisitedNodes,
    is_changed: bool,
    /// A change failed half-way: what is in memory is not a tree.
    is_broken: bool,
}

/// Nodes that a session came across.
#[derive(Debug, Default)]
struct VisitedNodes {
    /// Those that were read: a node that is read twice has two parents.
    read: HashSet<Address>,
    /// Those that left the tree.
    dropped: Vec<Address>,
}

/// The state of work on nodes.
struct Session<'s> {
    blocks: &'s dyn Blocks,
    header: &'s BTree2,
    used: &'s mut VisitedNodes,
}

impl Session<'_> {
    /// Returns the most records of a node at `depth`: one that has them splits before it gets another.
    fn split_count(&self, depth: u16) -> usize {
        split_count(self.header, depth)
    }

    /// Returns the fewest records of a node at `depth` other than the root.
    fn merge_count(&self, depth: u16) -> usize {
        let count = self.header.records_max(depth) * u64::from(self.header.merge_percent) / 100;
        (count as usize).max(1)
    }
}

fn split_count(header: &BTree2, depth: u16) -> usize {
    (header.records_max(depth) * u64::from(header.split_percent) / 100) as usize
}

impl Tree {
    /// Returns a tree without records.
    pub(crate) fn new(kind: u8, node_bytes: u32, record_bytes: u16, blocks: &dyn Blocks) -> Result<Self> {
        let header = BTree2::empty(kind, node_bytes, record_bytes, blocks.sizes())?;
        Self::over(header, None)
    }

    /// Returns the tree whose header is at `at`.
    pub(crate) fn open(blocks: &dyn Blocks, at: Address) -> Result<Self> {
        let sizes = blocks.sizes();
        let bytes = blocks.read(at, BTree2::header_bytes(sizes), "B-tree v2 header")?;
        let header = BTree2::decode(&bytes, sizes).during_at("open B-tree v2", at.0)?;
        Self::over(header, Some(at))
    }

    fn over(header: BTree2, at: Option<Address>) -> Result<Self> {
        let root = header.root.map(|address| {
            Subtree::stored(Child { address, records: u64::from(header.root_records), total: header.records })
        });
        let tree =
            Tree { header, at, root, used: VisitedNodes::default(), is_changed: false, is_broken: false };
        tree.check_geometry()?;
        Ok(tree)
    }

    /// Nodes must hold two records, or they cannot split.
    fn check_geometry(&self) -> Result<()> {
        let header = &self.header;
        let percents = header.split_percent <= 100
            && header.merge_percent > 0
            && 2 * u16::from(header.merge_percent) < u16::from(header.split_percent);
        match percents && (0..=header.depth).all(|depth| split_count(header, depth) >= 2) {
            true => Ok(()),
            false => Err(Error::unsupported("change B-tree v2").with("problem", "geometry of nodes")),
        }
    }

    /// Returns the type of the records.
    pub(crate) fn kind(&self) -> u8 {
        self.header.kind
    }

    /// Returns the number of bytes of a record.
    pub(crate) fn record_bytes(&self) -> u16 {
        self.header.record_bytes
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> u64 {
        self.header.records
    }

    /// Returns the record for which `order` is equal.
    pub(crate) fn find(&mut self, blocks: &dyn Blocks, order: &mut Order<'_>) -> Result<Option<Vec<u8>>> {
        let Some(mut subtree) = self.root.as_mut() else { return Ok(None) };
        let mut session = Session { blocks, header: &self.header, used: &mut self.used };
        for depth in (0..=session.header.depth).rev() {
            let node = subtree.load(&mut session, depth)?;
            match node.search(order)? {
                Ok(at) => return Ok(Some(node.record(at).to_vec())),
                Err(_) if depth == 0 => break,
                Err(at) => subtree = node.child(at)?,
            }
        }
        Ok(None)
    }

    /// Adds a record where `order` puts it. Returns `false`, and changes nothing, if there is an equal one.
    pub(crate) fn insert(
        &mut self,
        blocks: &dyn Blocks,
        order: &mut Order<'_>,
        record: &[u8],
    ) -> Result<bool> {
        self.check_record(record)?;
        self.change(|tree| {
            let Some(root) = tree.root.as_mut() else {
                tree.root = Some(Subtree::new(Node::leaf(record)));
                return Ok(true);
            };
            let mut session = Session { blocks, header: &tree.header, used: &mut tree.used };
            let depth = session.header.depth;
            let node = root.load(&mut session, depth)?;
            if !node.insert(&mut session, depth, order, record)? {
                return Ok(false);
            }
            if root.len() > session.split_count(depth) {
                tree.grow(blocks)?;
            }
            Ok(true)
        })
        .and_then(|inserted| self.count(inserted, 1))
    }

    /// Puts `record` in the place of the one for which `order` is equal, and returns that one. The order must be the same for both.
    pub(crate) fn replace(
        &mut self,
        blocks: &dyn Blocks,
        order: &mut Order<'_>,
        record: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        self.check_record(record)?;
        let replaced = self.change(|tree| {
            let Some(root) = tree.root.as_mut() else { return Ok(None) };
            let mut session = Session { blocks, header: &tree.header, used: &mut tree.used };
            let depth = session.header.depth;
            root.load(&mut session, depth)?.replace(&mut session, depth, order, record)
        })?;
        self.is_changed |= replaced.is_some();
        Ok(replaced)
    }

    /// Takes out the record for which `order` is equal, and returns it.
    pub(crate) fn remove(&mut self, blocks: &dyn Blocks, order: &mut Order<'_>) -> Result<Option<Vec<u8>>> {
        let removed = self.change(|tree| {
            let Some(root) = tree.root.as_mut() else { return Ok(None) };
            let mut session = Session { blocks, header: &tree.header, used: &mut tree.used };
            let depth = session.header.depth;
            let removed = root.load(&mut session, depth)?.remove(&mut session, depth, order)?;
            tree.shrink()?;
            Ok(removed)
        })?;
        self.count(removed.is_some(), -1)?;
        Ok(removed)
    }

    fn check_record(&self, record: &[u8]) -> Result<()> {
        if record.len() == usize::from(self.header.record_bytes) {
            return Ok(());
        }
        Err(Error::invalid("change B-tree v2").with("bytes of record", record.len()))
    }

    /// Runs a change, and remembers that it failed.
    fn change<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.check_sound()?;
        let result = change(self);
        self.is_broken = result.is_err();
        result
    }

    fn check_sound(&self) -> Result<()> {
        match self.is_broken {
            false => Ok(()),
            true => {
                Err(Error::invalid("change B-tree v2").with("problem", "an earlier change failed half-way"))
            }
        }
    }

    /// Counts a record that came or went.
    fn count(&mut self, changed: bool, by: i64) -> Result<bool> {
        if changed {
            let wrong = || Error::corrupt("change B-tree v2").with("records", self.header.records);
            self.header.records = self.header.records.checked_add_signed(by).ok_or_else(wrong)?;
            self.is_changed = true;
        }
        Ok(changed)
    }

    /// Adds a new root above one that has too many records.
    fn grow(&mut self, blocks: &dyn Blocks) -> Result<()> {
        let Some(root) = self.root.take() else { return Ok(()) };
        self.set_depth(self.header.depth + 1)?;
        self.check_geometry()?;
        let mut node = Node::above(root);
        let mut session = Session { blocks, header: &self.header, used: &mut self.used };
        node.spread(&mut session, self.header.depth, balance::Spread { at: 0, from: 1, into: 2 })?;
        self.root = Some(Subtree::new(node));
        Ok(())
    }

    /// Removes roots without records, each of which has one child.
    fn shrink(&mut self) -> Result<()> {
        while let Some(root) = self.root.as_mut().filter(|root| root.len() == 0) {
            let child = root.take_only_child(&mut self.used);
            let had_children = self.header.depth > 0;
            self.root = child;
            if !had_children {
                break;
            }
            self.set_depth(self.header.depth - 1)?;
        }
        Ok(())
    }

    fn set_depth(&mut self, depth: u16) -> Result<()> {
        let root = Root { depth, address: Address(0), root_records: 0, records: self.header.records };
        self.header = self.header.clone().with_root(Some(root))?;
        Ok(())
    }

    /// Writes every changed node, and the header. Returns where the header is now.
    pub(crate) fn finish(&mut self, blocks: &mut dyn Blocks) -> Result<Address> {
        self.check_sound()?;
        let sizes = blocks.sizes();
        if let Some(at) = self.at.filter(|_| !self.is_changed) {
            self.forget();
            return Ok(at);
        }
        self.is_broken = true;
        for at in std::mem::take(&mut self.used.dropped) {
            blocks.release(at, u64::from(self.header.node_bytes));
        }
        let root = match &mut self.root {
            Some(root) => Some(root.store(&self.header, self.header.depth, blocks)?),
            None => None,
        };
        self.header = self.header.clone().with_root(self.root_of(root)?)?;
        let len = BTree2::header_bytes(sizes);
        let at = match self.at {
            Some(at) => blocks.relocate(at, len, DataKind::Tree),
            None => blocks.allocate(len, DataKind::Tree),
        };
        blocks.write(at, &self.header.encode()?, PublishOrder::First)?;
        (self.at, self.is_changed, self.is_broken) = (Some(at), false, false);
        self.forget();
        Ok(at)
    }

    fn root_of(&self, root: Option<Child>) -> Result<Option<Root>> {
        let Some(root) = root else { return Ok(None) };
        if root.total != self.header.records {
            return Err(Error::corrupt("change B-tree v2")
                .with("records", root.total)
                .with("records in header", self.header.records));
        }
        let root_records = u16::try_from(root.records).map_err(|_| Error::limit("change B-tree v2"))?;
        let (depth, address) = (self.header.depth, root.address);
        Ok(Some(Root { depth, address, root_records, records: root.total }))
    }

    /// Releases all nodes: they are in the file.
    fn forget(&mut self) {
        if let Some(root) = &mut self.root {
            root.forget();
        }
        self.used = VisitedNodes::default();
    }

    /// Gives up all blocks of the tree, of which nothing must have changed.
    #[cfg(test)]
    pub(crate) fn release(mut self, blocks: &mut dyn Blocks) -> Result<()> {
        self.forget();
        if let Some(root) = &mut self.root {
            let mut addresses = Vec::new();
            let mut session = Session { blocks, header: &self.header, used: &mut self.used };
            root.addresses(&mut session, self.header.depth, &mut addresses)?;
            for at in addresses {
                blocks.release(at, u64::from(self.header.node_bytes));
            }
        }
        if let Some(at) = self.at {
            blocks.release(at, BTree2::header_bytes(blocks.sizes()));
        }
        Ok(())
    }
}
