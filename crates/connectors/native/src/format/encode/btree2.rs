//! Version 2 B-trees: header and nodes (format spec III.A.2).

use model::bytes::uint_width;
use model::{Error, Result};

use super::super::btree2::{BTree2, Child};
use super::super::{Address, Sizes};
use super::Encoder;

/// Where a tree's root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) depth: u16,
    pub(crate) address: Address,
    pub(crate) root_records: u16,
    /// Records of the whole tree.
    pub(crate) records: u64,
}

impl BTree2 {
    /// Returns an empty tree with libhdf5's percentages.
    pub(crate) fn empty(kind: u8, node_bytes: u32, record_bytes: u16, sizes: Sizes) -> Result<Self> {
        let mut tree = BTree2 {
            sizes,
            kind,
            node_bytes,
            record_bytes,
            depth: 0,
            split_percent: 100,
            merge_percent: 40,
            root: None,
            root_records: 0,
            records: 0,
            capacity: Vec::new(),
        };
        tree.compute_capacity()?;
        Ok(tree)
    }

    /// Returns the same tree with another root; `None` empties it.
    pub(crate) fn with_root(mut self, root: Option<Root>) -> Result<Self> {
        self.depth = root.map_or(0, |r| r.depth);
        self.root = root.map(|r| r.address);
        self.root_records = root.map_or(0, |r| r.root_records);
        self.records = root.map_or(0, |r| r.records);
        self.compute_capacity()?;
        Ok(self)
    }

    fn compute_capacity(&mut self) -> Result<()> {
        let geometry = || Error::invalid("encode B-tree v2 header").with("problem", "geometry of nodes");
        self.capacity = self.capacities().ok_or_else(geometry)?;
        Ok(())
    }

    /// Returns the most records of a node at `depth`; 0 where the tree is not that deep.
    pub(crate) fn records_max(&self, depth: u16) -> u64 {
        self.capacity.get(usize::from(depth)).map_or(0, |c| c.node)
    }

    /// Returns the most records of a subtree at `depth`; 0 where the tree is not that deep.
    pub(crate) fn subtree_max(&self, depth: u16) -> u64 {
        self.capacity.get(usize::from(depth)).map_or(0, |c| c.subtree)
    }

    /// Returns the header.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::block("B-tree v2 header", self.sizes, b"BTHD", 0);
        e.u8(self.kind).u32(self.node_bytes).u16(self.record_bytes).u16(self.depth);
        e.u8(self.split_percent).u8(self.merge_percent);
        e.address(self.root).u16(self.root_records).length(self.records);
        e.checksum().finish()
    }

    /// A node at `depth` (0 is a leaf, which has no children; others have one more than records).
    pub(crate) fn encode_node(
        &self,
        depth: u16,
        records: &[impl AsRef<[u8]>],
        children: &[Child],
    ) -> Result<Vec<u8>> {
        let signature = if depth == 0 { b"BTLF" } else { b"BTIN" };
        let mut e = Encoder::block("B-tree v2 node", self.sizes, signature, 0);
        e.reserve(self.node_bytes.into());
        e.require(records.len() as u64 <= self.records_max(depth), "too many records");
        e.require(children.len() == if depth == 0 { 0 } else { records.len() + 1 }, "number of children");
        e.u8(self.kind);
        for record in records {
            let record = record.as_ref();
            e.require(record.len() == usize::from(self.record_bytes), "size of record").raw(record);
        }
        for child in children {
            self.encode_child(&mut e, depth, child);
        }
        e.checksum().finish_in(u64::from(self.node_bytes))
    }

    /// The count of a child is as wide as a leaf's, at every depth.
    fn encode_child(&self, e: &mut Encoder, depth: u16, child: &Child) {
        let below = self.capacity.get(usize::from(depth).saturating_sub(1));
        e.defined(child.address).uint(child.records, uint_width(self.records_max(0)));
        if depth > 1 {
            e.uint(child.total, uint_width(below.map_or(0, |c| c.subtree)));
        }
    }
}
