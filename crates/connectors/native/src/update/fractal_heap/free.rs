//! Free bytes in direct blocks, in memory and in the heap's free-space manager.

use std::collections::{BTreeMap, BTreeSet};

use files::DataKind;
use model::{Context, Error, Limits, Result};

use super::{Heap, geometry};
use crate::format::Address;
use crate::format::free_space::{Client, Detail, Manager, Section};
use crate::txn::PublishOrder;
use crate::update::Blocks;

/// Sections that a manager in the file gets: a caller that opens the heap reads them all.
const STORED_MAX: usize = 64;
/// Space for a list comes in multiples of this, so that one that grew by a section fits where the last one was.
const LIST_BYTES_UNIT: u64 = 64;

/// Free sections of heap space.
#[derive(Debug, Default)]
pub(super) struct Sections {
    by_offset: BTreeMap<u64, u64>,
    by_bytes: BTreeSet<(u64, u64)>,
    /// Removed for a commit that is not in the file yet: the last one leads there.
    pending: BTreeMap<u64, u64>,
    /// The number of that commit.
    pending_generation: u64,
}

/// The manager in the file.
#[derive(Debug, Default)]
pub(super) struct FreeSpace {
    manager: Option<Manager>,
    /// The sections of its list.
    stored: Vec<Section>,
}

/// Returns whether a range overlaps one of those in the map.
fn overlaps(map: &BTreeMap<u64, u64>, offset: u64, end: u64) -> bool {
    let before = map.range(..end).next_back();
    before.is_some_and(|(&start, &bytes)| start.saturating_add(bytes) > offset)
}

impl Sections {
    /// Adds a section, joined with its neighbours.
    pub(super) fn add(&mut self, offset: u64, bytes: u64) -> Result<()> {
        self.check(offset, bytes)?;
        let (mut start, mut end) = (offset, offset + bytes);
        if let Some((&before, &n)) = self.by_offset.range(..offset).next_back()
            && before + n == offset
        {
            self.by_bytes.remove(&(n, before));
            start = before;
        }
        if let Some(n) = self.by_offset.remove(&end) {
            self.by_bytes.remove(&(n, end));
            end += n;
        }
        self.by_offset.insert(start, end - start);
        self.by_bytes.insert((end - start, start));
        Ok(())
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<()> {
        let wrong = || Error::corrupt("release space of fractal heap").with("offset", offset);
        let end = offset.checked_add(bytes).ok_or_else(wrong)?;
        let is_free = overlaps(&self.by_offset, offset, end) || overlaps(&self.pending, offset, end);
        if is_free || bytes == 0 { Err(wrong()) } else { Ok(()) }
    }

    /// Allocates `bytes`: at the start of the smallest section that has them.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let &(n, offset) = self.by_bytes.range((bytes, 0)..).next()?;
        self.by_bytes.remove(&(n, offset));
        self.by_offset.remove(&offset);
        if n > bytes {
            self.by_offset.insert(offset + bytes, n - bytes);
            self.by_bytes.insert((n - bytes, offset + bytes));
        }
        Some(offset)
    }

    /// Gives space up, which is used again after the next commit.
    pub(super) fn release(&mut self, blocks: &dyn Blocks, offset: u64, bytes: u64) -> Result<()> {
        self.free_finished(blocks);
        self.check(offset, bytes)?;
        self.pending.insert(offset, bytes);
        self.pending_generation = blocks.generation();
        Ok(())
    }

    /// Makes usable what was given up for commits that are in the file.
    pub(super) fn free_finished(&mut self, blocks: &dyn Blocks) {
        if !blocks.is_committed(self.pending_generation) {
            return;
        }
        for (offset, bytes) in std::mem::take(&mut self.pending) {
            // It was checked when it was given up.
            let added = self.add(offset, bytes);
            debug_assert!(added.is_ok());
        }
    }

    /// Returns the largest sections, and those that were just given up, joined with their neighbours among them.
    fn largest(&self) -> Vec<(u64, u64)> {
        let free = self.by_bytes.iter().rev().take(STORED_MAX).map(|(bytes, offset)| (*offset, *bytes));
        let mut all: Vec<(u64, u64)> = free.chain(self.pending.iter().map(|(at, n)| (*at, *n))).collect();
        all.sort_unstable();
        all.dedup_by(|next, before| {
            let touches = before.0 + before.1 == next.0;
            before.1 += if touches { next.1 } else { 0 };
            touches
        });
        all
    }
}

impl Heap {
    /// Takes the sections of the manager in the file. Those for blocks that are not created yet are left out: new blocks go where
    /// the header says that the heap goes on.
    pub(super) fn read_free_space(&mut self, blocks: &dyn Blocks) -> Result<()> {
        let Some(at) = self.header.free_space else { return Ok(()) };
        let sizes = blocks.sizes();
        let bytes = blocks.read(at, Manager::header_bytes(sizes), "free-space manager")?;
        let manager = Manager::decode(&bytes, sizes).during_at("read free-space manager", at.0)?;
        if manager.client != Client::FractalHeap {
            return Err(Error::corrupt("read free-space manager").at(at.0).with("problem", "not of a heap"));
        }
        if let Some(list) = manager.list {
            let bytes = blocks.read(list, manager.list_bytes, "free-space sections")?;
            let sections = manager.sections(&bytes, at, sizes, &Limits::default());
            self.free_space.stored = sections.during_at("read free-space sections", list.0)?;
        }
        let plain = self.free_space.stored.iter().filter(|section| section.detail == Detail::Plain(0));
        for section in plain {
            self.sections.add(section.offset, section.bytes)?;
        }
        self.free_space.manager = Some(manager);
        Ok(())
    }

    /// Returns the sections for the manager in the file: the largest ones.
    fn sections_to_store(&self) -> Result<Vec<Section>> {
        let mut sections = Vec::new();
        for (offset, bytes) in self.sections.largest() {
            let block = geometry::block_at(&self.header, offset)?;
            // libhdf5 takes a block off the heap when a section covers all of it; this one stays, one byte short.
            let is_whole = bytes + self.header.direct_prefix_bytes() as u64 >= block.bytes;
            let bytes = bytes - u64::from(is_whole);
            if bytes > 0 {
                sections.push(Section { offset, bytes, detail: Detail::Plain(0) });
            }
        }
        sections.sort_by_key(|section| (std::cmp::Reverse(section.bytes), section.offset));
        sections.truncate(STORED_MAX);
        sections.sort_by_key(|section| (section.bytes, section.offset));
        Ok(sections)
    }

    /// Removes the manager. libhdf5 does so with an empty one when it closes a heap, and fails where it may not write.
    fn remove_free_space(&mut self, blocks: &mut dyn Blocks) {
        let FreeSpace { manager, .. } = std::mem::take(&mut self.free_space);
        if let Some(manager) = manager
            && let Some(list) = manager.list
        {
            blocks.release(list, manager.list_bytes);
        }
        if let Some(at) = self.header.free_space.take() {
            blocks.release(at, Manager::header_bytes(blocks.sizes()));
        }
    }

    /// Writes the manager, if the heap has free bytes: its list to new space, its header in place.
    pub(super) fn store_free_space(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        let sections = self.sections_to_store()?;
        if sections.is_empty() {
            self.remove_free_space(blocks);
        }
        if sections == self.free_space.stored {
            return Ok(());
        }
        let sizes = blocks.sizes();
        let new = || Manager::of_heap(self.header.heap_bits, self.header.direct_bytes_max);
        let mut manager = self.free_space.manager.clone().unwrap_or_else(new);
        let at = *self
            .header
            .free_space
            .get_or_insert_with(|| blocks.allocate(Manager::header_bytes(sizes), DataKind::ObjectHeader));
        let old = manager.list.map(|list| (list, manager.list_bytes));
        manager.bytes = sections.iter().map(|section| section.bytes).sum();
        manager.stored_sections = sections.len() as u64;
        (manager.sections, manager.ghost_sections) = (manager.stored_sections, 0);
        let used = manager.list_bytes_of(&sections, sizes) as u64;
        (manager.list_used_bytes, manager.list_bytes) = (used, used.next_multiple_of(LIST_BYTES_UNIT));
        manager.list = place_list(blocks, old, manager.list_bytes);
        if let Some(list) = manager.list {
            blocks.write(list, &manager.encode_list(at, &sections, sizes)?, PublishOrder::First)?;
        }
        blocks.write(at, &manager.encode(sizes)?, PublishOrder::First)?;
        self.free_space = FreeSpace { manager: Some(manager), stored: sections };
        Ok(())
    }
}

/// Returns where a list of so many bytes goes that was somewhere else; nowhere if it has none.
fn place_list(blocks: &mut dyn Blocks, old: Option<(Address, u64)>, bytes: u64) -> Option<Address> {
    match old {
        Some((at, len)) if len == bytes => return Some(blocks.relocate(at, len, DataKind::LocalHeap)),
        Some((at, len)) => blocks.release(at, len),
        None => {}
    }
    (bytes > 0).then(|| blocks.allocate(bytes, DataKind::LocalHeap))
}
