//! Metadata of a file that does not change, read in pages: structures that lie side by side cost one read.

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::stamped_cache::{Stamp, StampedCache};
use crate::store::ByBytes;

/// Bytes of a page. Small, because a look-up in a large file touches single structures all over it.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// Most pages that are read at once.
const WINDOW_MAX: u64 = 16;
/// Larger blocks are read and cached on their own.
const BLOCK_BYTES_MAX: u64 = 2 * PAGE_BYTES;

/// Where more pages than these change, all are forgotten: it costs less than to look for each.
const FORGOTTEN_MAX: u64 = 64;

/// Bytes of a block of metadata: some of a page, or bytes of their own.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Deref for Block {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl Block {
    /// Returns the first `len` bytes; all where there are fewer.
    pub(crate) fn first(self, len: usize) -> Block {
        let end = self.range.start.saturating_add(len).min(self.range.end);
        Block { range: self.range.start..end, bytes: self.bytes }
    }
}

impl From<Arc<Vec<u8>>> for Block {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Block { range: 0..bytes.len(), bytes }
    }
}

/// Reads so many bytes from a place on.
type Read<'r, E> = dyn FnMut(u64, usize) -> Result<Vec<u8>, E> + 'r;

/// The cached pages, and where reading goes on.
#[derive(Debug)]
pub(crate) struct Pages {
    /// By number. A reader of one object may put a page here after another object in it changed.
    cache: StampedCache<u64, Arc<Vec<u8>>, ByBytes>,
    /// The page after those that were read last, and how many they were: a caller that reads on gets twice as many.
    next: AtomicU64,
    window: AtomicU64,
}

impl Pages {
    pub(crate) fn new(bytes_max: u64, writable: bool) -> Self {
        Pages {
            cache: StampedCache::new(bytes_max, ByBytes, writable),
            next: AtomicU64::new(u64::MAX),
            window: AtomicU64::new(1),
        }
    }

    pub(crate) fn set_bytes_max(&self, bytes_max: u64) {
        self.cache.set_weight_max(bytes_max);
    }

    /// Returns the bytes and the number of the cached pages.
    pub(crate) fn kept(&self) -> (u64, usize) {
        (self.cache.weight(), self.cache.len())
    }

    pub(crate) fn clear(&self) {
        self.cache.clear();
    }

    /// Forgets pages of which something changed.
    pub(crate) fn forget(&self, at: u64, len: u64) {
        if len == 0 {
            return;
        }
        let (first, last) = (at / PAGE_BYTES, at.saturating_add(len - 1) / PAGE_BYTES);
        if last - first >= FORGOTTEN_MAX {
            return self.clear();
        }
        (first..=last).for_each(|number| self.cache.remove(number));
    }

    /// Caches the start of the file, which was read already.
    pub(crate) fn put_first(&self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.cache.insert(0, self.cache.stamp(0), Arc::new(bytes));
            self.next.store(1, Ordering::Relaxed);
        }
    }

    /// Copies bytes that lie in one cached page. Returns whether it is cached.
    pub(crate) fn copy(&self, at: u64, into: &mut [u8]) -> bool {
        if into.len() as u64 > PAGE_BYTES - at % PAGE_BYTES {
            return false;
        }
        let start = (at % PAGE_BYTES) as usize;
        let page = self.cache.get(at / PAGE_BYTES);
        let Some(bytes) = page.as_ref().and_then(|page| page.get(start..start + into.len())) else {
            return false;
        };
        into.copy_from_slice(bytes);
        true
    }

    /// Returns bytes of a file that ends at `end`, which a block lies before; `None` where it is too long for pages.
    ///
    /// `read` gives so many bytes from a place on.
    pub(crate) fn block<E>(
        &self,
        range: Range<u64>,
        end: u64,
        read: &mut Read<'_, E>,
    ) -> Result<Option<Block>, E> {
        let (first, len) = (range.start / PAGE_BYTES, range.end.saturating_sub(range.start));
        if len == 0 || len > BLOCK_BYTES_MAX {
            return Ok(None);
        }
        let last = (range.end - 1) / PAGE_BYTES;
        let at = (range.start % PAGE_BYTES) as usize;
        let page = self.page(first, last, end, read)?;
        let stop = at + len as usize;
        if stop <= page.len() {
            return Ok(Some(Block { bytes: page, range: at..stop }));
        }
        // A page that was read when the file ended in it is short: what follows is not on the next one.
        let Some(part) = page.get(at..PAGE_BYTES as usize) else { return Ok(None) };
        let mut bytes = Vec::with_capacity(len as usize);
        bytes.extend_from_slice(part);
        for number in first + 1..=last {
            let page = self.page(number, last, end, read)?;
            let wanted = (len as usize - bytes.len()).min(PAGE_BYTES as usize);
            let Some(part) = page.get(..wanted) else { return Ok(None) };
            bytes.extend_from_slice(part);
        }
        Ok(Some(Block::from(Arc::new(bytes))))
    }

    /// Returns a page. Where it must be read, those up to `last` are read too.
    fn page<E>(&self, number: u64, last: u64, end: u64, read: &mut Read<'_, E>) -> Result<Arc<Vec<u8>>, E> {
        if let Some(page) = self.cache.get(number) {
            return Ok(page);
        }
        let start = number * PAGE_BYTES;
        let count = self.ahead(number, last);
        let len = (count * PAGE_BYTES).min(end.saturating_sub(start));
        let stamps: [Stamp; WINDOW_MAX as usize] =
            std::array::from_fn(|n| self.cache.stamp(number + n as u64));
        let mut bytes = read(start, len as usize)?;
        // One alone is kept as it was read.
        let later = bytes.get(PAGE_BYTES as usize..).unwrap_or_default().chunks(PAGE_BYTES as usize);
        for ((number, stamp), page) in (number..).zip(stamps).skip(1).zip(later) {
            self.cache.insert(number, stamp, Arc::new(page.to_vec()));
        }
        bytes.truncate(PAGE_BYTES as usize);
        bytes.shrink_to_fit();
        let page = Arc::new(bytes);
        self.cache.insert(number, stamps[0], page.clone());
        Ok(page)
    }

    /// Returns how many pages to read from a page on, at least those up to `last`.
    fn ahead(&self, number: u64, last: u64) -> u64 {
        let goes_on = self.next.load(Ordering::Relaxed) == number;
        let window = if goes_on { (2 * self.window.load(Ordering::Relaxed)).min(WINDOW_MAX) } else { 1 };
        let window = window.max(last.saturating_sub(number) + 1);
        self.window.store(window, Ordering::Relaxed);
        self.next.store(number.saturating_add(window), Ordering::Relaxed);
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n * 7 + n / 251) as u8).collect()
    }

    #[test]
    fn blocks_of_any_place_and_length_are_the_files_bytes() {
        for len in [1, 4095, 4096, 4097, 20_000, 40_000] {
            let (bytes, pages) = (file(len), Pages::new(1 << 20, true));
            let mut read = |at: u64, len: usize| Ok::<_, ()>(bytes[at as usize..at as usize + len].to_vec());
            for start in [0, 1, 4000, 4095, 4096, 8191, 12_288, 19_999] {
                for size in [0, 1, 2, 100, 4095, 4096, 4097, 8192, 8193] {
                    if start + size > len {
                        continue;
                    }
                    let range = start as u64..(start + size) as u64;
                    let block = pages.block(range, len as u64, &mut read).unwrap();
                    match size {
                        1..=8192 => assert_eq!(&*block.unwrap(), &bytes[start..start + size]),
                        _ => assert!(block.is_none()),
                    }
                }
            }
        }
    }

    #[test]
    fn whoever_reads_on_reads_ever_more_and_whoever_jumps_reads_one_page() {
        let (bytes, pages) = (file(1 << 20), Pages::new(4 << 20, true));
        let mut reads = Vec::new();
        let mut read = |at: u64, len: usize| {
            reads.push((at / PAGE_BYTES, len as u64 / PAGE_BYTES));
            Ok::<_, ()>(bytes[at as usize..at as usize + len].to_vec())
        };
        for at in (0..200 << 10).step_by(512) {
            pages.block(at..at + 512, bytes.len() as u64, &mut read).unwrap();
        }
        for page in [200, 100, 150] {
            pages.block(page * PAGE_BYTES..page * PAGE_BYTES + 8, bytes.len() as u64, &mut read).unwrap();
        }
        assert_eq!(
            reads,
            [(0, 1), (1, 2), (3, 4), (7, 8), (15, 16), (31, 16), (47, 16), (200, 1), (100, 1), (150, 1)]
        );
    }

    #[test]
    fn what_changed_is_read_again_and_the_end_may_grow() {
        let (pages, file) = (Pages::new(1 << 20, true), std::cell::RefCell::new(file(9000)));
        let block = |range: Range<u64>| {
            let read = &mut |at: u64, len: usize| {
                Ok::<_, ()>(file.borrow()[at as usize..at as usize + len].to_vec())
            };
            let end = file.borrow().len() as u64;
            pages.block(range, end, read).unwrap().map(|block| block.to_vec())
        };
        assert_eq!(block(4000..5000), Some(file.borrow()[4000..5000].to_vec()));
        file.borrow_mut()[4095..4097].fill(99);
        pages.forget(4095, 2);
        assert_eq!(block(4000..5000), Some(file.borrow()[4000..5000].to_vec()));
        assert!(block(8900..9000).is_some());
        file.borrow_mut().resize(9100, 5);
        // Nothing was written there, but the page is short.
        assert_eq!(block(8950..9050), None);
        pages.forget(9000, 100);
        assert_eq!(block(8950..9050), Some(file.borrow()[8950..9050].to_vec()));
    }

    #[test]
    fn a_page_that_ends_where_the_file_ended_is_not_joined_with_the_next_one() {
        let (bytes, pages) = (file(3 * PAGE_BYTES as usize), Pages::new(1 << 20, true));
        let mut read = |at: u64, len: usize| Ok::<_, ()>(bytes[at as usize..at as usize + len].to_vec());
        // A reader that learned of the end before the file grew, and read after something was written there.
        let end = PAGE_BYTES + 2000;
        assert!(pages.block(PAGE_BYTES..PAGE_BYTES + 8, end, &mut read).unwrap().is_some());
        let grown = end..end + PAGE_BYTES;
        assert!(pages.block(grown, bytes.len() as u64, &mut read).unwrap().is_none());
    }

    #[test]
    fn a_page_that_was_read_before_a_change_is_not_found_after_it() {
        let pages = Pages::new(1 << 20, true);
        // A reader that is slow: another object of the page changes before it keeps what it read.
        let read_before = pages.cache.stamp(1);
        pages.forget(PAGE_BYTES + 10, 1);
        pages.cache.insert(1, read_before, Arc::new(vec![0; PAGE_BYTES as usize]));
        assert!(!pages.copy(PAGE_BYTES, &mut [0; 8]));
        let fill = &mut |_: u64, len: usize| Ok::<_, ()>(vec![3; len]);
        let block = pages.block(PAGE_BYTES..PAGE_BYTES + 8, 3 * PAGE_BYTES, fill).unwrap();
        assert_eq!(&*block.unwrap(), &[3; 8]);
    }

    #[test]
    fn a_read_that_fails_keeps_nothing() {
        let pages = Pages::new(1 << 20, true);
        assert!(pages.block(0..8, 100, &mut |_, _| Err(())).is_err());
        let fill = &mut |_: u64, len: usize| Ok::<_, ()>(vec![3; len]);
        let block = pages.block(0..8, 100, fill).unwrap();
        assert_eq!(&*block.unwrap(), &[3; 8]);
    }
}
