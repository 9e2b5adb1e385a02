//! Finding chunks, whatever index a dataset has (format/1-infrastructure §13, §14; spec III.H, IV.A.2.i).

use std::cmp::Ordering;

use model::bytes::Cursor;
use model::{Error, Result};

use super::arrays;
use crate::format::btree1::{ChunkKey, Kind};
use crate::format::btree2::BTree2;
use crate::format::layout::{Chunked, Index};
use crate::format::{Address, SizedFields};
use crate::object::btree1::{Tree, between};
use crate::object::btree2;
use crate::object::dataset::Dataset;
use crate::reader::Reader;

/// A chunk in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkAt {
    pub(crate) address: Address,
    pub(crate) bytes: u64,
    pub(crate) filter_mask: u32,
}

/// The chunks of one dataset.
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    pub(crate) file: &'a Reader,
    pub(crate) layout: &'a Chunked,
    dims: &'a [u64],
    max_dims: &'a [u64],
    pub(crate) filtered: bool,
    /// Bytes of a chunk without filters.
    pub(crate) chunk_bytes: u64,
    opened: OpenIndex,
}

/// The index, as far as it was read.
#[derive(Debug)]
enum OpenIndex {
    Nothing,
    BTree1(Tree),
    Array(arrays::Array),
    BTree2(BTree2),
}

impl<'a> Chunks<'a> {
    pub(crate) fn open(file: &'a Reader, dataset: &'a Dataset, layout: &'a Chunked) -> Result<Self> {
        let chunk_bytes = super::chunk_bytes(file, &layout.shape, layout.element_bytes)? as u64;
        let space = &dataset.info.space;
        let mut chunks = Chunks {
            file,
            layout,
            dims: space.dims(),
            max_dims: space.max_dims(),
            filtered: !dataset.filters().is_empty(),
            chunk_bytes,
            opened: OpenIndex::Nothing,
        };
        if let Some(address) = layout.address {
            chunks.opened = chunks.open_index(address)?;
        }
        Ok(chunks)
    }

    fn open_index(&self, root: Address) -> Result<OpenIndex> {
        Ok(match &self.layout.index {
            Index::BTree1 => OpenIndex::BTree1(Tree { root, kind: Kind::Chunk { rank: self.rank() } }),
            Index::FixedArray => OpenIndex::Array(arrays::Array::open_fixed(self.file, root)?),
            Index::ExtensibleArray => OpenIndex::Array(arrays::Array::open_extensible(self.file, root)?),
            Index::BTree2 => {
                let tree = btree2::open(self.file, root)?;
                super::super::object::group::check_tree(&tree, if self.filtered { 11 } else { 10 })?;
                OpenIndex::BTree2(tree)
            }
            Index::Single { .. } | Index::Implicit => OpenIndex::Nothing,
        })
    }

    pub(crate) fn rank(&self) -> usize {
        self.layout.shape.len()
    }

    /// Returns the chunk at chunk coordinates, if it is stored.
    pub(crate) fn find(&self, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        let Some(address) = self.layout.address else { return Ok(None) };
        match (&self.layout.index, &self.opened) {
            (Index::Single { filtered }, _) => Ok(Some(self.single(address, *filtered))),
            (Index::Implicit, _) => self.implicit(address, chunk_coords).map(Some),
            (_, OpenIndex::BTree1(tree)) => self.find_btree1(tree, chunk_coords),
            (_, OpenIndex::Array(array)) => self.find_array(array, chunk_coords),
            (_, OpenIndex::BTree2(tree)) => self.find_btree2(tree, chunk_coords),
            (_, OpenIndex::Nothing) => Ok(None),
        }
    }

    /// Returns about how many chunks the index holds.
    pub(crate) fn count_hint(&self) -> Result<u64> {
        match &self.opened {
            OpenIndex::BTree1(tree) => tree.count_hint(self.file),
            OpenIndex::BTree2(tree) => Ok(tree.records),
            OpenIndex::Array(arrays::Array::Fixed { header, .. }) => Ok(header.entries),
            OpenIndex::Array(arrays::Array::Extensible { header, .. }) => Ok(header.entries),
            // Each is found without a search.
            OpenIndex::Nothing => Ok(u64::MAX),
        }
    }

    fn plain(&self, address: Address) -> ChunkAt {
        ChunkAt { address, bytes: self.chunk_bytes, filter_mask: 0 }
    }

    fn single(&self, address: Address, filtered: Option<(u64, u32)>) -> ChunkAt {
        match filtered {
            Some((bytes, filter_mask)) => ChunkAt { address, bytes, filter_mask },
            None => self.plain(address),
        }
    }

    fn implicit(&self, base: Address, chunk_coords: &[u64]) -> Result<ChunkAt> {
        let offset = self.linear(chunk_coords, None)?.checked_mul(self.chunk_bytes);
        let address = offset.and_then(|n| n.checked_add(base.0));
        address.map(|a| self.plain(Address(a))).ok_or_else(|| Error::corrupt("find chunk").at(base.0))
    }

    fn linear(&self, chunk_coords: &[u64], first: Option<usize>) -> Result<u64> {
        number(chunk_coords, first, self.max_dims, &self.layout.shape)
    }

    /// Returns the dimension that grows, for the extensible array.
    fn unlimited_dim(&self) -> Option<usize> {
        self.max_dims.iter().position(|&d| d == model::UNLIMITED)
    }

    fn find_array(&self, array: &arrays::Array, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        let first = if array.is_extensible() { self.unlimited_dim() } else { None };
        let number = self.linear(chunk_coords, first)?;
        match array.element(self.file, number)? {
            Some(element) => self.array_element(&element),
            None => Ok(None),
        }
    }

    /// Returns an element of an array: an address and, where there are filters, a size and a mask.
    fn array_element(&self, element: &[u8]) -> Result<Option<ChunkAt>> {
        let sizes = self.file.store.sizes();
        let mut c = Cursor::new(element, "chunk index element");
        let Some(address) = c.address(sizes)? else { return Ok(None) };
        if !self.filtered {
            return Ok(Some(self.plain(address)));
        }
        let width = element.len().checked_sub(sizes.offset + 4).filter(|w| (1..=8).contains(w));
        let width = width.ok_or_else(|| c.corrupt("element of the wrong size"))?;
        Ok(Some(ChunkAt { address, bytes: c.uint(width)?, filter_mask: c.u32()? }))
    }

    fn find_btree1(&self, tree: &Tree, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        let wanted: Vec<u64> =
            chunk_coords.iter().zip(&self.layout.shape).map(|(s, c)| s.saturating_mul(*c)).collect();
        let rank = self.rank();
        let mut order = |key: &[u8]| key_order(key, &wanted);
        let found = tree.find(self.file, &mut |keys| between(keys, false, &mut order))?;
        let Some((key, address)) = found else { return Ok(None) };
        let key = ChunkKey::decode(&key, rank)?;
        Ok((key.offset == wanted).then(|| self.keyed(&key, address)))
    }

    fn keyed(&self, key: &ChunkKey, address: Address) -> ChunkAt {
        ChunkAt { address, bytes: u64::from(key.stored_bytes), filter_mask: key.filter_mask }
    }

    fn find_btree2(&self, tree: &BTree2, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        let rank = self.rank();
        let record = btree2::find(self.file, tree, &mut |record| {
            let at = record.len().checked_sub(8 * rank).ok_or_else(|| Error::corrupt("read chunk record"))?;
            offsets_order(&record[at..], chunk_coords)
        })?;
        record.map(|record| self.btree2_record(&record).map(|r| r.1)).transpose()
    }

    /// Returns the chunk coordinates and place of a record of type 10 or 11.
    fn btree2_record(&self, record: &[u8]) -> Result<(Vec<u64>, ChunkAt)> {
        let sizes = self.file.store.sizes();
        let mut c = Cursor::new(record, "chunk record");
        let address = c.defined_address(sizes)?;
        let chunk = if self.filtered {
            let width =
                record.len().checked_sub(sizes.offset + 4 + 8 * self.rank()).filter(|w| (1..=8).contains(w));
            let width = width.ok_or_else(|| c.corrupt("record of the wrong size"))?;
            ChunkAt { address, bytes: c.uint(width)?, filter_mask: c.u32()? }
        } else {
            self.plain(address)
        };
        let chunk_coords = (0..self.rank()).map(|_| c.u64()).collect::<Result<_>>()?;
        Ok((chunk_coords, chunk))
    }

    /// Calls `visit` with the chunk coordinates of every chunk that is stored, outside of the extent too.
    pub(crate) fn walk(&self, visit: &mut dyn FnMut(&[u64], ChunkAt) -> Result<()>) -> Result<()> {
        if self.layout.address.is_none() {
            return Ok(());
        }
        match &self.opened {
            OpenIndex::BTree1(tree) => tree.walk(self.file, &mut |key, address| {
                let key = ChunkKey::decode(key, self.rank())?;
                let chunk_coords: Vec<u64> =
                    key.offset.iter().zip(&self.layout.shape).map(|(o, c)| o / c).collect();
                visit(&chunk_coords, self.keyed(&key, address))
            }),
            OpenIndex::BTree2(tree) => btree2::walk(self.file, tree, &mut |record| {
                let (chunk_coords, chunk) = self.btree2_record(record)?;
                visit(&chunk_coords, chunk)
            }),
            OpenIndex::Array(array) => self.walk_array(array, visit),
            OpenIndex::Nothing => self.walk_grid(visit),
        }
    }

    /// Returns the blocks of the index itself, with their bytes.
    pub(crate) fn blocks(&self) -> Result<Vec<(Address, u64)>> {
        match (&self.opened, self.layout.address) {
            (OpenIndex::BTree1(tree), _) => tree.nodes(self.file, &mut |_, _| Ok(())),
            (OpenIndex::BTree2(_), Some(root)) => btree2::blocks(self.file, root, &mut |_, _| Ok(())),
            (OpenIndex::Array(array), _) => array.blocks(self.file),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the number of bytes of the index, as libhdf5 tells them: of an extensible array's index block it leaves out one pointer for
    /// each group of blocks that there can be.
    pub(crate) fn recorded_bytes(&self) -> Result<u64> {
        let all = self.blocks()?.into_iter().fold(0, |n: u64, (_, bytes)| n.saturating_add(bytes));
        match &self.opened {
            OpenIndex::Array(arrays::Array::Extensible { header, .. }) if header.index_block.is_some() => {
                let pointers = header.groups().count() as u64 * self.file.store.sizes().offset as u64;
                Ok(all.saturating_sub(pointers))
            }
            _ => Ok(all),
        }
    }

    /// Elements of existing blocks only: how long this takes, the file's size decides.
    fn walk_array(
        &self,
        array: &arrays::Array,
        visit: &mut dyn FnMut(&[u64], ChunkAt) -> Result<()>,
    ) -> Result<()> {
        let first = if array.is_extensible() { self.unlimited_dim() } else { None };
        array.walk(self.file, &mut |number, element| {
            let Some(chunk) = self.array_element(element)? else { return Ok(()) };
            visit(&self.chunk_coords(number, first), chunk)
        })
    }

    /// Returns whether a chunk holds elements of the extent. After a resize some may not.
    pub(crate) fn is_inside(&self, chunk_coords: &[u64]) -> bool {
        chunk_coords
            .iter()
            .zip(self.dims)
            .zip(&self.layout.shape)
            .all(|((s, d), c)| s.saturating_mul(*c) < *d)
    }

    /// Returns the opposite of [`Chunks::linear`].
    fn chunk_coords(&self, mut number: u64, first: Option<usize>) -> Vec<u64> {
        let mut chunk_coords = vec![0; self.rank()];
        for d in (0..self.rank()).rev().filter(|&d| Some(d) != first) {
            let grid = self.max_dims[d].div_ceil(self.layout.shape[d]).max(1);
            chunk_coords[d] = number % grid;
            number /= grid;
        }
        match first {
            Some(d) => chunk_coords[d] = number,
            // Without a dimension that grows, what is left over lies outside.
            None if number > 0 => chunk_coords.fill(u64::MAX >> 33),
            None => {}
        }
        chunk_coords
    }

    /// Calls `visit` with every place of the current grid: the only chunk, or the chunks of an implicit index, which all exist.
    fn walk_grid(&self, visit: &mut dyn FnMut(&[u64], ChunkAt) -> Result<()>) -> Result<()> {
        let grid: Vec<u64> = self.dims.iter().zip(&self.layout.shape).map(|(d, c)| d.div_ceil(*c)).collect();
        let count = grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g)).unwrap_or(u64::MAX);
        let fits = count.checked_mul(self.chunk_bytes).is_some_and(|bytes| bytes <= self.file.store.end());
        if !fits && matches!(self.layout.index, Index::Implicit) {
            return Err(Error::corrupt("list chunks")
                .with("count", count)
                .with("problem", "more than the file holds"));
        }
        let count = if matches!(self.layout.index, Index::Implicit) { count } else { count.min(1) };
        let mut chunk_coords = vec![0; self.rank()];
        for _ in 0..count {
            if let Some(chunk) = self.find(&chunk_coords)? {
                visit(&chunk_coords, chunk)?;
            }
            advance(&mut chunk_coords, &grid);
        }
        Ok(())
    }

    /// Returns whether a chunk sticks out of the extent.
    pub(crate) fn is_edge(&self, chunk_coords: &[u64]) -> bool {
        let ends = chunk_coords.iter().zip(&self.layout.shape).map(|(s, c)| (s + 1).saturating_mul(*c));
        ends.zip(self.dims).any(|(end, &dim)| end > dim)
    }
}

/// Returns the number of a chunk in C order over the grid of the *maximum* extent; `first` is moved to the front.
pub(crate) fn number(
    chunk_coords: &[u64],
    first: Option<usize>,
    max_dims: &[u64],
    shape: &[u64],
) -> Result<u64> {
    let overflow = || Error::corrupt("number chunk").with("problem", "too many chunks");
    let mut number = first.map_or(0, |d| chunk_coords[d]);
    for d in (0..chunk_coords.len()).filter(|&d| Some(d) != first) {
        let grid = max_dims[d].div_ceil(shape[d]);
        number =
            number.checked_mul(grid).and_then(|n| n.checked_add(chunk_coords[d])).ok_or_else(overflow)?;
    }
    Ok(number)
}

/// Steps coordinates through a grid in C order.
fn advance(at: &mut [u64], grid: &[u64]) {
    for d in (0..at.len()).rev() {
        at[d] += 1;
        if at[d] < grid[d] {
            return;
        }
        at[d] = 0;
    }
}

fn key_order(key: &[u8], wanted: &[u64]) -> Result<Ordering> {
    let offsets = key.get(8..8 + 8 * wanted.len()).ok_or_else(|| Error::corrupt("read chunk key"))?;
    let order = offsets_order(offsets, wanted)?;
    // A chunk's own key ends in 0; the rightmost key of a tree ends in the element size and lies beyond.
    let tail = &key[8 + 8 * wanted.len()..];
    Ok(if order == Ordering::Equal && tail.iter().any(|&b| b != 0) { Ordering::Greater } else { order })
}

fn offsets_order(offsets: &[u8], wanted: &[u64]) -> Result<Ordering> {
    let mut c = Cursor::new(offsets, "chunk offsets");
    for want in wanted {
        match c.u64()?.cmp(want) {
            Ordering::Equal => {}
            order => return Ok(order),
        }
    }
    Ok(Ordering::Equal)
}
