//! Reads of bytes that are not in their places yet.

use files::Handle;

use super::Txn;
use super::journal::{Journal, Move};
use super::staged::{self, SharedBytes, Staged};

impl Txn {
    /// Returns bytes of a range that are not in their places yet, those that go over others last.
    pub(crate) fn waiting(&self, at: u64, end: u64) -> Vec<StagedBytes> {
        let mut all = Vec::new();
        if let Some(sealed) = &self.sealed {
            add_waiting(&mut all, &sealed.journal, &sealed.staged, at, end);
        }
        add_waiting(&mut all, &Journal::default(), std::slice::from_ref(&self.buffer), at, end);
        add_waiting(&mut all, &self.journal, &self.staged, at, end);
        all
    }
}

/// Bytes that are not in their place yet.
#[derive(Debug)]
pub(crate) enum StagedBytes {
    /// In memory, by where they belong.
    Bytes(u64, SharedBytes),
    /// In the journal.
    Moved(Move),
}

fn add_waiting(all: &mut Vec<StagedBytes>, journal: &Journal, staged: &[Staged], at: u64, end: u64) {
    all.extend(journal.pieces(at, end).map(StagedBytes::Moved));
    let pieces = staged.iter().flat_map(|staged| staged.shared(at, end));
    all.extend(pieces.map(|(at, data)| StagedBytes::Bytes(at, data.clone())));
}

/// Puts bytes that are not in their places yet over what was read from the file at `at`.
pub(crate) fn overlay(
    file: &Handle,
    waiting: &[StagedBytes],
    at: u64,
    into: &mut [u8],
) -> std::io::Result<()> {
    waiting.iter().try_for_each(|waiting| match waiting {
        StagedBytes::Moved(moved) => moved.read_over(file, at, into),
        StagedBytes::Bytes(start, data) => {
            staged::overlay((*start, data), at, into);
            Ok(())
        }
    })
}
