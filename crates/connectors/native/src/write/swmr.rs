//! One writer with readers in other programs, and the marks that tell them.
//!
//! A reader follows addresses that it read some time ago. So while the file is open in this way, space that is given up is not
//! used again, and only elements and extents change. Each commit publishes what is pointed to before what points to it: chunks
//! and their indexes, then headers, each of which has its checksum and is read again by readers that met half of it.

use model::{Error, Result};
use vol::Durability;

use super::Writer;
use super::storage::Storage;
use crate::format::Address;
use crate::marks;
use crate::txn::{Publish, Turn};

impl Storage {
    /// Whether readers of other programs look on.
    pub(crate) fn is_swmr(&self) -> bool {
        self.allocator.is_swmr
    }

    /// An error for what readers that look on could not follow.
    pub(crate) fn check_structure(&self) -> Result<()> {
        match self.allocator.is_swmr {
            false => Ok(()),
            true => Err(Error::denied("change file").with(
                "problem",
                "it is open for SWMR writing: only elements, extents and values of attributes can change, and none of variable length",
            )),
        }
    }

    /// Writes a chunk over what is there, where readers that look on find it whole before and after.
    pub(super) fn overwrite_chunk(&mut self, at: Address, bytes: &[u8]) -> Result<()> {
        self.write_in_turn(at, bytes, Turn::First)
    }

    /// Takes the mark of the last commit away, and with it all changes since.
    pub(crate) fn mark_dropped(&mut self, durability: Durability) -> Result<()> {
        if !marks::has_room(&self.transaction.superblock)
            || self.transaction.superblock.flags & marks::WRITE == 0
        {
            return Ok(());
        }
        let end = self.store().discard()?;
        let mut stored = self.store().stored_superblock()?;
        // Somebody else has it by now.
        if stored.flags != self.transaction.superblock.flags || stored.end != end {
            return Ok(());
        }
        stored.flags = 0;
        let superblock = stored.encode()?;
        let publish = Publish { superblock: &superblock, end };
        self.store().seal(&publish, durability, 0)?.run()
    }
}

impl Writer {
    /// Says in the file that it is open for writing.
    pub(crate) fn mark_open(&mut self, swmr: bool, durability: Durability) -> Result<()> {
        let swmr_mark = if swmr { marks::SWMR } else { 0 };
        self.mark(marks::WRITE | marks::WHOLE | swmr_mark, durability)?;
        self.storage.allocator.is_swmr = swmr;
        Ok(())
    }

    /// The last commit: the file is not open any more.
    pub(crate) fn commit_closed(&mut self, durability: Durability) -> Result<()> {
        self.lay_out_all()?;
        self.storage.give_back_end(durability);
        match marks::has_room(&self.storage.transaction.superblock) {
            true => self.mark(0, durability)?,
            false => self.commit(durability)?,
        }
        self.storage.commit_managers(durability)
    }

    /// A commit with other marks.
    fn mark(&mut self, marks: u8, durability: Durability) -> Result<()> {
        if !marks::has_room(&self.storage.transaction.superblock) {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.storage.transaction.superblock.flags, marks);
        self.storage.transaction.is_changed |= before != marks;
        let done = self.commit(durability);
        if done.is_err() {
            self.storage.transaction.superblock.flags = before;
        }
        done
    }
}
