//! Objects too large for blocks: each in space of its own, found by a version 2 B-tree.

use std::cmp::Ordering;

use files::DataKind;
use model::bytes::{Cursor, Put};
use model::{Error, Result};

use super::{Heap, filtered};
use crate::format::fractal_heap::{ObjectId, StoredSize};
use crate::format::{Address, SizedFields, Sizes};
use crate::txn::PublishOrder;
use crate::update::Blocks;
use crate::update::btree2::Tree;

const NODE_BYTES: u32 = 512;
/// Types of records: objects are found by a number, or by where they are. With filters it is the next one.
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
    /// How it is stored where the heap has filters.
    stored: Option<StoredSize>,
    len: u64,
    /// Its number, where the heap gives numbers.
    number: Option<u64>,
}

impl Huge {
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

/// What the records of a heap hold.
#[derive(Debug, Clone, Copy)]
struct RecordForm {
    has_number: bool,
    is_filtered: bool,
    sizes: Sizes,
}

impl RecordForm {
    /// Returns the type of the records' tree.
    fn kind(self) -> u8 {
        (if self.has_number { BY_NUMBER } else { BY_ADDRESS }) + u8::from(self.is_filtered)
    }

    fn bytes(self) -> usize {
        let Sizes { offset, length } = self.sizes;
        let filtered = if self.is_filtered { 4 + length } else { 0 };
        offset + length + filtered + if self.has_number { length } else { 0 }
    }

    /// Returns how a record compares with one that is sought.
    fn cmp(self, record: &[u8], sought: &Record) -> Result<Ordering> {
        Ok(Record::decode(record, self)?.cmp(sought))
    }
}

impl Record {
    /// Returns the number of bytes in the file.
    fn file_bytes(&self) -> u64 {
        self.stored.map_or(self.len, |stored| stored.bytes)
    }

    fn encode(&self, sizes: Sizes) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_uint(self.at.0, sizes.offset);
        if let Some(stored) = self.stored {
            bytes.put_uint(stored.bytes, sizes.length);
            bytes.put_uint(stored.filter_mask.into(), 4);
        }
        bytes.put_uint(self.len, sizes.length);
        if let Some(number) = self.number {
            bytes.put_uint(number, sizes.length);
        }
        bytes
    }

    fn decode(record: &[u8], form: RecordForm) -> Result<Self> {
        let (mut c, sizes) = (Cursor::new(record, "huge object record"), form.sizes);
        let at = c.defined_address(sizes)?;
        let stored = match form.is_filtered {
            true => Some(StoredSize { bytes: c.length(sizes)?, filter_mask: c.u32()? }),
            false => None,
        };
        let len = c.length(sizes)?;
        let number = if form.has_number { Some(c.length(sizes)?) } else { None };
        Ok(Record { at, stored, len, number })
    }

    fn cmp(&self, other: &Record) -> Ordering {
        match (self.number, other.number) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => (self.at, self.file_bytes()).cmp(&(other.at, other.file_bytes())),
        }
    }
}

/// Returns the record of a huge object that has a number.
pub(crate) fn numbered_record(
    at: Address,
    stored: Option<StoredSize>,
    len: u64,
    number: u64,
    sizes: Sizes,
) -> Vec<u8> {
    Record { at, stored, len, number: Some(number) }.encode(sizes)
}

impl Heap {
    /// Returns the form of records: they have numbers where a heap ID has no space for where an object is.
    fn record_form(&self) -> RecordForm {
        let (sizes, is_filtered) = (self.header.sizes, !self.header.filters.is_empty());
        let form = RecordForm { has_number: false, is_filtered, sizes };
        RecordForm { has_number: usize::from(self.header.id_bytes) <= form.bytes(), ..form }
    }

    fn huge_tree(&mut self, blocks: &dyn Blocks) -> Result<&mut Tree> {
        let form = self.record_form();
        let (kind, bytes) = (form.kind(), form.bytes());
        if self.huge.tree.is_none() {
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
        let form = self.record_form();
        let number = match form.has_number {
            true => Some(self.next_huge_number()?),
            false => None,
        };
        self.huge_tree(blocks)?;
        let (bytes, stored) = filtered::apply(blocks.filters(), &self.header, object)?;
        let at = blocks.allocate(bytes.len() as u64, DataKind::Raw);
        blocks.write(at, &bytes, PublishOrder::First)?;
        let record = Record { at, stored, len, number };
        let order = &mut |other: &[u8]| form.cmp(other, &record);
        if !self.huge_tree(blocks)?.insert(blocks, order, &record.encode(form.sizes))? {
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
            None => {
                let stored = stored.unwrap_or(StoredSize { bytes: len, filter_mask: 0 });
                ObjectId::HugeDirect { address: at, stored, len }
            }
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
            ObjectId::HugeIndirect { key } => {
                Record { at: Address(0), stored: None, len: 0, number: Some(key) }
            }
            ObjectId::HugeDirect { address, stored, len } => {
                Record { at: address, stored: Some(stored), len, number: None }
            }
            _ => return Err(Error::invalid("find huge fractal heap object")),
        };
        let form = self.record_form();
        let order = &mut |other: &[u8]| form.cmp(other, &sought);
        let found = self.huge_tree(blocks)?.find(blocks, order)?;
        let missing = || Error::corrupt("find huge fractal heap object").at(self.at.0);
        let record = Record::decode(&found.ok_or_else(missing)?, form)?;
        match self.huge.pending.iter().any(|(_, removed)| *removed == record) {
            true => Err(missing()),
            false => Ok(record),
        }
    }

    pub(super) fn get_huge(&mut self, blocks: &dyn Blocks, id: &ObjectId) -> Result<Vec<u8>> {
        let record = self.huge_record(blocks, id)?;
        let bytes = blocks.read(record.at, record.file_bytes(), "huge fractal heap object")?;
        match record.stored {
            Some(stored) => {
                filtered::undo(blocks.filters(), &self.header, (bytes, stored.filter_mask), record.len)
            }
            None => Ok(bytes),
        }
    }

    pub(super) fn remove_huge(&mut self, blocks: &dyn Blocks, id: &ObjectId) -> Result<()> {
        let record = self.huge_record(blocks, id)?;
        self.huge.pending.push((blocks.generation(), record));
        Ok(())
    }

    /// Takes out of the tree what was removed for commits that are in the file, and gives its space up.
    pub(super) fn remove_pending_huge(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        let form = self.record_form();
        let pending = std::mem::take(&mut self.huge.pending).into_iter();
        let (later, now) = pending.partition(|(then, _)| !blocks.is_committed(*then));
        self.huge.pending = later;
        for (_, record) in now {
            let order = &mut |other: &[u8]| form.cmp(other, &record);
            self.huge_tree(blocks)?.remove(blocks, order)?;
            blocks.release_raw(record.at, record.file_bytes());
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
