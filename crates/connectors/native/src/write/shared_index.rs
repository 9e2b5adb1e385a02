//! Indexes of shared messages, and messages that libhdf5 left in headers.
//!
//! A message that only one object has stays in that object's header, and the index leads there. When the header is written
//! anew or goes, its messages are taken out of the index: libhdf5 would follow them to whatever is there then.
//! Messages in the heap are counted by `shared_messages`.

use std::collections::BTreeSet;

use files::DataKind;
use model::Result;

use super::object_cache::ObjectCache;
use super::storage::Storage;
use crate::format::shared::SharedIndex;
use crate::format::shared_list::{MessageLocation, SharedRecord, decode_list, encode_list, list_bytes};
use crate::format::{Address, encode};
use crate::object::footprint::Ranges;
use crate::object::{btree2, fractal_heap};
use crate::reader::Reader;
use crate::txn::PublishOrder;

/// B-trees of shared messages have records of this type, in nodes of this size, as libhdf5 makes them.
pub(super) const TREE_KIND: u8 = 7;
pub(super) const TREE_NODE_BYTES: u32 = 512;

impl ObjectCache {
    /// Brings the indexes up to date, as part of the next commit.
    pub(super) fn update_shared_indexes(&mut self, storage: &mut Storage) -> Result<()> {
        if !self.unindexed.is_empty() {
            storage.take_out(&self.unindexed, &self.reader)?;
            self.unindexed.clear();
        }
        Ok(())
    }
}

impl Storage {
    /// Takes the messages of headers that changed or are gone out of the indexes.
    fn take_out(&mut self, gone: &BTreeSet<Address>, reader: &Reader) -> Result<()> {
        for (number, mut index) in reader.shared.indexes().into_iter().enumerate() {
            self.take_out_of(&mut index, &|record| is_kept(record, gone), reader)?;
            write_shared_table(self, reader, number, index)?;
        }
        Ok(())
    }

    /// Takes records out of one index.
    fn take_out_of(
        &mut self,
        index: &mut SharedIndex,
        is_kept: &dyn Fn(&SharedRecord) -> bool,
        reader: &Reader,
    ) -> Result<()> {
        let (mut records, blocks) = shared_records(index, reader)?;
        let count = records.len();
        records.retain(is_kept);
        match records.len() == count {
            true => Ok(()),
            false => self.replace_shared_index(index, &records, blocks, reader),
        }
    }

    /// Makes a list of a tree that has few messages. An index without messages goes, and its heap.
    pub(super) fn shrink_shared_index(&mut self, index: &mut SharedIndex, reader: &Reader) -> Result<()> {
        if index.messages == 0 || (index.is_tree && index.messages < index.tree_min) {
            let (records, blocks) = shared_records(index, reader)?;
            self.replace_shared_index(index, &records, blocks, reader)?;
        }
        Ok(())
    }

    /// Puts these records, which are sorted, in the place of all that an index has.
    fn replace_shared_index(
        &mut self,
        index: &mut SharedIndex,
        records: &[SharedRecord],
        blocks: Ranges,
        reader: &Reader,
    ) -> Result<()> {
        blocks.into_iter().for_each(|(at, len)| self.release(at, len));
        index.messages = u16::try_from(records.len()).unwrap_or(u16::MAX);
        if records.is_empty() {
            if let Some(heap) = index.heap.take() {
                let blocks = fractal_heap::open(reader, heap)?.blocks()?;
                blocks.into_iter().for_each(|(at, len)| self.release(at, len));
            }
            (index.index, index.is_tree) = (None, false);
        } else if index.is_tree && index.messages >= index.tree_min {
            let encoded =
                records.iter().map(|record| record.encode(self.sizes)).collect::<Result<Vec<_>>>()?;
            let record_bytes = SharedRecord::bytes(self.sizes) as u16;
            index.index = Some(self.build_btree2_of(TREE_KIND, TREE_NODE_BYTES, record_bytes, &encoded)?);
        } else {
            let at = self.allocate(list_bytes(index.list_max, self.sizes), DataKind::ObjectHeader);
            self.write(at, &encode_list(records, index.list_max, self.sizes)?)?;
            (index.index, index.is_tree) = (Some(at), false);
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

/// Replaces one index in the table, if it changed.
pub(super) fn write_shared_table(
    storage: &mut Storage,
    reader: &Reader,
    number: usize,
    index: SharedIndex,
) -> Result<()> {
    let (Some(at), mut indexes) = (reader.shared.address(), reader.shared.indexes()) else { return Ok(()) };
    if let Some(there) = indexes.get_mut(number).filter(|there| **there != index) {
        *there = index;
        storage.write_in_turn(at, &encode::shared::table(&indexes, storage.sizes)?, PublishOrder::First)?;
        reader.shared.set(indexes);
    }
    Ok(())
}

/// Returns whether a message is where the record says.
fn is_kept(record: &SharedRecord, gone: &BTreeSet<Address>) -> bool {
    !matches!(record.place, MessageLocation::Header { header, .. } if gone.contains(&header))
}
