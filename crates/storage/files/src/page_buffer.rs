//! A file whose small reads go through a buffer of whole pages (`H5Pset_page_buffer_size`).
//!
//! Pages are those of a file with the page strategy: a page has metadata or raw data, never both. Writes go to the file
//! at once, and pages that they touch leave the buffer.

mod pages;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use system::sync::Mutex;

use crate::forward::forward;
use crate::{File, Handle, Sync};
use pages::{Page, Pages};

/// The size of a page buffer, and the shares of it that are reserved for each kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageBufferOptions {
    /// Offset of the first page.
    pub base: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// The most pages in the buffer.
    pub pages_max: usize,
    /// Pages of metadata that raw data does not push out.
    pub metadata_pages_min: usize,
    /// Pages of raw data that metadata does not push out.
    pub raw_pages_min: usize,
}

/// Whether a read is of metadata or of raw data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Metadata.
    Metadata,
    /// Raw data.
    Raw,
}

/// The reads of one kind of data that a page buffer saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Reads.
    pub accesses: u64,
    /// Pages that were in the buffer.
    pub hits: u64,
    /// Pages that were read from the file.
    pub misses: u64,
    /// Pages that were pushed out by others.
    pub evictions: u64,
    /// Reads that went to the file itself: those of a page or more, and those for which no page may be pushed out.
    pub bypasses: u64,
}

/// The reads that a page buffer saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageStatistics {
    /// Of metadata.
    pub metadata: PageCounts,
    /// Of raw data.
    pub raw: PageCounts,
}

impl PageStatistics {
    fn of(&mut self, kind: PageKind) -> &mut PageCounts {
        match kind {
            PageKind::Metadata => &mut self.metadata,
            PageKind::Raw => &mut self.raw,
        }
    }
}

/// A file with a page buffer.
#[derive(Debug)]
pub struct PageBuffer {
    inner: Handle,
    options: PageBufferOptions,
    /// Held for a look-up, never while the file is read or written.
    pages: Mutex<Pages>,
}

impl PageBuffer {
    /// Returns `inner` with an empty buffer.
    pub fn new(inner: Handle, options: PageBufferOptions) -> Self {
        PageBuffer { inner, options, pages: Mutex::new(Pages::new(options)) }
    }

    /// Returns what was read since the file was opened, or since the last [`PageBuffer::reset_statistics`].
    pub fn statistics(&self) -> PageStatistics {
        self.pages.lock().statistics
    }

    /// Starts to count at zero.
    pub fn reset_statistics(&self) {
        self.pages.lock().statistics = PageStatistics::default();
    }

    /// Fills `into` from `offset`, through the buffer. Returns `false` where the caller reads from the file itself: a page
    /// or more, or what lies before the first page.
    ///
    /// # Errors
    /// Returns what [`File::read_at`] returns.
    pub fn read(&self, kind: PageKind, offset: u64, into: &mut [u8]) -> io::Result<bool> {
        let passes = into.len() as u64 >= self.options.page_bytes || offset < self.options.base;
        {
            let mut pages = self.pages.lock();
            let counts = pages.statistics.of(kind);
            counts.accesses += 1;
            counts.bypasses += u64::from(passes);
        }
        if passes {
            return Ok(false);
        }
        let mut done = 0;
        while done < into.len() {
            let at = offset.saturating_add(done as u64);
            let inside = (at - self.options.base) % self.options.page_bytes;
            let len = (self.options.page_bytes - inside).min((into.len() - done) as u64) as usize;
            self.read_page(kind, at, inside as usize, &mut into[done..done + len])?;
            done += len;
        }
        Ok(true)
    }

    /// Reads bytes of one page, which they begin `inside` bytes after.
    fn read_page(&self, kind: PageKind, at: u64, inside: usize, into: &mut [u8]) -> io::Result<()> {
        let number = (at - self.options.base) / self.options.page_bytes;
        let range = inside..inside + into.len();
        let stamp = {
            let mut pages = self.pages.lock();
            let page = pages.get(number);
            if let Some(bytes) = page.as_ref().and_then(|page| page.bytes.get(range.clone())) {
                pages.statistics.of(kind).hits += 1;
                drop(pages);
                into.copy_from_slice(bytes);
                return Ok(());
            }
            if !pages.make_space(kind, number) {
                pages.statistics.of(kind).bypasses += 1;
                drop(pages);
                return self.inner.read_at(at, into);
            }
            pages.statistics.of(kind).misses += 1;
            pages.stamp(number)
        };
        let bytes = self.load(at - inside as u64)?;
        let part = bytes.get(range).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(part);
        self.pages.lock().insert(number, Page { bytes, kind }, stamp);
        Ok(())
    }

    /// Returns the page that begins at `start`: fewer bytes at the end of the file.
    fn load(&self, start: u64) -> io::Result<Arc<Vec<u8>>> {
        let len = usize::try_from(self.options.page_bytes).map_err(io::Error::other)?;
        match self.inner.read_vec(start, len) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let there = self.inner.bytes_end(start)?.saturating_sub(start).min(len as u64);
                self.inner.read_vec(start, there as usize).map(Arc::new)
            }
            read => read.map(Arc::new),
        }
    }

    /// Removes the pages that a change of these bytes touched.
    fn forget(&self, range: Range<u64>) {
        let page = |at: u64| at.saturating_sub(self.options.base) / self.options.page_bytes;
        if !range.is_empty() {
            self.pages.lock().forget(page(range.start)..=page(range.end - 1));
        }
    }
}

impl File for PageBuffer {
    forward! { inner: len lock identity is_serial members bytes_end set_allocated trim driver_block set_driver_block
    is_remote prefetch request_counts is_private publish note_allocated note_freed }

    /// Reads from the file itself, which has all that was written.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buf)
    }

    fn read_vec(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.inner.read_vec(offset, len)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let done = self.inner.write_at(offset, data);
        self.forget(offset..offset.saturating_add(data.len() as u64));
        done
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let before = self.inner.len()?;
        let done = self.inner.set_len(len);
        self.forget(len.min(before)..u64::MAX);
        done
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.inner.sync(sync)
    }

    fn is_system_file(&self) -> bool {
        self.inner.is_system_file()
    }

    fn read_many_at(&self, ranges: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        self.inner.read_many_at(ranges)
    }
}

#[cfg(test)]
mod tests;
