//! Objects too large for blocks: each in space of its own, found by a version 2 B-tree.

use std::cmp::Ordering;

use files::DataKind;
use model::bytes::{Cursor, Put};
use model::{Error, Result};

use super::Heap;
use crate::format::fractal_heap::{ObjectId, Stored};
use crate::format::{Address, SizedFields, Sizes};
use crate::txn::PublishOrder;
use crate::update::Blocks;
use crate::update::btree2::Tree;

const NODE_BYTES: u32 = 512;
/// Types of records of objects that are not filtered: found by a number, or by where they are.
const BY_NUMBER: u8 = 1;
const BY_ADDRESS: u8 = 3;

/// Huge objects of a heap.
#[derive(Debug, Default)]
pub(super) struct Huge {
    tree: Option<Tree>,
    /// Removed for a commit: they leave the tree when it is in the file, because the one before finds them through it.
    pending: Vec<(u64, Record)>,
}

/// A huge object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    at: Address,
    len: u64,
    /// Its number, where the heap gives numbers.
    number: Option<u64>,
}

impl Huge {
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

impl Record {
    fn encode(&self, sizes: Sizes) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_uint(self.at.0, sizes.offset);
        bytes.put_uint(self.len, sizes.length);
        if let Some(number) = self.number {
            bytes.put_uint(number, sizes.length);
        }
        bytes
    }

    fn decode(record: &[u8], kind: u8, sizes: Sizes) -> Result<Self> {
        let mut c = Cursor::new(record, "huge object record");
        let (at, len) = (c.defined_address(sizes)?, c.length(sizes)?);
        let number = if kind == BY_NUMBER { Some(c.length(sizes)?) } else { None };
        Ok(Record { at, len, number })
    }

    fn cmp(&self, other: &Record) -> Ordering {
        match (self.number, other.number) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => (self.at, self.len).cmp(&(other.at, other.len)),
        }
    }
}

impl Heap {
    /// Returns whether a heap ID has space for where an object is.
    fn huge_ids_are_direct(&self) -> bool {
        let sizes = self.header.sizes;
        usize::from(self.header.id_bytes) > sizes.offset + sizes.length
    }

    fn huge_kind(&self) -> u8 {
        if self.huge_ids_are_direct() { BY_ADDRESS } else { BY_NUMBER }
    }

    fn huge_tree(&mut self, blocks: &dyn Blocks) -> Result<&mut Tree> {
        let kind = self.huge_kind();
        if self.huge.tree.is_none() {
            let sizes = self.header.sizes;
            let bytes = sizes.offset + sizes.length * if kind == BY_NUMBER { 2 } else { 1 };
            let tree = match self.header.huge_tree {
                Some(at) => Tree::open(blocks, at)?,
                None => Tree::new(kind, NODE_BYTES, bytes as u16, blocks)?,
            };
            if tree.kind() != kind || usize::from(tree.record_bytes()) != bytes {
                return Err(Error::corrupt("open huge objects of fractal heap").with("type", tree.kind()));
            }
            self.huge.tree = Some(tree);
        }
        self.huge.tree.as_mut().ok_or_else(|| Error::corrupt("open huge objects of fractal heap"))
    }

    pub(super) fn insert_huge(&mut self, blocks: &mut dyn Blocks, object: &[u8]) -> Result<ObjectId> {
        let len = object.len() as u64;
        let number = match self.huge_ids_are_direct() {
            true => None,
            false => Some(self.next_huge_number()?),
        };
        self.huge_tree(blocks)?;
        let at = blocks.allocate(len, DataKind::Raw);
        blocks.write(at, object, PublishOrder::First)?;
        let (record, sizes, kind) = (Record { at, len, number }, self.header.sizes, self.huge_kind());
        let order = &mut |other: &[u8]| Ok(Record::decode(other, kind, sizes)?.cmp(&record));
        if !self.huge_tree(blocks)?.insert(blocks, order, &record.encode(sizes))? {
            return Err(
                Error::corrupt("insert huge object in fractal heap").with("problem", "its ID is taken")
            );
        }
        let header = &mut self.header;
        header.huge_id_last = number.unwrap_or(header.huge_id_last);
        header.counts.huge_bytes = header.counts.huge_bytes.saturating_add(len);
        header.counts.huge_objects = header.counts.huge_objects.saturating_add(1);
        Ok(match number {
            Some(key) => ObjectId::HugeIndirect { key },
            None => ObjectId::HugeDirect { address: at, stored: Stored { bytes: len, filter_mask: 0 }, len },
        })
    }

    /// Returns the number of the next object. Once all were given, libhdf5 looks for unused ones; this does not.
    fn next_huge_number(&self) -> Result<u64> {
        let width = usize::from(self.header.id_bytes).saturating_sub(1).min(self.header.sizes.length);
        let number = self.header.huge_id_last.checked_add(1);
        match number.filter(|&n| !self.header.huge_ids_wrapped && n < crate::format::all_ones(width)) {
            Some(number) => Ok(number),
            None => {
                Err(Error::unsupported("insert huge object in fractal heap").with("problem", "IDs ran out"))
            }
        }
    }

    /// Returns the record of a huge object that was not removed.
    fn huge_record(&mut self, blocks: &dyn Blocks, id: &ObjectId) -> Result<Record> {
        let sought = match *id {
            ObjectId::HugeIndirect { key } => Record { at: Address(0), len: 0, number: Some(key) },
            ObjectId::HugeDirect { address, len, .. } => Record { at: address, len, number: None },
            _ => return Err(Error::invalid("find huge fractal heap object")),
        };
        let (sizes, kind) = (self.header.sizes, self.huge_kind());
        let order = &mut |other: &[u8]| Ok(Record::decode(other, kind, sizes)?.cmp(&sought));
        let found = self.huge_tree(blocks)?.find(blocks, order)?;
        let missing = || Error::corrupt("find huge fractal heap object").at(self.at.0);
        let record = Record::decode(&found.ok_or_else(missing)?, kind, sizes)?;
        match self.huge.pending.iter().any(|(_, removed)| *removed == record) {
            true => Err(missing()),
            false => Ok(record),
        }
    }

    pub(super) fn get_huge(&mut self, blocks: &dyn Blocks, id: &ObjectId) -> Result<Vec<u8>> {
        let record = self.huge_record(blocks, id)?;
        blocks.read(record.at, record.len, "huge fractal heap object")
    }

    pub(super) fn remove_huge(&mut self, blocks: &dyn Blocks, id: &ObjectId) -> Result<()> {
        let record = self.huge_record(blocks, id)?;
        self.huge.pending.push((blocks.generation(), record));
        Ok(())
    }

    /// Takes out of the tree what was removed for commits that are in the file, and gives its space up.
    pub(super) fn remove_pending_huge(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        let (sizes, kind) = (self.header.sizes, self.huge_kind());
        let pending = std::mem::take(&mut self.huge.pending).into_iter();
        let (later, now) = pending.partition(|(then, _)| !blocks.is_committed(*then));
        self.huge.pending = later;
        for (_, record) in now {
            let order = &mut |other: &[u8]| Ok(Record::decode(other, kind, sizes)?.cmp(&record));
            self.huge_tree(blocks)?.remove(blocks, order)?;
            blocks.release_raw(record.at, record.len);
            let counts = &mut self.header.counts;
            counts.huge_bytes = counts.huge_bytes.saturating_sub(record.len);
            counts.huge_objects = counts.huge_objects.saturating_sub(1);
            self.is_changed = true;
        }
        Ok(())
    }

    pub(super) fn store_huge_tree(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        let Some(tree) = &mut self.huge.tree else { return Ok(()) };
        let is_needed = tree.len() > 0 || self.header.huge_tree.is_some();
        if is_needed {
            self.header.huge_tree = Some(tree.finish(blocks)?);
        }
        Ok(())
    }
}
