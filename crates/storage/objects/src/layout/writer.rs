//! Puts the bytes of one update where they belong: small ones near, into the index, large ones far.
//!
//! What a commit knows of is never written again: an update goes to fresh bytes, and the index entry changes with
//! the commit. What was taken since the last commit is written in place.

use std::collections::VecDeque;
use std::sync::Arc;

use super::array::{Array, Extent};
use super::blocks::{Grid, Loaded};
use super::reader::{self, LastBlock};
pub(crate) use super::records::groups;
use super::records::{Records, patch, take_window};
use super::sums;
use super::value::{DataRange, Released, Value};
use crate::runs::{Run, Runs};
use crate::{Change, Result};

/// Where large bytes are.
pub(crate) trait Far {
    /// Values and arrays up to this are near.
    fn near_bytes_max(&self) -> u64;
    /// A smaller write into an array copies its surroundings of this size, so that an array has few extents.
    fn window_bytes(&self) -> u64;
    /// Returns whether large bytes get checksums of ours; storage that has its own needs none.
    fn has_sums(&self) -> bool;
    /// Takes bytes that no one has.
    fn take(&self, length: u64) -> Result<u64>;
    /// Writes bytes that were taken.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()>;
    /// Reads bytes that were written.
    fn read(&self, pieces: Vec<ReadRange<'_>>) -> Result<()>;
}

/// Bytes to read.
#[derive(Debug)]
pub(crate) struct ReadRange<'a> {
    /// From where.
    pub(crate) at: u64,
    /// Where to.
    pub(crate) into: &'a mut [u8],
}

/// One update's work on large bytes.
pub(crate) struct Writer<'a> {
    far: &'a dyn Far,
    epoch: u64,
    taken: Vec<DataRange>,
    released: Vec<Released>,
    /// Ranges that were written over: if an update fails, other bytes may be there now.
    overwritten: Vec<DataRange>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(far: &'a dyn Far, epoch: u64) -> Writer<'a> {
        Writer { far, epoch, taken: Vec::new(), released: Vec::new(), overwritten: Vec::new() }
    }

    /// Returns a single value, near or far.
    fn single(&mut self, bytes: &[u8]) -> Result<Value> {
        if bytes.len() as u64 <= self.far.near_bytes_max() {
            return Ok(Value::Single(bytes.into()));
        }
        let place = self.take(bytes.len() as u64)?;
        self.far.write(place.at, bytes)?;
        Ok(Value::Far(place, self.far.has_sums().then(|| sums::of(bytes))))
    }

    /// Releases the space of a removed value.
    pub(crate) fn release(&mut self, value: &Value) {
        self.released.extend(value.places());
    }

    /// Writes records, in order and none twice.
    fn write(&mut self, array: &mut Array, all: VecDeque<Records<'_>>) -> Result<()> {
        let (Some(first), Some(last)) = (all.front(), all.back()) else { return Ok(()) };
        let is_near = array.span_bytes(first.start, last.end) <= self.far.near_bytes_max();
        if array.extents.is_empty() && is_near {
            all.iter().for_each(|records| array.write_near(records.start, records.end, records.bytes));
            return Ok(());
        }
        let near = array.near.take();
        let written: Vec<Run> = all.iter().map(Records::run).collect();
        self.write_far(array, all)?;
        let Some(mut near) = near else { return Ok(()) };
        written.iter().for_each(|run| near.runs.remove(run.0, run.1));
        let record_size = array.record_size;
        let rest = near.held(record_size as usize);
        self.write_far(array, rest.map(|(run, held)| Records::new(run.0, held, record_size)).collect())
    }

    fn write_far(&mut self, array: &mut Array, mut all: VecDeque<Records<'_>>) -> Result<()> {
        while let Some(first) = all.front().copied() {
            let inside = array
                .writable(first.start, first.end, self.epoch)
                .map_or(0, |extent| all.iter().take_while(|records| records.end <= extent.end).count());
            if inside > 0 {
                let group: Vec<Records<'_>> = all.drain(..inside).collect();
                self.write_in_place(array, &group)?;
            } else if array.extents.is_empty() || first.bytes.len() as u64 >= self.far.window_bytes() {
                self.write_fresh(array, first)?;
                all.pop_front();
            } else {
                let window = self.window(array, first.start);
                let group = take_window(&mut all, window, Grid::new(array.record_size));
                self.write_window(array, window, &group)?;
            }
        }
        Ok(())
    }

    /// Returns the surroundings of a record that are copied with it.
    fn window(&self, array: &Array, record: u64) -> Run {
        let records = (self.far.window_bytes() / u64::from(array.record_size)).max(1);
        let start = record - record % records;
        (start, start.saturating_add(records))
    }

    /// Writes records into the extent of this epoch that has space for all of them.
    fn write_in_place(&mut self, array: &mut Array, group: &[Records<'_>]) -> Result<()> {
        let grid = Grid::new(array.record_size);
        let Some((first, last)) = group.first().zip(group.last()) else { return Ok(()) };
        let Some(extent) = array.writable(first.start, last.end, self.epoch) else { return Ok(()) };
        let mut runs = extent.runs.clone();
        group.iter().for_each(|records| runs.insert(records.start, records.end));
        if extent.sums.is_empty() {
            group.iter().try_for_each(|records| self.overwrite(extent, *records, grid))?;
        } else {
            let sums = self.write_blocks(extent, group, &runs, grid)?;
            sums.into_iter().for_each(|(at, sum)| extent.sums[at] = sum);
        }
        extent.runs = runs;
        Ok(())
    }

    /// Writes over bytes of this epoch.
    fn overwrite(&mut self, extent: &Extent, records: Records<'_>, grid: Grid) -> Result<()> {
        let (at, length) = (grid.place(extent, records.start), records.bytes.len() as u64);
        self.overwritten.push(DataRange { at, length, epoch: self.epoch });
        self.far.write(at, records.bytes)
    }

    /// Writes records and returns the new checksums of their blocks, with their places.
    fn write_blocks(
        &mut self,
        extent: &Extent,
        group: &[Records<'_>],
        runs: &Runs,
        grid: Grid,
    ) -> Result<Vec<(usize, sums::Sum)>> {
        let (mut changed, mut rest, mut patched) = (Vec::new(), group, Vec::new());
        let (first, last) = (group.first().map_or(0, |r| r.start), group.last().map_or(0, |r| r.end));
        for block in grid.blocks(extent, first, last) {
            rest = rest.get(rest.partition_point(|records| records.end <= block.0)..).unwrap_or_default();
            let count = rest.partition_point(|records| records.start < block.1);
            let parts =
                rest.get(..count).unwrap_or_default().iter().map(|records| records.within(block, grid));
            let parts: Vec<Records<'_>> = parts.collect();
            let (Some(first), Some(last)) = (parts.first(), parts.last()) else { continue };
            let (sum, block_bytes) = match &parts[..] {
                [part] if runs.within(block.0, block.1).eq([part.run()]) => (sums::of(part.bytes), None),
                parts => {
                    self.patched(extent, block, parts, runs, grid).map(|(sum, held)| (sum, Some(held)))?
                }
            };
            changed.push((grid.at(extent, block), sum));
            patched.push(((first.start, last.end), *first, block_bytes));
        }
        // All that stays was verified: from here on only writing can fail.
        if let [records] = group {
            return self.overwrite(extent, *records, grid).map(|()| changed);
        }
        for (run, part, block_bytes) in &patched {
            let part = match block_bytes {
                Some(held) => {
                    Records { start: held.start, end: run.1, bytes: &held.bytes }.within(*run, grid)
                }
                None => *part,
            };
            self.overwrite(extent, part, grid)?;
        }
        Ok(changed)
    }

    /// Returns a block with parts of it changed, and its checksum.
    fn patched(
        &self,
        extent: &Extent,
        block: Run,
        parts: &[Records<'_>],
        runs: &Runs,
        grid: Grid,
    ) -> Result<(sums::Sum, Loaded)> {
        let held = grid.verified(self.far, extent, block)?;
        let after = runs.cut(block.0, block.1);
        let mut bytes = vec![0; grid.range((after.start(), after.end()), after.start()).len()];
        if !held.bytes.is_empty() {
            let from = grid.range((held.start, held.start), after.start()).start;
            bytes[from..from + held.bytes.len()].copy_from_slice(&held.bytes);
        }
        patch(&mut bytes, after.start(), parts, grid);
        Ok((grid.of_runs(&after, block, after.start(), &bytes), Loaded { start: after.start(), bytes }))
    }

    fn write_fresh(&mut self, array: &mut Array, records: Records<'_>) -> Result<()> {
        let place = self.take(records.bytes.len() as u64)?;
        self.far.write(place.at, records.bytes)?;
        let runs = Runs::one(records.start, records.end);
        self.insert(array, records.run(), place, runs, records)
    }

    /// Replaces a range of an array by an extent, whose records are `bytes` from a record on.
    fn insert(
        &mut self,
        array: &mut Array,
        (start, end): Run,
        place: DataRange,
        runs: Runs,
        written: Records<'_>,
    ) -> Result<()> {
        let mut extent = Extent { start, end, at: place.at, epoch: self.epoch, runs, sums: Vec::new() };
        if self.far.has_sums() {
            extent.sums = Grid::new(array.record_size).of_bytes(&extent, written.start, written.bytes);
        }
        array.trim((start, end), self.far, &mut self.released)?;
        array.insert(extent);
        Ok(())
    }

    /// Copies a window with parts of it changed.
    fn write_window(&mut self, array: &mut Array, window: Run, group: &[Records<'_>]) -> Result<()> {
        let grid = Grid::new(array.record_size);
        let mut runs = Runs::default();
        group.iter().for_each(|records| runs.insert(records.start, records.end));
        for extent in array.overlapping(window.0, window.1) {
            extent.runs.within(window.0, window.1).for_each(|(start, end)| runs.insert(start, end));
        }
        let (low, high) = (runs.start(), runs.end());
        let mut bytes = vec![0; array.bytes(high - low) as usize];
        reader::read(self.far, array, low, &mut bytes, &mut LastBlock::default())?;
        patch(&mut bytes, low, group, grid);
        let place = self.take(array.bytes(window.1 - window.0))?;
        self.far.write(place.at + array.bytes(low - window.0), &bytes)?;
        self.insert(array, window, place, runs, Records { start: low, end: high, bytes: &bytes })
    }

    /// Makes records absent.
    fn punch(&mut self, array: &mut Array, start: u64, end: u64) -> Result<()> {
        if start < end {
            array.punch_near(start, end);
            array.trim((start, end), self.far, &mut self.released)?;
        }
        Ok(())
    }

    fn take(&mut self, length: u64) -> Result<DataRange> {
        let place = DataRange { at: self.far.take(length)?, length, epoch: self.epoch };
        self.taken.push(place);
        Ok(place)
    }

    /// The update holds: what no one needs any more, first what no commit knows of.
    pub(crate) fn done(self) -> (Vec<Released>, Vec<Released>) {
        self.released.into_iter().partition(|place| place.epoch == self.epoch)
    }

    /// Returns the update failed: what it took, and no one knows of.
    pub(crate) fn undo(self) -> Vec<Released> {
        self.taken
    }

    /// Gives an array as it was before a failed update the checksums of what is there now, since records that no commit
    /// knows of may have changed; whether there were any.
    pub(crate) fn resum(&self, array: &mut Array) -> Result<bool> {
        let (grid, mut changed) = (Grid::new(array.record_size), false);
        let record_size = array.record_size;
        for extent in array.extents.iter_mut().filter(|extent| !extent.sums.is_empty()) {
            let place = extent.place(record_size);
            let overlaps =
                |other: &&DataRange| other.at < place.at + place.length && place.at < other.at + other.length;
            if !self.overwritten.iter().any(|other| overlaps(&other)) {
                continue;
            }
            let blocks = grid.blocks(extent, extent.start, extent.end);
            extent.sums = blocks.map(|block| grid.of_now(self.far, extent, block)).collect::<Result<_>>()?;
            changed = true;
        }
        Ok(changed)
    }

    /// Does one of the [`groups`] of changes of an akey; whether it changed.
    pub(crate) fn apply(&mut self, value: &mut Option<Value>, group: &[Change<'_>]) -> Result<bool> {
        match group.first().copied() {
            None => Ok(false),
            Some(Change::Single(_, bytes)) => self.replace(value, Some(bytes)),
            Some(Change::Punch(_)) => self.replace(value, None),
            Some(Change::Records { record_size, .. }) => {
                let all = group.iter().filter_map(|change| match *change {
                    Change::Records { start, bytes, .. } if !bytes.is_empty() => {
                        Some(Records::new(start, bytes, record_size))
                    }
                    _ => None,
                });
                let all: VecDeque<Records<'_>> = all.collect();
                self.write_records(value, record_size, all)
            }
            Some(Change::PunchRecords { range, .. }) => {
                let Some(Value::Array(array)) = value else { return Ok(false) };
                let array = Arc::make_mut(array);
                self.punch(array, range.start, range.end)?;
                if array.is_empty() {
                    *value = None;
                }
                Ok(true)
            }
        }
    }

    fn write_records(
        &mut self,
        value: &mut Option<Value>,
        record_size: u32,
        all: VecDeque<Records<'_>>,
    ) -> Result<bool> {
        if all.is_empty() {
            return Ok(false);
        }
        match value.get_or_insert_with(|| Value::Array(Arc::new(Array::new(record_size)))) {
            Value::Array(array) => self.write(Arc::make_mut(array), all)?,
            Value::Single(_) | Value::Far(..) => {}
        }
        Ok(true)
    }

    fn replace(&mut self, value: &mut Option<Value>, new: Option<&[u8]>) -> Result<bool> {
        let new = new.map(|bytes| self.single(bytes)).transpose()?;
        let old = std::mem::replace(value, new);
        old.iter().for_each(|old| self.release(old));
        Ok(old.is_some() || value.is_some())
    }
}

/// Copies the records that are near, and answers what is to read for the others.
pub(crate) fn pieces<'a>(array: &Array, start: u64, into: &'a mut [u8]) -> Vec<ReadRange<'a>> {
    let size = u64::from(array.record_size);
    let end = start + into.len() as u64 / size;
    if let Some(near) = &array.near {
        for run in near.runs.within(start, end) {
            let (from, to) = (((run.0 - start) * size) as usize, ((run.1 - start) * size) as usize);
            if let (Some(buffer), Some(held)) = (into.get_mut(from..to), near.slice(run, size as usize)) {
                buffer.copy_from_slice(held);
            }
        }
        return Vec::new();
    }
    let (mut rest, mut reached, mut pieces) = (into, start, Vec::new());
    for extent in array.overlapping(start, end) {
        for run in extent.runs.within(start, end) {
            let (_, after) = std::mem::take(&mut rest).split_at_mut(((run.0 - reached) * size) as usize);
            let (buffer, after) = after.split_at_mut(((run.1 - run.0) * size) as usize);
            pieces.push(ReadRange { at: extent.at + (run.0 - extent.start) * size, into: buffer });
            (rest, reached) = (after, run.1);
        }
    }
    pieces
}
