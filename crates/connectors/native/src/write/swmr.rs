//! One writer with readers in other programs, and the consistency flags that tell them.
//!
//! A reader follows addresses that it read some time ago. So while the file is open in this way, space that is given up is not
//! used again, and only elements and extents change. Each commit publishes what is pointed to before what points to it: chunks
//! and their indexes, then headers, each of which has its checksum and is read again by readers that met half of it.

use model::{Error, Result};
use vol::Durability;

use super::Writer;
use super::storage::Storage;
use crate::consistency_flags;
use crate::format::Address;
use crate::txn::{Publish, PublishOrder};

impl Storage {
    /// Returns whether readers of other programs look on.
    pub(crate) fn is_swmr(&self) -> bool {
        self.allocator.is_swmr
    }

    /// Returns an error for what readers that look on could not follow.
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
        self.write_in_turn(at, bytes, PublishOrder::First)
    }

    /// Clears the flags of the last commit, and with it all changes since.
    pub(crate) fn mark_dropped(&mut self, durability: Durability) -> Result<()> {
        if !consistency_flags::has_flags(&self.transaction.superblock)
            || self.transaction.superblock.flags & consistency_flags::WRITE == 0
        {
            return Ok(());
        }
        let end = self.store().discard()?;
        let mut stored = self.store().stored_superblock()?;
        // Another caller has it by now.
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
        // The flags are for others, who never see this file while it is open.
        if self.storage.is_private() {
            let refused = Error::unsupported("write with SWMR").with("problem", "readers see commits only");
            return if swmr { Err(refused) } else { Ok(()) };
        }
        let swmr_flag = if swmr { consistency_flags::SWMR } else { 0 };
        self.set_flags(consistency_flags::WRITE | consistency_flags::WHOLE | swmr_flag, durability)?;
        self.storage.allocator.is_swmr = swmr;
        Ok(())
    }

    /// The last commit: the file is not open any more.
    pub(crate) fn commit_closed(&mut self, durability: Durability) -> Result<()> {
        self.serialize_all()?;
        self.storage.give_back_end(durability);
        match consistency_flags::has_flags(&self.storage.transaction.superblock) {
            true => self.set_flags(0, durability)?,
            false => self.commit(durability)?,
        }
        self.commit_cache_image(durability)?;
        self.storage.commit_managers(durability)?;
        self.storage.trim_members()
    }

    /// Makes a commit with other consistency flags.
    fn set_flags(&mut self, flags: u8, durability: Durability) -> Result<()> {
        if !consistency_flags::has_flags(&self.storage.transaction.superblock) {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.storage.transaction.superblock.flags, flags);
        self.storage.transaction.is_changed |= before != flags;
        let done = self.commit(durability);
        if done.is_err() {
            self.storage.transaction.superblock.flags = before;
        }
        done
    }
}
