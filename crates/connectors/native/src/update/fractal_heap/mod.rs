//! Fractal heaps that change object by object.
//!
//! The header stays where it is, and so do indirect blocks: they are overwritten in one write, and lead to blocks that
//! hold what the last commit has, in the same places, and new objects besides. Direct blocks move when they change.
//! The space of a removed object is used again only after a commit: until then the last one leads to it.
//! So a heap that removed something stays in use until the commit; opened anew before it, it would believe that space free.

mod blocks;
pub(crate) mod filtered;
mod free;
mod geometry;
mod huge;

use std::collections::BTreeMap;

#[cfg(test)]
use model::properties::FilterSpec;
use model::{Context, Error, Result};

use self::blocks::{Direct, Table};
use self::free::{FreeSpace, Sections};
use self::huge::Huge;
pub(crate) use self::huge::numbered_record;
use super::Blocks;
use crate::format::Address;
#[cfg(test)]
use crate::format::encode::fractal_heap::Client;
use crate::format::fractal_heap::{FractalHeap, ObjectId};
use crate::txn::PublishOrder;

/// Direct blocks that stay in memory though nothing in them waits to be written.
const CLEAN_BLOCKS_MAX: usize = 8;

/// A heap that is being changed. It can be used on after [`Heap::finish`], across commits, as long as no other caller changes it.
#[derive(Debug)]
pub(crate) struct Heap {
    at: Address,
    header: FractalHeap,
    is_changed: bool,
    /// Indirect blocks that were read or created, by where they start in heap space.
    tables: BTreeMap<u64, Table>,
    /// Direct blocks that were read or created, by where they start in heap space.
    directs: BTreeMap<u64, Direct>,
    sections: Sections,
    free_space: FreeSpace,
    huge: Huge,
    /// Filtered blocks that moved since they were first written, with the commit that they were written for.
    outdated: Vec<(u64, Address, u64)>,
}

impl Heap {
    /// Returns a heap without objects. Its header is written by [`Heap::finish`].
    #[cfg(test)]
    pub(crate) fn new(client: Client, filters: Vec<FilterSpec>, blocks: &mut dyn Blocks) -> Result<Self> {
        let header = FractalHeap::empty(client, filters, blocks.sizes());
        check_geometry(&header)?;
        let at = blocks.allocate(header.encode()?.len() as u64, files::DataKind::ObjectHeader);
        Ok(Heap { is_changed: true, ..Self::over(at, header) })
    }

    /// Returns the heap whose header is at `at`.
    ///
    /// # Errors
    /// Returns `Error::Unsupported` for heaps with blocks of unusual sizes.
    pub(crate) fn open(blocks: &dyn Blocks, at: Address) -> Result<Self> {
        let sizes = blocks.sizes();
        let start = blocks.read(at, FractalHeap::header_bytes(sizes), "fractal heap header")?;
        let whole = FractalHeap::header_bytes_of(&start, sizes)?;
        let bytes = blocks.read(at, whole, "fractal heap header")?;
        let header = FractalHeap::decode(&bytes, sizes).during_at("open fractal heap", at.0)?;
        check_geometry(&header)?;
        let mut heap = Self::over(at, header);
        heap.read_free_space(blocks)?;
        Ok(heap)
    }

    fn over(at: Address, header: FractalHeap) -> Self {
        Heap {
            at,
            header,
            is_changed: false,
            tables: BTreeMap::new(),
            directs: BTreeMap::new(),
            sections: Sections::default(),
            free_space: FreeSpace::default(),
            huge: Huge::default(),
            outdated: Vec::new(),
        }
    }

    /// Returns where the header is, from the beginning and for good.
    pub(crate) fn address(&self) -> Address {
        self.at
    }

    /// Stores an object and returns its heap ID.
    pub(crate) fn insert(&mut self, blocks: &mut dyn Blocks, object: &[u8]) -> Result<Vec<u8>> {
        let len = object.len();
        if len == 0 {
            return Err(Error::invalid("insert in fractal heap").with("problem", "object without bytes"));
        }
        self.is_changed = true;
        let id = match len {
            n if n as u64 > u64::from(self.header.managed_bytes_max) => self.insert_huge(blocks, object)?,
            n if n <= self.header.tiny_bytes_max() => self.insert_tiny(object),
            _ => self.insert_managed(blocks, object)?,
        };
        self.header.encode_ids(&[id])
    }

    /// Returns the object called `id`.
    pub(crate) fn get(&mut self, blocks: &dyn Blocks, id: &[u8]) -> Result<Vec<u8>> {
        match self.header.object_id(id)? {
            ObjectId::Tiny(data) => Ok(data),
            ObjectId::Managed { offset, len } => self.get_managed(blocks, offset, len),
            id => self.get_huge(blocks, &id),
        }
    }

    /// Removes the object called `id`.
    pub(crate) fn remove(&mut self, blocks: &dyn Blocks, id: &[u8]) -> Result<()> {
        let id = self.header.object_id(id)?;
        self.is_changed = true;
        match id {
            ObjectId::Tiny(data) => {
                let counts = &mut self.header.counts;
                counts.tiny_bytes = counts.tiny_bytes.saturating_sub(data.len() as u64);
                counts.tiny_objects = counts.tiny_objects.saturating_sub(1);
                Ok(())
            }
            ObjectId::Managed { offset, len } => self.remove_managed(blocks, offset, len),
            id => self.remove_huge(blocks, &id),
        }
    }

    fn insert_tiny(&mut self, object: &[u8]) -> ObjectId {
        self.header.counts.tiny_bytes += object.len() as u64;
        self.header.counts.tiny_objects += 1;
        ObjectId::Tiny(object.to_vec())
    }

    fn insert_managed(&mut self, blocks: &mut dyn Blocks, object: &[u8]) -> Result<ObjectId> {
        let len = object.len() as u64;
        self.sections.free_finished(blocks);
        let offset = match self.sections.take(len) {
            Some(offset) => offset,
            None => {
                self.add_block(blocks, len)?;
                self.sections.take(len).ok_or_else(|| Error::limit("insert in fractal heap"))?
            }
        };
        let range = self.range_of(offset, len)?;
        let direct = self.direct(blocks, offset)?;
        direct.bytes[range].copy_from_slice(object);
        direct.is_changed = true;
        let counts = &mut self.header.counts;
        counts.free_bytes = counts.free_bytes.saturating_sub(len);
        counts.managed_objects = counts.managed_objects.saturating_add(1);
        Ok(ObjectId::Managed { offset, len })
    }

    fn get_managed(&mut self, blocks: &dyn Blocks, offset: u64, len: u64) -> Result<Vec<u8>> {
        let range = self.range_of(offset, len)?;
        Ok(self.direct(blocks, offset)?.bytes[range].to_vec())
    }

    fn remove_managed(&mut self, blocks: &dyn Blocks, offset: u64, len: u64) -> Result<()> {
        self.range_of(offset, len)?;
        self.sections.release(blocks, offset, len)?;
        let counts = &mut self.header.counts;
        counts.free_bytes = counts.free_bytes.saturating_add(len);
        let wrong = || Error::corrupt("remove from fractal heap").at(self.at.0).with("objects", 0);
        counts.managed_objects = counts.managed_objects.checked_sub(1).ok_or_else(wrong)?;
        Ok(())
    }

    /// Returns where an object is in its direct block.
    fn range_of(&self, offset: u64, len: u64) -> Result<std::ops::Range<usize>> {
        let wrong = || Error::corrupt("find fractal heap object").at(self.at.0).with("offset", offset);
        let block = geometry::block_at(&self.header, offset)?;
        let start = offset - block.start;
        let end = start.checked_add(len).filter(|&end| len > 0 && end <= block.bytes).ok_or_else(wrong)?;
        match start >= self.header.direct_prefix_bytes() as u64 {
            true => Ok(start as usize..end as usize),
            false => Err(wrong()),
        }
    }

    /// Returns whether something was removed that leaves the file only with the next commit but one, and a [`Heap::finish`] before it.
    pub(crate) fn has_pending_removals(&self) -> bool {
        self.huge.has_pending() || !self.outdated.is_empty()
    }

    /// Writes every changed block once, and the header in place.
    pub(crate) fn finish(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        self.remove_pending_huge(blocks)?;
        self.release_outdated(blocks);
        if !self.is_changed {
            return Ok(());
        }
        self.store_directs(blocks)?;
        self.store_tables(blocks)?;
        self.store_huge_tree(blocks)?;
        self.store_free_space(blocks)?;
        blocks.write(self.at, &self.header.encode()?, PublishOrder::First)?;
        self.is_changed = false;
        self.trim(CLEAN_BLOCKS_MAX / 2);
        Ok(())
    }
}

/// Checks the geometry: blocks hold their prefix and the largest object, and lengths of sections fit their fields.
fn check_geometry(header: &FractalHeap) -> Result<()> {
    let prefix = header.direct_prefix_bytes() as u64;
    let holds = u64::from(header.managed_bytes_max) + prefix <= header.direct_bytes_max;
    let is_small = header.filters.is_empty() || header.direct_bytes_max <= filtered::FILTERED_BYTES_MAX;
    match holds && is_small && header.start_bytes > prefix && header.sizes.length > 2 && header.heap_bits < 64
    {
        true => Ok(()),
        false => Err(Error::unsupported("change fractal heap").with("problem", "geometry of blocks")),
    }
}
