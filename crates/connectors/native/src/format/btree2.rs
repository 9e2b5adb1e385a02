//! Version 2 B-trees (format spec III.A.2).

use std::ops::Range;

use model::bytes::{Cursor, uint_width};
use model::{Error, Result};

use super::{Address, SizedFields, Sizes, checksum};
use crate::pages::Block;

/// The header of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BTree2 {
    pub(crate) sizes: Sizes,
    pub(crate) kind: u8,
    pub(crate) node_bytes: u32,
    pub(crate) record_bytes: u16,
    pub(crate) depth: u16,
    pub(crate) split_percent: u8,
    pub(crate) merge_percent: u8,
    pub(crate) root: Option<Address>,
    pub(crate) root_records: u16,
    pub(crate) records: u64,
    /// Most records of a node, and of a subtree, by depth.
    pub(super) capacity: Vec<Capacity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity {
    pub(super) node: u64,
    pub(super) subtree: u64,
}

/// A child of an internal node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) address: Address,
    /// Records in the child itself.
    pub(crate) records: u64,
    /// Records in it and below it.
    pub(crate) total: u64,
}

/// A node that was read.
#[derive(Debug)]
pub(crate) struct Node {
    block: Block,
    /// Where the records are.
    records: Range<usize>,
    record_bytes: usize,
    pub(crate) children: Vec<Child>,
}

impl Node {
    pub(crate) fn len(&self) -> usize {
        self.records.len() / self.record_bytes
    }

    /// Returns a record, which must be there.
    pub(crate) fn record(&self, at: usize) -> &[u8] {
        let start = self.records.start + at * self.record_bytes;
        &self.block[start..start + self.record_bytes]
    }

    /// Returns the number of bytes of memory, roughly.
    pub(crate) fn weight(&self) -> usize {
        self.block.len() + size_of_val(self.children.as_slice())
    }
}

/// Signature, version, type and checksum of a node.
const NODE_OVERHEAD_BYTES: u64 = 10;

impl BTree2 {
    pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
        (22 + sizes.offset + sizes.length) as u64
    }

    pub(crate) fn decode(bytes: &[u8], sizes: Sizes) -> Result<Self> {
        checksum::verify(bytes, "B-tree v2 header")?;
        let mut c = Cursor::new(bytes, "B-tree v2 header");
        c.signature(b"BTHD")?;
        c.version(0..=0)?;
        let (kind, node_bytes, record_bytes, depth) = (c.u8()?, c.u32()?, c.u16()?, c.u16()?);
        let (split_percent, merge_percent) = (c.u8()?, c.u8()?);
        let (root, root_records, records) = (c.address(sizes)?, c.u16()?, c.length(sizes)?);
        let mut tree = BTree2 {
            sizes,
            kind,
            node_bytes,
            record_bytes,
            depth,
            split_percent,
            merge_percent,
            root,
            root_records,
            records,
            capacity: Vec::new(),
        };
        tree.capacity = tree.capacities().ok_or_else(|| c.corrupt("geometry of nodes"))?;
        if u64::from(root_records) > tree.capacity[usize::from(depth)].node {
            return Err(c.corrupt(format!("{root_records} records in root")));
        }
        Ok(tree)
    }

    pub(super) fn capacities(&self) -> Option<Vec<Capacity>> {
        // A tree deeper than this would hold more records than there are bytes in any file.
        if self.record_bytes == 0 || self.depth > 32 {
            return None;
        }
        let bytes = u64::from(self.node_bytes).checked_sub(NODE_OVERHEAD_BYTES)?;
        let leaf = bytes / u64::from(self.record_bytes);
        let mut capacity = vec![Capacity { node: leaf, subtree: leaf }];
        for depth in 1..=usize::from(self.depth) {
            let pointer = self.pointer_bytes_with(leaf, depth, &capacity) as u64;
            let node = bytes.checked_sub(pointer)? / (u64::from(self.record_bytes) + pointer);
            let below = capacity[depth - 1].subtree;
            capacity.push(Capacity { node, subtree: (node + 1).saturating_mul(below).saturating_add(node) });
        }
        (capacity.iter().all(|c| c.node > 0)).then_some(capacity)
    }

    fn pointer_bytes_with(&self, leaf: u64, depth: usize, capacity: &[Capacity]) -> usize {
        let total = if depth > 1 { uint_width(capacity[depth - 1].subtree) } else { 0 };
        self.sizes.offset + uint_width(leaf) + total
    }

    /// Returns a node with its records, and its children where it has any.
    pub(crate) fn node(&self, block: Block, depth: u16, records: u64) -> Result<Node> {
        let depth = usize::from(depth);
        let bad = || Error::corrupt("decode B-tree v2 node").with("records", records);
        self.capacity.get(depth).filter(|c| records <= c.node).ok_or_else(bad)?;
        let mut c = Cursor::new(&block, "B-tree v2 node");
        c.signature(if depth == 0 { b"BTLF" } else { b"BTIN" })?;
        c.version(0..=0)?;
        let kind = c.u8()?;
        if kind != self.kind {
            return Err(c.corrupt(format!("node type {kind} in a tree of type {}", self.kind)));
        }
        let (start, record_bytes) = (c.position(), usize::from(self.record_bytes));
        let bytes =
            usize::try_from(records).ok().and_then(|n| n.checked_mul(record_bytes)).ok_or_else(bad)?;
        c.skip(bytes)?;
        let mut children = Vec::new();
        if depth > 0 {
            children = (0..=records).map(|_| self.child(&mut c, depth)).collect::<Result<_>>()?;
        }
        c.skip(4)?;
        checksum::verify(&block[..c.position()], "B-tree v2 node")?;
        Ok(Node { records: start..start + bytes, record_bytes, children, block })
    }

    fn child(&self, c: &mut Cursor<'_>, depth: usize) -> Result<Child> {
        let address = c.defined_address(self.sizes)?;
        let records = c.uint(uint_width(self.capacity[0].node))?;
        let total = if depth > 1 { c.uint(uint_width(self.capacity[depth - 1].subtree))? } else { records };
        Ok(Child { address, records, total })
    }
}
