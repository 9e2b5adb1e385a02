//! The file as a follower sees it, with changes of the follower's own: they stay in its memory.

use std::io;
use std::sync::Arc;

use files::{File, Lock, Sync};
use system::sync::RwLock;

use super::FollowedFile;
use crate::txn::{Staged, overlay_piece};

/// A followed file that can be written, though nothing goes to storage.
#[derive(Debug)]
pub(crate) struct LinkedFile {
    followed: Arc<FollowedFile>,
    written: RwLock<Written>,
}

#[derive(Debug, Default)]
struct Written {
    bytes: Staged,
    len: u64,
}

impl LinkedFile {
    pub(crate) fn new(followed: Arc<FollowedFile>) -> Self {
        let len = followed.end();
        LinkedFile { followed, written: RwLock::new(Written { bytes: Staged::default(), len }) }
    }

    /// Returns what was written.
    pub(crate) fn take(&self) -> Staged {
        std::mem::take(&mut self.written.write().bytes)
    }
}

impl File for LinkedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written.read().len)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let written = self.written.read();
        let end = offset.saturating_add(into.len() as u64);
        if end > written.len && !into.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let there = self.followed.end().saturating_sub(offset).min(into.len() as u64) as usize;
        let (stored, rest) = into.split_at_mut(there);
        self.followed.read_at(offset, stored)?;
        rest.fill(0);
        written.bytes.shared(offset, end).for_each(|(at, bytes)| overlay_piece((at, bytes), offset, into));
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written.write();
        written.len = written.len.max(offset.saturating_add(data.len() as u64));
        written.bytes.put(offset, data).map_err(io::Error::other)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.written.write().len = len;
        Ok(())
    }

    fn sync(&self, _sync: Sync) -> io::Result<()> {
        Ok(())
    }

    /// No one else sees it.
    fn lock(&self, _lock: Lock) -> io::Result<()> {
        Ok(())
    }
}
