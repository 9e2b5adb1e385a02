//! Whether this writer is alone: what two writers of one file notice of each other where no lock keeps them apart.

use model::{Error, Result};

use super::{Txn, io, redo};

/// A superblock that was read or written.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) at: u64,
    /// What stands there; `None` where it could not be read.
    pub(super) bytes: Option<Vec<u8>>,
    /// It is looked at before anything is written, not only before a commit is published.
    pub(super) is_unlocked: bool,
}

impl Txn {
    /// An error if another program wrote the superblock since this writer did: it would lose what that one committed.
    pub(super) fn check_alone(&mut self) -> Result<()> {
        let Some(seen) = &self.seen.bytes else { return Ok(()) };
        let there = io(self.file.read_vec(self.seen.at, seen.len()), "read superblock")?;
        if there == *seen && self.has_mark()? {
            return Ok(());
        }
        let problem = "another program changed the file; what this one did not commit is lost";
        let error = Error::busy("change file").with("problem", problem);
        Err(self.fail(error.with("help", "open the file again, with locks")))
    }

    /// Puts the salt into the file before the first change, where no lock keeps others out: of two writers that change the file
    /// at the same time, the first finds the other's.
    pub(super) fn mark(&mut self) -> Result<()> {
        if !self.seen.is_unlocked || self.is_marked {
            return Ok(());
        }
        self.settle()?;
        self.check_alone()?;
        let reserved = self.reserved();
        let mut bytes = vec![0; redo::RESERVED_BYTES as usize];
        self.overlay(reserved.start, &mut bytes);
        self.hold_back(reserved.start, &bytes)?;
        io(self.file.write_at(reserved.start, &redo::encode_salt(self.end, &self.salt)), "mark file")?;
        self.is_marked = true;
        Ok(())
    }

    /// Whether nobody else changes the file.
    fn has_mark(&self) -> Result<bool> {
        if !self.is_marked {
            return Ok(true);
        }
        let mark = redo::encode_salt(self.end, &self.salt);
        let (at, len) = (self.reserved().start, io(self.file.len(), "get size of file")?);
        Ok(len >= self.reserved().end && io(self.file.read_vec(at, mark.len()), "read mark")? == mark)
    }

    /// The same before anything is written, where no lock keeps others out.
    pub(super) fn check_alone_unlocked(&mut self) -> Result<()> {
        if self.seen.is_unlocked { self.check_alone() } else { Ok(()) }
    }
}
