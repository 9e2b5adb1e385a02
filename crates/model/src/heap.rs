//! Variable-length values and references in memory.
//!
//! An element in *memory datatype* holds a descriptor of 16 bytes for each of them: two little-endian `u64`.
//! For a variable-length value they are the offset of its elements in the heap's bytes and their number;
//! for a reference, its place in the heap's references plus one, and zero. All zeros is no value: an empty one has another offset.
//! Offsets instead of pointers keep every user of a buffer in safe code, and make buffers easy to ship.

use crate::budget::{self, Budget, Charge};
use crate::{Error, Reference, Result};

/// The values that the descriptors of a buffer point to. Descriptors may share a value: nothing in a heap changes once it is there.
#[derive(Default, Clone)]
pub struct Heap {
    bytes: Vec<u8>,
    references: Vec<Reference>,
    /// Bytes that stand for content of a container, where one was named.
    charge: Option<Charge>,
    /// Bytes that the values would take besides if no descriptors shared any.
    extra: u64,
}

/// Values from this size on are looked for among those that were seen: a file of a few bytes may have many elements that share
/// one large value. Smaller ones cost more to compare than to copy.
pub const SHARED_BYTES_MIN: u64 = 256;

/// A variable-length value: where and how many elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VarLenDescriptor {
    /// Bytes from the start of the heap.
    pub offset: u64,
    /// Elements (bytes, for strings).
    pub count: u64,
}

impl VarLenDescriptor {
    /// Returns whether there is no value, not even an empty one.
    #[inline]
    pub fn is_null(self) -> bool {
        self == VarLenDescriptor::default()
    }

    /// Reads a descriptor from the first 16 bytes of an element.
    #[inline]
    pub fn load(element: &[u8]) -> Result<Self> {
        let (offset, count) = pair(element)?;
        Ok(VarLenDescriptor { offset, count })
    }

    /// Writes the descriptor into the first 16 bytes of an element.
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
        None => Err(Error::invalid("read descriptor").with("bytes", element.len())),
    }
}

#[inline]
fn put_pair(element: &mut [u8], a: u64, b: u64) -> Result<()> {
    let have = element.len();
    let descriptor = element
        .first_chunk_mut::<16>()
        .ok_or_else(|| Error::invalid("write descriptor").with("bytes", have))?;
    descriptor[..8].copy_from_slice(&a.to_le_bytes());
    descriptor[8..].copy_from_slice(&b.to_le_bytes());
    Ok(())
}

/// Heaps are equal if their values are; the account that their memory is charged to does not count.
impl std::fmt::Debug for Heap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heap").field("bytes", &self.bytes).field("references", &self.references).finish()
    }
}

impl Heap {
    /// Returns an empty heap.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a heap of these values and references, which [`Heap::parts`] returned.
    pub fn from_parts(bytes: Vec<u8>, references: Vec<Reference>) -> Self {
        Heap { bytes, references, ..Self::default() }
    }

    /// Returns the bytes of all values, and the references: the parts from which another process creates the heap.
    pub fn parts(&self) -> (&[u8], &[Reference]) {
        (&self.bytes, &self.references)
    }

    /// Returns the bytes of all values without a copy. What is charged to a budget is given back.
    pub fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Returns the number of bytes held.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.references.is_empty()
    }

    /// Removes all values; the capacity stays.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.references.clear();
        self.extra = 0;
    }

    /// Charges memory for values that [`Heap::grow`] announces to `budget` from now on. The first account named stays.
    pub fn charge_to(&mut self, budget: &Budget) -> Result<()> {
        if self.charge.is_none() {
            self.charge = Some(budget.charge(self.bytes.capacity() as u64, "values")?);
        }
        Ok(())
    }

    /// Reserves capacity for `len` more bytes of values whose size came from a file or a client.
    ///
    /// # Errors
    ///
    /// An error of kind `Limit` if the account would pass its limit, or the system has no memory.
    #[inline]
    pub fn grow(&mut self, len: usize) -> Result<()> {
        match len <= self.bytes.capacity() - self.bytes.len() {
            true => Ok(()),
            false => budget::grow(&mut self.bytes, len, self.charge.as_mut(), "values"),
        }
    }

    /// Returns the number of bytes that the values of all descriptors would take if none were shared: what a caller may make of them.
    pub fn expanded(&self) -> u64 {
        self.extra.saturating_add(self.bytes.len() as u64)
    }

    /// Says what the values would take if none were shared.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Limit` if the account does not allow it: few bytes that stand for many are a bomb.
    pub fn set_expanded(&mut self, bytes: u64) -> Result<()> {
        self.extra = bytes.saturating_sub(self.bytes.len() as u64);
        match &self.charge {
            Some(charge) => charge.budget().charge(bytes, "values that elements share").map(drop),
            None => Ok(()),
        }
    }

    /// Appends a value of `count` elements whose bytes are `data`. It may be empty: its descriptor is not the null descriptor.
    #[inline]
    pub fn push(&mut self, data: &[u8], count: u64) -> VarLenDescriptor {
        if self.bytes.is_empty() && count == 0 {
            // Any byte will do; this one keeps a heap of plain characters plain.
            self.bytes.push(b' ');
        }
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(data);
        VarLenDescriptor { offset, count }
    }

    /// Appends an uninitialised value and returns it to be filled.
    pub fn reserve(&mut self, len: usize, count: u64) -> (VarLenDescriptor, &mut [u8]) {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        (VarLenDescriptor { offset: start as u64, count }, &mut self.bytes[start..])
    }

    /// Returns the bytes of a value whose elements have `element_bytes` each.
    #[inline]
    pub fn get(&self, descriptor: VarLenDescriptor, element_bytes: u64) -> Result<&[u8]> {
        let range = self.range(descriptor, element_bytes)?;
        Ok(&self.bytes[range])
    }

    /// Returns all bytes as text if they are ASCII characters without NUL: a caller that makes many strings of them checks
    /// them once.
    pub fn plain_text(&self) -> Option<&str> {
        let is_plain = self.bytes.iter().fold(true, |plain, &b| plain & (b.wrapping_sub(1) < 0x7F));
        if is_plain { std::str::from_utf8(&self.bytes).ok() } else { None }
    }

    #[inline]
    fn range(&self, descriptor: VarLenDescriptor, element_bytes: u64) -> Result<std::ops::Range<usize>> {
        let end = descriptor.count.checked_mul(element_bytes).and_then(|n| n.checked_add(descriptor.offset));
        match end {
            Some(end) if end <= self.bytes.len() as u64 => Ok(descriptor.offset as usize..end as usize),
            _ => Err(Error::invalid("read variable-length value")
                .with("offset", descriptor.offset)
                .with("count", descriptor.count)),
        }
    }

    /// Appends a reference and writes its descriptor.
    pub fn store_reference(&mut self, reference: Reference, element: &mut [u8]) -> Result<()> {
        if reference.is_null() {
            return put_pair(element, 0, 0);
        }
        self.references.push(reference);
        put_pair(element, self.references.len() as u64, 0)
    }

    /// Returns the reference that a descriptor stands for.
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
