//! Changes to a file: staged, then committed as one.
//!
//! Bytes that were free at the last commit are *fresh*: writes to them go straight to the file, many small ones
//! after each other as one, since nothing that was committed is there. All other writes are staged in memory.
//! A commit has two steps, so that changes go on while it is synced:
//!
//! - [`Txn::seal`] takes what is staged. From then on a new transaction collects changes. Readers see both.
//! - [`Sealed::run`] brings it into the file, without any lock. [`Txn::finish`] says how that ended.
//!
//! What is written to fresh space while a commit runs stays in the buffer if it lies where the redo record stands.
//!
//! A commit that is not finished leaves what was sealed among the changes that wait: the disk was full, and may not be soon.
//! When a sync fails, no one knows what is on the disk, and when publishing fails, only the record does: from then on
//! every change is refused, and opening the file again finds the last commit that is whole.

mod alone;
mod claim;
mod followed;
mod fresh;
mod journal;
mod moves;
pub(crate) mod redo;
mod sealed;
mod staged;
mod waiting;

use std::ops::Range;
use std::sync::Arc;

use files::Handle;
use model::{Error, Result};
use vol::Durability;

use alone::LastSuperblock;
use followed::ChangeLog;
use journal::{Extent, Journal, Move, Sum};
use redo::SaltBytes;
use staged::SharedBytes;

pub(crate) use followed::{StagedRanges, joined};
pub(crate) use fresh::{LARGE_BYTES, split_around};
pub(crate) use journal::Moved;
pub(crate) use sealed::{Failure, Sealed};
pub(crate) use staged::{Staged, overlay as overlay_piece};
pub(crate) use waiting::overlay;

/// Bytes that a salt takes, wherever it begins.
const SALT_BYTES_MAX: u64 = redo::RESERVED_BYTES + 8;

/// Where the file's own description of itself goes.
#[derive(Debug, Clone)]
pub(crate) struct Publish<'a> {
    /// The superblock as it shall be.
    pub(crate) superblock: &'a [u8],
    /// End of the file as it shall be.
    pub(crate) end: u64,
}

/// When staged bytes are published, so that a reader of that moment finds whatever is pointed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublishOrder {
    /// Before all else: bytes of new space that were held back because a commit has its salt there.
    Fresh,
    /// Before what points to it: heaps and blocks of indexes that only gained something.
    First,
    /// Tables and bitmaps of indexes: they say that something of the first turn is there.
    Second,
    /// Headers and elements: they point to the rest.
    Middle,
    /// After nothing points to it: what is removed. A commit that fails forgets it.
    Last,
}

/// Staged bytes by turn.
type ByTurn = [Staged; 5];

/// The changes since the last commit was sealed. Offsets count from the start of the file.
#[derive(Debug)]
pub(crate) struct Txn {
    file: Handle,
    /// End of the file at the last commit: of its first member, where it has several.
    end: u64,
    /// One past the last offset of the first member. Records and salts lie there, and nothing of other members does.
    first_end: u64,
    staged: ByTurn,
    /// Bytes of the middle turn that wait in the file, under those that are staged.
    journal: Journal,
    /// Bytes that went to the middle turn since some went to the journal.
    staged_since: u64,
    /// Fresh bytes that are not in the file yet.
    buffer: Staged,
    /// Bytes that went to the buffer since it was empty.
    buffered: usize,
    /// Nothing was written from here on.
    written_end: u64,
    /// Length of the file at some time since the last commit: only writes below `written_end` made it longer.
    seen_len: Option<u64>,
    /// What waits in the buffer stays there: followers read the file as they were told of it last.
    is_held: bool,
    /// The commit that is on its way to the file.
    sealed: Option<Arc<Sealed>>,
    /// The last commit rests on its record, which must stay until what it published is synced.
    has_leftover_record: bool,
    /// The last commit was published without any sync.
    unsynced: bool,
    /// Why nothing can be changed any more.
    failed: Option<Error>,
    /// Most bytes of a record.
    redo_bytes_max: u64,
    /// The superblock as it was when this writer saw or wrote it last: no other caller may have written it since.
    seen: LastSuperblock,
    /// What processes that follow this one were not told yet, if there are any.
    followed: Option<ChangeLog>,
    /// The salt of the next commit.
    salt: SaltBytes,
    /// It is in the file already: no lock keeps other writers out, and one that changes the file writes over it.
    is_salted: bool,
}

/// Staged bytes on their way to the journal.
#[derive(Debug)]
pub(crate) struct Spill {
    file: Handle,
    at: u64,
    /// By where they belong.
    pieces: Vec<(u64, SharedBytes)>,
}

impl Spill {
    /// Writes the bytes one after the other; the range that they fill.
    pub(crate) fn write(&self) -> Result<Extent> {
        let (mut end, mut sum) = (self.at, Sum::default());
        for (_, data) in &self.pieces {
            io(self.file.write_at(end, data), "write to journal")?;
            sum.add(data);
            end += data.len() as u64;
        }
        Ok(Extent { at: self.at, len: end - self.at, sum: sum.finish() })
    }
}

/// The state of the file that a transaction begins with.
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

fn io<T>(result: std::io::Result<T>, operation: &str) -> Result<T> {
    result.map_err(|e| Error::io(operation, &e))
}

impl Txn {
    /// No changes yet; everything from `end` on is free.
    pub(crate) fn new(parts: TxnParts) -> Self {
        let TxnParts { file, end, superblock_at, superblock_bytes, is_unlocked, redo_bytes_max } = parts;
        let bytes = file.read_vec(superblock_at, superblock_bytes).ok();
        let first_end = redo::first_end(&file);
        Txn {
            redo_bytes_max,
            seen: LastSuperblock { at: superblock_at, bytes, is_unlocked },
            salt: redo::random_salt(),
            is_salted: false,
            followed: None,
            file,
            end,
            first_end,
            staged: Default::default(),
            journal: Journal::default(),
            staged_since: 0,
            buffer: Staged::default(),
            buffered: 0,
            // What lies behind the end of the first member may be committed: no gap there is filled.
            written_end: if first_end == u64::MAX { end } else { u64::MAX },
            seen_len: None,
            is_held: false,
            sealed: None,
            has_leftover_record: false,
            unsynced: false,
            failed: None,
        }
    }

    /// Writes bytes at the next commit. Returns how many of the middle turn wait in memory, at most.
    pub(crate) fn stage(&mut self, at: u64, data: &[u8], turn: PublishOrder) -> Result<u64> {
        self.prepare()?;
        if !data.is_empty() {
            self.staged[turn as usize].put(at, data)?;
            self.note_staged(at, data.len() as u64);
        }
        self.staged_since += if turn == PublishOrder::Middle { data.len() as u64 } else { 0 };
        Ok(self.staged_since)
    }

    /// Returns the number of bytes of fresh space that `spill` needs: for what it writes, and for the salt, which may
    /// lie there.
    pub(crate) fn spill_bytes(&self) -> u64 {
        self.staged[PublishOrder::Middle as usize].large_bytes() + SALT_BYTES_MAX
    }

    /// Prepares to write staged bytes of the middle turn to fresh space at `at`, where they wait for the commit. Nothing may be
    /// staged until [`Txn::end_spill`]; readers need not wait.
    pub(crate) fn begin_spill(&mut self, at: u64) -> Result<Spill> {
        let bytes = self.spill_bytes();
        let file = self.open_fresh(std::iter::once((at, bytes)))?.clone();
        let reserved = self.reserved();
        let at = if reserved.start < at + bytes && at < reserved.end {
            // Zeros in the place of the salt would cost a sync more.
            let (from, to) = (reserved.start.max(at), reserved.end.min(at + bytes));
            self.hold_back(from, &vec![u8::MAX; (to - from) as usize])?;
            reserved.end
        } else {
            at
        };
        let pieces = self.staged[PublishOrder::Middle as usize].large();
        Ok(Spill { file, at, pieces: pieces.map(|(to, piece)| (to, piece.clone())).collect() })
    }

    /// Notes that spilled bytes are in the file.
    pub(crate) fn end_spill(&mut self, spill: Spill, extent: Extent) {
        let mut from = spill.at;
        for (to, data) in spill.pieces {
            let len = data.len() as u64;
            self.staged[PublishOrder::Middle as usize].take(to);
            self.journal.put(Move { to, from, len });
            from += len;
        }
        self.journal.add_extent(extent);
        self.staged_since = self.staged[PublishOrder::Middle as usize].bytes();
    }

    fn prepare(&mut self) -> Result<()> {
        self.check()?;
        self.write_salt()
    }

    /// Returns the bytes past the end of the last commit, or of the one that is under way, that only a commit writes.
    pub(crate) fn reserved(&self) -> Range<u64> {
        redo::reserved(self.sealed.as_ref().map_or(self.end, |sealed| sealed.end()))
    }

    /// Keeps bytes for the commit that belong where its salt will be.
    pub(crate) fn hold_back(&mut self, at: u64, data: &[u8]) -> Result<()> {
        self.note_staged(at, data.len() as u64);
        if data.is_empty() { Ok(()) } else { self.staged[PublishOrder::Fresh as usize].put(at, data) }
    }

    /// Returns the number of bytes that wait for the commit.
    fn staged_bytes(&self) -> u64 {
        self.staged.iter().map(Staged::bytes).sum()
    }

    /// Takes all changes since the last commit, to make one of them. No other may be under way.
    pub(crate) fn seal(&mut self, publish: &Publish<'_>, durability: Durability) -> Result<Arc<Sealed>> {
        self.is_held = false;
        self.seen_len = None;
        let ready = self.check().and_then(|()| self.check_alone()).and_then(|()| self.flush());
        let ready = ready.and_then(|()| self.fill_reserved(publish.end));
        if let Err(error) =
            ready.and_then(|()| sealed::check_record(self.staged_bytes(), self.redo_bytes_max))
        {
            // What was only removed for this commit may be in use again before the next one.
            self.staged[PublishOrder::Last as usize].clear();
            self.note_all();
            return Err(error);
        }
        let sealed = Arc::new(Sealed {
            file: self.file.clone(),
            staged: std::mem::take(&mut self.staged),
            journal: std::mem::take(&mut self.journal),
            superblock: publish.superblock.to_vec(),
            ends: (self.end, publish.end),
            first_end: self.first_end,
            salt: self.salt,
            seen: self.seen.clone(),
            is_salted: self.is_salted,
            has_leftover_record: std::mem::take(&mut self.has_leftover_record),
            redo_bytes_max: self.redo_bytes_max,
            durability,
        });
        self.staged_since = 0;
        self.sealed = Some(sealed.clone());
        Ok(sealed)
    }

    /// The commit that was sealed ended. If it failed, its changes wait on, under those that came since.
    pub(crate) fn finish(&mut self, done: std::result::Result<bool, &Failure>) {
        let Some(sealed) = self.sealed.take() else { return };
        self.note_all();
        self.is_salted = false;
        match done {
            Ok(has_leftover_record) => {
                self.end = sealed.end();
                self.seen.bytes = Some(sealed.superblock.clone());
                self.salt = redo::random_salt();
                self.unsynced = sealed.durability == Durability::None;
                self.has_leftover_record = has_leftover_record;
            }
            Err(failure) => {
                self.has_leftover_record = sealed.has_leftover_record;
                self.take_back(&sealed);
                if failure.is_final {
                    self.failed = Some(failure.error.clone());
                }
            }
        }
    }

    fn take_back(&mut self, sealed: &Sealed) {
        let mut old = sealed.staged.clone();
        let staged = self.staged.iter().flat_map(Staged::iter).map(|(at, data)| (at, data.len() as u64));
        for (at, len) in staged.chain(self.journal.moves().map(|moved| (moved.to, moved.len))) {
            old.iter_mut().for_each(|staged| staged.cut(at, at + len));
        }
        // What was staged lies over what was in the journal then.
        self.journal.append(sealed.journal.clone());
        for (staged, old) in self.staged.iter_mut().zip(old) {
            staged.append(old);
        }
        self.staged_since = self.staged[PublishOrder::Middle as usize].bytes();
    }

    /// Forgets all changes that wait; the end of the file at the last commit.
    pub(crate) fn discard(&mut self) -> u64 {
        self.note_all();
        self.staged.iter_mut().for_each(Staged::clear);
        self.journal.clear();
        self.buffer.clear();
        self.buffered = 0;
        self.is_held = false;
        self.is_salted = false;
        self.end
    }

    /// Makes the last commit as durable as is asked, when nothing changed since.
    pub(crate) fn confirm(&mut self, durability: Durability) -> Result<()> {
        self.check()?;
        let waits = self.unsynced || (self.has_leftover_record && durability == Durability::Full);
        if durability == Durability::None || !waits {
            return Ok(());
        }
        self.sync()?;
        self.unsynced = false;
        self.has_leftover_record = io(self.file.set_len(self.end), "cut off redo record").is_err();
        Ok(())
    }

    /// Syncs what the last commit published before anything is written over its record.
    fn remove_leftover_record(&mut self) -> Result<()> {
        if self.has_leftover_record {
            self.sync()?;
            self.has_leftover_record = false;
        }
        Ok(())
    }

    /// Stages what belongs where the salt will be, also where nothing was written it: it reads as it did before.
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
        let waiting = self.waiting(reserved.start, stop);
        io(overlay(&self.file, &waiting, reserved.start, &mut bytes), "read file")?;
        self.hold_back(reserved.start, &bytes)
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
