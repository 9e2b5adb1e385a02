//! The bytes of a transaction that are not in their places in the file, for processes that follow this one.

use std::ops::Range;

use model::Result;

use super::{Staged, Txn};

/// The ranges that were staged since followers were told.
#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    ranges: Vec<Range<u64>>,
    /// Followers must forget what they were told before.
    is_anew: bool,
}

/// The ranges that differ from the file, or did until now.
#[derive(Debug)]
pub(crate) struct StagedRanges {
    /// In order, without overlaps.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Nothing else differs.
    pub(crate) is_anew: bool,
    /// Bytes that only a commit writes.
    pub(crate) reserved: Range<u64>,
}

impl Txn {
    /// From now on followers are told what changes.
    pub(crate) fn begin_following(&mut self) {
        self.followed = Some(ChangeLog { ranges: Vec::new(), is_anew: true });
    }

    /// Notes that a range was staged, or is no longer.
    pub(super) fn note_staged(&mut self, at: u64, len: u64) {
        if let Some(log) = &mut self.followed
            && len > 0
        {
            log.ranges.push(at..at.saturating_add(len));
        }
    }

    /// Notes that anything may be in the file now, or not any more.
    pub(super) fn note_all(&mut self) {
        if let Some(log) = &mut self.followed {
            log.is_anew = true;
        }
    }

    /// Writes what waits to go to fresh space, and returns what else followers do not find in the file. They may
    /// write up to `written_end` from now on.
    pub(crate) fn take_staged_ranges(&mut self, written_end: u64) -> Result<StagedRanges> {
        self.check()?;
        self.is_held = false;
        self.flush()?;
        // Followers write where the record of the last commit may lie, and in gaps between our own writes.
        self.remove_leftover_record()?;
        self.written_end = self.written_end.max(written_end);
        let log = std::mem::take(self.followed.get_or_insert_default());
        let ranges = if log.is_anew { self.staged_ranges() } else { log.ranges };
        Ok(StagedRanges { ranges: joined(ranges), is_anew: log.is_anew, reserved: self.reserved() })
    }

    /// Followers may write up to `written_end` from now on. What this process writes to fresh space waits in memory until
    /// [`Txn::take_staged_ranges`]: structures that followers know change in the file when they are told so, and not before.
    pub(crate) fn hold(&mut self, written_end: u64) -> Result<()> {
        self.check()?;
        self.remove_leftover_record()?;
        self.written_end = self.written_end.max(written_end);
        self.is_held = true;
        Ok(())
    }

    /// Returns whether writes to fresh space wait in memory.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    fn staged_ranges(&self) -> Vec<Range<u64>> {
        let staged = self.staged.iter().flat_map(Staged::iter);
        let staged = staged.map(|(at, data)| at..at + data.len() as u64);
        staged.chain(self.journal.moves().map(|moved| moved.to..moved.to + moved.len)).collect()
    }
}

/// Returns ranges in order, those that touch as one.
pub(crate) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}
