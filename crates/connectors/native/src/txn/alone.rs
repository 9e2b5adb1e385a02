//! Detection of a second writer of the file, for files without a lock.

use files::Handle;
use model::{Error, Result};

use super::redo::SaltBytes;
use super::{Txn, io, overlay, redo};

/// A superblock that was read or written.
#[derive(Debug, Clone)]
pub(super) struct LastSuperblock {
    pub(super) at: u64,
    /// The bytes; `None` if they could not be read.
    pub(super) bytes: Option<Vec<u8>>,
    /// It is looked at before anything is written, not only before a commit is published.
    pub(super) is_unlocked: bool,
}

impl LastSuperblock {
    /// Returns an error if another program wrote the superblock since this writer did, or its salt over that of this one, which
    /// stands past the stored end: it would lose what that one committed.
    pub(super) fn check(&self, file: &Handle, salt: Option<(u64, &SaltBytes)>) -> Result<()> {
        let Some(seen) = &self.bytes else { return Ok(()) };
        let there = io(file.read_vec(self.at, seen.len()), "read superblock")?;
        if there == *seen && salt.map_or(Ok(true), |salt| has_salt(file, salt))? {
            return Ok(());
        }
        let problem = "another program changed the file; what this one did not commit is lost";
        let error = Error::busy("change file").with("problem", problem);
        Err(error.with("help", "open the file again, with locks"))
    }
}

/// Returns whether no other caller changes the file.
fn has_salt(file: &Handle, (end, salt): (u64, &SaltBytes)) -> Result<bool> {
    let (reserved, expected) = (redo::reserved(end), redo::encode_salt(end, salt));
    let len = io(file.len(), "get size of file")?;
    Ok(len >= reserved.end && io(file.read_vec(reserved.start, expected.len()), "read salt")? == expected)
}

impl Txn {
    /// Returns an error if another program changes the file too.
    pub(super) fn check_alone(&mut self) -> Result<()> {
        let salt = self.is_salted.then_some((self.end, &self.salt));
        self.seen.check(&self.file, salt).map_err(|e| self.fail(e))
    }

    /// Puts the salt into the file before the first change, where no lock keeps others out: of two writers that change the file
    /// at the same time, the first finds the other's.
    pub(super) fn write_salt(&mut self) -> Result<()> {
        if !self.seen.is_unlocked || self.is_salted {
            return Ok(());
        }
        self.remove_leftover_record()?;
        self.check_alone()?;
        let reserved = self.reserved();
        let mut bytes = vec![0; redo::RESERVED_BYTES as usize];
        let waiting = self.waiting(reserved.start, reserved.end);
        io(overlay(&self.file, &waiting, reserved.start, &mut bytes), "read file")?;
        self.hold_back(reserved.start, &bytes)?;
        io(self.file.write_at(reserved.start, &redo::encode_salt(self.end, &self.salt)), "write salt")?;
        self.is_salted = true;
        Ok(())
    }

    /// Checks as `check_alone` does before anything is written, if no lock keeps others out.
    pub(super) fn check_alone_unlocked(&mut self) -> Result<()> {
        if self.seen.is_unlocked { self.check_alone() } else { Ok(()) }
    }
}
