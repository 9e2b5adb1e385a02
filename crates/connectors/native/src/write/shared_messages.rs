//! Messages of datasets that are stored once for all that have them: in the heap of their index, with a count.
//!
//! A message goes to the heap when its first object is written. (libhdf5 keeps the first one in its object's header until there is
//! a second; it reads and changes both.) Messages of attributes stay where they are, which the format allows.

use std::cmp::Ordering;

use files::DataKind;
use model::{Error, Result};

use super::parts::Writing;
use super::shared_index::{TREE_KIND, TREE_NODE_BYTES};
use super::storage::Storage;
use crate::format::Address;
use crate::format::encode::fractal_heap::Client;
use crate::format::header::{Message, flag, kind};
use crate::format::shared::{SharedAt, SharedIndex};
use crate::format::shared_list::{MessageLocation, SharedRecord, decode_list, encode_list, hash, list_bytes};
use crate::txn::PublishOrder;
use crate::update::Blocks;
use crate::update::btree2::Tree;
use crate::update::fractal_heap::Heap;

/// A message in the heap: its record's hash, and itself.
struct Sought<'m> {
    hash: u32,
    body: &'m [u8],
}

impl Sought<'_> {
    fn new(message: u16, body: &[u8]) -> Sought<'_> {
        Sought { hash: hash(message, body), body }
    }

    /// Compares a record with this: by hash, then by length and bytes. What is in a header counts as equal to all of its hash.
    fn order(&self, record: &SharedRecord, heap: &mut Heap, storage: &Storage) -> Result<Ordering> {
        let by_hash = record.hash.cmp(&self.hash);
        match record.place {
            MessageLocation::Heap { id, .. } if by_hash.is_eq() => {
                let there = heap.get(storage, &id)?;
                Ok(there.len().cmp(&self.body.len()).then_with(|| (*there).cmp(self.body)))
            }
            _ => Ok(by_hash),
        }
    }
}

impl Writing<'_> {
    /// Puts those of a dataset's messages into the heaps of their indexes that belong there.
    pub(super) fn share(&mut self, messages: &mut [Message]) -> Result<()> {
        // Processes that follow this one have read the table.
        if self.reader.shared.address().is_none() || self.storage.followed.is_some() {
            return Ok(());
        }
        let is_plain = |m: &&mut Message| m.flags & (flag::SHARED | flag::NEVER_SHARE) == 0;
        for message in messages.iter_mut().filter(is_plain) {
            if let Some(at) = self.share_one(message.kind, &message.body)? {
                message.flags |= flag::SHARED;
                message.body = at.encode(self.storage.sizes)?;
            }
        }
        Ok(())
    }

    /// Counts one object less for messages that were shared.
    pub(super) fn unshare(&mut self, messages: &[Message]) -> Result<()> {
        for message in messages.iter().filter(|m| m.is_shared() && m.kind != kind::ATTRIBUTE) {
            if let SharedAt::Heap(id) = SharedAt::decode(&message.body, self.storage.sizes)? {
                self.unshare_one(message.kind, &id)?;
            }
        }
        Ok(())
    }

    /// Returns where a message is shared, or `None` if it stays in its object's header.
    fn share_one(&mut self, message: u16, body: &[u8]) -> Result<Option<SharedAt>> {
        let Some((number, index)) = self.reader.shared.index_of(message) else { return Ok(None) };
        if (body.len() as u64) < u64::from(index.bytes_min) || index.messages == u16::MAX || body.is_empty() {
            return Ok(None);
        }
        let sought = Sought::new(message, body);
        let (mut index, heap) = self.with_heap_of(index)?;
        let found = self.find(&index, heap, &sought)?;
        let id = match found.map(|record| record.place) {
            // It is in the header of an object, and stays there.
            Some(MessageLocation::Header { .. } | MessageLocation::Heap { references: u32::MAX, .. }) => {
                return Ok(None);
            }
            Some(MessageLocation::Heap { references, id }) => {
                self.replace(&index, heap, &sought, references + 1, id)?;
                id
            }
            None => self.add(&mut index, heap, &sought)?,
        };
        self.write_shared_table(number, index)?;
        Ok(Some(SharedAt::Heap(id)))
    }

    /// Counts one object less for a message of the heap, and removes it after the last one.
    fn unshare_one(&mut self, message: u16, id: &[u8; 8]) -> Result<()> {
        let Some((number, mut index)) = self.reader.shared.index_of(message) else { return Ok(()) };
        let Some(heap) = index.heap else { return Ok(()) };
        let body = self.with_heap(heap, |heap, storage| heap.get(storage, id))?;
        let sought = Sought::new(message, &body);
        match self.find(&index, heap, &sought)?.map(|record| record.place) {
            Some(MessageLocation::Heap { references: 0 | 1, id }) => {
                self.change(&mut index, heap, &sought, None)?;
                self.with_heap(heap, |heap, storage| {
                    heap.remove(storage, &id)?;
                    heap.finish(storage)
                })?;
                self.shrink_shared_index(number, &mut index)?;
            }
            Some(MessageLocation::Heap { references, id }) => {
                self.replace(&index, heap, &sought, references - 1, id)?;
            }
            _ => return Ok(()),
        }
        self.write_shared_table(number, index)
    }

    /// Returns an index with a heap, and where that is.
    fn with_heap_of(&mut self, mut index: SharedIndex) -> Result<(SharedIndex, Address)> {
        let heap = match index.heap {
            Some(heap) => heap,
            None => self.storage.build_heap(Client::Attributes, &[], &[])?.address,
        };
        if index.index.is_none() {
            let bytes = list_bytes(index.list_max, self.storage.sizes);
            let at = self.storage.allocate(bytes, DataKind::ObjectHeader);
            let list = encode_list(&[], index.list_max, self.storage.sizes)?;
            self.storage.write(at, &list)?;
            (index.index, index.is_tree) = (Some(at), false);
        }
        index.heap = Some(heap);
        Ok((index, heap))
    }

    /// Returns the record of a message.
    fn find(
        &mut self,
        index: &SharedIndex,
        heap: Address,
        sought: &Sought<'_>,
    ) -> Result<Option<SharedRecord>> {
        self.with_heap(heap, |heap, storage| match index.is_tree {
            true => {
                let mut tree = open_tree(index, storage)?;
                let record = tree.find(storage, &mut |record| order(record, sought, heap, storage))?;
                record.map(|record| SharedRecord::decode(&record, storage.sizes)).transpose()
            }
            false => {
                let records = read_list(index, storage)?;
                Ok(position(&records, sought, heap, storage)?.map(|at| records[at]))
            }
        })
    }

    /// Changes the count of a message.
    fn replace(
        &mut self,
        index: &SharedIndex,
        heap: Address,
        sought: &Sought<'_>,
        references: u32,
        id: [u8; 8],
    ) -> Result<()> {
        let new = SharedRecord { hash: sought.hash, place: MessageLocation::Heap { references, id } };
        let mut index = *index;
        self.change(&mut index, heap, sought, Some(new))
    }

    /// Puts a message into the heap and its record into the index.
    fn add(&mut self, index: &mut SharedIndex, heap: Address, sought: &Sought<'_>) -> Result<[u8; 8]> {
        let id = self.with_heap(heap, |heap, storage| {
            let id = heap.insert(storage, sought.body)?;
            heap.finish(storage)?;
            Ok(id)
        })?;
        let id = id.try_into().map_err(|_| Error::corrupt("share message").with("problem", "heap IDs"))?;
        let new = SharedRecord { hash: sought.hash, place: MessageLocation::Heap { references: 1, id } };
        if !index.is_tree && index.messages >= index.list_max {
            self.grow(index, heap)?;
        }
        index.messages += 1;
        match index.is_tree {
            false => {
                let mut records = read_list_of(index, index.messages - 1, self.storage)?;
                records.push(new);
                write_list(index, &records, self.storage)?;
            }
            true => self.with_tree(index, heap, |tree, heap, storage| {
                let record = new.encode(storage.sizes)?;
                tree.insert(storage, &mut |there| order(there, sought, heap, storage), &record).map(drop)
            })?,
        }
        Ok(id)
    }

    /// Replaces a record that is there, or takes it out.
    fn change(
        &mut self,
        index: &mut SharedIndex,
        heap: Address,
        sought: &Sought<'_>,
        new: Option<SharedRecord>,
    ) -> Result<()> {
        if index.is_tree {
            self.with_tree(index, heap, |tree, heap, storage| {
                let mut order = |record: &[u8]| order(record, sought, heap, storage);
                match new {
                    Some(new) => tree.replace(storage, &mut order, &new.encode(storage.sizes)?).map(drop),
                    None => tree.remove(storage, &mut order).map(drop),
                }
            })?;
        } else {
            let mut records = read_list(index, self.storage)?;
            let at = self.with_heap(heap, |heap, storage| position(&records, sought, heap, storage))?;
            let at = at.ok_or_else(|| Error::corrupt("change index of shared messages"))?;
            match new {
                Some(new) => records[at] = new,
                None => drop(records.swap_remove(at)),
            }
            write_list(index, &records, self.storage)?;
        }
        index.messages -= u16::from(new.is_none());
        Ok(())
    }

    /// Makes a tree of a list that is full.
    fn grow(&mut self, index: &mut SharedIndex, heap: Address) -> Result<()> {
        let sizes = self.storage.sizes;
        let mut tree =
            Tree::new(TREE_KIND, TREE_NODE_BYTES, SharedRecord::bytes(sizes) as u16, self.storage)?;
        let records = read_list(index, self.storage)?;
        self.with_heap(heap, |heap, storage| {
            for record in records {
                let body = match record.place {
                    MessageLocation::Heap { id, .. } => heap.get(storage, &id)?,
                    MessageLocation::Header { .. } => Vec::new(),
                };
                let sought = Sought { hash: record.hash, body: &body };
                let mut order = |there: &[u8]| order(there, &sought, heap, storage);
                tree.insert(storage, &mut order, &record.encode(sizes)?)?;
            }
            Ok(())
        })?;
        if let Some(list) = index.index {
            self.storage.release(list, list_bytes(index.list_max, sizes));
        }
        (index.index, index.is_tree) = (Some(tree.finish(self.storage)?), true);
        Ok(())
    }

    /// Calls `f` with the tree of an index, which is somewhere else after it.
    fn with_tree(
        &mut self,
        index: &mut SharedIndex,
        heap: Address,
        f: impl FnOnce(&mut Tree, &mut Heap, &Storage) -> Result<()>,
    ) -> Result<()> {
        let mut tree = open_tree(index, self.storage)?;
        self.with_heap(heap, |heap, storage| f(&mut tree, heap, storage))?;
        index.index = Some(tree.finish(self.storage)?);
        Ok(())
    }
}

fn open_tree(index: &SharedIndex, storage: &Storage) -> Result<Tree> {
    let at = index.index.ok_or_else(|| Error::corrupt("open index of shared messages"))?;
    Tree::open(storage, at)
}

/// Compares an encoded record with a message.
fn order(record: &[u8], sought: &Sought<'_>, heap: &mut Heap, storage: &Storage) -> Result<Ordering> {
    sought.order(&SharedRecord::decode(record, storage.sizes)?, heap, storage)
}

/// Returns where a message is in a list, which has no order.
fn position(
    records: &[SharedRecord],
    sought: &Sought<'_>,
    heap: &mut Heap,
    storage: &Storage,
) -> Result<Option<usize>> {
    for (at, record) in records.iter().enumerate() {
        if sought.order(record, heap, storage)?.is_eq() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn read_list(index: &SharedIndex, storage: &Storage) -> Result<Vec<SharedRecord>> {
    read_list_of(index, index.messages, storage)
}

/// Returns the records of a list that has so many.
fn read_list_of(index: &SharedIndex, count: u16, storage: &Storage) -> Result<Vec<SharedRecord>> {
    let Some(at) = index.index else { return Ok(Vec::new()) };
    let bytes = list_bytes(index.list_max, storage.sizes);
    decode_list(&storage.read(at, bytes, "shared message list")?, count, storage.sizes)
}

fn write_list(index: &SharedIndex, records: &[SharedRecord], storage: &mut Storage) -> Result<()> {
    let Some(at) = index.index else { return Ok(()) };
    let list = encode_list(records, index.list_max, storage.sizes)?;
    storage.write_in_turn(at, &list, PublishOrder::First)
}
