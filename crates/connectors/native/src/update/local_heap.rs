//! Local heaps of old-style groups, of which only what changes is read and written.
//!
//! A text goes to the end of a free block: nothing leads to those bytes, and the block's size is all that changes besides.
//! No free block is ever used up, so that the list stays as it is. What is removed becomes a free block after the commit:
//! its bytes first, then, last of all that is published, the pointer of the block before it.
//! When no block is large enough, everything moves to a segment of twice the size.

use std::collections::BTreeMap;

use files::DataKind;
use model::bytes::{Cursor, Put};
use model::{Context, Error, Result};

use super::Blocks;
use crate::format::local_heap::{LocalHeap, NO_FREE_BLOCK};
use crate::format::{Address, SizedFields};
use crate::txn::PublishOrder;

/// Bytes of heap that are looked at for a text, and then four times as many.
const TEXT_BYTES: u64 = 64;

/// A heap that is being changed. It can be used on after [`Names::finish`], across commits, as long as no other caller changes it.
#[derive(Debug)]
pub(super) struct Names {
    at: Address,
    header: LocalHeap,
    is_header_changed: bool,
    /// Free blocks, in the order of their list.
    free: Vec<FreeBlock>,
    /// Which of them starts where.
    starts: BTreeMap<u64, usize>,
    /// Removed texts that are not in the list yet, by where they are.
    removed: BTreeMap<u64, RemovedText>,
}

#[derive(Debug, Clone, Copy)]
struct FreeBlock {
    at: u64,
    len: u64,
    is_changed: bool,
    /// The generation in which its bytes in the file were written, and when they are published.
    written: Option<(u64, PublishOrder)>,
}

/// A generation that is always in the file.
const COMMITTED: u64 = 0;

#[derive(Debug, Clone, Copy)]
struct RemovedText {
    len: u64,
    generation: u64,
}

impl FreeBlock {
    /// Returns whether its bytes are published last in a commit that is not in the file yet.
    fn goes_last(&self, blocks: &dyn Blocks) -> bool {
        matches!(self.written, Some((then, PublishOrder::Last)) if !blocks.is_committed(then))
    }

    fn end(&self) -> u64 {
        self.at + self.len
    }
}

fn corrupt(offset: u64) -> Error {
    Error::corrupt("change local heap").with("offset", offset)
}

/// Returns the number of bytes that a text takes with its NUL.
fn text_bytes(text: &[u8]) -> u64 {
    (text.len() as u64 + 1).next_multiple_of(8)
}

impl Names {
    /// Returns the heap whose header is at `at`. Its free list is read, which can be found broken.
    pub(super) fn open(blocks: &dyn Blocks, at: Address) -> Result<Self> {
        let sizes = blocks.sizes();
        let bytes = blocks.read(at, LocalHeap::header_bytes(sizes), "local heap")?;
        let header = LocalHeap::decode(&bytes, sizes).during_at("read local heap", at.0)?;
        let mut names = Names {
            at,
            header,
            is_header_changed: false,
            free: Vec::new(),
            starts: BTreeMap::new(),
            removed: BTreeMap::new(),
        };
        names.read_free(blocks)?;
        Ok(names)
    }

    fn read_free(&mut self, blocks: &dyn Blocks) -> Result<()> {
        let (least, mut next) = (free_bytes_min(blocks), self.header.free);
        while let Some(at) = next {
            // Blocks that do not overlap cannot be more than fit, so that a list in a circle ends here.
            let is_looped = self.free.len() as u64 >= self.header.data_bytes / least;
            let end = at.checked_add(least).filter(|&end| end <= self.header.data_bytes && !is_looped);
            end.ok_or_else(|| corrupt(at))?;
            let bytes = blocks.read(self.place(at), least, "local heap free block")?;
            let mut c = Cursor::new(&bytes, "local heap free block");
            let (after, len) = (c.length(blocks.sizes())?, c.length(blocks.sizes())?);
            let end = at.checked_add(len).filter(|&end| end <= self.header.data_bytes);
            if end.is_none() || len < least || after == 0 {
                return Err(corrupt(at));
            }
            if self.is_free(at, at + len) {
                return Err(corrupt(at));
            }
            self.add_free(at, len);
            self.free[self.starts[&at]].is_changed = false;
            next = Some(after).filter(|&after| after != NO_FREE_BLOCK);
        }
        Ok(())
    }

    /// Puts a block at the end of the list.
    fn add_free(&mut self, at: u64, len: u64) {
        self.starts.insert(at, self.free.len());
        self.free.push(FreeBlock { at, len, is_changed: true, written: None });
    }

    /// Returns whether free blocks or removed texts have some of the bytes from `at` to `end`.
    fn is_free(&self, at: u64, end: u64) -> bool {
        let free = self.starts.range(..end).next_back().map(|(_, &i)| self.free[i].end());
        let removed = self.removed.range(..end).next_back().map(|(start, removed)| start + removed.len);
        free.max(removed).is_some_and(|stop| stop > at)
    }

    /// Returns where an offset is in the file.
    fn place(&self, offset: u64) -> Address {
        Address(self.header.data.0.saturating_add(offset))
    }

    /// Returns the text at an offset, up to its NUL.
    pub(super) fn text(&self, blocks: &dyn Blocks, offset: u64) -> Result<Vec<u8>> {
        let rest = self.header.data_bytes.saturating_sub(offset);
        let mut seen = 0;
        while seen < rest {
            seen = (4 * seen).max(TEXT_BYTES).min(rest);
            let mut bytes = blocks.read(self.place(offset), seen, "local heap data")?;
            if let Some(end) = bytes.iter().position(|&b| b == 0) {
                bytes.truncate(end);
                return Ok(bytes);
            }
        }
        Err(corrupt(offset))
    }

    /// Adds texts and returns their offsets; either all or none.
    ///
    /// # Errors
    /// Returns `Error::Unsupported`, and changes nothing, if the heap is full of free blocks that are too small:
    /// the group should be built anew.
    pub(super) fn insert(&mut self, blocks: &mut dyn Blocks, texts: &[&[u8]]) -> Result<Vec<u64>> {
        if texts.iter().any(|text| text.contains(&0)) {
            return Err(Error::invalid("insert in local heap").with("problem", "text holds a NUL"));
        }
        let need: u64 = texts.iter().map(|text| text_bytes(text)).sum();
        let least = free_bytes_min(blocks);
        let fits = |free: &FreeBlock| free.len >= need.saturating_add(least) && !free.goes_last(blocks);
        let at = match self.free.iter().position(fits) {
            Some(at) => at,
            None => self.grow(blocks, need)?,
        };
        let free = &mut self.free[at];
        (free.len, free.is_changed) = (free.len - need, true);
        let mut offset = free.at + free.len;
        let mut offsets = Vec::with_capacity(texts.len());
        for text in texts {
            let mut bytes = text.to_vec();
            bytes.resize(text_bytes(text) as usize, 0);
            blocks.write(self.place(offset), &bytes, PublishOrder::First)?;
            offsets.push(offset);
            offset += bytes.len() as u64;
        }
        Ok(offsets)
    }

    /// Removes the text at an offset. Its space is free after the next commit.
    pub(super) fn remove(&mut self, blocks: &dyn Blocks, offset: u64) -> Result<()> {
        let len = text_bytes(&self.text(blocks, offset)?).min(self.header.data_bytes - offset);
        // The empty text at the start is the first key of every group.
        if offset == 0 || self.is_free(offset, offset + len) {
            return Err(corrupt(offset));
        }
        self.removed.insert(offset, RemovedText { len, generation: blocks.generation() });
        Ok(())
    }

    /// Moves to a segment of at least twice the size; the free block that has `need` bytes now.
    fn grow(&mut self, blocks: &mut dyn Blocks, need: u64) -> Result<usize> {
        let (old, least) = (self.header.data_bytes, free_bytes_min(blocks));
        let wasted: u64 = self.free.iter().map(|free| free.len).sum::<u64>()
            + self.removed.values().map(|removed| removed.len).sum::<u64>();
        if wasted > old / 2 && old > 4096 {
            return Err(
                Error::unsupported("insert in local heap").with("problem", "free blocks are too small")
            );
        }
        let len = old.saturating_mul(2).max(old.saturating_add(need + least)).next_multiple_of(8);
        let mut data = blocks.read(self.header.data, old, "local heap data")?;
        data.resize(usize::try_from(len).map_err(|_| Error::limit("insert in local heap"))?, 0);
        blocks.release(self.header.data, old);
        let at = blocks.allocate(len, DataKind::LocalHeap);
        self.header = LocalHeap { data_bytes: len, free: self.header.free, data: at };
        self.is_header_changed = true;
        self.reuse_all(blocks, least);
        let last = self.free.iter().position(|free| free.end() == old);
        let last = last.unwrap_or_else(|| {
            self.add_free(old, 0);
            self.free.len() - 1
        });
        self.free[last].len += len - old;
        for i in 0..self.free.len() {
            let head = self.head(blocks, i);
            let start = self.free[i].at as usize;
            data[start..start + head.len()].copy_from_slice(&head);
            (self.free[i].is_changed, self.free[i].written) = (false, None);
        }
        self.header.free = self.free.first().map(|free| free.at);
        blocks.write(at, &data, PublishOrder::First)?;
        Ok(last)
    }

    /// Makes free blocks of all that was removed by commits that are in the file, joined with their neighbours.
    fn reuse_all(&mut self, blocks: &dyn Blocks, least: u64) {
        let mut all = self.take_removed(blocks);
        all.extend(self.free.drain(..).map(|free| (free.at, free.len)));
        self.starts.clear();
        for (at, len) in joined(all) {
            // Too little for a free block is lost.
            if len >= least {
                self.add_free(at, len);
            }
        }
    }

    /// Returns the bytes at the start of a free block: where the next one is, and its own size.
    fn head(&self, blocks: &dyn Blocks, at: usize) -> Vec<u8> {
        let next = self.free.get(at + 1).map_or(NO_FREE_BLOCK, |free| free.at);
        let mut head = Vec::new();
        head.put_uint(next, blocks.sizes().length);
        head.put_uint(self.free[at].len, blocks.sizes().length);
        head
    }

    /// Writes the free blocks that changed, and the header in place.
    pub(super) fn finish(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        self.reuse_removed(blocks)?;
        if self.is_header_changed {
            let sizes = blocks.sizes();
            let mut bytes = self.header.encode(sizes)?;
            bytes.truncate(LocalHeap::header_bytes(sizes) as usize);
            blocks.write(self.at, &bytes, PublishOrder::First)?;
            self.is_header_changed = false;
        }
        Ok(())
    }

    fn store_free(&mut self, blocks: &mut dyn Blocks, turn: PublishOrder) -> Result<()> {
        let generation = blocks.generation();
        for i in 0..self.free.len() {
            if self.free[i].is_changed {
                let head = self.head(blocks, i);
                blocks.write(self.place(self.free[i].at), &head, turn)?;
                (self.free[i].is_changed, self.free[i].written) = (false, Some((generation, turn)));
            }
        }
        Ok(())
    }

    /// Takes what was removed by commits that are in the file, neighbours joined.
    fn take_removed(&mut self, blocks: &dyn Blocks) -> Vec<(u64, u64)> {
        let is_ready = |removed: &RemovedText| blocks.is_committed(removed.generation);
        let ready = self.removed.iter().filter(|(_, removed)| is_ready(removed));
        let ready: Vec<(u64, u64)> = ready.map(|(at, removed)| (*at, removed.len)).collect();
        self.removed.retain(|_, removed| !is_ready(removed));
        joined(ready)
    }

    /// Makes free blocks longer by what was removed right after them. Returns what has no such block.
    fn lengthen(&mut self, blocks: &dyn Blocks, ready: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        let mut others = Vec::new();
        for (at, len) in ready {
            let before = self.starts.range(..at).next_back().map(|(_, &i)| &mut self.free[i]);
            match before.filter(|free| free.end() == at && !free.goes_last(blocks)) {
                Some(free) => (free.len, free.is_changed) = (free.len + len, true),
                None => others.push((at, len)),
            }
        }
        others
    }

    /// Makes free blocks of what was removed by commits that are in the file: longer ones, or new ones at the end of the list.
    /// A block that is written in two turns of one commit would be published in the wrong order: then they wait.
    fn reuse_removed(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        let least = free_bytes_min(blocks);
        let ready = self.take_removed(blocks);
        let ready = self.lengthen(blocks, ready);
        self.store_free(blocks, PublishOrder::First)?;
        let last = self.free.len().checked_sub(1);
        let may_link = last.is_some_and(|last| self.may_link(blocks, last));
        for (at, len) in ready {
            // Texts of up to seven bytes wait for a neighbour: a free block has sixteen.
            match may_link && len >= least {
                true => self.add_free(at, len),
                false => {
                    self.removed.insert(at, RemovedText { len, generation: COMMITTED });
                }
            }
        }
        self.store_free(blocks, PublishOrder::First)?;
        if let Some(last) = last.filter(|last| last + 1 < self.free.len()) {
            self.free[last].is_changed = true;
        }
        self.store_free(blocks, PublishOrder::Last)
    }

    /// Returns whether the pointer of a block may be published last: if it was not written before since the last commit.
    fn may_link(&self, blocks: &dyn Blocks, at: usize) -> bool {
        let free = &self.free[at];
        let is_written = free.written.is_some_and(|(then, _)| !blocks.is_committed(then));
        !is_written || blocks.is_fresh(self.place(free.at), free_bytes_min(blocks))
    }
}

/// Returns the ranges of bytes in their order, those that touch as one.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let touches = before.0 + before.1 == next.0;
        before.1 += if touches { next.1 } else { 0 };
        touches
    });
    ranges
}

/// A free block holds where the next one is, and its own size.
fn free_bytes_min(blocks: &dyn Blocks) -> u64 {
    2 * blocks.sizes().length as u64
}
