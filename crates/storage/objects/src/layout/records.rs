//! Records that an update writes.

use std::collections::VecDeque;

use super::blocks::Grid;
use crate::Change;
use crate::runs::Run;

/// Records that one change writes, or a part of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'b> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) bytes: &'b [u8],
}

impl<'b> Records<'b> {
    pub(super) fn new(start: u64, bytes: &'b [u8], record_size: u32) -> Self {
        Records { start, end: start + bytes.len() as u64 / u64::from(record_size), bytes }
    }

    pub(super) fn run(&self) -> Run {
        (self.start, self.end)
    }

    /// Returns the part within a run.
    pub(super) fn within(&self, run: Run, grid: Grid) -> Self {
        let (start, end) = (self.start.max(run.0), self.end.min(run.1));
        let bytes = if start < end { self.bytes.get(grid.range((start, end), self.start)) } else { None };
        Records { start, end: end.max(start), bytes: bytes.unwrap_or_default() }
    }
}

/// Changes that are done together: records of one akey in their order, or one change of any kind.
pub(crate) fn groups<'c, 'a>(changes: &'c [Change<'a>]) -> impl Iterator<Item = &'c [Change<'a>]> {
    changes.chunk_by(|first, second| match (first, second) {
        (
            Change::Records { akey, record_size, start, bytes },
            Change::Records { akey: b, start: next, .. },
        ) => akey == b && start + bytes.len() as u64 / u64::from(*record_size) <= *next,
        _ => false,
    })
}

/// Puts records where they belong in bytes that begin with a record.
pub(super) fn patch(bytes: &mut [u8], start: u64, group: &[Records<'_>], grid: Grid) {
    for records in group {
        if let Some(buffer) = bytes.get_mut(grid.range(records.run(), start)) {
            buffer.copy_from_slice(records.bytes);
        }
    }
}

/// Takes the records that lie in a window, and leaves the rest of one that goes beyond it.
pub(super) fn take_window<'b>(all: &mut VecDeque<Records<'b>>, window: Run, grid: Grid) -> Vec<Records<'b>> {
    let mut group = Vec::new();
    while let Some(records) = all.front_mut().filter(|records| records.start < window.1) {
        group.push(records.within(window, grid));
        *records = records.within((window.1, records.end.max(window.1)), grid);
        if records.bytes.is_empty() {
            all.pop_front();
        }
    }
    group
}
