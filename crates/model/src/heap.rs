//! Variable-length values and references in memory.
//!
//! An element in *memory form* holds a slot of 16 bytes for each of them: two little-endian `u64`.
//! For a variable-length value they are the offset of its elements in the heap's bytes and their number;
//! for a reference, its place in the heap's references plus one, and zero. All zeros is no value: an empty one has another offset.
//! Offsets instead of pointers keep every user of a buffer in safe code, and make buffers easy to ship.

use crate::budget::{self, Budget, Charge};
use crate::{Error, Reference, Result};

/// What the slots of a buffer point into. Slots may share a value: nothing in a heap changes once it is there.
#[derive(Default, Clone)]
pub struct Heap {
    bytes: Vec<u8>,
    references: Vec<Reference>,
    /// Bytes that stand for content of a container, where one was named.
    charge: Option<Charge>,
    /// Bytes that the values would take besides if no slots shared any.
    extra: u64,
}

/// Values from this size on are looked for among those that were seen: a file of a few bytes may have many elements that share
/// one large value. Smaller ones cost more to compare than to copy.
pub const SHARED_BYTES_MIN: u64 = 256;

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

/// What it holds; where its memory is charged is nobody's business.
impl std::fmt::Debug for Heap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heap").field("bytes", &self.bytes).field("references", &self.references).finish()
    }
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
        self.extra = 0;
    }

    /// From now on, memory for values that [`Heap::grow`] announces is charged to `budget`. The first account named stays.
    pub fn charge_to(&mut self, budget: &Budget) -> Result<()> {
        if self.charge.is_none() {
            self.charge = Some(budget.charge(self.bytes.capacity() as u64, "values")?);
        }
        Ok(())
    }

    /// Makes room for `len` more bytes of values whose size a file or a client told.
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

    /// Bytes that the values of all slots would take if none were shared: what a caller may make of them.
    pub fn expanded(&self) -> u64 {
        self.extra.saturating_add(self.bytes.len() as u64)
    }

    /// Says what the values would take if none were shared.
    ///
    /// # Errors
    ///
    /// An error of kind `Limit` if the account has no room for that: few bytes that stand for many are a bomb.
    pub fn set_expanded(&mut self, bytes: u64) -> Result<()> {
        self.extra = bytes.saturating_sub(self.bytes.len() as u64);
        match &self.charge {
            Some(charge) => charge.budget().charge(bytes, "values that elements share").map(drop),
            None => Ok(()),
        }
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
