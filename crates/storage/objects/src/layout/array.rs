//! Positions of the records of an array.

use super::blocks::Grid;
use super::sums::Sum;
use super::value::{DataRange, Released};
use super::writer::Far;
use crate::Result;
use crate::runs::{Run, Runs};

/// An array of records: small ones are near (in the index), others in extents of far bytes.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    /// Bytes of one record.
    pub(crate) record_size: u32,
    /// All records of a small array; no extents then.
    pub(crate) near: Option<Near>,
    /// In order, none overlap, each has a record.
    pub(crate) extents: Vec<Extent>,
}

/// Records in the index.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    /// The record that the bytes begin with.
    pub(crate) start: u64,
    /// Those of absent records mean nothing.
    pub(crate) bytes: Vec<u8>,
    /// Which records are there.
    pub(crate) runs: Runs,
}

/// Space for records far away.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    /// The first record there is space for.
    pub(crate) start: u64,
    /// One past the last.
    pub(crate) end: u64,
    /// Where the space begins.
    pub(crate) at: u64,
    /// When it was taken: in the current epoch no commit knows of it.
    pub(crate) epoch: u64,
    /// Which records are there.
    pub(crate) runs: Runs,
    /// The checksums of its blocks; none where the engine's storage has its own, or an older program wrote it.
    pub(crate) sums: Vec<Sum>,
}

impl Array {
    pub(crate) fn new(record_size: u32) -> Array {
        Array { record_size, near: None, extents: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extents.is_empty() && self.near.as_ref().is_none_or(|near| near.runs.is_empty())
    }

    /// Returns one past the last record.
    pub(crate) fn end(&self) -> u64 {
        let far = self.extents.last().map_or(0, |extent| extent.runs.end());
        self.near.as_ref().map_or(far, |near| near.runs.end())
    }

    /// Returns the number of bytes of so many records.
    pub(crate) fn bytes(&self, records: u64) -> u64 {
        records * u64::from(self.record_size)
    }

    /// Returns the extents with space for a record of a range.
    pub(crate) fn overlapping(&self, start: u64, end: u64) -> &[Extent] {
        let from = self.extents.partition_point(|extent| extent.end <= start);
        let to = self.extents.partition_point(|extent| extent.start < end);
        self.extents.get(from..to).unwrap_or_default()
    }

    /// Returns the extent of this epoch that has space for all of a range.
    pub(crate) fn writable(&mut self, start: u64, end: u64, epoch: u64) -> Option<&mut Extent> {
        let at = self.extents.partition_point(|extent| extent.end <= start);
        let extent = self.extents.get_mut(at)?;
        (extent.start <= start && end <= extent.end && extent.epoch == epoch).then_some(extent)
    }

    /// Takes the space of a range away, with what is there. What stays of a block is read for its new checksum.
    pub(crate) fn trim(
        &mut self,
        (start, end): Run,
        far: &dyn Far,
        released: &mut Vec<Released>,
    ) -> Result<()> {
        let from = self.extents.partition_point(|extent| extent.end <= start);
        let to = self.extents.partition_point(|extent| extent.start < end);
        if from >= to {
            return Ok(());
        }
        let (size, grid) = (u64::from(self.record_size), Grid::new(self.record_size));
        let mut rest = Vec::with_capacity(2);
        for extent in self.extents.get(from..to).unwrap_or_default() {
            for range in [(extent.start, start), (end, extent.end)] {
                rest.extend(
                    extent.part(range, size).map(|part| extent.sum_part(part, far, grid)).transpose()?,
                );
            }
            release(extent, &rest, size, released);
        }
        self.extents.splice(from..to, rest);
        Ok(())
    }

    /// Adds an extent where there is none.
    pub(crate) fn insert(&mut self, extent: Extent) {
        let at = self.extents.partition_point(|other| other.start < extent.start);
        self.extents.insert(at, extent);
    }

    /// Makes records of a small array absent.
    pub(crate) fn punch_near(&mut self, start: u64, end: u64) {
        let Some(near) = &mut self.near else { return };
        near.runs.remove(start, end);
        if near.runs.is_empty() {
            self.near = None;
        }
    }

    /// Writes records of a small array.
    pub(crate) fn write_near(&mut self, start: u64, end: u64, bytes: &[u8]) {
        let size = self.record_size as usize;
        let old = self.near.take();
        let (low, high) = span(old.as_ref(), start, end);
        let mut near =
            Near { start: low, bytes: vec![0; (high - low) as usize * size], runs: Runs::default() };
        for (run, held) in old.iter().flat_map(|old| old.held(size)) {
            near.put(run, held, size);
        }
        near.put((start, end), bytes, size);
        self.near = Some(near);
    }

    /// Returns the number of bytes of the span that a small array has after a write.
    pub(crate) fn span_bytes(&self, start: u64, end: u64) -> u64 {
        let (low, high) = span(self.near.as_ref(), start, end);
        (high - low).saturating_mul(u64::from(self.record_size))
    }
}

fn span(near: Option<&Near>, start: u64, end: u64) -> (u64, u64) {
    near.map_or((start, end), |near| (start.min(near.runs.start()), end.max(near.runs.end())))
}

impl Near {
    fn put(&mut self, run: (u64, u64), bytes: &[u8], size: usize) {
        let at = (run.0 - self.start) as usize * size;
        if let Some(buffer) = self.bytes.get_mut(at..at + bytes.len()) {
            buffer.copy_from_slice(bytes);
            self.runs.insert(run.0, run.1);
        }
    }

    /// Returns each run with its bytes.
    pub(crate) fn held(&self, size: usize) -> impl Iterator<Item = ((u64, u64), &[u8])> {
        self.runs.as_slice().iter().filter_map(move |run| Some((*run, self.slice(*run, size)?)))
    }

    /// Returns the bytes of a run that is there.
    pub(crate) fn slice(&self, run: (u64, u64), size: usize) -> Option<&[u8]> {
        let (from, to) = ((run.0 - self.start) as usize * size, (run.1 - self.start) as usize * size);
        self.bytes.get(from..to)
    }
}

impl Extent {
    /// Returns a part of an extent, if it has a record.
    fn part(&self, (start, end): Run, size: u64) -> Option<Extent> {
        let (start, end) = (start.max(self.start), end.min(self.end));
        if start >= end {
            return None;
        }
        let runs = self.runs.cut(start, end);
        let at = self.at + (start - self.start) * size;
        let sums = Vec::new();
        (!runs.is_empty()).then_some(Extent { start, end, at, epoch: self.epoch, runs, sums })
    }

    /// Gives a part its checksums: those of its whole blocks are known.
    fn sum_part(&self, mut part: Extent, far: &dyn Far, grid: Grid) -> Result<Extent> {
        if self.sums.is_empty() {
            return Ok(part);
        }
        for block in grid.blocks(self, part.start, part.end) {
            let is_whole = part.runs.within(block.0, block.1).eq(self.runs.within(block.0, block.1));
            part.sums.push(match self.sums.get(grid.at(self, block)) {
                Some(sum) if is_whole => *sum,
                _ => grid.of_rest(far, self, block, &part.runs)?,
            });
        }
        Ok(part)
    }

    /// Returns the space as bytes.
    pub(crate) fn place(&self, record_size: u32) -> DataRange {
        DataRange { at: self.at, length: (self.end - self.start) * u64::from(record_size), epoch: self.epoch }
    }
}

/// Releases what an extent had and its parts do not have any more.
fn release(extent: &Extent, parts: &[Extent], size: u64, released: &mut Vec<Released>) {
    let mut from = extent.start;
    let inside = parts.iter().filter(|part| extent.start <= part.start && part.end <= extent.end);
    for (start, end) in inside.map(|part| (part.start, part.end)).chain([(extent.end, extent.end)]) {
        if from < start {
            let (at, length) = (extent.at + (from - extent.start) * size, (start - from) * size);
            released.push(DataRange { at, length, epoch: extent.epoch });
        }
        from = end;
    }
}
