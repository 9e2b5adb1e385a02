//! The bytes of one open file: bounds, caches, and the overlay of a cache image.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockWriteGuard};

use algorithms::thread_pool;
use model::{Budget, Error, Limits, Result, Within};
use quick_cache::Weighter;
use vol::{Access, Durability, Locking};

use crate::format::superblock::{self, Superblock};
use crate::format::{Address, Sizes};
use crate::head::Head;
use crate::kept::Kept;
use crate::pages::{Block, Pages};
use crate::txn::{Failure, LARGE_BYTES, Publish, Sealed, Turn, Txn, TxnParts, overlay, split_around};

/// Said when a lock is poisoned.
pub(crate) const INTERRUPTED: &str = "a panic interrupted a change; open the file again";

/// Counts the bytes of what a cache holds.
#[derive(Debug, Clone)]
pub(crate) struct ByBytes;

impl<K> Weighter<K, Arc<Vec<u8>>> for ByBytes {
    fn weight(&self, _key: &K, value: &Arc<Vec<u8>>) -> u64 {
        value.len() as u64 + 64
    }
}

/// The bytes of a file, which its readers and its writer share.
#[derive(Debug)]
pub(crate) struct Shared {
    file: files::Handle,
    /// Where the superblock was found: all addresses count from here.
    base: u64,
    /// First address that is not allocated.
    end: AtomicU64,
    /// Changes that wait for a commit, where the file is open for writing.
    txn: Option<RwLock<Txn>>,
    /// Who waits for the commit that is under way holds the lock to ask whether it is.
    committing: Mutex<()>,
    committed: Condvar,
    /// Number of the last commit that is in the file.
    finished: AtomicU64,
    /// Another program writes meanwhile.
    live: bool,
    /// Small blocks of metadata, as a reader sees them now.
    pages: Pages,
}

/// More bytes than this are read by several cores, each a piece of this size. Writing gains nothing from it: the kernel
/// hands out pages of a file one by one.
const PIECE_BYTES: usize = 2 << 20;

/// Reads on all cores what is worth it: one core copies slower than memory gives.
fn read_at(file: &files::Handle, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
    if into.len() <= 2 * PIECE_BYTES {
        return file.read_at(offset, into);
    }
    let pieces = into.chunks_mut(PIECE_BYTES).enumerate().collect();
    thread_pool::each(pieces, |(n, piece)| file.read_at(offset + (n * PIECE_BYTES) as u64, piece))
}

/// Writes where nothing committed is.
pub(crate) struct FreshWrite {
    file: files::Handle,
    base: u64,
    /// Bytes that only a commit writes, and what is held back for it.
    reserved: Range<u64>,
    held: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl FreshWrite {
    pub(crate) fn put(&self, at: Address, data: &[u8]) -> Result<()> {
        let at = self.base + at.0;
        let (before, held, after) = split_around(&self.reserved, at, data);
        let held_at = at + before.len() as u64;
        if !held.is_empty() {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).push((held_at, held.to_vec()));
        }
        let pieces = [(at, before), (held_at + held.len() as u64, after)];
        pieces.into_iter().filter(|(_, data)| !data.is_empty()).try_for_each(|(at, data)| {
            self.file.write_at(at, data).map_err(|e| Error::io("write to file", &e))
        })
    }
}

impl Shared {
    pub(crate) fn read(&self, at: Address, into: &mut [u8]) -> std::io::Result<()> {
        let offset = self.base.saturating_add(at.0);
        let Some(txn) = &self.txn else { return read_at(&self.file, offset, into) };
        // What changes from here on is not of what this reader looks at; what waits now may be in the file a moment later.
        let (waiting, content_end) = {
            let txn = txn.read().map_err(|_| std::io::Error::other(INTERRUPTED))?;
            (txn.waiting(offset, offset.saturating_add(into.len() as u64)), txn.content_end())
        };
        self.read_content(offset, into, content_end.unwrap_or(u64::MAX))?;
        overlay(&self.file, &waiting, offset, into)
    }

    /// Reads what the file holds. What was allocated and not written yet lies beyond its end, or in the place of a record.
    fn read_content(&self, offset: u64, into: &mut [u8], content_end: u64) -> std::io::Result<()> {
        let inside = content_end.saturating_sub(offset).min(into.len() as u64) as usize;
        let (content, blank) = into.split_at_mut(inside);
        blank.fill(0);
        match read_at(&self.file, offset, content) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let there = self.file.len()?.saturating_sub(offset).min(inside as u64) as usize;
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

    /// The bytes of the file as the last commit left it, as those of a file that nobody has open.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        let failed = |e: std::io::Error| Error::io("read image of file", &e);
        let mut superblock = self.stored_superblock()?;
        if !self.file.is_one_range() {
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

    /// The superblock as it stands in the file, without changes that wait.
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
        let interrupted = |_| Error::invalid("write to file").with("problem", INTERRUPTED);
        self.txn.as_ref().ok_or_else(refused)?.write().map_err(interrupted)
    }

    fn change<T>(&self, f: impl FnOnce(&mut Txn) -> Result<T>) -> Result<T> {
        f(&mut *self.txn()?)
    }

    /// The transaction, when no commit is under way for which `must_wait` says so.
    fn txn_when(&self, must_wait: impl Fn(&Txn) -> bool) -> Result<RwLockWriteGuard<'_, Txn>> {
        loop {
            let txn = self.txn()?;
            if !must_wait(&txn) {
                return Ok(txn);
            }
            drop(txn);
            let waiting = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
            if self.txn()?.is_committing() {
                drop(self.committed.wait(waiting).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// The same when no commit is under way at all.
    fn txn_alone(&self) -> Result<RwLockWriteGuard<'_, Txn>> {
        self.txn_when(Txn::is_committing)
    }

    /// Writes bytes at the next commit, those that others point to before or after them.
    ///
    /// Returns how many bytes of elements and headers wait in memory, at most.
    pub(crate) fn stage(&self, at: Address, data: &[u8], turn: Turn) -> Result<u64> {
        let (offset, len) = (self.base + at.0, data.len() as u64);
        let done = self.txn_when(|txn| txn.must_wait(offset, len, false))?.stage(offset, data, turn);
        self.pages.forget(at.0, len);
        done
    }

    /// Bytes that [`Shared::spill`] would write.
    pub(crate) fn spill_bytes(&self) -> Result<u64> {
        self.change(|txn| Ok(txn.spill_bytes()))
    }

    /// Writes staged bytes to fresh space, which has as many: there they wait for the commit.
    pub(crate) fn spill(&self, at: Address, bytes: u64) -> Result<()> {
        let offset = self.base + at.0;
        self.txn_when(|txn| !txn.may_write(std::iter::once((offset, bytes))))?.spill(offset)
    }

    /// Writes bytes where nothing committed is.
    pub(crate) fn write(&self, at: Address, data: &[u8]) -> Result<()> {
        let (offset, len) = (self.base + at.0, data.len() as u64);
        if data.len() >= LARGE_BYTES {
            return self.write_fresh(&[at], len, |write| write.put(at, data));
        }
        let done = self.txn_when(|txn| txn.must_wait(offset, len, true))?.write(offset, data);
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
            let held = write.held.into_inner().unwrap_or_else(PoisonError::into_inner);
            self.change(|txn| held.iter().try_for_each(|(at, data)| txn.hold_back(*at, data)))
        });
        places.iter().for_each(|at| self.pages.forget(at.0, bytes));
        done
    }

    /// Makes ranges ready for one who reads, or writes, them in the file itself: nothing of them waits in memory. `Busy` where
    /// something waits for the commit. Offsets count from the start of the file.
    pub(crate) fn lay_bare(&self, ranges: &[(u64, u64)], for_write: bool) -> Result<()> {
        match &self.txn {
            None => Ok(()),
            Some(_) => self.txn_alone()?.lay_bare(ranges, for_write),
        }
    }

    /// Others wrote there.
    pub(crate) fn written_by_others(&self, ranges: &[(u64, u64)]) {
        ranges.iter().for_each(|(start, len)| self.pages.forget(start.saturating_sub(self.base), *len));
    }

    /// Whether nothing was ever written there, so that it reads as zeros.
    pub(crate) fn is_blank(&self, at: Address) -> Result<bool> {
        self.change(|txn| txn.is_blank(self.base + at.0))
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

    fn finish(&self, number: u64, done: std::result::Result<bool, &Failure>) {
        if let Ok(mut txn) = self.txn() {
            txn.finish(done);
        }
        match done {
            Ok(_) => drop(self.finished.fetch_max(number, Ordering::AcqRel)),
            Err(_) => self.pages.clear(),
        }
        drop(self.committing.lock().unwrap_or_else(PoisonError::into_inner));
        self.committed.notify_all();
    }

    /// Number of the last commit that is in the file.
    pub(crate) fn finished(&self) -> u64 {
        self.finished.load(Ordering::Acquire)
    }

    /// Makes the last commit as durable as is asked.
    pub(crate) fn confirm(&self, durability: Durability) -> Result<()> {
        self.txn_alone()?.confirm(durability)
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn set_end(&self, end: u64) {
        self.end.store(end, Ordering::Release);
    }

    /// A file that another program writes has grown as far as it is long.
    fn end(&self) -> u64 {
        let end = self.end.load(Ordering::Acquire);
        if !self.live {
            return end;
        }
        self.file.len().map_or(end, |len| len.saturating_sub(self.base).max(end))
    }
}

/// A commit that is under way. Changes that come meanwhile are of the next one.
#[derive(Debug)]
#[must_use]
pub(crate) struct Commit {
    store: Arc<Shared>,
    sealed: Arc<Sealed>,
    number: u64,
    is_finished: bool,
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
    /// Nobody brought it into the file, or it panicked half-way.
    fn drop(&mut self) {
        if !self.is_finished {
            let error = Error::invalid("commit").with("problem", INTERRUPTED);
            self.store.finish(self.number, Err(&Failure::last(error)));
        }
    }
}

/// One open file.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) shared: Arc<Shared>,
    pub(crate) superblock: Superblock,
    pub(crate) limits: Limits,
    /// What memory for the file's content is charged to.
    pub(crate) budget: Budget,
    overlay: BTreeMap<u64, Arc<Vec<u8>>>,
    /// Larger blocks of metadata as they are in the file.
    blocks: Kept<(Address, u64), Arc<Vec<u8>>, ByBytes>,
    /// Bytes of the file when it was opened.
    opened_bytes: u64,
    /// Heap blocks that were unfiltered and verified.
    verified: Kept<Address, Arc<Vec<u8>>, ByBytes>,
}

/// What a store is made of.
#[derive(Debug)]
pub(crate) struct StoreParts {
    pub(crate) file: files::Handle,
    pub(crate) superblock: Superblock,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    pub(crate) base: u64,
    pub(crate) end: u64,
    pub(crate) head: Head,
    pub(crate) writable: bool,
    /// Another program writes meanwhile.
    pub(crate) live: bool,
    /// Bytes of raw metadata that may be kept.
    pub(crate) cache_bytes: u64,
    /// No lock keeps other writers out.
    pub(crate) is_unlocked: bool,
}

impl Store {
    pub(crate) fn new(parts: StoreParts) -> Self {
        let StoreParts {
            file,
            superblock,
            limits,
            budget,
            base,
            end,
            mut head,
            writable,
            live,
            cache_bytes,
            is_unlocked,
        } = parts;
        let txn = writable.then(|| {
            RwLock::new(Txn::new(TxnParts {
                file: file.clone(),
                end: base + end,
                superblock_at: base,
                superblock_bytes: superblock.encode().map_or(0, |bytes| bytes.len()),
                is_unlocked,
                redo_bytes_max: limits.redo_bytes_max,
            }))
        });
        let pages = Pages::new(cache_bytes / 4, writable);
        if base == 0 && !writable && !live {
            head.bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
            pages.put_first(head.bytes);
        }
        Store {
            shared: Arc::new(Shared {
                file,
                base,
                end: AtomicU64::new(end),
                txn,
                committing: Mutex::default(),
                committed: Condvar::new(),
                finished: AtomicU64::new(0),
                live,
                pages,
            }),
            superblock,
            limits,
            budget,
            overlay: BTreeMap::new(),
            blocks: Kept::new(cache_bytes / 4, ByBytes),
            opened_bytes: head.len,
            verified: Kept::new(cache_bytes / 2, ByBytes),
        }
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.superblock.sizes
    }

    /// The first address that is not allocated.
    pub(crate) fn end(&self) -> u64 {
        self.shared.end()
    }

    /// Whether bytes may change under a cache.
    pub(crate) fn may_change(&self) -> bool {
        self.shared.txn.is_some() || self.shared.live
    }

    /// Whether it is open for writing.
    pub(crate) fn is_writable(&self) -> bool {
        self.shared.txn.is_some()
    }

    /// Whether another program writes meanwhile.
    pub(crate) fn is_live(&self) -> bool {
        self.shared.live
    }

    /// The place of an address in the file itself.
    pub(crate) fn absolute(&self, address: Address) -> u64 {
        self.shared.base.saturating_add(address.0)
    }

    pub(crate) fn user_block_bytes(&self) -> u64 {
        self.shared.base
    }

    /// Bytes of the whole file.
    pub(crate) fn file_bytes(&self) -> Result<u64> {
        if !self.may_change() {
            return Ok(self.opened_bytes);
        }
        self.shared.file.len().map_err(|e| Error::io("get size of file", &e))
    }

    /// Whether some bytes stand in for what is in the file.
    pub(crate) fn has_overlay(&self) -> bool {
        !self.overlay.is_empty()
    }

    /// From now on these bytes stand in for what is in the file.
    pub(crate) fn set_overlay(&mut self, entries: Vec<(Address, Vec<u8>)>) {
        self.overlay = entries.into_iter().map(|(at, bytes)| (at.0, bytes.into())).collect();
        self.blocks.clear();
        self.shared.pages.clear();
    }

    fn check(&self, at: Address, len: u64, what: &str) -> Result<()> {
        match at.0.checked_add(len) {
            Some(end) if end <= self.end() => Ok(()),
            _ => {
                let error = Error::corrupt(format!("read {what}")).at(at.0).with("bytes", len);
                Err(error.with("problem", format!("past the end of the file, {:#x}", self.end())))
            }
        }
    }

    /// Metadata, through the cache.
    pub(crate) fn block(&self, at: Address, len: u64, what: &str) -> Result<Block> {
        if let Some(block) = self.paged(at, len) {
            return Ok(block);
        }
        if self.may_change() {
            return self.own_block(at, len, what).map(Block::from);
        }
        if let Some(block) = self.blocks.get(&(at, len)) {
            return Ok(block.into());
        }
        let block = self.own_block(at, len, what)?;
        self.blocks.insert((at, len), block.clone());
        Ok(block.into())
    }

    fn own_block(&self, at: Address, len: u64, what: &str) -> Result<Arc<Vec<u8>>> {
        self.bytes(at, len, what).map(Arc::from)
    }

    /// Metadata that is not kept here.
    pub(crate) fn bytes(&self, at: Address, len: u64, what: &str) -> Result<Vec<u8>> {
        self.check(at, len, what)?;
        self.read_vec(at, len.within(self.limits.metadata_bytes_max, what)?, what)
    }

    /// As [`Store::read`], into a buffer of its own.
    fn read_vec(&self, at: Address, len: usize, what: &str) -> Result<Vec<u8>> {
        if self.may_change() || !self.overlay.is_empty() {
            let mut bytes = vec![0; len];
            self.read(at, &mut bytes, what)?;
            return Ok(bytes);
        }
        self.check(at, len as u64, what)?;
        let read = self.shared.file.read_vec(self.absolute(at), len);
        read.map_err(|e| Error::io(format!("read {what}"), &e).at(at.0))
    }

    /// A small block. A page may fail where the block alone would not: not all of a file of several files is there.
    fn paged(&self, at: Address, len: u64) -> Option<Block> {
        if self.is_live() {
            return None;
        }
        let range = at.0..at.0.checked_add(len).filter(|&stop| stop <= self.end())?;
        let read = &mut |at, len| self.read_vec(Address(at), len, "metadata");
        self.shared.pages.block(range, self.end(), read).ok().flatten()
    }

    /// Up to `len` bytes of metadata: fewer at the end of the file.
    pub(crate) fn block_up_to(&self, at: Address, len: u64, what: &str) -> Result<Block> {
        let len = len.min(self.end().saturating_sub(at.0));
        self.block(at, len, what)
    }

    /// A block that `make` reads, undoes filters of and verifies, once while it is cached.
    pub(crate) fn verified(
        &self,
        at: Address,
        make: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Arc<Vec<u8>>> {
        if let Some(block) = self.verified.get(&at) {
            return Ok(block);
        }
        let block = Arc::new(make()?);
        if !self.may_change() {
            self.verified.insert(at, block.clone());
        }
        Ok(block)
    }

    /// A block of `len` bytes that `check` accepts, checked once while it is cached.
    pub(crate) fn verified_with(
        &self,
        at: Address,
        len: u64,
        what: &str,
        check: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<Arc<Vec<u8>>> {
        self.verified(at, || {
            let bytes = self.bytes(at, len, what)?;
            check(&bytes).map_err(|e| e.during(format!("read {what}")).at(at.0))?;
            Ok(bytes)
        })
    }

    /// Any bytes, straight into the caller's buffer.
    pub(crate) fn read(&self, at: Address, into: &mut [u8], what: &str) -> Result<()> {
        self.check(at, into.len() as u64, what)?;
        if !self.is_live() && self.shared.pages.copy(at.0, into) {
            return Ok(());
        }
        self.shared.read(at, into).map_err(|e| Error::io(format!("read {what}"), &e).at(at.0))?;
        if !self.overlay.is_empty() {
            self.apply_overlay(at, into);
        }
        Ok(())
    }

    fn apply_overlay(&self, at: Address, into: &mut [u8]) {
        let end = at.0 + into.len() as u64;
        for (&start, bytes) in self.overlay.range(..end) {
            let stop = start + bytes.len() as u64;
            if stop <= at.0 {
                continue;
            }
            let (from, to) = (start.max(at.0), stop.min(end));
            let source = &bytes[(from - start) as usize..(to - start) as usize];
            into[(from - at.0) as usize..(to - at.0) as usize].copy_from_slice(source);
        }
    }
}
