//! Reads records and verifies their checksums.

use super::array::{Array, Extent};
use super::blocks::{Grid, Loaded};
use super::sums::Sum;
use super::writer::{Far, ReadRange, pieces};
use crate::Result;
use crate::runs::Run;

/// 256 KiB: half of a small second-level cache.
const BLOCKS_AT_ONCE: usize = 16;

/// The block that was read last: short reads that follow one another are often of one block.
#[derive(Debug, Default)]
pub(crate) struct LastBlock {
    /// Where it begins and its checksum: both together say that it is the same block still.
    known: Option<(u64, Sum, Loaded)>,
}

/// Copies the records that are there.
pub(crate) fn read(
    far: &dyn Far,
    array: &Array,
    start: u64,
    into: &mut [u8],
    last: &mut LastBlock,
) -> Result<()> {
    if array.extents.iter().all(|extent| extent.sums.is_empty()) {
        return far.read(pieces(array, start, into));
    }
    let grid = Grid::new(array.record_size);
    let end = start + into.len() as u64 / u64::from(array.record_size);
    for extent in array.overlapping(start, end) {
        for run in extent.runs.within(start, end) {
            let buffer = into.get_mut(grid.range(run, start)).unwrap_or_default();
            match extent.sums.is_empty() {
                true => far.read(vec![ReadRange { at: grid.place(extent, run.0), into: buffer }])?,
                false => Checked { far, grid, extent }.read(run, buffer, last)?,
            }
        }
    }
    Ok(())
}

/// An extent with checksums.
struct Checked<'a> {
    far: &'a dyn Far,
    grid: Grid,
    extent: &'a Extent,
}

impl Checked<'_> {
    /// Blocks of which all is asked for go where they belong; of others a part is copied there.
    fn read(&self, run: Run, into: &mut [u8], last: &mut LastBlock) -> Result<()> {
        let blocks = self.grid.blocks(self.extent, run.0, run.1);
        let (mut whole, mut parts) = (None::<Run>, Vec::new());
        for block in blocks {
            match self.is_within(block, run) {
                true => whole = Some((whole.map_or(block.0, |whole| whole.0), block.1)),
                false => parts.push(block),
            }
        }
        if let Some(whole) = whole {
            let whole = (whole.0.max(run.0), whole.1.min(run.1));
            let buffer = into.get_mut(self.grid.range(whole, run.0)).unwrap_or_default();
            self.read_whole(whole, buffer)?;
        }
        for block in parts {
            let part = (block.0.max(run.0), block.1.min(run.1));
            let buffer = into.get_mut(self.grid.range(part, run.0)).unwrap_or_default();
            self.read_part(block, part, buffer, last)?;
        }
        Ok(())
    }

    /// Returns whether a run has all records of a block that are there.
    fn is_within(&self, block: Run, run: Run) -> bool {
        let mut held = self.extent.runs.within(block.0, block.1);
        held.next().is_some_and(|held| run.0 <= held.0 && held.1 <= run.1) && held.next().is_none()
    }

    /// Reads some blocks at a time: what was just read is still in the processor's cache when it is verified.
    fn read_whole(&self, run: Run, into: &mut [u8]) -> Result<()> {
        let blocks: Vec<Run> = self.grid.blocks(self.extent, run.0, run.1).collect();
        for some in blocks.chunks(BLOCKS_AT_ONCE) {
            let (Some(first), Some(last)) = (some.first(), some.last()) else { continue };
            let part = (first.0.max(run.0), last.1.min(run.1));
            let buffer = into.get_mut(self.grid.range(part, run.0)).unwrap_or_default();
            self.far
                .read(vec![ReadRange { at: self.grid.place(self.extent, part.0), into: &mut *buffer }])?;
            some.iter().try_for_each(|block| self.grid.verify(self.extent, *block, part.0, buffer))?;
        }
        Ok(())
    }

    fn read_part(&self, block: Run, part: Run, into: &mut [u8], last: &mut LastBlock) -> Result<()> {
        let at = self.grid.place(self.extent, block.0);
        let sum = self.extent.sums.get(self.grid.at(self.extent, block)).copied().unwrap_or_default();
        if !matches!(last.known, Some((known, held, _)) if (known, held) == (at, sum)) {
            last.known = None;
            last.known = Some((at, sum, self.grid.verified(self.far, self.extent, block)?));
        }
        let Some((_, _, loaded)) = &last.known else { return Ok(()) };
        let held = (loaded.start <= part.0).then(|| self.grid.range(part, loaded.start));
        let held = held.and_then(|range| loaded.bytes.get(range));
        into.copy_from_slice(held.ok_or_else(crate::bytes::Reader::corrupt)?);
        Ok(())
    }
}
