//! The bytes of one open file: bounds, caches, and the overlay of a cache image.

mod commit;
mod fresh;
mod shared;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use system::sync::{Condvar, Mutex, RwLock};

use files::PageKind;
use model::{Budget, Error, Limits, Result, Within};
use quick_cache::Weighter;

use crate::format::superblock::Superblock;
use crate::format::{Address, Sizes};
use crate::head::Head;
use crate::lazy_cache::LazyCache;
use crate::pages::{Block, PAGE_BYTES, Pages};
use crate::txn::{Txn, TxnParts};

pub(crate) use commit::Commit;
pub(crate) use shared::Shared;

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

/// One open file.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) shared: Arc<Shared>,
    pub(crate) superblock: Superblock,
    pub(crate) limits: Limits,
    /// The account of memory for the file's content.
    pub(crate) budget: Budget,
    overlay: BTreeMap<u64, Arc<Vec<u8>>>,
    /// Larger blocks of metadata as they are in the file.
    blocks: LazyCache<(Address, u64), Arc<Vec<u8>>, ByBytes>,
    /// Bytes of the file when it was opened.
    opened_bytes: u64,
    /// Heap blocks that were unfiltered and verified.
    verified: LazyCache<Address, Arc<Vec<u8>>, ByBytes>,
}

/// The parts of a new store.
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
    /// Bytes of raw metadata that may be cached.
    pub(crate) cache_bytes: u64,
    /// No lock keeps other writers out.
    pub(crate) is_unlocked: bool,
    /// `file` with a page buffer.
    pub(crate) page_buffer: Option<Arc<files::PageBuffer>>,
}

/// Returns the addresses that can be read in each member: for a writer all that may be allocated, or else those that are there.
fn member_ranges(
    file: &files::Handle,
    members: &files::MemberRanges,
    base: u64,
    writable: bool,
) -> Vec<Range<u64>> {
    let end = |range: &files::MemberRange| match writable {
        true => range.end,
        false => file.bytes_end(range.start).unwrap_or(range.start),
    };
    let range =
        |range: &files::MemberRange| range.start.saturating_sub(base)..end(range).saturating_sub(base);
    members.all().iter().map(range).collect()
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
            page_buffer,
        } = parts;
        // Whoever writes goes through it too, so that it has what the file has.
        let file = page_buffer.clone().map_or(file, |buffer| buffer as files::Handle);
        let members = file.members();
        let first_end = members.as_ref().map_or(u64::MAX, |members| members.first().end);
        let ranges = members.map_or_else(Vec::new, |members| member_ranges(&file, &members, base, writable));
        let last_end = ranges.iter().map(|range| range.end).max().filter(|_| !writable);
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
        if base == 0 && !writable && !live && page_buffer.is_none() {
            head.bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
            pages.put_first(head.bytes);
        }
        Store {
            shared: Arc::new(Shared {
                file,
                page_buffer,
                base,
                first_end,
                ranges,
                end: AtomicU64::new(last_end.unwrap_or(end)),
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
            blocks: LazyCache::new(cache_bytes / 4, ByBytes),
            opened_bytes: head.len,
            verified: LazyCache::new(cache_bytes / 2, ByBytes),
        }
    }

    /// Returns a file that is looked at before it is opened.
    pub(crate) fn of_file(file: files::Handle, base: u64, superblock: Superblock, head: Head) -> Self {
        let limits = Limits::default();
        Store::new(StoreParts {
            file,
            superblock,
            budget: Budget::new("look at file", limits.memory_bytes_max),
            limits,
            base,
            end: head.len.saturating_sub(base),
            head,
            writable: false,
            live: false,
            cache_bytes: 0,
            is_unlocked: false,
            page_buffer: None,
        })
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.superblock.sizes
    }

    /// Returns the first address that is not allocated.
    pub(crate) fn end(&self) -> u64 {
        self.shared.end()
    }

    /// Bounds the blocks that are cached.
    pub(crate) fn set_cache_bytes(&self, bytes: u64) {
        self.shared.pages.set_bytes_max(bytes / 4);
        self.blocks.set_weight_max(bytes / 4);
        self.verified.set_weight_max(bytes / 2);
    }

    /// Returns the bytes and the number of the blocks that are cached.
    pub(crate) fn cached(&self) -> (u64, usize) {
        let (page_bytes, pages) = self.shared.pages.kept();
        let bytes = page_bytes + self.blocks.weight() + self.verified.weight();
        (bytes, pages + self.blocks.len() + self.verified.len())
    }

    /// Returns whether bytes may change under a cache.
    pub(crate) fn may_change(&self) -> bool {
        self.shared.txn.is_some() || self.shared.live
    }

    /// Returns whether only threads that call the library may use the file.
    pub(crate) fn is_serial(&self) -> bool {
        self.shared.is_serial()
    }

    /// Returns whether it is open for writing.
    pub(crate) fn is_writable(&self) -> bool {
        self.shared.txn.is_some()
    }

    /// Returns whether another program writes meanwhile.
    pub(crate) fn is_live(&self) -> bool {
        self.shared.live
    }

    /// Returns the place of an address in the file itself.
    pub(crate) fn absolute(&self, address: Address) -> u64 {
        self.shared.base.saturating_add(address.0)
    }

    pub(crate) fn user_block_bytes(&self) -> u64 {
        self.shared.base
    }

    /// Returns the number of bytes of the whole file.
    pub(crate) fn file_bytes(&self) -> Result<u64> {
        if !self.may_change() {
            return Ok(self.opened_bytes);
        }
        self.shared.file.len().map_err(|e| Error::io("get size of file", &e))
    }

    /// Returns whether some bytes stand in for what is in the file.
    pub(crate) fn has_overlay(&self) -> bool {
        !self.overlay.is_empty()
    }

    /// Puts bytes over those of the file, for all reads from now on.
    pub(crate) fn set_overlay(&mut self, entries: Vec<(Address, Vec<u8>)>) {
        self.overlay = entries.into_iter().map(|(at, bytes)| (at.0, bytes.into())).collect();
        self.blocks.clear();
        self.shared.pages.clear();
    }

    /// Forgets everything that was read: another process changed the file, which ends at `end` now.
    pub(crate) fn forget_all(&self, end: u64) {
        self.blocks.clear();
        self.verified.clear();
        self.shared.set_end(end);
        self.shared.pages.clear();
    }

    fn check(&self, at: Address, len: u64, what: &str) -> Result<()> {
        match at.0.checked_add(len) {
            Some(end) if end <= self.shared.range_of(at).end => Ok(()),
            _ => {
                let error = Error::corrupt(format!("read {what}")).at(at.0).with("bytes", len);
                Err(error.with("problem", format!("past the end of the file, {:#x}", self.end())))
            }
        }
    }

    /// Reads metadata through the cache.
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

    /// Reads metadata that is not cached here.
    pub(crate) fn bytes(&self, at: Address, len: u64, what: &str) -> Result<Vec<u8>> {
        self.check(at, len, what)?;
        self.read_vec(at, len.within(self.limits.metadata_bytes_max, what)?, what)
    }

    /// Reads bytes as [`Store::read`] does, into a new buffer.
    fn read_vec(&self, at: Address, len: usize, what: &str) -> Result<Vec<u8>> {
        if self.may_change() || !self.overlay.is_empty() || self.shared.page_buffer.is_some() {
            let mut bytes = vec![0; len];
            self.read_as(PageKind::Metadata, at, &mut bytes, what)?;
            return Ok(bytes);
        }
        self.check(at, len as u64, what)?;
        let read = self.shared.file.read_vec(self.absolute(at), len);
        read.map_err(|e| Error::io(format!("read {what}"), &e).at(at.0))
    }

    /// Returns a small block. A page may fail where the block alone would not: not all of a file of several files is there.
    fn paged(&self, at: Address, len: u64) -> Option<Block> {
        if self.is_live() || self.shared.page_buffer.is_some() {
            return None;
        }
        let within = self.shared.range_of(at);
        let range = at.0..at.0.checked_add(len).filter(|&stop| stop <= within.end)?;
        // A page that begins in another member would have bytes of both.
        if range.start - range.start % PAGE_BYTES < within.start {
            return None;
        }
        let read = &mut |at, len| self.read_vec(Address(at), len, "metadata");
        self.shared.pages.block(range, within.end, read).ok().flatten()
    }

    /// Reads up to `len` bytes of metadata, fewer at the end of the file.
    pub(crate) fn block_up_to(&self, at: Address, len: u64, what: &str) -> Result<Block> {
        let len = len.min(self.shared.range_of(at).end.saturating_sub(at.0));
        self.block(at, len, what)
    }

    /// Returns a block that `make` reads, undoes filters of and verifies, once while it is cached.
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

    /// Returns a block of `len` bytes that `check` accepts, checked once while it is cached.
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

    /// Reads raw data straight into the caller's buffer.
    pub(crate) fn read(&self, at: Address, into: &mut [u8], what: &str) -> Result<()> {
        self.read_as(PageKind::Raw, at, into, what)
    }

    fn read_as(&self, kind: PageKind, at: Address, into: &mut [u8], what: &str) -> Result<()> {
        self.check(at, into.len() as u64, what)?;
        if !self.is_live() && self.shared.pages.copy(at.0, into) {
            return Ok(());
        }
        self.shared.read(kind, at, into).map_err(|e| Error::io(format!("read {what}"), &e).at(at.0))?;
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
