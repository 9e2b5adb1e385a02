//! Arrays: cells of one size, in blocks that lie together.

use objects::{Change, Fetch, Range64, Update, dkeys_with_prefix};

use crate::container::PHASE;
use crate::head::Shape;
use crate::{Container, Error, Id, Kind, Result};

/// Bytes of a block where no one asked for chunks.
const BLOCK_BYTES: u64 = 1 << 20;
/// The first byte of a block's key.
const BLOCK: u8 = 1;

/// The properties of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// Bytes of one cell.
    pub cell_bytes: u32,
    /// Cells in each dimension; the first may change.
    pub dims: Vec<u64>,
    /// The chunks that its maker asked for.
    pub chunk: Option<Vec<u64>>,
    /// Cells that lie together: the chunk, or what was chosen instead.
    pub block: Vec<u64>,
}

/// Cells of one block to read, in C order within it. Those that were never written leave their bytes of `into` as they were.
#[derive(Debug)]
pub struct CellRead<'a> {
    /// The first cell of the block.
    pub block: &'a [u64],
    /// The first cell within the block.
    pub first: u64,
    /// Space for whole cells.
    pub into: &'a mut [u8],
}

/// Cells of one block to write, in C order within it. They must be inside of the array: no other caller looks.
#[derive(Clone, Copy, Debug)]
pub struct CellWrite<'a> {
    /// The first cell of the block.
    pub block: &'a [u64],
    /// The first cell within the block.
    pub first: u64,
    /// Whole cells.
    pub from: &'a [u8],
}

impl<'a> CellWrite<'a> {
    fn change(&self, akey: &'a [u8], record_size: u32) -> Change<'a> {
        Change::Records { akey, record_size, start: self.first, bytes: self.from }
    }
}

/// Blocks for an array without chunks: whole rows of the fastest dimensions. The first dimension may grow, so its
/// length now says nothing.
#[must_use]
pub fn automatic_block(dims: &[u64], cell_bytes: u32) -> Vec<u64> {
    let mut cells = (BLOCK_BYTES / u64::from(cell_bytes.max(1))).max(1);
    let mut block = vec![1; dims.len()];
    for (at, (len, dim)) in block.iter_mut().zip(dims).enumerate().rev() {
        *len = if at == 0 { cells } else { (*dim).clamp(1, cells) };
        cells = (cells / *len).max(1);
    }
    block
}

/// Returns the dkey of a block: numbers as the count of their bytes and these bytes, so that keys sort as places do.
fn block_key(start: &[u64]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + 4 * start.len());
    key.push(BLOCK);
    for at in start {
        let bytes = at.to_be_bytes();
        let zeros = at.leading_zeros() as usize / 8;
        key.push((bytes.len() - zeros) as u8);
        key.extend_from_slice(bytes.get(zeros..).unwrap_or_default());
    }
    key
}

/// Returns the first cell of the block with a dkey, or `None` if it is no block of this rank.
fn block_start(key: &[u8], rank: usize) -> Option<Vec<u64>> {
    let (&BLOCK, mut rest) = key.split_first()? else { return None };
    let mut start = Vec::with_capacity(rank);
    while let Some((&count, after)) = rest.split_first() {
        let (bytes, after) = after.split_at_checked(count.into()).filter(|_| count <= 8)?;
        start.push(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
        rest = after;
    }
    (start.len() == rank).then_some(start)
}

fn outside(id: Id, problem: &str) -> Error {
    Error::Condition(format!("{id}: {problem}"))
}

impl Shape {
    fn block_cells(&self) -> u64 {
        // A possible shape has a product that fits.
        self.block.iter().product()
    }

    /// Returns an error unless these are cells of a block.
    fn check_cells(&self, id: Id, start: &[u64], first: u64, bytes: usize) -> Result<()> {
        let is_block = start.len() == self.block.len()
            && start.iter().zip(&self.block).all(|(at, len)| at.is_multiple_of(*len))
            && start.iter().zip(&self.dims).all(|(at, dim)| at < dim);
        let cells = bytes as u64 / u64::from(self.cell_bytes);
        let is_whole = (bytes as u64).is_multiple_of(self.cell_bytes.into());
        let end = first.checked_add(cells);
        match is_block && is_whole && end.is_some_and(|end| end <= self.block_cells()) {
            true => Ok(()),
            false => {
                Err(outside(id, &format!("there are no {cells} cells from {first} on in block {start:?}")))
            }
        }
    }
}

impl Container {
    /// Returns what an array is.
    pub fn array(&self, id: Id) -> Result<ArrayInfo> {
        let shape = self.shape(id)?;
        let chunk = shape.is_chunked.then(|| shape.block.clone());
        Ok(ArrayInfo { cell_bytes: shape.cell_bytes, dims: shape.dims, chunk, block: shape.block })
    }

    pub(crate) fn shape(&self, id: Id) -> Result<Shape> {
        let head = self.head_of(id, Kind::Array)?;
        head.shape.clone().ok_or_else(|| outside(id, "it has no dimensions"))
    }

    /// The akey of a block's cells.
    fn cells(&self) -> &'static [u8] {
        self.core.layout.cells
    }

    /// Reads cells of many blocks.
    pub fn read_cells(&self, id: Id, reads: &mut [CellRead<'_>]) -> Result<()> {
        let shape = self.shape(id)?;
        for read in reads.iter() {
            shape.check_cells(id, read.block, read.first, read.into.len())?;
        }
        let keys: Vec<Vec<u8>> = reads.iter().map(|read| block_key(read.block)).collect();
        let (object, record_size) = (id.object(), shape.cell_bytes);
        let mut fetches: Vec<Fetch<'_>> = reads
            .iter_mut()
            .zip(&keys)
            .filter(|(read, _)| !read.into.is_empty())
            .map(|(read, dkey)| Fetch {
                object,
                dkey,
                akey: self.cells(),
                record_size,
                start: read.first,
                into: read.into,
            })
            .collect();
        self.store().fetch(&mut fetches).map_err(|error| match error {
            Error::Condition(problem) => Error::Corrupt(format!("{id} is damaged: {problem}")),
            error => error,
        })
    }

    /// Writes cells of many blocks. Those of one block that follow one another here are written at once.
    pub fn write_cells(&self, id: Id, writes: &[CellWrite<'_>]) -> Result<()> {
        self.check_writable()?;
        let shape = self.shape(id)?;
        for write in writes {
            shape.check_cells(id, write.block, write.first, write.from.len())?;
        }
        let (akey, record_size) = (self.cells(), shape.cell_bytes);
        let mut blocks: Vec<(Vec<u8>, &[CellWrite<'_>])> = Vec::new();
        for same in writes.chunk_by(|a, b| a.block == b.block) {
            blocks.push((block_key(same.first().map_or(&[], |write| write.block)), same));
        }
        let changes: Vec<Vec<Change<'_>>> = blocks
            .iter()
            .map(|(_, same)| {
                let filled = same.iter().filter(|write| !write.from.is_empty());
                filled.map(|write| write.change(akey, record_size)).collect()
            })
            .collect();
        let updates: Vec<Update<'_>> = blocks
            .iter()
            .zip(&changes)
            .filter(|(_, changes)| !changes.is_empty())
            .map(|((dkey, _), changes)| Update {
                object: id.object(),
                dkey,
                changes,
                conditions: &[],
                phase: PHASE,
            })
            .collect();
        match &updates[..] {
            [] => Ok(()),
            [one] => self.store().update(one),
            many => self.store().update_many(many),
        }
    }

    /// Makes cells of a block holes again, in ranges within it.
    pub fn punch_cells(&self, id: Id, block: &[u64], ranges: &[std::ops::Range<u64>]) -> Result<()> {
        self.check_writable()?;
        let shape = self.shape(id)?;
        if block.len() != shape.block.len() {
            return Err(outside(id, &format!("there is no block {block:?}")));
        }
        let punch = |range: &std::ops::Range<u64>| Change::PunchRecords {
            akey: self.cells(),
            range: Range64 { start: range.start, end: range.end.max(range.start) },
        };
        let changes: Vec<Change<'_>> = ranges.iter().map(punch).collect();
        let dkey = block_key(block);
        let object = id.object();
        self.store().update(&Update { object, dkey: &dkey, changes: &changes, conditions: &[], phase: PHASE })
    }

    /// Makes all cells of a block holes again.
    pub fn punch_block(&self, id: Id, block: &[u64]) -> Result<()> {
        self.check_writable()?;
        self.shape(id)?;
        self.store().punch_dkey(id.object(), &block_key(block), PHASE)
    }

    /// Returns the first cells of all blocks that are not one large hole, in C order.
    pub fn blocks(&self, id: Id) -> Result<Vec<Vec<u64>>> {
        let rank = self.shape(id)?.dims.len();
        let keys = dkeys_with_prefix(self.store(), id.object(), &[BLOCK])?;
        Ok(keys.iter().filter_map(|key| block_start(key, rank)).collect())
    }

    /// Returns whether a block has cells.
    pub fn has_block(&self, id: Id, block: &[u64]) -> Result<bool> {
        Ok(self.store().size(id.object(), &block_key(block), self.cells())?.is_some())
    }

    /// Removes what lies behind the first dimension.
    pub(crate) fn cut(&self, id: Id, shape: &Shape) -> Result<()> {
        let (Some(&len), Some(&rows)) = (shape.dims.first(), shape.block.first()) else { return Ok(()) };
        let row_cells = shape.block_cells() / rows;
        for start in self.blocks(id)? {
            let from = start.first().copied().unwrap_or(0);
            if from >= len {
                self.store().punch_dkey(id.object(), &block_key(&start), PHASE)?;
            } else if len - from < rows {
                let range = Range64 { start: (len - from) * row_cells, end: shape.block_cells() };
                let changes = [Change::PunchRecords { akey: self.cells(), range }];
                let (object, dkey) = (id.object(), block_key(&start));
                let update = Update { object, dkey: &dkey, changes: &changes, conditions: &[], phase: PHASE };
                self.store().update(&update)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_sort_as_their_places_do() {
        let places = [0, 1, 255, 256, 70_000, u64::MAX];
        let all: Vec<[u64; 2]> = places.iter().flat_map(|a| places.map(|b| [*a, b])).collect();
        let keys: Vec<Vec<u8>> = all.iter().map(|start| block_key(start)).collect();
        assert!(keys.is_sorted());
        for (key, start) in keys.iter().zip(&all) {
            assert_eq!(block_start(key, 2).unwrap(), start);
            assert_eq!(block_start(key, 3), None);
        }
        assert_eq!(block_start(&[1, 9], 1), None);
    }

    #[test]
    fn blocks_without_chunks_are_whole_rows_of_about_a_mebibyte() {
        assert_eq!(automatic_block(&[10, 100], 8), [1310, 100]);
        assert_eq!(automatic_block(&[1 << 40], 1), [1 << 20]);
        assert_eq!(automatic_block(&[3, 1 << 30], 4), [1, 1 << 18]);
        assert_eq!(automatic_block(&[3, 0], 4), [1 << 18, 1]);
        assert!(automatic_block(&[], 4).is_empty());
    }
}
