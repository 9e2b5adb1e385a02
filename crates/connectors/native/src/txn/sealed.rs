//! A commit on its way to the file.
//!
//! 1. sync, so that fresh bytes are there before anything points to them;
//! 2. write the redo record past the end of the file, with every staged byte and the superblock, and its salt into the first
//!    bytes past the stored end, which are kept free for it (what belongs there is staged); sync;
//! 3. publish: the superblock first (an end that is too large hurts no reader, one that is too small does), then the rest
//!    in five turns ([`super::PublishOrder`]); sync;
//! 4. cut the record off.
//!
//! Until step 2 is durable the last commit stands; from then on the record is replayed when the file is opened.

use files::Handle;
use model::{Error, Result};
use vol::Durability;

use super::alone::LastSuperblock;
use super::journal::Journal;
use super::moves::Moves;
use super::redo::{self, Redo, RedoEntry, SaltBytes};
use super::staged::Staged;
use super::{ByTurn, PublishOrder, io};

/// Changes that were taken for one commit. Nothing is added to them.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(super) file: Handle,
    pub(super) staged: ByTurn,
    pub(super) journal: Journal,
    pub(super) superblock: Vec<u8>,
    /// End of the file before and after the commit.
    pub(super) ends: (u64, u64),
    /// One past the last offset of the member that has the superblock.
    pub(super) first_end: u64,
    pub(super) salt: SaltBytes,
    pub(super) seen: LastSuperblock,
    pub(super) is_salted: bool,
    /// The commit before this one rests on its record.
    pub(super) has_leftover_record: bool,
    pub(super) redo_bytes_max: u64,
    pub(super) durability: Durability,
}

/// Why a commit did not come to its end.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// No one knows what is in the file: nothing can be changed any more.
    pub(crate) is_final: bool,
}

impl Failure {
    pub(crate) fn last(error: Error) -> Self {
        Failure { error, is_final: true }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, is_final: false }
    }
}

/// No one shall write a record that others may not read.
pub(super) fn check_record(bytes: u64, bytes_max: u64) -> Result<()> {
    match bytes > bytes_max {
        true => Err(Error::limit("commit")
            .with("bytes to overwrite", bytes)
            .with("limit", bytes_max)
            .with("help", "commit more often, or raise Limits::redo_bytes_max")),
        false => Ok(()),
    }
}

impl Sealed {
    /// Returns the end of the file after the commit.
    pub(super) fn end(&self) -> u64 {
        self.ends.1
    }

    pub(crate) fn superblock_bytes(&self) -> u64 {
        self.superblock.len() as u64
    }

    /// Returns whether the commit reads and writes nothing between `at` and `stop`, where nothing is staged.
    pub(super) fn leaves_alone(&self, at: u64, stop: u64) -> bool {
        let salt = redo::reserved(self.ends.0);
        let is_clear = stop <= self.end() && (stop <= salt.start || salt.end <= at);
        is_clear || at >= self.first_end
    }

    /// Returns whether anything between `at` and `end` is overwritten.
    pub(super) fn brings_some_of(&self, at: u64, end: u64) -> bool {
        self.staged.iter().any(|staged| staged.holds_some_of(at, end))
            || self.journal.pieces(at, end).next().is_some()
    }

    /// Brings the changes into the file. Whether the commit rests on its record until what was published is synced.
    pub(crate) fn run(&self) -> std::result::Result<bool, Failure> {
        let redo = self.redo()?;
        if self.durability != Durability::None || self.has_leftover_record {
            self.sync()?;
        }
        self.seen.check(&self.file, self.salt_in_file()).map_err(Failure::last)?;
        self.store(&redo)?;
        self.publish(&redo)?;
        // Without a last sync the record is what makes the commit last.
        Ok(self.durability == Durability::Ordered || self.cut().is_err())
    }

    fn salt_in_file(&self) -> Option<(u64, &SaltBytes)> {
        self.is_salted.then_some((self.ends.0, &self.salt))
    }

    fn redo(&self) -> Result<Redo> {
        let superblock = RedoEntry { at: self.seen.at, data: self.superblock.clone() };
        // What was held back and given up again is not part of the file.
        let inside = |(at, data): (u64, &[u8])| {
            let end = if at < self.first_end { self.end() } else { u64::MAX };
            let len = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX).min(data.len());
            (len > 0).then(|| RedoEntry { at, data: data[..len].to_vec() })
        };
        let of =
            |turns: &[Staged]| turns.iter().flat_map(Staged::iter).filter_map(inside).collect::<Vec<_>>();
        // What the journal has is pointed to by headers, and leads to values.
        let (before, after) = self.staged.split_at(PublishOrder::Middle as usize);
        let mut entries = vec![superblock];
        entries.extend(of(before));
        let moves = Moves { after: entries.len(), ..Moves::of(&self.journal) };
        entries.extend(of(after));
        let redo = Redo { moves, ..Redo::new(&self.file, entries, self.salt, self.ends)? };
        check_record(redo.bytes(), self.redo_bytes_max)?;
        Ok(redo)
    }

    /// Writes the record, or leaves nothing of it: what is written later must not meet it.
    fn store(&self, redo: &Redo) -> std::result::Result<(), Failure> {
        if let Err(error) = redo.store(&self.file) {
            redo.withdraw(&self.file).map_err(Failure::last)?;
            self.sync()?;
            return Err(error.into());
        }
        if self.durability == Durability::None { Ok(()) } else { self.sync() }
    }

    fn publish(&self, redo: &Redo) -> std::result::Result<(), Failure> {
        redo.publish_superblock(&self.file).map_err(Failure::last)?;
        if redo.needs_superblock_first() && self.durability != Durability::None {
            self.sync()?;
        }
        redo.publish_rest(&self.file).map_err(Failure::last)?;
        if self.durability == Durability::Full { self.sync() } else { Ok(()) }
    }

    fn cut(&self) -> Result<()> {
        io(self.file.set_len(self.end()), "cut off redo record")
    }

    /// A failed sync may have dropped what it should have written, and the next one would not tell.
    fn sync(&self) -> std::result::Result<(), Failure> {
        io(self.file.sync(files::Sync::Data), "sync file").map_err(Failure::last)
    }
}
