//! Blocks of extents: pieces of fixed size, each with the checksum of its records that are there.
//!
//! A write changes only the checksums of the blocks that it touches. Where it changes a block in part, what stays of
//! the block is verified first, so that no damage gets a new checksum.

use super::array::Extent;
use super::sums::{self, Sum};
use super::writer::{Far, ReadRange};
use crate::runs::{Run, Runs};
use crate::{Error, Result};

/// How an extent's records lie in blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Bytes of a record.
    size: u64,
    /// Records of a block.
    records: u64,
}

/// Bytes of an extent from a record on.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The first record.
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Grid {
    pub(crate) fn new(record_size: u32) -> Grid {
        Grid { size: record_size.into(), records: sums::block_records(record_size) }
    }

    /// Returns how many blocks the records of a range lie in.
    pub(crate) fn count(self, start: u64, end: u64) -> u64 {
        if start < end { (end - 1) / self.records - start / self.records + 1 } else { 0 }
    }

    /// Returns the blocks of a range that an extent has space for, as runs of records.
    pub(crate) fn blocks(self, extent: &Extent, start: u64, end: u64) -> impl Iterator<Item = Run> + use<> {
        let (low, high) = (extent.start, extent.end);
        let (start, end) = (start.max(low), end.min(high));
        let first = start / self.records;
        let run = move |n: u64| {
            let from = (first + n) * self.records;
            (from.max(low), from.saturating_add(self.records).min(high))
        };
        (0..self.count(start, end)).map(run)
    }

    /// Returns the place of a block's checksum.
    pub(crate) fn at(self, extent: &Extent, block: Run) -> usize {
        (block.0 / self.records - extent.start / self.records) as usize
    }

    fn sum(self, extent: &Extent, block: Run) -> Result<Sum> {
        extent.sums.get(self.at(extent, block)).copied().ok_or_else(crate::bytes::Reader::corrupt)
    }

    /// Returns the checksum of those runs of a block that lie in `bytes`, which begin with a record.
    pub(crate) fn of_runs(self, runs: &Runs, block: Run, start: u64, bytes: &[u8]) -> Sum {
        let slice = |run: Run| bytes.get(self.range(run, start)).unwrap_or_default();
        sums::of_parts(runs.within(block.0, block.1).map(slice))
    }

    /// Returns where the records of a run are in bytes that begin with a record.
    pub(crate) fn range(self, run: Run, start: u64) -> std::ops::Range<usize> {
        ((run.0 - start) * self.size) as usize..((run.1 - start) * self.size) as usize
    }

    /// Returns the checksums of records that lie together, one for each block.
    pub(crate) fn of_bytes(self, extent: &Extent, start: u64, bytes: &[u8]) -> Vec<Sum> {
        let blocks = self.blocks(extent, extent.start, extent.end);
        blocks.map(|block| self.of_runs(&extent.runs, block, start, bytes)).collect()
    }

    /// Returns where a record is.
    pub(crate) fn place(self, extent: &Extent, record: u64) -> u64 {
        extent.at + (record - extent.start) * self.size
    }

    /// Returns the records of a block that are there, and what lies between them.
    fn load(self, far: &dyn Far, extent: &Extent, block: Run) -> Result<Loaded> {
        let runs = extent.runs.cut(block.0, block.1);
        let start = if runs.is_empty() { block.0 } else { runs.start() };
        let mut bytes = vec![0; ((runs.end().max(start) - start) * self.size) as usize];
        far.read(vec![ReadRange { at: self.place(extent, start), into: &mut bytes }])?;
        Ok(Loaded { start, bytes })
    }

    /// Returns whether the records of a block are those that were written.
    pub(crate) fn is_right(self, extent: &Extent, block: Run, loaded: &Loaded) -> Result<bool> {
        Ok(self.of_runs(&extent.runs, block, loaded.start, &loaded.bytes) == self.sum(extent, block)?)
    }

    /// Returns the records of a block, verified.
    pub(crate) fn verified(self, far: &dyn Far, extent: &Extent, block: Run) -> Result<Loaded> {
        let loaded = self.load(far, extent, block)?;
        match self.is_right(extent, block, &loaded)? {
            true => Ok(loaded),
            false => Err(damaged(self.place(extent, block.0))),
        }
    }

    /// Returns an error unless bytes that hold all records of a block are those that were written.
    pub(crate) fn verify(self, extent: &Extent, block: Run, start: u64, bytes: &[u8]) -> Result<()> {
        match self.of_runs(&extent.runs, block, start, bytes) == self.sum(extent, block)? {
            true => Ok(()),
            false => Err(damaged(self.place(extent, block.0))),
        }
    }

    /// Returns the checksum of what is left of a block. Where the block is damaged it is a wrong one, so that whoever reads it
    /// gets an error.
    pub(crate) fn of_rest(self, far: &dyn Far, extent: &Extent, block: Run, rest: &Runs) -> Result<Sum> {
        let loaded = self.load(far, extent, block)?;
        let sum = self.of_runs(rest, block, loaded.start, &loaded.bytes);
        Ok(if self.is_right(extent, block, &loaded)? { sum } else { !sum })
    }

    /// Returns the checksum of a block as its bytes are now.
    pub(crate) fn of_now(self, far: &dyn Far, extent: &Extent, block: Run) -> Result<Sum> {
        let loaded = self.load(far, extent, block)?;
        Ok(self.of_runs(&extent.runs, block, loaded.start, &loaded.bytes))
    }
}

/// Returns the error of bytes that are not those that were written.
pub(crate) fn damaged(at: u64) -> Error {
    Error::Corrupt(format!("the data file is damaged: the checksum of its bytes from {at} on is wrong"))
}
