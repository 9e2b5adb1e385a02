//! Handles of one file: how they end, and what they do for other programs.

use std::sync::atomic::Ordering;

use model::{Result, Token};
use vol::Container;

use crate::connector::no_swmr;
use crate::consistency_flags;
use crate::container::NativeContainer;
use crate::file::File;
use crate::format::Address;
use crate::gate::Scope;
use crate::maps;

impl NativeContainer {
    /// Commits; the last handle of a file lets others have it.
    pub(crate) fn close_handle(&self) -> Result<()> {
        let file = self.open_file()?;
        file.commit_sources(file.durability)?;
        let done = match (file.leave(), file.writer.is_some()) {
            (true, true) => maps::indexes(self).and_then(|_maps| close_last(file)),
            (true, false) => file.store.shared.unlock(),
            (false, _) => self.commit(file.durability),
        };
        if done.is_err() {
            file.stay();
            return done;
        }
        self.closed.store(true, Ordering::Release);
        file.close_sources()
    }

    /// Commits, and lets readers of other programs look on from now on.
    pub(crate) fn start_swmr(&self) -> Result<()> {
        let file = self.open_file()?;
        self.change(Scope::All, |writer| {
            if !consistency_flags::has_flags(&file.store.superblock) {
                return Err(no_swmr(&file.path, &file.store.superblock));
            }
            writer.mark_open(true, file.durability)
        })?;
        self.file.store.shared.let_read(&self.file.path, self.file.locking)
    }

    /// Forgets what was decoded of an object: another program may have changed it.
    pub(crate) fn refresh(&self, object: Token) -> Result<()> {
        let file = self.open_file()?;
        if file.store.is_live() {
            file.forget(Address(object.to_u64()));
        }
        Ok(())
    }
}

/// Commits, says that the file is not open any more, and unlocks it.
fn close_last(file: &File) -> Result<()> {
    let mut writer = file.writer()?;
    {
        let _changing = file.changing(Scope::All);
        writer.release_handles()?;
        writer.clear_read_marks();
    }
    writer.remove_released(file.released.all())?;
    writer.commit_closed(file.durability)?;
    file.store.shared.publish()?;
    file.store.shared.unlock()
}

impl Drop for NativeContainer {
    fn drop(&mut self) {
        if !self.is_held && !self.closed.load(Ordering::Acquire) {
            self.file.leave();
        }
    }
}
