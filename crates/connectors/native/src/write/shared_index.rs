//! Indexes of shared messages, and messages that libhdf5 left in headers.
//!
//! A message that only one object has stays in that object's header, and the index leads there. When the header is written
//! anew or goes, its messages are taken out of the index: libhdf5 would follow them to whatever is there then.
//! Messages in the heap are counted by `shared_messages`.

use std::collections::BTreeSet;

use files::DataKind;
use model::Result;

use super::object_cache::ObjectCache;
use super::parts::Writing;
use super::storage::Storage;
use crate::format::shared::SharedIndex;
use crate::format::shared_list::{MessageLocation, SharedRecord, decode_list, encode_list, list_bytes};
use crate::format::{Address, encode};
use crate::object::footprint::Ranges;
use crate::object::{btree2, fractal_heap};
use crate::reader::Reader;
use crate::txn::PublishOrder;
use crate::update::Blocks;

/// B-trees of shared messages have records of this type, in nodes of this size, as libhdf5 creates them.
pub(super) const TREE_KIND: u8 = 7;
pub(super) const TREE_NODE_BYTES: u32 = 512;

impl ObjectCache {
    /// Brings the indexes up to date, as part of the next commit.
    pub(super) fn update_shared_indexes(&mut self, storage: &mut Storage) -> Result<()> {
        if !self.unindexed.is_empty() {
            let mut writing = Writing { reader: &self.reader, storage, cache: &mut self.parts };
            writing.take_out(&self.unindexed)?;
            self.unindexed.clear();
        }
        Writing { reader: &self.reader, storage, cache: &mut self.parts }.drop_empty_indexes()
    }
}

impl Writing<'_> {
    /// Takes the messages of headers that changed or are gone out of the indexes.
    fn take_out(&mut self, gone: &BTreeSet<Address>) -> Result<()> {
        for (number, mut index) in self.reader.shared.indexes().into_iter().enumerate() {
            let (mut records, blocks) = shared_records(&index, self.reader)?;
            let count = records.len();
            records.retain(|record| is_kept(record, gone));
            if records.len() < count {
                self.replace_shared_index(&mut index, &records, blocks)?;
                self.note_empty_index(number, &index);
                self.write_shared_table(number, index)?;
            }
        }
        Ok(())
    }

    /// Makes a list of a tree that has few messages, and notes an index that has none any more.
    pub(super) fn shrink_shared_index(&mut self, number: usize, index: &mut SharedIndex) -> Result<()> {
        if index.is_tree && index.messages < index.tree_min {
            let (records, blocks) = shared_records(index, self.reader)?;
            self.replace_shared_index(index, &records, blocks)?;
        }
        self.note_empty_index(number, index);
        Ok(())
    }

    /// Notes since when an index is empty.
    fn note_empty_index(&mut self, number: usize, index: &SharedIndex) {
        if index.messages == 0 {
            self.cache.empty_indexes.insert(number, self.storage.generation());
        }
    }

    /// Removes indexes that have no messages, and their heaps. One that lost its last message with this commit stays until the
    /// next: while this one is published, the headers of objects that are removed still lead to its heap.
    fn drop_empty_indexes(&mut self) -> Result<()> {
        for (number, index) in self.reader.shared.indexes().into_iter().enumerate() {
            let is_there = index.index.is_some() || index.heap.is_some();
            let empty_since = self.cache.empty_indexes.get(&number).copied();
            let is_committed = empty_since.is_none_or(|since| self.storage.is_committed(since));
            if index.messages == 0 && is_there && is_committed {
                self.drop_index(number, index)?;
            }
        }
        Ok(())
    }

    fn drop_index(&mut self, number: usize, mut index: SharedIndex) -> Result<()> {
        let (_, blocks) = shared_records(&index, self.reader)?;
        self.release(blocks);
        if let Some(heap) = index.heap.take() {
            // Another one may be there soon.
            self.cache.forget(heap);
            self.release(fractal_heap::open(self.reader, heap)?.blocks()?);
        }
        (index.index, index.is_tree) = (None, false);
        self.cache.empty_indexes.remove(&number);
        self.write_shared_table(number, index)
    }

    /// Puts these records, which are sorted, in the place of all that an index has.
    fn replace_shared_index(
        &mut self,
        index: &mut SharedIndex,
        records: &[SharedRecord],
        blocks: Ranges,
    ) -> Result<()> {
        self.release(blocks);
        let storage = &mut *self.storage;
        index.messages = u16::try_from(records.len()).unwrap_or(u16::MAX);
        if index.is_tree && index.messages >= index.tree_min {
            let encoded =
                records.iter().map(|record| record.encode(storage.sizes)).collect::<Result<Vec<_>>>()?;
            let record_bytes = SharedRecord::bytes(storage.sizes) as u16;
            index.index =
                Some(storage.build_btree2_of(TREE_KIND, TREE_NODE_BYTES, record_bytes, &encoded)?);
        } else {
            let at = storage.allocate(list_bytes(index.list_max, storage.sizes), DataKind::ObjectHeader);
            storage.write(at, &encode_list(records, index.list_max, storage.sizes)?)?;
            (index.index, index.is_tree) = (Some(at), false);
        }
        Ok(())
    }

    /// Replaces one index in the table, if it changed.
    pub(super) fn write_shared_table(&mut self, number: usize, index: SharedIndex) -> Result<()> {
        let shared = &self.reader.shared;
        let (Some(at), mut indexes) = (shared.address(), shared.indexes()) else { return Ok(()) };
        if let Some(there) = indexes.get_mut(number).filter(|there| **there != index) {
            *there = index;
            let table = encode::shared::table(&indexes, self.storage.sizes)?;
            self.storage.write_in_turn(at, &table, PublishOrder::First)?;
            shared.set(indexes);
        }
        Ok(())
    }
}

/// Returns the records of an index in its order, and the blocks that hold them.
fn shared_records(index: &SharedIndex, reader: &Reader) -> Result<(Vec<SharedRecord>, Ranges)> {
    let (Some(at), sizes) = (index.index, reader.store.sizes()) else { return Ok(Default::default()) };
    if index.is_tree {
        let mut records = Vec::new();
        let blocks = btree2::blocks(reader, at, &mut |_, record| {
            records.push(SharedRecord::decode(record, sizes)?);
            Ok(())
        })?;
        return Ok((records, blocks));
    }
    let len = list_bytes(index.list_max, sizes);
    let block = reader.store.block(at, len, "shared message list")?;
    Ok((decode_list(&block, index.messages, sizes)?, vec![(at, len)]))
}

/// Returns whether a message is where the record says.
fn is_kept(record: &SharedRecord, gone: &BTreeSet<Address>) -> bool {
    !matches!(record.place, MessageLocation::Header { header, .. } if gone.contains(&header))
}
