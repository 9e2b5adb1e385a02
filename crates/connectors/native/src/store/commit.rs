//! A commit on its way to the file.

use std::sync::Arc;

use model::{Error, Result};

use super::{INTERRUPTED, Shared};
use crate::txn::{Failure, Sealed};

/// A commit that is under way. Changes that come meanwhile are of the next one.
#[derive(Debug)]
#[must_use]
pub(crate) struct Commit {
    pub(super) store: Arc<Shared>,
    pub(super) sealed: Arc<Sealed>,
    pub(super) number: u64,
    pub(super) is_finished: bool,
}

impl Commit {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Brings the changes into the file.
    pub(crate) fn run(mut self) -> Result<()> {
        let done = self.sealed.run();
        self.is_finished = true;
        self.store.finish(self.number, done.as_ref().copied());
        if done.is_ok() {
            self.store.pages.forget(0, self.sealed.superblock_bytes());
        }
        done.map(drop).map_err(|failure| failure.error)
    }
}

impl Drop for Commit {
    /// No one brought it into the file, or it panicked half-way.
    fn drop(&mut self) {
        if !self.is_finished {
            let error = Error::invalid("commit").with("problem", INTERRUPTED);
            self.store.finish(self.number, Err(&Failure::last(error)));
        }
    }
}
