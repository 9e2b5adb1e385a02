//! Global heap collections: IDs, and a collection to insert in and remove from (format spec III.E).

use std::collections::{BTreeSet, HashSet};

use model::bytes::Cursor;
use model::{Error, Result};

use super::super::Sizes;
use super::super::global_heap::{HeapId, collection_bytes, header_bytes, objects};
use super::Encoder;

/// Smallest collection that libhdf5 makes.
pub(crate) const COLLECTION_BYTES_MIN: u64 = 4096;

impl HeapId {
    /// An ID as values and messages store it; `None` is all zero.
    pub(crate) fn encode(id: Option<Self>, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::new("global heap ID", sizes);
        match id {
            Some(id) => {
                e.require(id.index > 0, "index is zero").defined(id.collection).u32(id.index).finish()
            }
            None => e.zeros(sizes.offset + 4).finish(),
        }
    }
}

/// An object of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    index: u16,
    /// libhdf5 writes 0 and never looks.
    references: u16,
    data: Vec<u8>,
}

/// A collection: objects in the order of their bytes, and free space after them.
#[derive(Debug, Clone)]
pub(crate) struct Collection {
    sizes: Sizes,
    bytes: u64,
    /// Bytes of the header and of all objects.
    used: u64,
    /// Highest index given out, even if its object is gone.
    highest: u16,
    objects: Vec<Object>,
}

impl Collection {
    /// An empty collection of the smallest size, or of just what an object of `first_object_bytes` needs.
    pub(crate) fn new(first_object_bytes: usize, sizes: Sizes) -> Self {
        let mut new = Self::empty(COLLECTION_BYTES_MIN, sizes);
        new.bytes = new.bytes.max(new.used + new.object_bytes(first_object_bytes));
        new
    }

    fn empty(bytes: u64, sizes: Sizes) -> Self {
        Collection { sizes, bytes, used: header_bytes(sizes), highest: 0, objects: Vec::new() }
    }

    fn push(&mut self, object: Object) {
        self.used += self.object_bytes(object.data.len());
        self.highest = self.highest.max(object.index);
        self.objects.push(object);
    }

    /// All of a collection.
    pub(crate) fn decode(bytes: &[u8], sizes: Sizes) -> Result<Self> {
        let stored = collection_bytes(bytes, sizes)?;
        if stored != bytes.len() as u64 {
            return Err(Error::corrupt("decode global heap collection").with("bytes", stored));
        }
        let mut found = Self::empty(stored, sizes);
        for (index, range) in objects(bytes, sizes)? {
            let head = range.start - found.head_bytes() as usize;
            let mut c = Cursor::new(&bytes[head..], "global heap object");
            let (_, references) = (c.u16()?, c.u16()?);
            let data = bytes[range].to_vec();
            found.push(Object { index: index as u16, references, data });
        }
        Ok(found)
    }

    fn head_bytes(&self) -> u64 {
        (8 + self.sizes.length as u64).next_multiple_of(8)
    }

    fn object_bytes(&self, len: usize) -> u64 {
        self.head_bytes() + (len as u64).next_multiple_of(8)
    }

    /// Bytes of the whole collection.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Bytes after the last object.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.used)
    }

    /// Whether nothing is left in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Makes the collection larger; the file must have the room after it.
    pub(crate) fn extend(&mut self, more_bytes: u64) -> Result<()> {
        let bytes = self.bytes.checked_add(more_bytes).filter(|n| n.is_multiple_of(8));
        self.bytes = bytes.ok_or_else(|| Error::invalid("extend global heap collection"))?;
        Ok(())
    }

    /// The bytes of an object.
    pub(crate) fn get(&self, index: u32) -> Option<&[u8]> {
        self.objects.iter().find(|o| u32::from(o.index) == index).map(|o| o.data.as_slice())
    }

    /// Adds an object and says its index; `None` where there is no room, in bytes or in indexes.
    pub(crate) fn insert(&mut self, data: &[u8]) -> Option<u32> {
        if self.object_bytes(data.len()) > self.free_bytes() {
            return None;
        }
        let index = self.free_index()?;
        self.push(Object { index, references: 0, data: data.to_vec() });
        Some(u32::from(index))
    }

    /// One past the highest index, and when those are used up the lowest hole.
    fn free_index(&self) -> Option<u16> {
        if let Some(next) = self.highest.checked_add(1) {
            return Some(next);
        }
        let used: HashSet<u16> = self.objects.iter().map(|o| o.index).collect();
        (1..=u16::MAX).find(|index| !used.contains(index))
    }

    /// Gives an object other bytes under the same index; whether it was there and they fit.
    pub(crate) fn replace(&mut self, index: u32, data: &[u8]) -> bool {
        let Some(at) = self.objects.iter().position(|o| u32::from(o.index) == index) else { return false };
        let others = self.used - self.object_bytes(self.objects[at].data.len());
        let used = others + self.object_bytes(data.len());
        if used > self.bytes {
            return false;
        }
        self.used = used;
        self.objects[at].data = data.to_vec();
        true
    }

    /// The bytes of an object.
    pub(crate) fn object(&self, index: u32) -> Option<&[u8]> {
        self.objects.iter().find(|o| u32::from(o.index) == index).map(|o| o.data.as_slice())
    }

    /// Removes an object, and those after it slide down; whether it was there.
    pub(crate) fn remove(&mut self, index: u32) -> bool {
        let Some(at) = self.objects.iter().position(|o| u32::from(o.index) == index) else { return false };
        let object = self.objects.remove(at);
        self.used -= self.object_bytes(object.data.len());
        true
    }

    /// Removes those of the objects that are there.
    pub(crate) fn remove_all(&mut self, indexes: &BTreeSet<u32>) {
        for &index in indexes {
            self.remove(index);
        }
    }

    /// The bytes of the collection.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::block("global heap collection", self.sizes, b"GCOL", 1);
        e.zeros(3).length(self.bytes).pad(0, 8);
        for object in &self.objects {
            self.head(&mut e, object.index, object.references, object.data.len() as u64);
            e.raw(&object.data).pad(0, 8);
        }
        let free = self.free_bytes();
        // Less than a head is free space without one. The size of free space counts its own head.
        if free >= self.head_bytes() {
            self.head(&mut e, 0, 0, free);
        }
        e.finish_in(self.bytes)
    }

    fn head(&self, e: &mut Encoder, index: u16, references: u16, len: u64) {
        e.u16(index).u16(references).zeros(4).length(len).pad(0, 8);
    }
}
