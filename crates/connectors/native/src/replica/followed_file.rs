//! The file as a follower sees it: what is stored, under what the leader and this process keep for the next commit.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use files::{File, Handle, Lock, Sync};
use model::Result;
use system::sync::{Mutex, RwLock};
use vol::LeaderBytes;

use super::{Changes, without};
use crate::txn::{Staged, joined, overlay_piece};

/// A file that another process changes. It is read through the overlay; elements are written past it.
#[derive(Debug)]
pub(crate) struct FollowedFile {
    file: Handle,
    overlay: RwLock<Overlay>,
    /// Elements are written over those of the last commit, too.
    is_in_place: AtomicBool,
    /// Elements were written since the last sync.
    is_unsynced: Mutex<bool>,
}

#[derive(Debug, Default)]
struct Overlay {
    /// One past the last byte that is allocated.
    end: u64,
    /// Bytes that the leader keeps for the next commit.
    leader: Staged,
    /// Bytes of elements that this process keeps for it.
    own: Staged,
    reserved: Range<u64>,
    /// Space of elements that the last commit does not have, in order.
    recent: Vec<Range<u64>>,
}

impl Overlay {
    fn add_recent(&mut self, ranges: &[Range<u64>]) {
        self.recent.extend_from_slice(ranges);
        self.recent = joined(std::mem::take(&mut self.recent));
    }

    /// Returns what of a range is recent, and not reserved for a commit.
    fn fresh(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let first = self.recent.partition_point(|recent| recent.end <= range.start);
        let recent = self.recent[first..].iter().take_while(|recent| recent.start < range.end);
        let inside = recent.map(|recent| recent.start.max(range.start)..recent.end.min(range.end));
        inside.flat_map(|range| without(&range, &self.reserved)).collect()
    }
}

impl FollowedFile {
    pub(crate) fn new(file: Handle) -> Self {
        FollowedFile {
            file,
            overlay: RwLock::default(),
            is_in_place: AtomicBool::new(false),
            is_unsynced: Mutex::new(false),
        }
    }

    /// Takes what the leader tells.
    pub(crate) fn apply(&self, changes: &Changes) -> Result<()> {
        let mut overlay = self.overlay.write();
        if changes.is_anew {
            overlay.leader.clear();
        }
        if changes.is_committed {
            overlay.recent.clear();
        }
        overlay.add_recent(&changes.recent);
        (overlay.end, overlay.reserved) = (changes.end, changes.reserved.clone());
        changes.pieces.iter().try_for_each(|(at, bytes)| overlay.leader.put(*at, bytes))
    }

    /// Returns the end of what is allocated.
    pub(crate) fn end(&self) -> u64 {
        self.overlay.read().end
    }

    /// From now on elements are written over those of the last commit, too.
    pub(crate) fn write_in_place(&self) {
        self.is_in_place.store(true, Ordering::Relaxed);
    }

    pub(crate) fn fresh(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let overlay = self.overlay.read();
        let waits = |staged: &Staged| staged.holds_some_of(range.start, range.end);
        match self.is_in_place.load(Ordering::Relaxed) && !waits(&overlay.leader) && !waits(&overlay.own) {
            true => without(&range, &overlay.reserved),
            false => overlay.fresh(&range),
        }
    }

    pub(crate) fn write_fresh(&self, pieces: &[(u64, &[u8])]) -> io::Result<()> {
        *self.is_unsynced.lock() = true;
        pieces.iter().try_for_each(|(at, bytes)| self.file.write_at(*at, bytes))
    }

    pub(crate) fn keep(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        let mut overlay = self.overlay.write();
        pieces.iter().try_for_each(|(at, bytes)| overlay.own.put_near(*at, bytes))
    }

    pub(crate) fn kept_bytes(&self) -> u64 {
        self.overlay.read().own.bytes()
    }

    pub(crate) fn take_kept(&self) -> Vec<LeaderBytes> {
        let kept = std::mem::take(&mut self.overlay.write().own);
        kept.iter().map(|(at, bytes)| LeaderBytes { at, bytes: bytes.to_vec() }).collect()
    }

    /// Makes durable what this process wrote.
    pub(crate) fn sync_own(&self) -> io::Result<()> {
        let mut is_unsynced = self.is_unsynced.lock();
        if *is_unsynced {
            self.file.sync(Sync::Data)?;
            *is_unsynced = false;
        }
        Ok(())
    }

    /// Reads what the file has. Space that was allocated and not written yet lies beyond its end.
    fn read_stored(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self.file.read_at(offset, into) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let there = self.file.len()?.saturating_sub(offset).min(into.len() as u64) as usize;
                self.file.read_at(offset, &mut into[..there])?;
                into[there..].fill(0);
                Ok(())
            }
            done => done,
        }
    }
}

impl File for FollowedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.end())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let overlay = self.overlay.read();
        let end = offset.saturating_add(into.len() as u64);
        if end > overlay.end && !into.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.read_stored(offset, into)?;
        for staged in [&overlay.leader, &overlay.own] {
            staged.shared(offset, end).for_each(|(at, bytes)| overlay_piece((at, bytes), offset, into));
        }
        Ok(())
    }

    fn write_at(&self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    fn set_len(&self, _len: u64) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.file.sync(sync)
    }

    /// The leader has the lock.
    fn lock(&self, _lock: Lock) -> io::Result<()> {
        Ok(())
    }
}
