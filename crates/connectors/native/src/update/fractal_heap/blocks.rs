//! Direct and indirect blocks: found, made, and written.

use files::DataKind;
use model::{Context, Error, Result};

use super::geometry::{self, Extent};
use super::{CLEAN_BLOCKS_MAX, Heap, filtered};
use crate::format::Address;
use crate::format::fractal_heap::{Child, StoredSize};
use crate::txn::PublishOrder;
use crate::update::Blocks;

/// An indirect block.
#[derive(Debug)]
pub(super) struct Table {
    at: Address,
    rows: u64,
    children: Vec<Child>,
    is_changed: bool,
}

/// A direct block, with its prefix.
#[derive(Debug)]
pub(super) struct Direct {
    at: Address,
    /// How it is stored where the heap has filters.
    stored: Option<StoredSize>,
    parent: BlockParent,
    pub(super) bytes: Vec<u8>,
    pub(super) is_changed: bool,
    /// Whether something that was written leads to its place.
    is_written: bool,
}

/// The pointer to a block.
#[derive(Debug, Clone, Copy)]
enum BlockParent {
    Header,
    /// An entry of the table that starts here in heap space.
    Entry {
        table: u64,
        entry: usize,
    },
}

impl Direct {
    /// Returns the number of bytes in the file.
    fn file_bytes(&self) -> u64 {
        self.stored.map_or(self.bytes.len() as u64, |stored| stored.bytes)
    }
}

const NOTHING: Child = Child { address: None, stored: None };

impl Heap {
    /// Returns the direct block that covers an offset of heap space.
    pub(super) fn direct(&mut self, blocks: &dyn Blocks, offset: u64) -> Result<&mut Direct> {
        let extent = geometry::block_at(&self.header, offset)?;
        if !self.directs.contains_key(&extent.start) {
            let direct = self.read_direct(blocks, extent)?;
            if self.directs.values().filter(|direct| !direct.is_changed).count() >= CLEAN_BLOCKS_MAX {
                self.trim(CLEAN_BLOCKS_MAX / 2);
            }
            self.directs.insert(extent.start, direct);
        }
        self.directs.get_mut(&extent.start).ok_or_else(|| self::missing(extent.start))
    }

    fn read_direct(&mut self, blocks: &dyn Blocks, extent: Extent) -> Result<Direct> {
        let parent = self.parent_of(blocks, extent.start)?;
        let Child { address, stored } = self.child(parent);
        let at = address.ok_or_else(|| missing(extent.start))?;
        let file_bytes = stored.map_or(extent.bytes, |stored| stored.bytes);
        let mut bytes = blocks.read(at, file_bytes, "fractal heap direct block")?;
        if let Some(stored) = stored {
            let raw = (bytes, stored.filter_mask);
            bytes = filtered::undo(blocks.filters(), &self.header, raw, extent.bytes)?;
        }
        self.header.check_direct(&bytes, self.at, extent.start).during_at("read direct block", at.0)?;
        Ok(Direct { at, stored, parent, bytes, is_changed: false, is_written: true })
    }

    fn child(&self, parent: BlockParent) -> Child {
        match parent {
            BlockParent::Header => Child { address: self.header.root, stored: self.header.root_stored },
            BlockParent::Entry { table, entry } => {
                let table = self.tables.get(&table);
                table.and_then(|table| table.children.get(entry)).copied().unwrap_or(NOTHING)
            }
        }
    }

    fn set_child(&mut self, parent: BlockParent, at: Address, stored: Option<StoredSize>) -> Result<()> {
        match parent {
            BlockParent::Header => (self.header.root, self.header.root_stored) = (Some(at), stored),
            BlockParent::Entry { table, entry } => {
                let table = self.tables.get_mut(&table).ok_or_else(|| missing(table))?;
                let child = table.children.get_mut(entry).ok_or_else(|| missing(entry as u64))?;
                (*child, table.is_changed) = (Child { address: Some(at), stored }, true);
            }
        }
        Ok(())
    }

    /// Returns what points to the direct block that starts at `offset`. Tables on the way are read.
    fn parent_of(&mut self, blocks: &dyn Blocks, offset: u64) -> Result<BlockParent> {
        if self.header.root_rows == 0 {
            return if offset == 0 { Ok(BlockParent::Header) } else { Err(missing(offset)) };
        }
        let (mut parent, mut start, mut rows) = (BlockParent::Header, 0, u64::from(self.header.root_rows));
        loop {
            self.read_table(blocks, parent, start, rows)?;
            let spot = self.header.spot(offset - start)?;
            let entry = usize::try_from(spot.entry).map_err(|_| missing(offset))?;
            parent = BlockParent::Entry { table: start, entry };
            if spot.row < self.header.direct_rows() {
                return Ok(parent);
            }
            (start, rows) = (start + spot.block_offset, self.header.rows_of(spot.block_bytes));
        }
    }

    fn read_table(&mut self, blocks: &dyn Blocks, parent: BlockParent, start: u64, rows: u64) -> Result<()> {
        if self.tables.contains_key(&start) {
            return Ok(());
        }
        let at = self.child(parent).address.ok_or_else(|| missing(start))?;
        let bytes = blocks.read(at, self.header.indirect_bytes(rows), "fractal heap indirect block")?;
        let children =
            self.header.indirect(&bytes, self.at, start, rows).during_at("read indirect block", at.0)?;
        self.tables.insert(start, Table { at, rows, children, is_changed: false });
        Ok(())
    }

    /// Adds a direct block for an object of `len` bytes, where the heap goes on.
    pub(super) fn add_block(&mut self, blocks: &mut dyn Blocks, len: u64) -> Result<()> {
        let prefix = self.header.direct_prefix_bytes() as u64;
        if self.header.root.is_none() {
            self.header.root_rows = 0;
        }
        let from = match (self.header.root, self.header.root_rows) {
            (None, _) => 0,
            (Some(_), 0) => self.header.start_bytes,
            (Some(_), _) => self.header.counts.next_offset,
        };
        let extent = geometry::next_fit(&self.header, from, prefix + len)?;
        let parent = match (self.header.root, extent.start) {
            (None, 0) => self.start_with_block(),
            _ => self.parent_for(blocks, extent)?,
        };
        if self.child(parent).address.is_some() {
            return Err(Error::corrupt("insert in fractal heap").with("offset of next block", extent.start));
        }
        let at = blocks.allocate(extent.bytes, DataKind::LocalHeap);
        // Where there are filters it moves when it is stored, and its size is known.
        let is_filtered = !self.header.filters.is_empty();
        let stored = is_filtered.then_some(StoredSize { bytes: extent.bytes, filter_mask: 0 });
        self.set_child(parent, at, stored)?;
        let body = vec![0; (extent.bytes - prefix) as usize];
        let bytes = self.header.encode_direct(self.at, extent.start, &body)?;
        self.directs
            .insert(extent.start, Direct { at, stored, parent, bytes, is_changed: true, is_written: false });
        let counts = &mut self.header.counts;
        counts.allocated_bytes = counts.allocated_bytes.saturating_add(extent.bytes);
        self.sections.add(extent.start + prefix, extent.bytes - prefix)
    }

    /// The first block is the root.
    fn start_with_block(&mut self) -> BlockParent {
        self.header.root_rows = 0;
        let counts = &mut self.header.counts;
        (counts.managed_bytes, counts.allocated_bytes, counts.next_offset) = (self.header.start_bytes, 0, 0);
        self.header.counts.free_bytes = geometry::object_bytes(&self.header, 0);
        BlockParent::Header
    }

    /// Returns what shall point to a new block: its tables are created where they are missing.
    fn parent_for(&mut self, blocks: &mut dyn Blocks, extent: Extent) -> Result<BlockParent> {
        let needed = self.header.spot(extent.start)?.row + 1;
        if needed > u64::from(self.header.root_rows) {
            self.grow_root(blocks, needed)?;
        }
        self.header.counts.next_offset = extent.start + extent.bytes;
        let (mut start, mut rows) = (0, u64::from(self.header.root_rows));
        let mut parent = BlockParent::Header;
        loop {
            match self.child(parent).address {
                Some(_) => self.read_table(blocks, parent, start, rows)?,
                None => self.add_table(blocks, parent, start, rows)?,
            }
            let spot = self.header.spot(extent.start - start)?;
            let entry = usize::try_from(spot.entry).map_err(|_| missing(extent.start))?;
            parent = BlockParent::Entry { table: start, entry };
            if spot.row < self.header.direct_rows() {
                return Ok(parent);
            }
            (start, rows) = (start + spot.block_offset, self.header.rows_of(spot.block_bytes));
        }
    }

    fn add_table(
        &mut self,
        blocks: &mut dyn Blocks,
        parent: BlockParent,
        start: u64,
        rows: u64,
    ) -> Result<()> {
        let at = blocks.allocate(self.header.indirect_bytes(rows), DataKind::ObjectHeader);
        self.set_child(parent, at, None)?;
        let children = vec![NOTHING; (rows * self.header.width) as usize];
        self.tables.insert(start, Table { at, rows, children, is_changed: true });
        Ok(())
    }

    /// Gives the root more rows, twice as many if it has some; a root that is a direct block becomes the first entry of a table.
    fn grow_root(&mut self, blocks: &mut dyn Blocks, needed: u64) -> Result<()> {
        let (before, most) = (u64::from(self.header.root_rows), self.header.rows_max());
        let rows = match (before, self.header.start_rows) {
            (0, 0) => most,
            (0, least) => needed.max(u64::from(least)).next_power_of_two(),
            (before, _) => needed.max(2 * before),
        };
        let rows = rows.min(most).max(needed);
        let mut children = vec![NOTHING; (rows * self.header.width) as usize];
        match (self.header.root, before) {
            (None, _) => self.header.counts.free_bytes = geometry::object_bytes(&self.header, rows),
            (Some(root), 0) => {
                children[0] = Child { address: Some(root), stored: self.header.root_stored };
                self.count_rows(before, rows);
                if let Some(direct) = self.directs.get_mut(&0) {
                    direct.parent = BlockParent::Entry { table: 0, entry: 0 };
                }
            }
            (Some(_), _) => {
                self.read_table(blocks, BlockParent::Header, 0, before)?;
                let old = self.tables.remove(&0).ok_or_else(|| missing(0))?;
                blocks.release(old.at, self.header.indirect_bytes(old.rows));
                children[..old.children.len()].copy_from_slice(&old.children);
                self.count_rows(before, rows);
            }
        }
        let at = blocks.allocate(self.header.indirect_bytes(rows), DataKind::ObjectHeader);
        self.header.root_rows = u16::try_from(rows).map_err(|_| Error::limit("insert in fractal heap"))?;
        (self.header.root, self.header.root_stored) = (Some(at), None);
        self.header.counts.managed_bytes = geometry::row_start(&self.header, rows)?;
        self.tables.insert(0, Table { at, rows, children, is_changed: true });
        Ok(())
    }

    /// Blocks that the new rows have, though they are not created yet, count as free.
    fn count_rows(&mut self, before: u64, rows: u64) {
        let more = geometry::object_bytes(&self.header, rows)
            .saturating_sub(geometry::object_bytes(&self.header, before));
        self.header.counts.free_bytes = self.header.counts.free_bytes.saturating_add(more);
    }

    /// Writes the direct blocks that changed: those of the last commit go to new space.
    pub(super) fn store_directs(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        let changed: Vec<u64> =
            self.directs.iter().filter(|(_, direct)| direct.is_changed).map(|(start, _)| *start).collect();
        for start in changed {
            let direct = self.directs.get_mut(&start).ok_or_else(|| missing(start))?;
            self.header.seal_direct(&mut direct.bytes)?;
            let (bytes, stored) = filtered::apply(blocks.filters(), &self.header, &direct.bytes)?;
            let (old, before, len) = (direct.at, direct.file_bytes(), bytes.len() as u64);
            let at = match len == before {
                true => blocks.relocate(old, len, DataKind::LocalHeap),
                false => blocks.allocate(len, DataKind::LocalHeap),
            };
            if len != before && direct.is_written && blocks.is_fresh(old, before) {
                self.outdated.push((blocks.generation(), old, before));
            } else if len != before {
                blocks.release(old, before);
            }
            blocks.write(at, &bytes, PublishOrder::First)?;
            let (parent, is_moved) = (direct.parent, (direct.at, direct.stored) != (at, stored));
            (direct.at, direct.stored) = (at, stored);
            (direct.is_changed, direct.is_written) = (false, true);
            if is_moved {
                self.set_child(parent, at, stored)?;
            }
        }
        Ok(())
    }

    /// Gives up space that only a table of before the last commit could lead to.
    pub(super) fn release_outdated(&mut self, blocks: &mut dyn Blocks) {
        let outdated = std::mem::take(&mut self.outdated).into_iter();
        let (now, later) = outdated.partition::<Vec<_>, _>(|(written, ..)| blocks.is_committed(*written));
        self.outdated = later;
        now.into_iter().for_each(|(_, at, len)| blocks.release(at, len));
    }

    /// Returns filtered blocks that are not used any more, and wait for a commit.
    #[cfg(test)]
    pub(crate) fn outdated(&self) -> impl Iterator<Item = (Address, u64)> {
        self.outdated.iter().map(|(_, at, len)| (*at, *len))
    }

    /// Writes the indirect blocks that changed, where they are.
    pub(super) fn store_tables(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        for (start, table) in self.tables.iter_mut().filter(|(_, table)| table.is_changed) {
            let bytes = self.header.encode_indirect(self.at, *start, table.rows, &table.children)?;
            blocks.write(table.at, &bytes, PublishOrder::First)?;
            table.is_changed = false;
        }
        Ok(())
    }

    /// Releases direct blocks that are in the file, but for the last `keep` of them: there the heap goes on.
    pub(super) fn trim(&mut self, keep: usize) {
        let clean: Vec<u64> =
            self.directs.iter().filter(|(_, direct)| !direct.is_changed).map(|(start, _)| *start).collect();
        for start in &clean[..clean.len().saturating_sub(keep)] {
            self.directs.remove(start);
        }
    }
}

fn missing(offset: u64) -> Error {
    Error::corrupt("find fractal heap block").with("offset", offset)
}
