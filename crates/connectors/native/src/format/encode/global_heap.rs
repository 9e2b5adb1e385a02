//! Global heap collections: IDs, and a collection to insert in and remove from (format spec III.E).

use std::collections::{BTreeSet, HashSet};

use model::bytes::Cursor;
use model::{Error, Result};

use super::super::Sizes;
use super::super::global_heap::{
    HeapId, OBJECT_HEAD_BYTES, collection_bytes, header_bytes, object_bytes, objects,
};
use super::Encoder;

/// Smallest collection that libhdf5 makes.
pub(crate) const COLLECTION_BYTES_MIN: u64 = 4096;

/// Space that an image has from its start.
const COLLECTION_CAPACITY_BYTES: u64 = 16 << 10;

impl HeapId {
    /// Returns an ID as values and messages store it; `None` is all zero.
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

/// Where the data of an object lies in the image of its collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Object {
    index: u16,
    start: usize,
    len: usize,
}

/// A collection: objects in the order of their bytes, and free space after them.
#[derive(Debug, Clone)]
pub(crate) struct Collection {
    sizes: Sizes,
    bytes: u64,
    /// Space for the header, and all objects with their heads as they are stored.
    image: Vec<u8>,
    /// Highest index given out, even if its object is gone.
    highest: u16,
    objects: Vec<Object>,
}

/// Returns `len` zeros, with space for as many bytes as a collection takes as a rule.
fn with_capacity(len: usize, bytes: u64) -> Vec<u8> {
    let mut image = Vec::with_capacity(bytes.min(COLLECTION_CAPACITY_BYTES) as usize);
    image.resize(len, 0);
    image
}

impl Collection {
    /// Returns an empty collection of `bytes` bytes, or of as many as an object of `first_object_bytes` needs.
    pub(crate) fn new(bytes: u64, first_object_bytes: usize, sizes: Sizes) -> Self {
        let mut new = Self::empty(bytes.max(COLLECTION_BYTES_MIN).next_multiple_of(8), sizes);
        new.bytes = new.bytes.max(new.used() + new.object_bytes(first_object_bytes));
        new
    }

    fn empty(bytes: u64, sizes: Sizes) -> Self {
        Collection {
            sizes,
            bytes,
            image: with_capacity(header_bytes(sizes) as usize, bytes),
            highest: 0,
            objects: Vec::new(),
        }
    }

    /// Returns the bytes before an object. libhdf5 writes 0 references and never looks.
    fn head(&self, index: u16, references: u16, len: usize) -> [u8; OBJECT_HEAD_BYTES] {
        let mut head = [0; OBJECT_HEAD_BYTES];
        head[..2].copy_from_slice(&index.to_le_bytes());
        head[2..4].copy_from_slice(&references.to_le_bytes());
        // One that is too long for its field does not fit the collection's own size either, which `encode` refuses.
        head[8..8 + self.sizes.length].copy_from_slice(&(len as u64).to_le_bytes()[..self.sizes.length]);
        head
    }

    fn push(&mut self, index: u16, references: u16, data: &[u8]) {
        self.image.extend_from_slice(&self.head(index, references, data.len()));
        let start = self.image.len();
        self.image.extend_from_slice(data);
        self.image.resize(start + data.len().next_multiple_of(8), 0);
        self.highest = self.highest.max(index);
        self.objects.push(Object { index, start, len: data.len() });
    }

    /// Returns all of a collection.
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
            found.push(index as u16, references, &bytes[range]);
        }
        Ok(found)
    }

    fn used(&self) -> u64 {
        self.image.len() as u64
    }

    fn head_bytes(&self) -> u64 {
        OBJECT_HEAD_BYTES as u64
    }

    fn object_bytes(&self, len: usize) -> u64 {
        object_bytes(len)
    }

    /// Returns the number of bytes of the whole collection.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of bytes after the last object.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.used())
    }

    /// Returns whether nothing is left in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Makes the collection larger; the file must have the space after it.
    pub(crate) fn extend(&mut self, more_bytes: u64) -> Result<()> {
        let bytes = self.bytes.checked_add(more_bytes).filter(|n| n.is_multiple_of(8));
        self.bytes = bytes.ok_or_else(|| Error::invalid("extend global heap collection"))?;
        Ok(())
    }

    /// Returns the bytes of an object.
    pub(crate) fn get(&self, index: u32) -> Option<&[u8]> {
        let found = self.objects.iter().find(|o| u32::from(o.index) == index)?;
        self.image.get(found.start..found.start + found.len)
    }

    /// Adds an object and says its index; `None` where there is no space, in bytes or in indexes.
    pub(crate) fn insert(&mut self, data: &[u8]) -> Option<u32> {
        if self.object_bytes(data.len()) > self.free_bytes() {
            return None;
        }
        let index = self.free_index()?;
        self.push(index, 0, data);
        Some(u32::from(index))
    }

    /// Adds as many objects as there is space for, without looking for holes among the indexes: the first index, and how many.
    pub(crate) fn insert_all(&mut self, values: &[&[u8]]) -> (u16, u16) {
        let (first, mut free) = (self.highest.saturating_add(1), self.free_bytes());
        let fits = values.iter().take(usize::from(u16::MAX - self.highest)).take_while(|value| {
            let bytes = object_bytes(value.len());
            let fits = bytes <= free;
            free -= if fits { bytes } else { 0 };
            fits
        });
        let count = fits.count();
        let mut at = self.image.len();
        self.image.resize(at + (self.free_bytes() - free) as usize, 0);
        self.objects.reserve(count);
        for (value, index) in values[..count].iter().zip(first..) {
            let (head, start) = (self.head(index, 0, value.len()), at + OBJECT_HEAD_BYTES);
            self.image[at..start].copy_from_slice(&head);
            self.image[start..start + value.len()].copy_from_slice(value);
            self.objects.push(Object { index, start, len: value.len() });
            self.highest = index;
            at = start + value.len().next_multiple_of(8);
        }
        (first, count as u16)
    }

    /// Returns one past the highest index, and when those are used up the lowest hole.
    fn free_index(&self) -> Option<u16> {
        if let Some(next) = self.highest.checked_add(1) {
            return Some(next);
        }
        let used: HashSet<u16> = self.objects.iter().map(|o| o.index).collect();
        (1..=u16::MAX).find(|index| !used.contains(index))
    }

    /// Gives an object other bytes under the same index; whether it was there and they fit.
    pub(crate) fn replace(&mut self, index: u32, data: &[u8]) -> bool {
        let Some(old) = self.get(index).map(<[u8]>::len) else { return false };
        let used = self.used() - self.object_bytes(old) + self.object_bytes(data.len());
        if used > self.bytes {
            return false;
        }
        self.rebuild(
            |object, own| if u32::from(object) == index { Some(data.to_vec()) } else { Some(own.to_vec()) },
        );
        true
    }

    /// Encodes the same objects in the same order, with the data that `data` gives for an index and what it had; `None` removes one.
    fn rebuild(&mut self, data: impl Fn(u16, &[u8]) -> Option<Vec<u8>>) {
        let old = std::mem::replace(self, Self::empty(self.bytes, self.sizes));
        for Object { index, start, len } in old.objects {
            let head = start - OBJECT_HEAD_BYTES;
            let references = u16::from_le_bytes([old.image[head + 2], old.image[head + 3]]);
            if let Some(data) = data(index, &old.image[start..start + len]) {
                self.push(index, references, &data);
            }
        }
        self.highest = old.highest;
    }

    /// Removes an object, and those after it slide down; whether it was there.
    pub(crate) fn remove(&mut self, index: u32) -> bool {
        self.remove_all(&BTreeSet::from([index])) == 1
    }

    /// Removes those of the objects that are there; how many.
    pub(crate) fn remove_all(&mut self, indexes: &BTreeSet<u32>) -> usize {
        let before = self.objects.len();
        self.rebuild(|index, data| (!indexes.contains(&u32::from(index))).then(|| data.to_vec()));
        before - self.objects.len()
    }

    /// Returns the bytes of the collection.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        self.clone().encode_for(|bytes| Ok(bytes.to_vec()))
    }

    /// Returns what `write` makes of the bytes of the collection, which are not copied for it.
    pub(crate) fn encode_for<T>(&mut self, write: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let mut e = Encoder::block("global heap collection", self.sizes, b"GCOL", 1);
        let header = e.zeros(3).length(self.bytes).pad(0, 8).finish()?;
        self.image[..header.len()].copy_from_slice(&header);
        let (used, free) = (self.image.len(), self.free_bytes());
        // Less than a head is free space without one. The size of free space counts its own head.
        if free >= self.head_bytes() {
            let mut e = Encoder::new("free space of global heap collection", self.sizes);
            self.image.extend(e.u16(0).u16(0).zeros(4).length(free).pad(0, 8).finish()?);
        }
        if self.image.len() as u64 > self.bytes {
            let error = Error::invalid("encode global heap collection").with("bytes", self.image.len());
            return Err(error.with("space", self.bytes));
        }
        self.image.resize(self.bytes as usize, 0);
        let done = write(&self.image);
        self.image.truncate(used);
        done
    }
}
