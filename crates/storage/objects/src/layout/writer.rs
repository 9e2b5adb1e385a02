//! Puts the bytes of one update where they belong: small ones near, into the index, large ones far.
//!
//! What a commit knows of is never written again: an update goes to fresh bytes, and the index entry changes with
//! the commit. What was taken since the last commit is written in place.

use std::sync::Arc;

use super::array::{Array, Extent};
use super::value::{Place, Released, Value};
use crate::runs::Runs;
use crate::{Change, Result};

/// Where large bytes are.
pub(crate) trait Far {
    /// Values and arrays up to this are near.
    fn near_bytes_max(&self) -> u64;
    /// A smaller write into an array copies its surroundings of this size, so that an array has few extents.
    fn window_bytes(&self) -> u64;
    /// Takes bytes that nobody has.
    fn take(&self, length: u64) -> Result<u64>;
    /// Writes bytes that were taken.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()>;
    /// Reads bytes that were written.
    fn read(&self, pieces: Vec<Piece<'_>>) -> Result<()>;
}

/// Bytes to read.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    /// From where.
    pub(crate) at: u64,
    /// Where to.
    pub(crate) into: &'a mut [u8],
}

/// One update's work on large bytes.
pub(crate) struct Writer<'a> {
    far: &'a dyn Far,
    epoch: u64,
    taken: Vec<Place>,
    released: Vec<Released>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(far: &'a dyn Far, epoch: u64) -> Writer<'a> {
        Writer { far, epoch, taken: Vec::new(), released: Vec::new() }
    }

    /// A single value, near or far.
    fn single(&mut self, bytes: &[u8]) -> Result<Value> {
        if bytes.len() as u64 <= self.far.near_bytes_max() {
            return Ok(Value::Single(bytes.into()));
        }
        let place = self.take(bytes.len() as u64)?;
        self.far.write(place.at, bytes)?;
        Ok(Value::Far(place))
    }

    /// A value is gone.
    pub(crate) fn release(&mut self, value: &Value) {
        self.released.extend(value.places());
    }

    /// Writes records.
    fn write(&mut self, array: &mut Array, start: u64, bytes: &[u8]) -> Result<()> {
        let end = start + bytes.len() as u64 / u64::from(array.record_size);
        if array.extents.is_empty() && array.span_bytes(start, end) <= self.far.near_bytes_max() {
            array.write_near(start, end, bytes);
            return Ok(());
        }
        let near = array.near.take();
        self.write_far(array, start, bytes)?;
        let Some(mut near) = near else { return Ok(()) };
        near.runs.remove(start, end);
        near.held(array.record_size as usize).try_for_each(|(run, held)| self.write_far(array, run.0, held))
    }

    fn write_far(&mut self, array: &mut Array, start: u64, bytes: &[u8]) -> Result<()> {
        let end = start + bytes.len() as u64 / u64::from(array.record_size);
        if self.write_in_place(array, start, end, bytes)? {
            return Ok(());
        }
        if array.extents.is_empty() || bytes.len() as u64 >= self.far.window_bytes() {
            return self.write_fresh(array, start, end, bytes);
        }
        self.write_windows(array, start, end, bytes)
    }

    fn write_in_place(&mut self, array: &mut Array, start: u64, end: u64, bytes: &[u8]) -> Result<bool> {
        let size = u64::from(array.record_size);
        let Some(extent) = array.writable(start, end, self.epoch) else { return Ok(false) };
        self.far.write(extent.at + (start - extent.start) * size, bytes)?;
        extent.runs.insert(start, end);
        Ok(true)
    }

    fn write_fresh(&mut self, array: &mut Array, start: u64, end: u64, bytes: &[u8]) -> Result<()> {
        let place = self.take(bytes.len() as u64)?;
        self.far.write(place.at, bytes)?;
        array.trim(start, end, &mut self.released);
        array.insert(Extent { start, end, at: place.at, epoch: self.epoch, runs: Runs::one(start, end) });
        Ok(())
    }

    fn write_windows(&mut self, array: &mut Array, start: u64, end: u64, bytes: &[u8]) -> Result<()> {
        let size = u64::from(array.record_size);
        let records = (self.far.window_bytes() / size).max(1);
        let (mut from, mut rest) = (start, bytes);
        while from < end {
            let window = from - from % records;
            let to = end.min(window.saturating_add(records));
            let (piece, left) = rest.split_at(((to - from) * size) as usize);
            if !self.write_in_place(array, from, to, piece)? {
                self.write_window(array, (window, window.saturating_add(records)), (from, to), piece)?;
            }
            (from, rest) = (to, left);
        }
        Ok(())
    }

    /// Copies a window with a piece of it changed.
    fn write_window(
        &mut self,
        array: &mut Array,
        window: (u64, u64),
        run: (u64, u64),
        piece: &[u8],
    ) -> Result<()> {
        let mut runs = Runs::one(run.0, run.1);
        for extent in array.overlapping(window.0, window.1) {
            extent.runs.within(window.0, window.1).for_each(|(start, end)| runs.insert(start, end));
        }
        let (low, high) = (runs.start(), runs.end());
        let mut bytes = vec![0; array.bytes(high - low) as usize];
        read(self.far, array, low, &mut bytes)?;
        let at = array.bytes(run.0 - low) as usize;
        if let Some(room) = bytes.get_mut(at..at + piece.len()) {
            room.copy_from_slice(piece);
        }
        let place = self.take(array.bytes(window.1 - window.0))?;
        self.far.write(place.at + array.bytes(low - window.0), &bytes)?;
        array.trim(window.0, window.1, &mut self.released);
        array.insert(Extent { start: window.0, end: window.1, at: place.at, epoch: self.epoch, runs });
        Ok(())
    }

    /// Makes records absent.
    fn punch(&mut self, array: &mut Array, start: u64, end: u64) {
        if start < end {
            array.punch_near(start, end);
            array.trim(start, end, &mut self.released);
        }
    }

    fn take(&mut self, length: u64) -> Result<Place> {
        let place = Place { at: self.far.take(length)?, length, epoch: self.epoch };
        self.taken.push(place);
        Ok(place)
    }

    /// The update holds: what nobody needs any more, first what no commit knows of.
    pub(crate) fn done(self) -> (Vec<Released>, Vec<Released>) {
        self.released.into_iter().partition(|place| place.epoch == self.epoch)
    }

    /// The update failed: what it took, and nobody knows of.
    pub(crate) fn undo(self) -> Vec<Released> {
        self.taken
    }

    /// Does one change of an akey; whether it changed.
    pub(crate) fn apply(&mut self, value: &mut Option<Value>, change: &Change<'_>) -> Result<bool> {
        match *change {
            Change::Single(_, bytes) => self.replace(value, Some(bytes)),
            Change::Punch(_) => self.replace(value, None),
            Change::Records { record_size, start, bytes, .. } if !bytes.is_empty() => {
                let new = || Value::Array(Arc::new(Array::new(record_size)));
                match value.get_or_insert_with(new) {
                    Value::Array(array) => self.write(Arc::make_mut(array), start, bytes)?,
                    Value::Single(_) | Value::Far(_) => {}
                }
                Ok(true)
            }
            Change::Records { .. } => Ok(false),
            Change::PunchRecords { range, .. } => {
                let Some(Value::Array(array)) = value else { return Ok(false) };
                let array = Arc::make_mut(array);
                self.punch(array, range.start, range.end);
                if array.is_empty() {
                    *value = None;
                }
                Ok(true)
            }
        }
    }

    fn replace(&mut self, value: &mut Option<Value>, new: Option<&[u8]>) -> Result<bool> {
        let new = new.map(|bytes| self.single(bytes)).transpose()?;
        let old = std::mem::replace(value, new);
        old.iter().for_each(|old| self.release(old));
        Ok(old.is_some() || value.is_some())
    }
}

/// Copies the records that are near, and answers what is to read for the others.
pub(crate) fn pieces<'a>(array: &Array, start: u64, into: &'a mut [u8]) -> Vec<Piece<'a>> {
    let size = u64::from(array.record_size);
    let end = start + into.len() as u64 / size;
    if let Some(near) = &array.near {
        for run in near.runs.within(start, end) {
            let (from, to) = (((run.0 - start) * size) as usize, ((run.1 - start) * size) as usize);
            if let (Some(room), Some(held)) = (into.get_mut(from..to), near.slice(run, size as usize)) {
                room.copy_from_slice(held);
            }
        }
        return Vec::new();
    }
    let (mut rest, mut reached, mut pieces) = (into, start, Vec::new());
    for extent in array.overlapping(start, end) {
        for run in extent.runs.within(start, end) {
            let (_, after) = std::mem::take(&mut rest).split_at_mut(((run.0 - reached) * size) as usize);
            let (room, after) = after.split_at_mut(((run.1 - run.0) * size) as usize);
            pieces.push(Piece { at: extent.at + (run.0 - extent.start) * size, into: room });
            (rest, reached) = (after, run.1);
        }
    }
    pieces
}

/// Copies the records that are there.
pub(crate) fn read(far: &dyn Far, array: &Array, start: u64, into: &mut [u8]) -> Result<()> {
    far.read(pieces(array, start, into))
}
