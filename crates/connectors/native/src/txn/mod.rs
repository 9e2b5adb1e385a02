//! Changes to a file: staged, then committed as one.
//!
//! Bytes that were free at the last commit are *fresh*: writes to them go straight to the file, many small ones
//! after each other as one, since nothing that was committed is there. All other writes are staged in memory. A commit makes them one:
//!
//! 1. sync, so that fresh bytes are there before anything points to them;
//! 2. write the redo record past the end of the file, with every staged byte and the superblock, and its salt into the first
//!    bytes past the stored end, which are kept free for it (what belongs there is staged); sync;
//! 3. publish: the superblock first (an end that is too large hurts no reader, one that is too small does), then the rest
//!    in five [turns](Turn); sync;
//! 4. cut the record off.
//!
//! Until step 2 is durable the last commit stands; from then on the record is replayed when the file is opened.
//!
//! When a write of step 1 or the record fails, the last commit stands and the changes wait: the disk was full, and may not be
//! soon. When a sync fails, nobody knows what is on the disk, and when publishing fails, only the record does: from then on
//! every change is refused, and opening the file again finds the last commit that is whole.

mod alone;
mod claim;
pub(crate) mod redo;
mod staged;

use std::borrow::Cow;
use std::collections::BTreeMap;

use files::Handle;
use model::{Error, Result};
use vol::Durability;

use alone::Seen;
use redo::{Entry, Redo, SaltBytes};
use staged::Staged;

/// Where the file's own description of itself goes.
#[derive(Debug, Clone)]
pub(crate) struct Publish<'a> {
    /// Offset of the superblock.
    pub(crate) superblock_at: u64,
    /// The superblock as it shall be.
    pub(crate) superblock: &'a [u8],
    /// End of the file as it shall be.
    pub(crate) end: u64,
}

/// When staged bytes are published, so that a reader of that moment finds whatever is pointed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Before all else: bytes of new space that were held back because a commit has its salt there.
    Fresh,
    /// Before what points to it: heaps and blocks of indexes that only gained something.
    First,
    /// What says that something of the first turn is there: tables and bitmaps of indexes.
    Second,
    /// What points to the rest: headers, elements.
    Middle,
    /// After nothing points to it: what is taken away. A commit that fails forgets it.
    Last,
}

/// The changes since the last commit. Offsets count from the start of the file.
#[derive(Debug)]
pub(crate) struct Txn {
    file: Handle,
    /// End of the file at the last commit.
    end: u64,
    /// Ranges that were free at the last commit, by start; they do not touch.
    fresh: BTreeMap<u64, u64>,
    /// Staged bytes by turn.
    staged: [Staged; 5],
    /// Fresh bytes that are not in the file yet.
    buffer: Staged,
    /// Bytes that went to the buffer since it was empty.
    buffered: usize,
    /// Nothing was written from here on.
    written_end: u64,
    /// The last commit rests on its record, which must stay until what it published is synced.
    unsettled: bool,
    /// The last commit was published without any sync.
    unsynced: bool,
    /// Why nothing can be changed any more.
    failed: Option<Error>,
    /// Most bytes of a record.
    redo_bytes_max: u64,
    /// The superblock as it was when this writer saw or wrote it last: nobody else may have written it since.
    seen: Seen,
    /// The salt of the next commit.
    salt: SaltBytes,
    /// It is in the file already: no lock keeps other writers out, and one that changes the file writes over it.
    is_marked: bool,
}

/// What a writer is told of its file.
#[derive(Debug)]
pub(crate) struct TxnParts {
    pub(crate) file: Handle,
    /// End of the file at the last commit.
    pub(crate) end: u64,
    pub(crate) superblock_at: u64,
    pub(crate) superblock_bytes: usize,
    /// No lock keeps other writers out.
    pub(crate) is_unlocked: bool,
    pub(crate) redo_bytes_max: u64,
}

/// Fresh bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Bytes that are written without a stay in the buffer: a copy would cost more than a call.
const LARGE_BYTES: usize = 64 << 10;
/// Bytes between two things that are written at once.
const GAP_BYTES_MAX: u64 = 64;

/// What waits in a buffer, as few pieces as can be. Small gaps where nothing was ever written may hold zeros: things start at
/// round addresses.
fn runs(buffer: &Staged, written_end: u64) -> Vec<(u64, Cow<'_, [u8]>)> {
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

/// What of `data`, which stands at `at`, lies before a range, in it and behind it.
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

fn io<T>(result: std::io::Result<T>, operation: &str) -> Result<T> {
    result.map_err(|e| Error::io(operation, &e))
}

impl Txn {
    /// No changes yet; everything from `end` on is free.
    pub(crate) fn new(parts: TxnParts) -> Self {
        let TxnParts { file, end, superblock_at, superblock_bytes, is_unlocked, redo_bytes_max } = parts;
        let bytes = file.read_vec(superblock_at, superblock_bytes).ok();
        Txn {
            redo_bytes_max,
            seen: Seen { at: superblock_at, bytes, is_unlocked },
            salt: redo::random_salt(),
            is_marked: false,
            file,
            end,
            fresh: BTreeMap::from([(end, u64::MAX)]),
            staged: Default::default(),
            buffer: Staged::default(),
            buffered: 0,
            written_end: end,
            unsettled: false,
            unsynced: false,
            failed: None,
        }
    }

    /// A range inside the file that was free at the last commit.
    pub(crate) fn add_fresh(&mut self, start: u64, end: u64) {
        let before = self.fresh.range(..=end).rev();
        let touching: Vec<u64> = before.take_while(|&(_, &e)| e >= start).map(|(&s, _)| s).collect();
        let (mut low, mut high) = (start, end);
        for s in touching {
            let e = self.fresh.remove(&s).unwrap_or(s);
            (low, high) = (low.min(s), high.max(e));
        }
        self.fresh.insert(low, high);
    }

    /// A range that the last commit has, or that lies before the end of the file.
    pub(crate) fn remove_fresh(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let before = self.fresh.range(..end).rev();
        let overlapping: Vec<u64> = before.take_while(|&(_, &e)| e > start).map(|(&s, _)| s).collect();
        for s in overlapping {
            let e = self.fresh.remove(&s).unwrap_or(s);
            [(s, start), (end, e)].into_iter().filter(|(s, e)| s < e).for_each(|(s, e)| {
                self.fresh.insert(s, e);
            });
        }
    }

    /// Whether nothing that was committed is there.
    pub(crate) fn is_fresh(&self, start: u64, len: u64) -> bool {
        let found = self.fresh.range(..=start).next_back();
        found.is_some_and(|(_, &end)| start.checked_add(len).is_some_and(|stop| stop <= end))
    }

    /// Writes bytes: at once where nothing committed is, else at the next commit.
    pub(crate) fn write(&mut self, at: u64, data: &[u8], turn: Turn) -> Result<()> {
        self.check()?;
        if data.is_empty() {
            return Ok(());
        }
        self.mark()?;
        if !self.is_fresh(at, data.len() as u64) {
            return self.staged[turn as usize].put(at, data);
        }
        let (before, held, after) = self.without_reserved(at, data);
        let held_at = at + before.len() as u64;
        if !before.is_empty() {
            self.write_fresh(at, before)?;
        }
        self.hold_back(held_at, held)?;
        if !after.is_empty() {
            self.write_fresh(held_at + held.len() as u64, after)?;
        }
        Ok(())
    }

    /// The bytes past the end of the last commit that only a commit writes.
    pub(crate) fn reserved(&self) -> std::ops::Range<u64> {
        redo::reserved(self.end)
    }

    /// What lies before the reserved bytes, in them and behind them.
    fn without_reserved<'d>(&self, at: u64, data: &'d [u8]) -> (&'d [u8], &'d [u8], &'d [u8]) {
        split_around(&self.reserved(), at, data)
    }

    /// Keeps bytes for the commit that belong where its salt will be.
    pub(crate) fn hold_back(&mut self, at: u64, data: &[u8]) -> Result<()> {
        if data.is_empty() { Ok(()) } else { self.staged[Turn::Fresh as usize].put(at, data) }
    }

    fn write_fresh(&mut self, at: u64, data: &[u8]) -> Result<()> {
        if data.len() >= LARGE_BYTES {
            // What waits there is older.
            if self.buffer.holds_some_of(at, at + data.len() as u64) {
                self.flush()?;
            }
            self.settle()?;
            return self.write_through(at, data);
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

    /// The file itself, for writes to ranges where nothing committed is: they need no order. What belongs in the
    /// [reserved](Self::reserved) bytes is [held back](Self::hold_back).
    pub(crate) fn open_fresh(&mut self, ranges: impl Iterator<Item = (u64, u64)>) -> Result<&Handle> {
        self.check()?;
        self.mark()?;
        self.check_alone_unlocked()?;
        self.flush()?;
        self.settle()?;
        for (start, len) in ranges {
            if !self.is_fresh(start, len) {
                return Err(Error::invalid("write to file").at(start).with("problem", "it is in use"));
            }
            self.written_end = self.written_end.max(start.saturating_add(len));
        }
        Ok(&self.file)
    }

    /// Sees to it that the file has all bytes of ranges, for one who reads or writes them there. What is staged is not in the
    /// file before its commit: then they cannot be used so.
    pub(crate) fn lay_bare(&mut self, ranges: &[(u64, u64)], for_write: bool) -> Result<()> {
        self.check()?;
        let reserved = self.reserved();
        let is_staged = |&(start, len): &(u64, u64)| {
            let end = start.saturating_add(len);
            let is_reserved = for_write && start < reserved.end && reserved.start < end;
            is_reserved || self.staged.iter().any(|staged| staged.holds_some_of(start, end))
        };
        if ranges.iter().any(is_staged) {
            return Err(Error::busy("lay elements bare").with("problem", "changes wait for the commit"));
        }
        self.flush()?;
        if for_write {
            // The record of the last commit may lie there; and gaps between our own writes are no longer ours to fill.
            self.settle()?;
            let end = ranges.iter().map(|(start, len)| start.saturating_add(*len)).max();
            self.written_end = self.written_end.max(end.unwrap_or(0));
        }
        Ok(())
    }

    /// Writes what waits in the buffer. On an error it waits on.
    fn flush(&mut self) -> Result<()> {
        if self.buffered == 0 {
            return Ok(());
        }
        self.settle()?;
        let buffer = std::mem::take(&mut self.buffer);
        let mut runs = runs(&buffer, self.written_end).into_iter();
        if let Err(error) = runs.try_for_each(|(at, data)| self.write_through(at, &data)) {
            self.buffer = buffer;
            return Err(error);
        }
        self.buffered = 0;
        Ok(())
    }

    /// Puts bytes that are not in the file yet over what was read from it at `at`.
    pub(crate) fn overlay(&self, at: u64, into: &mut [u8]) {
        self.buffer.overlay(at, into);
        self.staged.iter().for_each(|staged| staged.overlay(at, into));
    }

    /// Whether the file ends before `at`, so that everything from there on reads as zeros until it is written.
    pub(crate) fn is_blank(&mut self, at: u64) -> Result<bool> {
        // Bytes given up again may wait in the buffer for the same place.
        self.flush()?;
        Ok(io(self.file.len(), "get size of file")? <= at)
    }

    /// Bytes that wait for the commit.
    fn staged_bytes(&self) -> u64 {
        self.staged.iter().map(Staged::bytes).sum()
    }

    /// Makes all changes since the last commit one. On an error the last commit stands, and the changes wait, or are
    /// refused from then on.
    pub(crate) fn commit(&mut self, publish: &Publish<'_>, durability: Durability) -> Result<()> {
        let ready = self.check().and_then(|()| self.check_alone());
        let done = ready.and_then(|()| self.flush()).and_then(|()| self.try_commit(publish, durability));
        // What was only taken away for this commit may be in use again before the next one.
        self.staged[Turn::Last as usize].clear();
        done
    }

    fn try_commit(&mut self, publish: &Publish<'_>, durability: Durability) -> Result<()> {
        self.fill_reserved(publish.end)?;
        let redo = self.redo(publish)?;
        match durability {
            Durability::None => self.settle()?,
            _ => self.sync()?,
        }
        self.unsettled = false;
        self.check_alone()?;
        self.store(&redo, durability)?;
        self.publish(&redo, durability)?;
        self.staged.iter_mut().for_each(Staged::clear);
        match publish.end < self.end {
            true => self.add_fresh(publish.end, self.end),
            false => self.remove_fresh(self.end, publish.end),
        }
        self.end = publish.end;
        self.seen.bytes = Some(publish.superblock.to_vec());
        (self.salt, self.is_marked) = (redo::random_salt(), false);
        self.unsynced = durability == Durability::None;
        // Without a last sync the record is what makes the commit last.
        self.unsettled = durability == Durability::Ordered || self.cut().is_err();
        Ok(())
    }

    /// Forgets all changes that wait; the end of the file at the last commit.
    pub(crate) fn discard(&mut self) -> u64 {
        self.staged.iter_mut().for_each(Staged::clear);
        self.buffer.clear();
        self.buffered = 0;
        self.is_marked = false;
        self.end
    }

    /// Makes the last commit as durable as is asked, when nothing changed since.
    pub(crate) fn confirm(&mut self, durability: Durability) -> Result<()> {
        self.check()?;
        let waits = self.unsynced || (self.unsettled && durability == Durability::Full);
        if durability == Durability::None || !waits {
            return Ok(());
        }
        self.sync()?;
        self.unsynced = false;
        self.unsettled = self.cut().is_err();
        Ok(())
    }

    /// Syncs what the last commit published before anything is written over its record.
    fn settle(&mut self) -> Result<()> {
        if self.unsettled {
            self.sync()?;
            self.unsettled = false;
        }
        Ok(())
    }

    fn redo(&self, publish: &Publish<'_>) -> Result<Redo> {
        self.check_record(self.staged_bytes())?;
        let superblock = Entry { at: publish.superblock_at, data: publish.superblock.to_vec() };
        let others = self.staged.iter().flat_map(Staged::iter);
        // What was held back and given up again is not part of the file.
        let others = others.filter_map(|(at, data)| {
            let len = usize::try_from(publish.end.saturating_sub(at)).unwrap_or(usize::MAX).min(data.len());
            (len > 0).then(|| Entry { at, data: data[..len].to_vec() })
        });
        let entries: Vec<Entry> = std::iter::once(superblock).chain(others).collect();
        let redo = Redo::new(&self.file, entries, self.salt, (self.end, publish.end))?;
        self.check_record(redo.bytes())?;
        Ok(redo)
    }

    /// Nobody shall write a record that others may not read.
    fn check_record(&self, bytes: u64) -> Result<()> {
        match bytes > self.redo_bytes_max {
            true => Err(Error::limit("commit")
                .with("bytes to overwrite", bytes)
                .with("limit", self.redo_bytes_max)
                .with("help", "commit more often, or raise Limits::redo_bytes_max")),
            false => Ok(()),
        }
    }

    /// Stages what belongs where the salt will be, also where nobody wrote it: it reads as it did before.
    fn fill_reserved(&mut self, end: u64) -> Result<()> {
        let reserved = self.reserved();
        let stop = reserved.end.min(end);
        if stop <= reserved.start {
            return Ok(());
        }
        let mut bytes = vec![0; (stop - reserved.start) as usize];
        let there = io(self.file.len(), "get size of file")?.saturating_sub(reserved.start);
        let there = usize::try_from(there).unwrap_or(usize::MAX).min(bytes.len());
        io(self.file.read_at(reserved.start, &mut bytes[..there]), "read file")?;
        self.overlay(reserved.start, &mut bytes);
        self.hold_back(reserved.start, &bytes)
    }

    /// Writes the record, or leaves nothing of it: what is written later must not meet it.
    fn store(&mut self, redo: &Redo, durability: Durability) -> Result<()> {
        if let Err(error) = redo.store(&self.file) {
            self.withdraw(redo)?;
            return Err(error);
        }
        if durability == Durability::None { Ok(()) } else { self.sync() }
    }

    fn withdraw(&mut self, redo: &Redo) -> Result<()> {
        // The record may have stood where the mark was.
        self.is_marked = false;
        match redo.withdraw(&self.file) {
            Ok(()) => self.sync(),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn publish(&mut self, redo: &Redo, durability: Durability) -> Result<()> {
        redo.publish_superblock(&self.file).map_err(|e| self.fail(e))?;
        if redo.needs_superblock_first() && durability != Durability::None {
            self.sync()?;
        }
        redo.publish_rest(&self.file).map_err(|e| self.fail(e))?;
        if durability == Durability::Full { self.sync() } else { Ok(()) }
    }

    fn cut(&self) -> Result<()> {
        io(self.file.set_len(self.end), "cut off redo record")
    }

    /// A failed sync may have dropped what it should have written, and the next one would not tell.
    fn sync(&mut self) -> Result<()> {
        io(self.file.sync(files::Sync::Data), "sync file").map_err(|e| self.fail(e))
    }

    fn fail(&mut self, error: Error) -> Error {
        self.failed = Some(error.clone());
        error
    }

    fn check(&self) -> Result<()> {
        match &self.failed {
            None => Ok(()),
            Some(error) => Err(Error::invalid("change file")
                .with("problem", "a commit failed half-way; open the file again")
                .because(error.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
