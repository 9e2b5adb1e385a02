//! Variable-length values, in global heap collections.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use files::DataKind;
use model::{Error, Result, Within};

use super::storage::Storage;
use crate::format::Address;
use crate::format::encode::global_heap::Collection;
use crate::format::global_heap::{self, HeapId};
use crate::reader::Reader;
use crate::txn::PublishOrder;

/// Bytes of a collection for many values that are stored together: fewer, larger ones cost less to write and to read, and a
/// single value that changes rewrites its whole collection.
const COLLECTION_BYTES_MAX: u64 = 16 << 10;

/// The collection that values go to until it is full.
#[derive(Debug)]
pub(crate) struct OpenCollection {
    address: Address,
    collection: Collection,
    is_dirty: bool,
    /// Values that no commit has yet.
    new: Vec<Range<u32>>,
}

/// Values that are stored and given up.
#[derive(Debug)]
pub(crate) struct Values {
    reader: Arc<Reader>,
    /// Where new ones go.
    open: Option<OpenCollection>,
    /// Values that were given up; the last commit may still use them.
    pending_free: BTreeMap<Address, BTreeSet<u32>>,
}

impl Values {
    pub(super) fn new(reader: Arc<Reader>) -> Self {
        Values { reader, open: None, pending_free: BTreeMap::new() }
    }

    /// Stores values and says where, one identity after another.
    pub(crate) fn put(&mut self, values: &[&[u8]], storage: &mut Storage) -> Result<Vec<u8>> {
        let longest = values.iter().map(|value| value.len()).max().unwrap_or(0) as u64;
        longest.within(self.reader.store.limits.blob_bytes_max, "variable-length value")?;
        let mut ids = Vec::with_capacity(values.len() * (storage.sizes.offset + 4) + 4);
        let mut left = values;
        while let Some(first) = left.first() {
            let put = self.open.as_mut().map_or(0..0, |open| open.insert_all(left));
            let put = match put.is_empty() {
                true => self.open_collection(first, left, storage).map(|index| index..index + 1)?,
                false => put,
            };
            left = &left[put.len()..];
            let at = self.open.as_ref().map_or(Address(0), |open| open.address);
            for index in put {
                // As many bytes as the file's addresses have; a fixed number is copied without a call.
                ids.extend_from_slice(&at.0.to_le_bytes());
                ids.truncate(ids.len() + storage.sizes.offset - 8);
                ids.extend_from_slice(&index.to_le_bytes());
            }
        }
        Ok(ids)
    }

    /// Gives up values.
    pub(crate) fn delete(&mut self, ids: &[&[u8]], storage: &mut Storage) -> Result<()> {
        let ids = ids.iter().map(|id| HeapId::of(id, storage.sizes)).collect::<Result<Vec<_>>>()?;
        self.remove(ids.into_iter().flatten(), storage)
    }

    /// Gives up values, those of one collection together.
    pub(super) fn remove(&mut self, ids: impl Iterator<Item = HeapId>, storage: &mut Storage) -> Result<()> {
        let mut by_collection: BTreeMap<Address, Vec<u32>> = BTreeMap::new();
        for id in ids {
            by_collection.entry(id.collection).or_default().push(id.index);
        }
        by_collection.into_iter().try_for_each(|(at, indexes)| self.delete_in(at, &indexes, storage))
    }

    /// Removes what no commit has; the rest goes with the next one, after what led to it.
    fn delete_in(&mut self, at: Address, indexes: &[u32], storage: &mut Storage) -> Result<()> {
        let mut collection = self.collection(at, storage)?;
        let is_fresh = storage.is_fresh(at, collection.len());
        let open = self.open.as_ref().filter(|open| open.address == at);
        let is_new = |index: &u32| is_fresh || open.is_some_and(|open| open.is_new(*index));
        let (now, later): (Vec<u32>, Vec<u32>) = indexes.iter().partition(|index| is_new(index));
        let removed = BTreeSet::from_iter(now.iter().copied());
        let mut missing = now.iter().find(|index| collection.get(**index).is_none()).copied();
        if removed.len() < now.len() {
            missing = missing.or(now.last().copied());
        }
        collection.remove_all(&removed);
        for index in later {
            let is_there = collection.get(index).is_some();
            if !is_there || !self.pending_free.entry(at).or_default().insert(index) {
                missing = Some(index);
            }
            storage.transaction.is_changed = true;
        }
        if !now.is_empty() {
            self.put_back(at, collection, storage)?;
        }
        match missing {
            Some(index) => Err(Error::not_found("delete value").at(at.0).with("index", index)),
            None => Ok(()),
        }
    }

    /// Keeps a collection that lost values which no commit has.
    fn put_back(&mut self, at: Address, collection: Collection, storage: &mut Storage) -> Result<()> {
        self.reader.forget_collection(at);
        let open = self.open.take_if(|open| open.address == at);
        if collection.is_empty() {
            storage.release_raw(at, collection.len());
            return Ok(());
        }
        // New values go where much space is.
        match (&self.open, open) {
            (_, Some(open)) => self.open = Some(OpenCollection { collection, is_dirty: true, ..open }),
            (Some(other), None) if other.collection.free_bytes() >= collection.free_bytes() => {
                self.write_collection(at, &collection, PublishOrder::First, storage)?;
            }
            (_, None) => {
                self.flush(storage)?;
                self.open = Some(OpenCollection { is_dirty: true, ..OpenCollection::new(at, collection) });
            }
        }
        Ok(())
    }

    /// Returns a collection as it is, with values that were given up and that the last commit may still use.
    fn collection(&self, at: Address, storage: &Storage) -> Result<Collection> {
        if let Some(open) = self.open.as_ref().filter(|open| open.address == at) {
            return Ok(open.collection.clone());
        }
        let head = self.reader.store.block(at, global_heap::header_bytes(storage.sizes), "global heap")?;
        let bytes = global_heap::collection_bytes(&head, storage.sizes)?;
        Collection::decode(&self.reader.store.block(at, bytes, "global heap collection")?, storage.sizes)
    }

    /// Takes values away that were given up: in the file when nothing there leads to them any more. The collections without them.
    pub(super) fn before_commit(&mut self, storage: &mut Storage) -> Result<Vec<(Address, Collection)>> {
        let mut without = Vec::new();
        for (at, indexes) in self.pending_free.clone() {
            let mut collection = self.collection(at, storage)?;
            collection.remove_all(&indexes);
            self.write_collection(at, &collection, PublishOrder::Last, storage)?;
            without.push((at, collection));
        }
        Ok(without)
    }

    /// The commit is done: the space of values that it took away can be used.
    pub(super) fn after_commit(&mut self, without: Vec<(Address, Collection)>, storage: &mut Storage) {
        self.pending_free.clear();
        self.open.iter_mut().for_each(|open| open.new.clear());
        for (at, collection) in without {
            self.reader.forget_collection(at);
            let was_open = self.open.take_if(|open| open.address == at).is_some();
            if collection.is_empty() {
                storage.release_raw(at, collection.len());
                continue;
            }
            let open_bytes = self.open.as_ref().map(|open| open.collection.free_bytes());
            if was_open || open_bytes.is_none_or(|bytes| bytes < collection.free_bytes()) {
                self.open = Some(OpenCollection::new(at, collection));
            }
        }
    }

    /// Returns a collection with space for this value: the open one where an index is free among others, or a new one that is
    /// made for all that are `left`.
    fn open_collection(&mut self, value: &[u8], left: &[&[u8]], storage: &mut Storage) -> Result<u32> {
        if let Some(index) = self.open.as_mut().and_then(|open| open.insert(value)) {
            return Ok(index);
        }
        self.flush(storage)?;
        let mut capacity = global_heap::header_bytes(storage.sizes);
        for value in left {
            capacity = (capacity + global_heap::object_bytes(value.len())).min(COLLECTION_BYTES_MAX);
            if capacity == COLLECTION_BYTES_MAX {
                break;
            }
        }
        let collection = Collection::new(capacity, value.len(), storage.sizes);
        // libhdf5 takes global heaps for raw data: it reads them up to the end of that member.
        let address = storage.allocate(collection.len(), DataKind::Raw);
        // Whether it can be named at all.
        HeapId::encode(Some(HeapId { collection: address, index: 1 }), storage.sizes)?;
        let mut open = OpenCollection::new(address, collection);
        let index = open.insert(value);
        self.open = Some(open);
        index.ok_or_else(|| Error::limit("store value").with("bytes", value.len()))
    }

    /// Returns whether values were stored that the file does not hold yet.
    pub(crate) fn has_new(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_dirty)
    }

    /// Writes the open collection, so that what is in it can be read.
    pub(crate) fn flush(&mut self, storage: &mut Storage) -> Result<()> {
        let Some(mut open) = self.open.take_if(|open| open.is_dirty) else { return Ok(()) };
        let reader = self.reader.clone();
        let _changing = reader.gate.as_ref().map(|gate| gate.change_values());
        reader.forget_collection(open.address);
        let done = open
            .collection
            .encode_for(|bytes| storage.write_in_turn(open.address, bytes, PublishOrder::First));
        open.is_dirty = done.is_err();
        reader.gate.iter().for_each(|gate| gate.set_new_values(open.is_dirty));
        self.open = Some(open);
        done
    }

    /// Writes a collection, while no one reads values.
    fn write_collection(
        &mut self,
        at: Address,
        collection: &Collection,
        turn: PublishOrder,
        storage: &mut Storage,
    ) -> Result<()> {
        let _changing = self.reader.gate.as_ref().map(|gate| gate.change_values());
        self.reader.forget_collection(at);
        storage.write_in_turn(at, &collection.encode()?, turn)
    }
}

impl OpenCollection {
    fn new(address: Address, collection: Collection) -> Self {
        OpenCollection { address, collection, is_dirty: false, new: Vec::new() }
    }

    fn insert(&mut self, value: &[u8]) -> Option<u32> {
        let index = self.collection.insert(value)?;
        self.note_new(index..index + 1);
        Some(index)
    }

    /// Stores as many values as fit, and says under which indexes.
    fn insert_all(&mut self, values: &[&[u8]]) -> Range<u32> {
        let (first, count) = self.collection.insert_all(values);
        let indexes = u32::from(first)..u32::from(first) + u32::from(count);
        if !indexes.is_empty() {
            self.note_new(indexes.clone());
        }
        indexes
    }

    fn note_new(&mut self, indexes: Range<u32>) {
        self.is_dirty = true;
        match self.new.last_mut().filter(|last| last.end == indexes.start) {
            Some(last) => last.end = indexes.end,
            None => self.new.push(indexes),
        }
    }

    /// Returns whether no commit has this value yet.
    fn is_new(&self, index: u32) -> bool {
        self.new.iter().any(|range| range.contains(&index))
    }
}
