//! Variable-length values and references, in global heap collections.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::bytes::Put;
use model::datatype::{ReferenceKind, SlotSizes};
use model::selection::SelectionVersion;
use model::{Error, Reference, ReferenceTarget, Result, Token, Within, text};

use super::Writer;
use crate::format::Address;
use crate::format::encode::global_heap::Collection;
use crate::format::global_heap::{self, HeapId};
use crate::txn::Turn;

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
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Where new ones go.
    open: Option<OpenCollection>,
    /// Values that were given up; the last commit may still use them.
    pending_free: BTreeMap<Address, BTreeSet<u32>>,
}

impl Writer {
    /// Stores a value and says where.
    pub(crate) fn blob_put(&mut self, value: &[u8]) -> Result<Vec<u8>> {
        self.blobs_put(&[value])
    }

    /// Stores values and says where, one identity after another.
    pub(crate) fn blobs_put(&mut self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let longest = values.iter().map(|value| value.len()).max().unwrap_or(0) as u64;
        longest.within(self.reader.store.limits.blob_bytes_max, "variable-length value")?;
        let mut ids = Vec::with_capacity(values.len() * (self.storage.sizes.offset + 4) + 4);
        let mut left = values;
        while let Some(first) = left.first() {
            let put = self.values.open.as_mut().map_or(0..0, |open| open.insert_all(left));
            let put = match put.is_empty() {
                true => self.open_collection(first, left).map(|index| index..index + 1)?,
                false => put,
            };
            left = &left[put.len()..];
            let at = self.values.open.as_ref().map_or(Address(0), |open| open.address);
            for index in put {
                // As many bytes as the file's addresses have; a fixed number is copied without a call.
                ids.extend_from_slice(&at.0.to_le_bytes());
                ids.truncate(ids.len() + self.storage.sizes.offset - 8);
                ids.extend_from_slice(&index.to_le_bytes());
            }
        }
        Ok(ids)
    }

    /// Gives up values.
    pub(crate) fn blob_delete(&mut self, ids: &[&[u8]]) -> Result<()> {
        let ids = ids.iter().map(|id| HeapId::of(id, self.storage.sizes)).collect::<Result<Vec<_>>>()?;
        self.remove_ids(ids.into_iter().flatten())
    }

    /// Gives up values, those of one collection together.
    pub(super) fn remove_ids(&mut self, ids: impl Iterator<Item = HeapId>) -> Result<()> {
        let mut by_collection: BTreeMap<Address, Vec<u32>> = BTreeMap::new();
        for id in ids {
            by_collection.entry(id.collection).or_default().push(id.index);
        }
        by_collection.into_iter().try_for_each(|(at, indexes)| self.delete_in(at, &indexes))
    }

    /// Takes away what no commit has; the rest goes with the next one, after what led to it.
    fn delete_in(&mut self, at: Address, indexes: &[u32]) -> Result<()> {
        let mut collection = self.collection(at)?;
        let is_fresh = self.storage.is_fresh(at, collection.len());
        let open = self.values.open.as_ref().filter(|open| open.address == at);
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
            if !is_there || !self.values.pending_free.entry(at).or_default().insert(index) {
                missing = Some(index);
            }
            self.storage.transaction.is_changed = true;
        }
        if !now.is_empty() {
            self.put_back(at, collection)?;
        }
        match missing {
            Some(index) => Err(Error::not_found("delete value").at(at.0).with("index", index)),
            None => Ok(()),
        }
    }

    /// Keeps a collection that lost values which no commit has.
    fn put_back(&mut self, at: Address, collection: Collection) -> Result<()> {
        self.reader.forget_collection(at);
        let open = self.values.open.take_if(|open| open.address == at);
        if collection.is_empty() {
            self.storage.release_raw(at, collection.len());
            return Ok(());
        }
        // New values go where much room is.
        match (&self.values.open, open) {
            (_, Some(open)) => self.values.open = Some(OpenCollection { collection, is_dirty: true, ..open }),
            (Some(other), None) if other.collection.free_bytes() >= collection.free_bytes() => {
                self.write_collection(at, &collection, Turn::First)?;
            }
            (_, None) => {
                self.flush_blobs()?;
                self.values.open =
                    Some(OpenCollection { is_dirty: true, ..OpenCollection::new(at, collection) });
            }
        }
        Ok(())
    }

    /// A collection as it is, with values that were given up and that the last commit may still use.
    fn collection(&self, at: Address) -> Result<Collection> {
        if let Some(open) = self.values.open.as_ref().filter(|open| open.address == at) {
            return Ok(open.collection.clone());
        }
        let head =
            self.reader.store.block(at, global_heap::header_bytes(self.storage.sizes), "global heap")?;
        let bytes = global_heap::collection_bytes(&head, self.storage.sizes)?;
        Collection::decode(&self.reader.store.block(at, bytes, "global heap collection")?, self.storage.sizes)
    }

    /// Takes values away that were given up: in the file when nothing there leads to them any more. The collections without them.
    pub(super) fn remove_blobs(&mut self) -> Result<Vec<(Address, Collection)>> {
        let mut without = Vec::new();
        for (at, indexes) in self.values.pending_free.clone() {
            let mut collection = self.collection(at)?;
            collection.remove_all(&indexes);
            self.write_collection(at, &collection, Turn::Last)?;
            without.push((at, collection));
        }
        Ok(without)
    }

    /// The commit is done: the room of values that it took away can be used.
    pub(super) fn blobs_removed(&mut self, without: Vec<(Address, Collection)>) {
        self.values.pending_free.clear();
        self.values.open.iter_mut().for_each(|open| open.new.clear());
        for (at, collection) in without {
            self.reader.forget_collection(at);
            let was_open = self.values.open.take_if(|open| open.address == at).is_some();
            if collection.is_empty() {
                self.storage.release_raw(at, collection.len());
                continue;
            }
            let open_bytes = self.values.open.as_ref().map(|open| open.collection.free_bytes());
            if was_open || open_bytes.is_none_or(|bytes| bytes < collection.free_bytes()) {
                self.values.open = Some(OpenCollection::new(at, collection));
            }
        }
    }

    /// A collection with room for this value: the open one where an index is free among others, or a new one that is
    /// made for all that are `left`.
    fn open_collection(&mut self, value: &[u8], left: &[&[u8]]) -> Result<u32> {
        if let Some(index) = self.values.open.as_mut().and_then(|open| open.insert(value)) {
            return Ok(index);
        }
        self.flush_blobs()?;
        let mut room = global_heap::header_bytes(self.storage.sizes);
        for value in left {
            room = (room + global_heap::object_bytes(value.len())).min(COLLECTION_BYTES_MAX);
            if room == COLLECTION_BYTES_MAX {
                break;
            }
        }
        let collection = Collection::new(room, value.len(), self.storage.sizes);
        let address = self.storage.allocate_raw(collection.len());
        // Whether it can be named at all.
        HeapId::encode(Some(HeapId { collection: address, index: 1 }), self.storage.sizes)?;
        let mut open = OpenCollection::new(address, collection);
        let index = open.insert(value);
        self.values.open = Some(open);
        index.ok_or_else(|| Error::limit("store value").with("bytes", value.len()))
    }

    /// Whether values were stored that the file does not hold yet.
    pub(crate) fn has_new_blobs(&self) -> bool {
        self.values.open.as_ref().is_some_and(|open| open.is_dirty)
    }

    /// Writes the open collection, so that what is in it can be read.
    pub(crate) fn flush_blobs(&mut self) -> Result<()> {
        let Some(mut open) = self.values.open.take_if(|open| open.is_dirty) else { return Ok(()) };
        let reader = self.reader.clone();
        let _changing = reader.gate.as_ref().map(|gate| gate.change_values());
        reader.forget_collection(open.address);
        let done =
            open.collection.encode_for(|bytes| self.storage.write_in_turn(open.address, bytes, Turn::First));
        open.is_dirty = done.is_err();
        reader.gate.iter().for_each(|gate| gate.set_new_values(open.is_dirty));
        self.values.open = Some(open);
        done
    }

    /// Writes a collection, while nobody reads values.
    fn write_collection(&mut self, at: Address, collection: &Collection, turn: Turn) -> Result<()> {
        let _changing = self.reader.gate.as_ref().map(|gate| gate.change_values());
        self.reader.forget_collection(at);
        self.storage.write_in_turn(at, &collection.encode()?, turn)
    }

    /// The slot of a reference.
    pub(crate) fn reference_put(&mut self, kind: ReferenceKind, reference: &Reference) -> Result<Vec<u8>> {
        let size = SlotSizes::native(self.storage.sizes.offset as u32).of_reference(kind) as usize;
        let mut slot = match kind {
            ReferenceKind::ObjectOld => self.old_object(reference)?,
            ReferenceKind::RegionOld => self.old_region(reference)?,
            _ => self.new_reference(reference)?,
        };
        slot.resize(size, 0);
        Ok(slot)
    }

    fn address(&self, token: Token) -> Vec<u8> {
        token.to_u64().to_le_bytes()[..self.storage.sizes.offset].to_vec()
    }

    fn old_object(&self, reference: &Reference) -> Result<Vec<u8>> {
        match &reference.target {
            ReferenceTarget::Null => Ok(Vec::new()),
            ReferenceTarget::Object(token) => Ok(self.address(*token)),
            _ => Err(Error::invalid("store object reference").with("problem", "it points into an object")),
        }
    }

    fn old_region(&mut self, reference: &Reference) -> Result<Vec<u8>> {
        match &reference.target {
            ReferenceTarget::Null => Ok(Vec::new()),
            ReferenceTarget::Region { dataset, selection } => {
                let blob = [self.address(*dataset), selection.encode(self.selection_version())?].concat();
                self.blob_put(&blob)
            }
            _ => Err(Error::invalid("store region reference").with("problem", "it has no region")),
        }
    }

    /// The rank of a dataset that a region is of; none where it is in another file, or gone.
    fn rank_of(&mut self, reference: &Reference, dataset: Token) -> usize {
        match reference.file {
            None => self.dataset(Address(dataset.to_u64())).map_or(0, |found| found.dims().len()),
            Some(_) => 0,
        }
    }

    fn new_reference(&mut self, reference: &Reference) -> Result<Vec<u8>> {
        let Some(token) = reference.token() else { return Ok(Vec::new()) };
        let mut blob = vec![self.storage.sizes.offset as u8];
        blob.extend(self.address(token));
        let kind = match &reference.target {
            ReferenceTarget::Region { .. } => 3,
            ReferenceTarget::Attribute { .. } => 4,
            _ => 2,
        };
        if kind == 2 && reference.file.is_none() {
            return Ok([&[2, 0], &blob[..]].concat());
        }
        if let Some(name) = &reference.file {
            put_text(&mut blob, name)?;
        }
        match &reference.target {
            ReferenceTarget::Region { dataset, selection } => {
                let bytes = selection.encode(SelectionVersion::V112)?;
                let rank = selection.rank().unwrap_or_else(|| self.rank_of(reference, *dataset));
                blob.put_uint(bytes.len() as u64, 4);
                blob.put_uint(rank as u64, 4);
                blob.extend(bytes);
            }
            ReferenceTarget::Attribute { name, .. } => put_text(&mut blob, name)?,
            _ => {}
        }
        let mut slot = vec![kind, u8::from(reference.file.is_some())];
        slot.put_uint(blob.len() as u64, 4);
        slot.extend(self.blob_put(&blob)?);
        Ok(slot)
    }
}

fn put_text(out: &mut Vec<u8>, value: &str) -> Result<()> {
    let bytes = text::to_bytes(value);
    let len = u16::try_from(bytes.len())
        .map_err(|_| Error::limit("store reference").with("name bytes", bytes.len()))?;
    out.put_uint(u64::from(len), 2);
    out.extend(bytes);
    Ok(())
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

    /// Whether no commit has this value yet.
    fn is_new(&self, index: u32) -> bool {
        self.new.iter().any(|range| range.contains(&index))
    }
}
