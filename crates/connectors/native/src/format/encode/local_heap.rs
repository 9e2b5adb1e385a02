//! Local heaps: header, and the data segment with its free list (format spec III.D).

use model::bytes::{Cursor, Put};
use model::{Error, Result};

use super::super::local_heap::{LocalHeap, NO_FREE_BLOCK, text};
use super::super::{SizedFields, Sizes};
use super::Encoder;

/// No segment shrinks below this.
const SHRUNK_BYTES_MIN: usize = 128;

impl LocalHeap {
    /// Returns the header, padded to the eight bytes that the segment after it is aligned to.
    pub(crate) fn encode(&self, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::block("local heap", sizes, b"HEAP", 0);
        e.zeros(3).length(self.data_bytes).length(self.free.unwrap_or(NO_FREE_BLOCK));
        e.defined(self.data).pad(0, 8).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FreeBlock {
    at: usize,
    len: usize,
}

impl FreeBlock {
    fn end(self) -> usize {
        self.at + self.len
    }
}

/// The data segment of a heap: bytes, and free blocks in the order of their list.
///
/// A change of its size means that the file must have space for it, here or at another address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    sizes: Sizes,
    data: Vec<u8>,
    free: Vec<FreeBlock>,
}

impl Segment {
    /// Returns a segment of free bytes. Group heaps get the empty text first, so that it is at offset 0.
    pub(crate) fn new(bytes_hint: usize, sizes: Sizes) -> Self {
        let len = bytes_hint.max(2 * sizes.length + 2).next_multiple_of(8);
        Segment { sizes, data: vec![0; len], free: vec![FreeBlock { at: 0, len }] }
    }

    /// Returns the segment of a new group, as libhdf5 sizes it without a hint.
    pub(crate) fn for_group(sizes: Sizes) -> Result<Self> {
        let mut segment = Self::new(8 + 4 * 16 + 2 * sizes.length, sizes);
        segment.insert(b"")?;
        Ok(segment)
    }

    /// Returns the segment that `header` describes.
    pub(crate) fn decode(data: &[u8], header: &LocalHeap, sizes: Sizes) -> Result<Self> {
        let mut segment = Segment { sizes, data: data.to_vec(), free: Vec::new() };
        let mut next = header.free;
        while let Some(at) = next {
            let (block, after) = segment.free_block(at)?;
            segment.free.push(block);
            next = after;
        }
        let mut sorted = segment.free.clone();
        sorted.sort_unstable_by_key(|f| f.at);
        if sorted.windows(2).any(|pair| pair[0].end() > pair[1].at) {
            return Err(Error::corrupt("decode local heap").with("problem", "free blocks overlap"));
        }
        Ok(segment)
    }

    /// Returns the free block at `at`, and where the next one is.
    fn free_block(&self, at: u64) -> Result<(FreeBlock, Option<u64>)> {
        let bad = || Error::corrupt("decode local heap").with("free block", at);
        let at = usize::try_from(at).map_err(|_| bad())?;
        let mut c = Cursor::new(self.data.get(at..).ok_or_else(bad)?, "local heap free block");
        let (next, len) = (c.length(self.sizes)?, c.length(self.sizes)?);
        let len = usize::try_from(len).map_err(|_| bad())?;
        let fits = at.checked_add(len).is_some_and(|end| end <= self.data.len());
        // Blocks that do not overlap cannot be more than fit, so that a list in a circle ends here.
        let looped = self.free.len() >= self.data.len() / self.free_bytes_min().max(1);
        if !fits || looped || len < self.free_bytes_min() || next == 0 {
            return Err(bad());
        }
        Ok((FreeBlock { at, len }, Some(next).filter(|&n| n != NO_FREE_BLOCK)))
    }

    /// Returns the size of the smallest free block, which holds the offset of the next one and its own size.
    fn free_bytes_min(&self) -> usize {
        2 * self.sizes.length
    }

    /// Returns the number of bytes of the segment.
    pub(crate) fn len(&self) -> u64 {
        self.data.len() as u64
    }

    /// Returns the first free block, for the header.
    pub(crate) fn first_free(&self) -> Option<u64> {
        self.free.first().map(|f| f.at as u64)
    }

    /// Returns the text at an offset.
    pub(crate) fn text(&self, offset: u64) -> Result<&[u8]> {
        text(&self.data, offset)
    }

    /// Adds a text and its NUL; the offset it got. Grows the segment where no free block is large enough.
    pub(crate) fn insert(&mut self, text: &[u8]) -> Result<u64> {
        if text.contains(&0) {
            return Err(Error::invalid("insert in local heap").with("problem", "text holds a NUL"));
        }
        let need = (text.len() + 1).next_multiple_of(8);
        let at = self.take_free(need).unwrap_or_else(|| self.grow(need));
        self.data[at..at + need].fill(0);
        self.data[at..at + text.len()].copy_from_slice(text);
        Ok(at as u64)
    }

    fn take_free(&mut self, need: usize) -> Option<usize> {
        let min = self.free_bytes_min();
        let i = self.free.iter().position(|f| f.len == need || f.len >= need + min)?;
        let at = self.free[i].at;
        self.free[i] = FreeBlock { at: at + need, len: self.free[i].len - need };
        if self.free[i].len == 0 {
            self.free.remove(i);
        }
        Some(at)
    }

    /// Space for `need` bytes at the end.
    fn grow(&mut self, need: usize) -> usize {
        let (old, min) = (self.data.len(), self.free_bytes_min());
        let last = self.free.iter().position(|f| f.end() == old);
        let mut more = need.max(old);
        if last.is_none() && more < need + min {
            more = need;
        }
        self.data.resize(old + more, 0);
        let Some(i) = last else {
            if more - need >= min {
                self.free.insert(0, FreeBlock { at: old + need, len: more - need });
            }
            return old;
        };
        let block = self.free[i];
        self.free[i] = FreeBlock { at: block.at + need, len: block.len + more - need };
        // Too little for a free block is lost for good.
        if self.free[i].len < min {
            self.free.remove(i);
        }
        block.at
    }

    /// Frees a text that `insert` or another writer put at `offset`, and shrinks a segment that is mostly free.
    pub(crate) fn remove(&mut self, offset: u64) -> Result<()> {
        let len = (self.text(offset)?.len() + 1).next_multiple_of(8);
        let freed = FreeBlock { at: offset as usize, len };
        let overlaps = self.free.iter().any(|f| f.at < freed.end() && freed.at < f.end());
        if overlaps || freed.end() > self.data.len() {
            return Err(Error::invalid("remove from local heap").with("offset", offset));
        }
        let Some(block) = self.release(freed) else { return Ok(()) };
        if block.end() == self.data.len() && 2 * block.len > self.data.len() {
            self.shrink(block);
        }
        Ok(())
    }

    /// Puts a block in the list, joined with its neighbours.
    fn release(&mut self, freed: FreeBlock) -> Option<FreeBlock> {
        let touches = |a: FreeBlock, b: FreeBlock| a.end() == b.at || b.end() == a.at;
        let join = |a: FreeBlock, b: FreeBlock| FreeBlock { at: a.at.min(b.at), len: a.len + b.len };
        let Some(i) = self.free.iter().position(|&f| touches(f, freed)) else {
            if freed.len < self.free_bytes_min() {
                return None;
            }
            self.free.insert(0, freed);
            return Some(freed);
        };
        self.free[i] = join(self.free[i], freed);
        let joined = self.free[i];
        if let Some(other) = self.free.iter().skip(i + 1).position(|&f| touches(f, joined)) {
            self.free[i] = join(joined, self.free.remove(i + 1 + other));
        }
        Some(self.free[i])
    }

    /// Halves the segment while its last block is mostly spare.
    fn shrink(&mut self, last: FreeBlock) {
        let (min, mut len) = (self.free_bytes_min(), self.data.len());
        if len <= SHRUNK_BYTES_MIN {
            return;
        }
        while len > SHRUNK_BYTES_MIN && len >= last.at + min {
            len /= 2;
        }
        let only = self.free.len() == 1;
        if len < last.at + min && !only {
            self.free.retain(|&f| f != last);
            self.data.truncate(last.at);
            return;
        }
        if len < last.at + min {
            len *= 2;
        }
        let kept = FreeBlock { at: last.at, len: (len - last.at).next_multiple_of(8).min(last.len) };
        for block in self.free.iter_mut().filter(|f| **f == last) {
            *block = kept;
        }
        self.data.truncate(kept.end());
    }

    /// Returns the bytes of the segment with its free list.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = self.data.clone();
        for (i, block) in self.free.iter().enumerate() {
            let next = self.free.get(i + 1).map_or(NO_FREE_BLOCK, |f| f.at as u64);
            let mut head = Vec::new();
            head.put_uint(next, self.sizes.length);
            head.put_uint(block.len as u64, self.sizes.length);
            bytes[block.at..block.at + head.len()].copy_from_slice(&head);
        }
        Ok(bytes)
    }
}
