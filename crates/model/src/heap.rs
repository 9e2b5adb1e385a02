//! Variable-length values and references in memory.
//!
//! An element in *memory form* holds a slot of 16 bytes for each of them: two little-endian `u64`.
//! For a variable-length value they are the offset of its elements in the heap's bytes and their number;
//! for a reference, its place in the heap's references plus one, and zero. All zeros is no value: an empty one has another offset.
//! Offsets instead of pointers keep every user of a buffer in safe code, and make buffers easy to ship.

use crate::{Error, Reference, Result};

/// What the slots of a buffer point into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heap {
    bytes: Vec<u8>,
    references: Vec<Reference>,
}

/// A variable-length value: where and how many elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VarSlot {
    /// Bytes from the start of the heap.
    pub offset: u64,
    /// Elements (bytes, for strings).
    pub count: u64,
}

impl VarSlot {
    /// Whether there is no value, not even an empty one.
    #[inline]
    pub fn is_null(self) -> bool {
        self == VarSlot::default()
    }

    /// From the first 16 bytes of an element.
    #[inline]
    pub fn load(element: &[u8]) -> Result<Self> {
        let (offset, count) = pair(element)?;
        Ok(VarSlot { offset, count })
    }

    /// Into the first 16 bytes of an element.
    #[inline]
    pub fn store(self, element: &mut [u8]) -> Result<()> {
        put_pair(element, self.offset, self.count)
    }
}

#[inline]
fn pair(element: &[u8]) -> Result<(u64, u64)> {
    match element.first_chunk::<16>() {
        Some(raw) => {
            let n = u128::from_le_bytes(*raw);
            Ok((n as u64, (n >> 64) as u64))
        }
        None => Err(Error::invalid("read slot").with("bytes", element.len())),
    }
}

#[inline]
fn put_pair(element: &mut [u8], a: u64, b: u64) -> Result<()> {
    let have = element.len();
    let slot =
        element.first_chunk_mut::<16>().ok_or_else(|| Error::invalid("write slot").with("bytes", have))?;
    slot[..8].copy_from_slice(&a.to_le_bytes());
    slot[8..].copy_from_slice(&b.to_le_bytes());
    Ok(())
}

impl Heap {
    /// An empty heap.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes held.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.references.is_empty()
    }

    /// Forgets all values; their room can be used again.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.references.clear();
    }

    /// Appends a value of `count` elements whose bytes are `data`. It may be empty: its slot is not the null slot.
    #[inline]
    pub fn push(&mut self, data: &[u8], count: u64) -> VarSlot {
        if self.bytes.is_empty() && count == 0 {
            // Any byte will do; this one keeps a heap of plain characters plain.
            self.bytes.push(b' ');
        }
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(data);
        VarSlot { offset, count }
    }

    /// Appends room for a value and gives it to be filled.
    pub fn reserve(&mut self, len: usize, count: u64) -> (VarSlot, &mut [u8]) {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        (VarSlot { offset: start as u64, count }, &mut self.bytes[start..])
    }

    /// The bytes of a value whose elements have `element_bytes` each.
    #[inline]
    pub fn get(&self, slot: VarSlot, element_bytes: u64) -> Result<&[u8]> {
        let range = self.range(slot, element_bytes)?;
        Ok(&self.bytes[range])
    }

    /// All bytes as text, where they are plain characters and no NUL among them: whoever makes many strings of them checks
    /// them once.
    pub fn plain_text(&self) -> Option<&str> {
        let is_plain = self.bytes.iter().fold(true, |plain, &b| plain & (b.wrapping_sub(1) < 0x7F));
        if is_plain { std::str::from_utf8(&self.bytes).ok() } else { None }
    }

    /// As [`Heap::get`], to change in place.
    pub fn get_mut(&mut self, slot: VarSlot, element_bytes: u64) -> Result<&mut [u8]> {
        let range = self.range(slot, element_bytes)?;
        Ok(&mut self.bytes[range])
    }

    #[inline]
    fn range(&self, slot: VarSlot, element_bytes: u64) -> Result<std::ops::Range<usize>> {
        let end = slot.count.checked_mul(element_bytes).and_then(|n| n.checked_add(slot.offset));
        match end {
            Some(end) if end <= self.bytes.len() as u64 => Ok(slot.offset as usize..end as usize),
            _ => Err(Error::invalid("read variable-length value")
                .with("offset", slot.offset)
                .with("count", slot.count)),
        }
    }

    /// Appends a reference and writes its slot.
    pub fn store_reference(&mut self, reference: Reference, element: &mut [u8]) -> Result<()> {
        if reference.is_null() {
            return put_pair(element, 0, 0);
        }
        self.references.push(reference);
        put_pair(element, self.references.len() as u64, 0)
    }

    /// The reference that a slot stands for.
    pub fn load_reference(&self, element: &[u8]) -> Result<Reference> {
        let (place, _) = pair(element)?;
        match place.checked_sub(1) {
            None => Ok(Reference::null()),
            Some(at) => {
                let found = usize::try_from(at).ok().and_then(|at| self.references.get(at));
                found.cloned().ok_or_else(|| Error::invalid("read reference").with("place", place))
            }
        }
    }
}
