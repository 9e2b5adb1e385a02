//! Puts the bytes of one update where they belong.
//!
//! What a commit knows of is never written again: an update goes to fresh bytes, and the index entry changes with
//! the commit. What was taken since the last commit is written in place.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::array::{Array, Extent};
use super::data::Data;
use super::space::Space;
use super::value::{Place, Released, Value};
use crate::runs::Runs;
use crate::{Error, Result};

/// Values and arrays up to this are in the index: below a page of the index, a place of their own costs more.
pub(super) const NEAR_BYTES_MAX: u64 = 2048;
/// A smaller write into an array copies its surroundings of this size, so that an array has few extents.
const WINDOW_BYTES: u64 = 64 << 10;

/// One update's work on the data file.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    data: &'a Data,
    /// Known where the update needs some of it.
    space: Option<&'a Mutex<Space>>,
    epoch: u64,
    taken: Vec<Place>,
    released: Vec<Released>,
}

/// The free bytes, whatever another thread's panic left.
fn lock(space: &Mutex<Space>) -> MutexGuard<'_, Space> {
    space.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Writer<'a> {
    pub(super) fn new(data: &'a Data, space: Option<&'a Mutex<Space>>, epoch: u64) -> Writer<'a> {
        Writer { data, space, epoch, taken: Vec::new(), released: Vec::new() }
    }

    /// A single value, near or far.
    pub(super) fn single(&mut self, bytes: &[u8]) -> Result<Value> {
        if bytes.len() as u64 <= NEAR_BYTES_MAX {
            return Ok(Value::Single(bytes.into()));
        }
        let place = self.take(bytes.len() as u64)?;
        self.data.write(place.at, bytes)?;
        Ok(Value::Far(place))
    }

    /// A value is gone.
    pub(super) fn release(&mut self, value: &Value) {
        self.released.extend(value.places());
    }

    /// Writes records.
    pub(super) fn write(&mut self, array: &mut Array, start: u64, bytes: &[u8]) -> Result<()> {
        let end = start + bytes.len() as u64 / u64::from(array.record_size);
        if array.extents.is_empty() && array.span_bytes(start, end) <= NEAR_BYTES_MAX {
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
        if array.extents.is_empty() || bytes.len() as u64 >= WINDOW_BYTES {
            return self.write_fresh(array, start, end, bytes);
        }
        self.write_windows(array, start, end, bytes)
    }

    fn write_in_place(&mut self, array: &mut Array, start: u64, end: u64, bytes: &[u8]) -> Result<bool> {
        let size = u64::from(array.record_size);
        let Some(extent) = array.writable(start, end, self.epoch) else { return Ok(false) };
        self.data.write(extent.at + (start - extent.start) * size, bytes)?;
        extent.runs.insert(start, end);
        Ok(true)
    }

    fn write_fresh(&mut self, array: &mut Array, start: u64, end: u64, bytes: &[u8]) -> Result<()> {
        let place = self.take(bytes.len() as u64)?;
        self.data.write(place.at, bytes)?;
        array.trim(start, end, &mut self.released);
        array.insert(Extent { start, end, at: place.at, epoch: self.epoch, runs: Runs::one(start, end) });
        Ok(())
    }

    fn write_windows(&mut self, array: &mut Array, start: u64, end: u64, bytes: &[u8]) -> Result<()> {
        let size = u64::from(array.record_size);
        let records = (WINDOW_BYTES / size).max(1);
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
        read(self.data, array, low, &mut bytes)?;
        let at = array.bytes(run.0 - low) as usize;
        if let Some(room) = bytes.get_mut(at..at + piece.len()) {
            room.copy_from_slice(piece);
        }
        let place = self.take(array.bytes(window.1 - window.0))?;
        self.data.write(place.at + array.bytes(low - window.0), &bytes)?;
        array.trim(window.0, window.1, &mut self.released);
        array.insert(Extent { start: window.0, end: window.1, at: place.at, epoch: self.epoch, runs });
        Ok(())
    }

    /// Makes records absent.
    pub(super) fn punch(&mut self, array: &mut Array, start: u64, end: u64) {
        if start < end {
            array.punch_near(start, end);
            array.trim(start, end, &mut self.released);
        }
    }

    fn take(&mut self, length: u64) -> Result<Place> {
        let space = self.space.ok_or_else(|| Error::Corrupt("the free space is unknown".into()))?;
        let place = Place { at: lock(space).take(length), length, epoch: self.epoch };
        self.taken.push(place);
        Ok(place)
    }

    /// The update holds: what no commit knows of is free at once; the rest is answered and waits for a commit.
    pub(super) fn done(self) -> Vec<Released> {
        let (now, later): (Vec<_>, Vec<_>) =
            self.released.into_iter().partition(|place| place.epoch == self.epoch);
        give(self.space, &now);
        later
    }

    /// The update failed: nobody knows of what it took.
    pub(super) fn undo(self) {
        give(self.space, &self.taken);
    }
}

/// Makes bytes free. While the space is unknown nothing is needed: they are found when it is looked for.
pub(super) fn give(space: Option<&Mutex<Space>>, places: &[Released]) {
    if let Some(space) = space.filter(|_| !places.is_empty()) {
        let mut space = lock(space);
        places.iter().for_each(|place| space.give(place.at, place.length));
    }
}

/// Copies the records that are there.
pub(super) fn read(data: &Data, array: &Array, start: u64, into: &mut [u8]) -> Result<()> {
    let size = u64::from(array.record_size);
    let end = start + into.len() as u64 / size;
    let mut put = |run: (u64, u64), copy: &mut dyn FnMut(&mut [u8]) -> Result<()>| {
        let (from, to) = ((run.0 - start) * size, (run.1 - start) * size);
        into.get_mut(from as usize..to as usize).map_or(Ok(()), copy)
    };
    if let Some(near) = &array.near {
        for run in near.runs.within(start, end) {
            let held = near.slice(run, size as usize).unwrap_or_default();
            put(run, &mut |room| {
                room.copy_from_slice(held);
                Ok(())
            })?;
        }
    }
    for extent in array.overlapping(start, end) {
        for run in extent.runs.within(start, end) {
            put(run, &mut |room| data.read(extent.at + (run.0 - extent.start) * size, room))?;
        }
    }
    Ok(())
}
