//! Bytes that go where nothing committed is: straight to the file, many small ones after each other as one.

use std::borrow::Cow;
use std::sync::Arc;

use files::Handle;
use model::{Error, Result};

use super::sealed::Sealed;
use super::staged::Staged;
use super::{Txn, io};

/// So many bytes of fresh space wait in memory while a commit runs. A thread that writes more waits for the commit.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Fresh bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Bytes that are written without a stay in the buffer: a copy would cost more than a call.
pub(crate) const LARGE_BYTES: usize = 64 << 10;
/// Bytes between two things that are written at once.
const GAP_BYTES_MAX: u64 = 64;

/// Returns what waits in a buffer, as few pieces as can be. Small gaps where nothing was ever written may hold zeros: things start at
/// round addresses.
pub(super) fn runs(buffer: &Staged, written_end: u64) -> Vec<(u64, Cow<'_, [u8]>)> {
    let mut runs: Vec<(u64, Cow<'_, [u8]>)> = Vec::new();
    for (at, data) in buffer.iter() {
        if let Some((start, run)) = runs.last_mut() {
            let end = *start + run.len() as u64;
            if at == end || (at - end <= GAP_BYTES_MAX && end >= written_end) {
                let run = run.to_mut();
                run.resize((at - *start) as usize, 0);
                run.extend_from_slice(data);
                continue;
            }
        }
        runs.push((at, Cow::Borrowed(data)));
    }
    runs
}

/// Returns what of `data`, which stands at `at`, lies before a range, in it and behind it.
pub(crate) fn split_around<'d>(
    range: &std::ops::Range<u64>,
    at: u64,
    data: &'d [u8],
) -> (&'d [u8], &'d [u8], &'d [u8]) {
    let inside = |to: u64| usize::try_from(to.saturating_sub(at)).unwrap_or(usize::MAX).min(data.len());
    let (head, after) = data.split_at(inside(range.end));
    let (before, held) = head.split_at(inside(range.start).min(head.len()));
    (before, held, after)
}

impl Txn {
    /// Writes bytes where nothing that was committed is.
    pub(crate) fn write(&mut self, at: u64, data: &[u8]) -> Result<()> {
        self.prepare()?;
        let (before, held, after) = split_around(&self.reserved(), at, data);
        let held_at = at + before.len() as u64;
        self.write_free(at, before)?;
        self.hold_back(held_at, held)?;
        self.write_free(held_at + held.len() as u64, after)
    }

    /// Returns whether the commit that is under way leaves a range alone.
    fn is_clear(&self, at: u64, len: u64) -> bool {
        let is_clear = |sealed: &Arc<Sealed>| sealed.leaves_alone(at, at.saturating_add(len));
        self.sealed.as_ref().is_none_or(is_clear)
    }

    /// Returns whether a write of `len` bytes, to fresh space or not, must wait for the commit that is under way.
    pub(crate) fn must_wait(&self, at: u64, len: u64, is_fresh: bool) -> bool {
        let is_much =
            self.buffered.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)) > WAITING_BYTES_MAX;
        let waits = is_fresh && is_much && !self.is_clear(at, len);
        self.sealed.is_some() && (self.seen.is_unlocked || waits)
    }

    /// Returns whether a commit is under way.
    pub(crate) fn is_committing(&self) -> bool {
        self.sealed.is_some()
    }

    fn write_free(&mut self, at: u64, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        self.buffer.put_near(at, data)?;
        self.buffered += data.len();
        if self.buffered >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn write_through(&mut self, at: u64, data: &[u8]) -> Result<()> {
        self.check_alone_unlocked()?;
        self.written_end = self.written_end.max(at + data.len() as u64);
        io(self.file.write_at(at, data), "write to file")
    }

    /// Returns the file itself, for writes to fresh ranges: they need no order. What belongs in the [reserved](Self::reserved) bytes is
    /// [held back](Self::hold_back).
    pub(crate) fn open_fresh(&mut self, ranges: impl Iterator<Item = (u64, u64)>) -> Result<&Handle> {
        self.prepare()?;
        self.check_alone_unlocked()?;
        self.remove_leftover_record()?;
        for (start, len) in ranges {
            let end = start.saturating_add(len);
            // What waits there is older.
            self.buffer.cut(start, end);
            self.written_end = self.written_end.max(end);
        }
        Ok(&self.file)
    }

    /// Returns the file itself, for a write over a range that the last commit has: it is not part of the next commit, and what waits
    /// there for one is older.
    pub(crate) fn open_committed(&mut self, at: u64, end: u64) -> Result<&Handle> {
        self.prepare()?;
        self.check_alone_unlocked()?;
        self.remove_leftover_record()?;
        self.note_staged(at, end.saturating_sub(at));
        self.buffer.cut(at, end);
        self.staged.iter_mut().for_each(|staged| staged.cut(at, end));
        self.journal.cut(at, end);
        Ok(&self.file)
    }

    /// Returns whether the commit that is under way brings something between `at` and `end`.
    pub(crate) fn commits(&self, at: u64, end: u64) -> bool {
        self.sealed.as_ref().is_some_and(|sealed| sealed.brings_some_of(at, end))
    }

    /// Returns whether fresh ranges may be written now: the commit that is under way leaves them alone.
    pub(crate) fn may_write(&self, mut ranges: impl Iterator<Item = (u64, u64)>) -> bool {
        match self.is_committing() {
            true => !self.seen.is_unlocked && ranges.all(|(start, len)| self.is_clear(start, len)),
            false => true,
        }
    }

    /// Sees to it that the file has all bytes of ranges, for one who reads or writes them there. What is staged is not in the
    /// file before its commit: then they cannot be used so.
    pub(crate) fn ensure_in_file(&mut self, ranges: &[(u64, u64)], for_write: bool) -> Result<()> {
        self.check()?;
        let reserved = self.reserved();
        let is_staged = |&(start, len): &(u64, u64)| {
            let end = start.saturating_add(len);
            let is_reserved = for_write && start < reserved.end && reserved.start < end;
            is_reserved
                || (self.is_held && self.buffer.holds_some_of(start, end))
                || self.staged.iter().any(|staged| staged.holds_some_of(start, end))
                || self.journal.pieces(start, end).next().is_some()
        };
        if ranges.iter().any(is_staged) {
            return Err(Error::busy("write elements in place").with("problem", "changes wait for the commit"));
        }
        self.flush()?;
        if for_write {
            // The record of the last commit may lie there; and gaps between our own writes are no longer ours to fill.
            self.remove_leftover_record()?;
            let end = ranges.iter().map(|(start, len)| start.saturating_add(*len)).max();
            self.written_end = self.written_end.max(end.unwrap_or(0));
        }
        Ok(())
    }

    /// Writes what waits in the buffer, unless a commit is under way or it is held. On an error it waits on.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.buffered == 0 || self.is_committing() || self.is_held {
            return Ok(());
        }
        self.remove_leftover_record()?;
        let buffer = std::mem::take(&mut self.buffer);
        let mut runs = runs(&buffer, self.written_end).into_iter();
        if let Err(error) = runs.try_for_each(|(at, data)| self.write_through(at, &data)) {
            self.buffer = buffer;
            return Err(error);
        }
        self.buffered = 0;
        Ok(())
    }

    /// From here on the file holds nothing of its content, but the record of the commit that is under way.
    pub(crate) fn content_end(&self) -> Option<u64> {
        self.sealed.as_ref().map(|sealed| sealed.end())
    }

    /// Returns whether the file ends before `at`, so that everything from there on reads as zeros until it is written.
    pub(crate) fn is_empty_group(&mut self, at: u64) -> Result<bool> {
        // Bytes given up again may wait in the buffer for the same place.
        self.flush()?;
        if self.is_committing() || self.buffer.holds_some_of(at, u64::MAX) {
            return Ok(false);
        }
        // Other programs may have written to a file that no lock keeps them from.
        let is_alone = !self.seen.is_unlocked && self.written_end <= at;
        if is_alone && self.seen_len.is_some_and(|len| len <= at) {
            return Ok(true);
        }
        let len = io(self.file.bytes_end(at), "get size of file")?;
        self.seen_len = is_alone.then_some(len);
        Ok(len <= at)
    }
}
