//! The bytes of a file, as its readers and its writer share them: what the file holds, and what waits for a commit.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use algorithms::thread_pool;
use files::{PageBuffer, PageKind};
use model::{Error, Result};
use system::sync::{Condvar, Mutex, RwLock, RwLockWriteGuard};
use vol::{Access, Durability, Locking};

use super::fresh::FreshWrite;
use super::{Commit, INTERRUPTED};
use crate::format::Address;
use crate::format::superblock::{self, Superblock};
use crate::pages::Pages;
use crate::txn::{Failure, LARGE_BYTES, Publish, PublishOrder, StagedRanges, Txn, overlay};

/// The bytes of a file, which its readers and its writer share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) file: files::Handle,
    /// The page buffer that `file` is, if it has one.
    pub(super) page_buffer: Option<Arc<PageBuffer>>,
    /// Where the superblock was found: all addresses count from here.
    pub(super) base: u64,
    /// One past the last offset of the member with the superblock. A file of one range has no other.
    pub(super) first_end: u64,
    /// Addresses of each member, where there are several.
    pub(super) ranges: Vec<Range<u64>>,
    /// First address that is not allocated.
    pub(super) end: AtomicU64,
    /// Changes that wait for a commit, where the file is open for writing.
    pub(super) txn: Option<RwLock<Txn>>,
    /// Held to ask whether a commit is under way.
    pub(super) committing: Mutex<()>,
    pub(super) committed: Condvar,
    /// Number of the last commit that is in the file.
    pub(super) finished: AtomicU64,
    /// Another program writes meanwhile.
    pub(super) live: bool,
    /// Small blocks of metadata, as a reader sees them now.
    pub(super) pages: Pages,
}

/// More bytes than this are read by several cores, each a piece of this size. Writing gains nothing from it: the kernel
/// hands out pages of a file one by one.
const PIECE_BYTES: usize = 2 << 20;

/// Reads on all cores what is worth it: one core copies slower than memory gives.
fn read_at(file: &files::Handle, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
    // A remote file has its own way to fetch much at once.
    if into.len() <= 2 * PIECE_BYTES || file.is_serial() || file.is_remote() {
        return file.read_at(offset, into);
    }
    let pieces = into.chunks_mut(PIECE_BYTES).enumerate().collect();
    thread_pool::each(pieces, |(n, piece)| file.read_at(offset + (n * PIECE_BYTES) as u64, piece))
}

/// Bytes by their offset in the file.
pub(crate) type StagedPieces = Vec<(u64, Vec<u8>)>;

impl Shared {
    pub(crate) fn is_serial(&self) -> bool {
        self.file.is_serial()
    }

    /// Returns whether it pays to say what will be read next.
    pub(crate) fn is_remote(&self) -> bool {
        self.file.is_remote()
    }

    /// Returns the requests to the server that stores the file.
    pub(crate) fn request_counts(&self) -> Option<files::RequestCounts> {
        self.file.request_counts()
    }

    /// Starts to fetch ranges of addresses that will be read soon.
    pub(crate) fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let place = |at: u64| self.base.saturating_add(at);
        let ranges: Vec<_> = ranges.iter().map(|range| place(range.start)..place(range.end)).collect();
        self.file.prefetch(&ranges).map_err(|e| Error::io("fetch elements", &e))
    }

    /// Returns whether nobody else sees the file before it is published.
    pub(crate) fn is_private(&self) -> bool {
        self.file.is_private()
    }

    /// Lets others see the last commit, where they do not see the file itself.
    pub(crate) fn publish(&self) -> Result<()> {
        self.file.publish().map_err(|e| Error::io("publish file", &e))
    }

    pub(crate) fn page_buffer(&self) -> Option<&PageBuffer> {
        self.page_buffer.as_deref()
    }

    /// Reads from the file, through its page buffer if it has one.
    fn read_file(&self, kind: PageKind, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        match &self.page_buffer {
            Some(buffer) if buffer.read(kind, offset, into)? => Ok(()),
            _ => read_at(&self.file, offset, into),
        }
    }

    pub(crate) fn read(&self, kind: PageKind, at: Address, into: &mut [u8]) -> std::io::Result<()> {
        let offset = self.base.saturating_add(at.0);
        let Some(txn) = &self.txn else { return self.read_file(kind, offset, into) };
        // What changes from here on is not of what this reader looks at; what waits now may be in the file a moment later.
        let (waiting, content_end) = {
            let txn = txn.read_unpoisoned().ok_or_else(|| std::io::Error::other(INTERRUPTED))?;
            (txn.waiting(offset, offset.saturating_add(into.len() as u64)), txn.content_end())
        };
        let content_end = content_end.filter(|_| offset < self.first_end);
        self.read_content(kind, offset, into, content_end.unwrap_or(u64::MAX))?;
        overlay(&self.file, &waiting, offset, into)
    }

    /// Reads what the file holds. What was allocated and not written yet lies beyond its end, or in the place of a record.
    fn read_content(
        &self,
        kind: PageKind,
        offset: u64,
        into: &mut [u8],
        content_end: u64,
    ) -> std::io::Result<()> {
        let inside = content_end.saturating_sub(offset).min(into.len() as u64) as usize;
        let (content, rest) = into.split_at_mut(inside);
        rest.fill(0);
        match self.read_file(kind, offset, content) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let there = self.file.bytes_end(offset)?.saturating_sub(offset).min(inside as u64) as usize;
                self.file.read_at(offset, &mut content[..there])?;
                content[there..].fill(0);
                Ok(())
            }
            done => done,
        }
    }

    /// Lets others write.
    pub(crate) fn unlock(&self) -> Result<()> {
        match self.file.lock(files::Lock::Unlock) {
            Err(e) if e.kind() != std::io::ErrorKind::Unsupported => Err(Error::io("unlock file", &e)),
            _ => Ok(()),
        }
    }

    /// Lets others read, if there is a lock at all.
    pub(crate) fn let_read(&self, path: &str, locking: Locking) -> Result<()> {
        crate::lock::take(&self.file, path, Access::Read, locking).map(drop)
    }

    /// Returns the bytes of the file as the last commit left it, as those of a file that no one has open.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        let failed = |e: std::io::Error| Error::io("read image of file", &e);
        let mut superblock = self.stored_superblock()?;
        if self.members().is_some() {
            return Err(Error::unsupported("read image of file").with("problem", "it has several members"));
        }
        let end = superblock.end.wrapping_sub(superblock.base.wrapping_sub(self.base));
        let len = self.file.len().map_err(failed)?.min(end);
        let mut image = Vec::new();
        let len = usize::try_from(len).map_err(|_| Error::limit("read image of file").with("bytes", len))?;
        let full = |_| Error::limit("read image of file").with("bytes", len);
        image.try_reserve_exact(len).map_err(full)?;
        image.resize(len, 0);
        self.file.read_at(0, &mut image).map_err(failed)?;
        superblock.flags = 0;
        let superblock = superblock.encode()?;
        let at = self.base as usize;
        if let Some(head) = image.get_mut(at..at + superblock.len()) {
            head.copy_from_slice(&superblock);
        }
        Ok(image)
    }

    /// Returns the superblock as it stands in the file, without changes that wait.
    pub(crate) fn stored_superblock(&self) -> Result<Superblock> {
        let mut bytes = vec![0; superblock::BYTES_MAX];
        let len = self.file.len().map_err(|e| Error::io("get size of file", &e))?.saturating_sub(self.base);
        bytes.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        self.file.read_at(self.base, &mut bytes).map_err(|e| Error::io("read superblock", &e))?;
        Superblock::decode(&bytes)
    }

    /// Forgets all changes that wait; the end of the last commit.
    pub(crate) fn discard(&self) -> Result<u64> {
        let end = self.txn_alone()?.discard();
        self.pages.clear();
        Ok(end)
    }

    fn txn(&self) -> Result<RwLockWriteGuard<'_, Txn>> {
        let refused = || Error::denied("write to file").with("problem", "it is open to read");
        let interrupted = || Error::invalid("write to file").with("problem", INTERRUPTED);
        self.txn.as_ref().ok_or_else(refused)?.write_unpoisoned().ok_or_else(interrupted)
    }

    fn change<T>(&self, f: impl FnOnce(&mut Txn) -> Result<T>) -> Result<T> {
        f(&mut *self.txn()?)
    }

    /// Returns the transaction, when no commit is under way for which `must_wait` says so.
    fn txn_when(&self, must_wait: impl Fn(&Txn) -> bool) -> Result<RwLockWriteGuard<'_, Txn>> {
        loop {
            let txn = self.txn()?;
            if !must_wait(&txn) {
                return Ok(txn);
            }
            drop(txn);
            let waiting = self.committing.lock();
            if self.txn()?.is_committing() {
                drop(self.committed.wait(waiting));
            }
        }
    }

    /// Returns the transaction, when no commit is in progress.
    fn txn_alone(&self) -> Result<RwLockWriteGuard<'_, Txn>> {
        self.txn_when(Txn::is_committing)
    }

    /// Writes bytes at the next commit, those that others point to before or after them.
    ///
    /// Returns how many bytes of elements and headers wait in memory, at most.
    pub(crate) fn stage(&self, at: Address, data: &[u8], turn: PublishOrder) -> Result<u64> {
        let (offset, len) = (self.base + at.0, data.len() as u64);
        let done = self.txn_when(|txn| txn.must_wait(offset, len, false))?.stage(offset, data, turn);
        self.pages.forget(at.0, len);
        done
    }

    /// Returns the number of bytes that [`Shared::spill`] would write.
    pub(crate) fn spill_bytes(&self) -> Result<u64> {
        self.change(|txn| Ok(txn.spill_bytes()))
    }

    /// Writes staged bytes to fresh space, which has as many: there they wait for the commit.
    pub(crate) fn spill(&self, at: Address, bytes: u64) -> Result<()> {
        let offset = self.base + at.0;
        let fresh = || std::iter::once((offset, bytes));
        let spill = self.txn_when(|txn| !txn.may_write(fresh()))?.begin_spill(offset)?;
        // A caller that spills has the writer: nothing is staged meanwhile, and no commit begins.
        let extent = spill.write()?;
        self.change(|txn| {
            txn.end_spill(spill, extent);
            Ok(())
        })
    }

    /// Writes bytes where nothing committed is.
    pub(crate) fn write(&self, at: Address, data: &[u8]) -> Result<()> {
        let (offset, len) = (self.base + at.0, data.len() as u64);
        if data.len() >= LARGE_BYTES && !self.txn()?.is_held() {
            return self.write_fresh(&[at], len, |write| write.put(at, data));
        }
        let done = self.txn_when(|txn| txn.must_wait(offset, len, true))?.write(offset, data);
        self.pages.forget(at.0, len);
        done
    }

    /// Writes bytes over committed ones now, and over those that wait for a commit.
    pub(crate) fn overwrite(&self, at: Address, data: &[u8]) -> Result<()> {
        let (offset, len) = (self.base + at.0, data.len() as u64);
        let end = offset.saturating_add(len);
        // A caller that writes has the writer, so that no commit begins before the bytes are in the file.
        let file = {
            let mut txn =
                self.txn_when(|txn| txn.must_wait(offset, len, false) || txn.commits(offset, end))?;
            txn.open_committed(offset, end)?.clone()
        };
        let done = file.write_at(offset, data).map_err(|e| Error::io("write to file", &e));
        self.pages.forget(at.0, len);
        done
    }

    /// Calls `f` with a way to write to ranges of `bytes` bytes where nothing committed is, from many threads at once.
    pub(crate) fn write_fresh(
        &self,
        places: &[Address],
        bytes: u64,
        f: impl FnOnce(&FreshWrite) -> Result<()>,
    ) -> Result<()> {
        let write = {
            let ranges = || places.iter().map(|at| (self.base + at.0, bytes));
            let mut txn = self.txn_when(|txn| !txn.may_write(ranges()))?;
            let file = txn.open_fresh(ranges())?.clone();
            FreshWrite { file, base: self.base, reserved: txn.reserved(), held: Mutex::default() }
        };
        let done = f(&write).and_then(|()| {
            let held = write.held.into_inner();
            self.change(|txn| held.iter().try_for_each(|(at, data)| txn.hold_back(*at, data)))
        });
        places.iter().for_each(|at| self.pages.forget(at.0, bytes));
        done
    }

    /// Makes ranges ready for a caller that reads or writes them in the file itself: nothing of them waits in memory. `Busy` where
    /// something waits for the commit. Offsets count from the start of the file.
    pub(crate) fn ensure_in_file(&self, ranges: &[(u64, u64)], for_write: bool) -> Result<()> {
        match &self.txn {
            None => Ok(()),
            Some(_) => self.txn_alone()?.ensure_in_file(ranges, for_write),
        }
    }

    /// Writes bytes over committed ones now. Unlike those of [`Shared::overwrite`] they are in the file only: processes that
    /// follow this one are not told. `Busy` where something waits for the commit.
    pub(crate) fn write_bare(&self, at: Address, data: &[u8]) -> Result<()> {
        let offset = self.base + at.0;
        self.ensure_in_file(&[(offset, data.len() as u64)], true)?;
        let done = self.file.write_at(offset, data).map_err(|e| Error::io("write to file", &e));
        self.pages.forget(at.0, data.len() as u64);
        done
    }

    /// From now on processes that follow this one are told what changes.
    pub(crate) fn begin_following(&self) -> Result<()> {
        self.change(|txn| {
            txn.begin_following();
            Ok(())
        })
    }

    /// Returns the ranges that followers do not find in the file, and were not told of before. From now on followers may
    /// write up to `written_end`.
    pub(crate) fn take_staged_ranges(&self, written_end: u64) -> Result<StagedRanges> {
        self.txn_alone()?.take_staged_ranges(written_end)
    }

    /// Followers may write up to `written_end` from now on, and find nothing else changed in the file until
    /// [`Shared::take_staged_ranges`].
    pub(crate) fn hold(&self, written_end: u64) -> Result<()> {
        self.txn_alone()?.hold(written_end)
    }

    /// Returns the bytes of ranges as readers of this process see them, by their offset in the file.
    pub(crate) fn pieces(&self, ranges: &[Range<u64>]) -> Result<StagedPieces> {
        let piece = |range: &Range<u64>| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            let at = Address(range.start.saturating_sub(self.base));
            let read = self.read(PageKind::Metadata, at, &mut bytes);
            read.map_err(|e| Error::io("read changes", &e).at(at.0))?;
            Ok((range.start, bytes))
        };
        ranges.iter().map(piece).collect()
    }

    /// Returns bytes that only a commit writes; nothing where the file is open to read.
    pub(crate) fn reserved(&self) -> Range<u64> {
        let txn = self.txn.as_ref().and_then(RwLock::read_unpoisoned);
        txn.map_or(0..0, |txn| txn.reserved())
    }

    /// Forgets small blocks that were read.
    pub(crate) fn forget_pages(&self) {
        self.pages.clear();
    }

    /// Others wrote there.
    pub(crate) fn written_by_others(&self, ranges: &[(u64, u64)]) {
        ranges.iter().for_each(|(start, len)| self.pages.forget(start.saturating_sub(self.base), *len));
    }

    /// Returns whether nothing was ever written there, so that it reads as zeros.
    pub(crate) fn is_empty_group(&self, at: Address) -> Result<bool> {
        self.change(|txn| txn.is_empty_group(self.base + at.0))
    }

    /// Takes all changes for the commit of this number, when the one before it is done.
    pub(crate) fn seal(
        self: &Arc<Self>,
        publish: &Publish<'_>,
        durability: Durability,
        number: u64,
    ) -> Result<Commit> {
        let sealed = self.txn_alone()?.seal(publish, durability);
        match sealed {
            Ok(sealed) => Ok(Commit { store: self.clone(), sealed, number, is_finished: false }),
            Err(error) => {
                // Some changes were taken back.
                self.pages.clear();
                Err(error)
            }
        }
    }

    pub(super) fn finish(&self, number: u64, done: std::result::Result<bool, &Failure>) {
        if let Ok(mut txn) = self.txn() {
            txn.finish(done);
        }
        match done {
            Ok(_) => drop(self.finished.fetch_max(number, Ordering::AcqRel)),
            Err(_) => self.pages.clear(),
        }
        drop(self.committing.lock());
        self.committed.notify_all();
    }

    /// Returns the number of the last commit that is in the file.
    pub(crate) fn finished(&self) -> u64 {
        self.finished.load(Ordering::Acquire)
    }

    /// Makes the last commit as durable as is asked.
    pub(crate) fn confirm(&self, durability: Durability) -> Result<()> {
        self.txn_alone()?.confirm(durability)
    }

    /// Returns the addresses among which one lies: all of the file, or those of a member.
    pub(super) fn range_of(&self, at: Address) -> Range<u64> {
        if self.ranges.is_empty() {
            return 0..self.end();
        }
        self.ranges.iter().find(|range| range.contains(&at.0)).cloned().unwrap_or(at.0..at.0)
    }

    /// Returns the members of a file that has several.
    pub(crate) fn members(&self) -> Option<files::MemberRanges> {
        self.file.members()
    }

    /// Says how many bytes of each member are allocated; what the file must say of it from the next commit on.
    pub(crate) fn set_allocated(&self, allocated: &[u64]) -> Result<Option<files::DriverBlock>> {
        self.file.set_allocated(allocated).map_err(|e| Error::io("extend members of file", &e))?;
        Ok(self.file.driver_block())
    }

    /// Tells the driver what space is for.
    pub(crate) fn note_allocated(&self, kind: files::DataKind, at: Address, len: u64) {
        self.file.note_allocated(kind, self.base.saturating_add(at.0), len);
    }

    /// Tells the driver that space is free again.
    pub(crate) fn note_freed(&self, at: Address, len: u64) {
        self.file.note_freed(self.base.saturating_add(at.0), len);
    }

    /// Cuts off what members have past their allocated bytes.
    pub(crate) fn trim(&self) -> Result<()> {
        self.file.trim().map_err(|e| Error::io("shorten members of file", &e))
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn set_end(&self, end: u64) {
        let before = self.end.swap(end, Ordering::AcqRel);
        if end < before {
            // Something else is there when the file grows again.
            self.pages.forget(end, before - end);
        }
    }

    /// Returns the end of the addresses. A file that another program writes has grown as far as it is long.
    pub(super) fn end(&self) -> u64 {
        let end = self.end.load(Ordering::Acquire);
        if !self.live {
            return end;
        }
        self.file.len().map_or(end, |len| len.saturating_sub(self.base).max(end))
    }
}
