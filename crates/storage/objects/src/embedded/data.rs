//! The file next to the index that holds what is large.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};

use super::medium::MediumFile;
use crate::{Error, Result};

/// Bytes at offsets; nothing here knows whose they are.
#[derive(Debug)]
pub(super) struct Data {
    file: Box<dyn MediumFile>,
    /// Whether anything was written since the last sync.
    dirty: AtomicBool,
}

impl Data {
    pub(super) fn new(file: Box<dyn MediumFile>) -> Data {
        Data { file, dirty: AtomicBool::new(false) }
    }

    /// Locks the container: many readers or one writer, until the file is closed. Whether no one is in the way.
    pub(super) fn lock(&self, alone: bool) -> Result<bool> {
        let locked = self.file.try_lock(alone);
        locked.map_err(|source| Error::Io { what: "lock the data file".into(), source })
    }

    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(into, at).map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof => {
                Error::Corrupt(format!("the data file ends before {}", at.saturating_add(into.len() as u64)))
            }
            _ => Error::Io { what: "read the data file".into(), source },
        })
    }

    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.dirty.store(true, Ordering::Relaxed);
        let written = self.file.write_all_at(bytes, at);
        written.map_err(|source| Error::Io { what: "write the data file".into(), source })
    }

    /// Makes all that was written durable.
    pub(super) fn sync(&self) -> Result<()> {
        if !self.dirty.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        self.file.sync_data().map_err(|source| {
            self.dirty.store(true, Ordering::Relaxed);
            Error::Io { what: "sync the data file".into(), source }
        })
    }

    /// Returns the file's length.
    pub(super) fn len(&self) -> Result<u64> {
        self.file.len().map_err(|source| Error::Io { what: "look at the data file".into(), source })
    }
}
