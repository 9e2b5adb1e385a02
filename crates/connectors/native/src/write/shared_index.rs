//! Indexes of shared messages in files of libhdf5.
//!
//! A message that only one object has stays in that object's header, and the index leads there. When the header is written
//! anew or goes, its messages are taken out of the index: libhdf5 would follow them to whatever is there then.
//! Messages in the heap keep their place and their count.

use std::collections::BTreeSet;

use model::Result;

use super::object_cache::ObjectCache;
use super::storage::Storage;
use crate::format::header::kind;
use crate::format::shared::{self, SharedIndex};
use crate::format::shared_list::{MessageLocation, SharedRecord, decode_list, encode_list, list_bytes};
use crate::format::{Address, encode};
use crate::object::btree2;
use crate::object::header::Header;
use crate::reader::Reader;
use crate::txn::PublishOrder;

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
        let Some(extension) = self.transaction.superblock.extension else { return Ok(()) };
        let header = Header::load(&reader.store, extension)?;
        let Some(message) = header.message(kind::SHARED_TABLE) else { return Ok(()) };
        let (at, count) = shared::table_message(message.body, self.sizes)?;
        let bytes = reader.store.block(at, shared::table_bytes(count, self.sizes), "shared message table")?;
        let mut table = shared::table(&bytes, count, self.sizes)?;
        for index in &mut table {
            match index.is_tree {
                true => self.update_shared_tree(index, gone, reader)?,
                false => self.update_shared_list(index, gone, reader)?,
            }
        }
        let table = encode::shared::table(&table, self.sizes)?;
        if *table != *bytes {
            self.write_in_turn(at, &table, PublishOrder::First)?;
        }
        Ok(())
    }

    fn update_shared_list(
        &mut self,
        index: &mut SharedIndex,
        gone: &BTreeSet<Address>,
        reader: &Reader,
    ) -> Result<()> {
        let Some(at) = index.index else { return Ok(()) };
        let len = list_bytes(index.list_max, self.sizes);
        let block = reader.store.block(at, len, "shared message list")?;
        let mut records = decode_list(&block, index.messages, self.sizes)?;
        records.retain(|record| is_kept(record, gone));
        if records.len() == usize::from(index.messages) {
            return Ok(());
        }
        set_count(index, records.len());
        match index.index {
            None => self.release(at, len),
            Some(_) => {
                let list = encode_list(&records, index.list_max, self.sizes)?;
                self.write_in_turn(at, &list, PublishOrder::First)?;
            }
        }
        Ok(())
    }

    fn update_shared_tree(
        &mut self,
        index: &mut SharedIndex,
        gone: &BTreeSet<Address>,
        reader: &Reader,
    ) -> Result<()> {
        let Some(at) = index.index else { return Ok(()) };
        let tree = btree2::open(reader, at)?;
        let mut records = Vec::new();
        let blocks = btree2::blocks(reader, at, &mut |_, record| {
            if is_kept(&SharedRecord::decode(record, reader.store.sizes())?, gone) {
                records.push(record.to_vec());
            }
            Ok(())
        })?;
        if records.len() == usize::from(index.messages) {
            return Ok(());
        }
        blocks.into_iter().for_each(|(at, len)| self.release(at, len));
        set_count(index, records.len());
        if index.index.is_some() {
            let at = self.build_btree2_of(tree.kind, tree.node_bytes, tree.record_bytes, &records)?;
            index.index = Some(at);
        }
        Ok(())
    }
}

/// Returns whether a message is where the record says.
fn is_kept(record: &SharedRecord, gone: &BTreeSet<Address>) -> bool {
    !matches!(record.place, MessageLocation::Header { header, .. } if gone.contains(&header))
}

/// An index without messages is made anew by libhdf5 when there is one.
fn set_count(index: &mut SharedIndex, count: usize) {
    index.messages = u16::try_from(count).unwrap_or(u16::MAX);
    if count == 0 {
        (index.index, index.heap, index.is_tree) = (None, None, false);
    }
}
