//! The file as a follower sees it: what is stored, under what the leader and this process buffer for the next commit.

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
    /// Bytes that the leader buffers for the next commit.
    leader: Staged,
    /// Headers of new objects, to which no link of the file leads yet.
    new: Staged,
    /// The file with links to them, as this process made it for itself, and its end.
    linked: Option<(Staged, u64)>,
    /// Bytes of elements that this process buffers for the next commit.
    own: Staged,
    reserved: Range<u64>,
    /// Space of elements that the last commit does not have, in order.
    recent: Vec<Range<u64>>,
}

impl Overlay {
    fn add_recent(&mut self, ranges: &[Range<u64>]) {
        let last = self.recent.last().map_or(0, |last| last.start);
        let follows = ranges.is_sorted_by_key(|range| range.start)
            && ranges.first().is_none_or(|first| first.start >= last);
        // As a rule space is allocated in the order of the file.
        let first = if follows { self.recent.len().saturating_sub(1) } else { 0 };
        let mut ends = self.recent.split_off(first);
        ends.extend_from_slice(ranges);
        self.recent.append(&mut joined(ends));
    }

    /// Returns what lies over the file, what counts last at the end.
    fn layers(&self) -> impl Iterator<Item = &Staged> {
        let linked = self.linked.iter().map(|(linked, _)| linked);
        [&self.leader, &self.new].into_iter().chain(linked).chain([&self.own])
    }

    fn end(&self) -> u64 {
        self.linked.as_ref().map_or(self.end, |(_, end)| *end)
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
        // The leader has all of it in the file, or says it here.
        overlay.new.clear();
        overlay.linked = None;
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

    /// Takes what the leader tells of a new object. Returns whether links that this process created are gone with that.
    pub(crate) fn apply_new(&self, changes: &Changes) -> Result<bool> {
        let mut overlay = self.overlay.write();
        let was_linked = overlay.linked.take().is_some();
        overlay.add_recent(&changes.recent);
        overlay.end = changes.end;
        changes.pieces.iter().try_for_each(|(at, bytes)| overlay.new.put(*at, bytes))?;
        Ok(was_linked)
    }

    /// Takes the file with links to all new objects: what was written past the file, and what a commit would bring.
    pub(crate) fn set_linked(&self, mut written: Staged, changes: &Changes) -> Result<()> {
        changes.pieces.iter().try_for_each(|(at, bytes)| written.put(*at, bytes))?;
        self.overlay.write().linked = Some((written, changes.end));
        Ok(())
    }

    /// Returns whether this process has created links to all new objects.
    pub(crate) fn is_linked(&self) -> bool {
        self.overlay.read().linked.is_some()
    }

    /// Returns the end of what is allocated.
    pub(crate) fn end(&self) -> u64 {
        self.overlay.read().end()
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

    pub(crate) fn buffer(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        let mut overlay = self.overlay.write();
        pieces.iter().try_for_each(|(at, bytes)| overlay.own.put_near(*at, bytes))
    }

    pub(crate) fn buffered_bytes(&self) -> u64 {
        self.overlay.read().own.bytes()
    }

    pub(crate) fn take_buffered(&self) -> Vec<LeaderBytes> {
        let buffered = std::mem::take(&mut self.overlay.write().own);
        buffered.iter().map(|(at, bytes)| LeaderBytes { at, bytes: bytes.to_vec() }).collect()
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
        if end > overlay.end() && !into.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.read_stored(offset, into)?;
        for staged in overlay.layers() {
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
