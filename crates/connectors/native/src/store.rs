//! The bytes of one open file: bounds, caches, and the overlay of a cache image.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use model::{Budget, Error, Limits, Result, Within};
use quick_cache::Weighter;

use vol::{Access, Durability, Locking, crew};

use crate::format::superblock::{self, Superblock};
use crate::format::{Address, Sizes};
use crate::head::Head;
use crate::kept::Kept;
use crate::pages::{Block, Pages};
use crate::space::FreshChange;
use crate::txn::{Publish, Turn, Txn, TxnParts, split_around};

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
    crew::each(pieces, |(n, piece)| file.read_at(offset + (n * PIECE_BYTES) as u64, piece))
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
        let txn = txn.read().map_err(|_| std::io::Error::other(INTERRUPTED))?;
        match read_at(&self.file, offset, into) {
            // What was allocated and not written yet lies beyond the end of the file.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let there = self.file.len()?.saturating_sub(offset).min(into.len() as u64) as usize;
                self.file.read_at(offset, &mut into[..there])?;
                into[there..].fill(0);
            }
            done => done?,
        }
        txn.overlay(offset, into);
        Ok(())
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
        let end = self.change(|txn| Ok(txn.discard()));
        self.pages.clear();
        end
    }

    fn change<T>(&self, f: impl FnOnce(&mut Txn) -> Result<T>) -> Result<T> {
        let txn = self
            .txn
            .as_ref()
            .ok_or_else(|| Error::denied("write to file").with("problem", "it is open to read"))?;
        let interrupted = |_| Error::invalid("write to file").with("problem", INTERRUPTED);
        f(&mut *txn.write().map_err(interrupted)?)
    }

    pub(crate) fn write(&self, at: Address, data: &[u8], turn: Turn) -> Result<()> {
        let done = self.change(|txn| txn.write(self.base + at.0, data, turn));
        self.pages.forget(at.0, data.len() as u64);
        done
    }

    /// Calls `f` with a way to write to ranges of `bytes` bytes where nothing committed is, from many threads at once.
    pub(crate) fn write_fresh(
        &self,
        places: &[Address],
        bytes: u64,
        f: impl FnOnce(&FreshWrite) -> Result<()>,
    ) -> Result<()> {
        let done = self.change(|txn| {
            let places = places.iter().map(|at| (self.base + at.0, bytes));
            let file = txn.open_fresh(places)?.clone();
            let write =
                FreshWrite { file, base: self.base, reserved: txn.reserved(), held: Mutex::default() };
            f(&write)?;
            let held = write.held.into_inner().unwrap_or_else(PoisonError::into_inner);
            held.iter().try_for_each(|(at, data)| txn.hold_back(*at, data))
        });
        places.iter().for_each(|at| self.pages.forget(at.0, bytes));
        done
    }

    /// Makes ranges ready for one who reads, or writes, them in the file itself: nothing of them waits in memory. `Busy` where
    /// something waits for the commit. Offsets count from the start of the file.
    pub(crate) fn lay_bare(&self, ranges: &[(u64, u64)], for_write: bool) -> Result<()> {
        match &self.txn {
            None => Ok(()),
            Some(_) => self.change(|txn| txn.lay_bare(ranges, for_write)),
        }
    }

    /// Others wrote there.
    pub(crate) fn written_by_others(&self, ranges: &[(u64, u64)]) {
        ranges.iter().for_each(|(start, len)| self.pages.forget(start.saturating_sub(self.base), *len));
    }

    /// Whether nothing that was committed is there.
    pub(crate) fn is_fresh(&self, at: Address, len: u64) -> bool {
        let fresh = |txn: &mut Txn| Ok(txn.is_fresh(self.base + at.0, len));
        self.change(fresh).unwrap_or(false)
    }

    /// Whether nothing was ever written there, so that it reads as zeros.
    pub(crate) fn is_blank(&self, at: Address) -> Result<bool> {
        self.change(|txn| txn.is_blank(self.base + at.0))
    }

    /// Makes all changes one commit.
    pub(crate) fn commit(&self, publish: &Publish<'_>, durability: Durability) -> Result<()> {
        let done = self.change(|txn| txn.commit(publish, durability));
        // A commit that fails takes some changes back.
        match &done {
            Ok(()) => self.pages.forget(0, publish.superblock.len() as u64),
            Err(_) => self.pages.clear(),
        }
        done
    }

    /// What may be used from a commit on.
    pub(crate) fn add_fresh(&self, free: impl Iterator<Item = (u64, u64)>) -> Result<()> {
        self.change(|txn| {
            free.for_each(|(start, len)| txn.add_fresh(self.base + start, self.base + start + len));
            Ok(())
        })
    }

    /// The same after a commit, for what it changed.
    pub(crate) fn change_fresh(&self, change: &FreshChange) -> Result<()> {
        self.change(|txn| {
            let range = |&(start, len): &(u64, u64)| (self.base + start, self.base + start + len);
            change.lost.iter().map(range).for_each(|(start, end)| txn.remove_fresh(start, end));
            change.gained.iter().map(range).for_each(|(start, end)| txn.add_fresh(start, end));
            Ok(())
        })
    }

    /// Makes the last commit as durable as is asked.
    pub(crate) fn confirm(&self, durability: Durability) -> Result<()> {
        self.change(|txn| txn.confirm(durability))
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
        let pages = Pages::new(cache_bytes / 4);
        if base == 0 && !writable && !live {
            head.bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
            pages.put_first(head.bytes);
        }
        Store {
            shared: Arc::new(Shared { file, base, end: AtomicU64::new(end), txn, live, pages }),
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
