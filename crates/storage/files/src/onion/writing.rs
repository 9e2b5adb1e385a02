//! The revision that is being written: pages, and how they become part of the history.

use std::io;

use super::format::{self, HEADER_BYTES, PageEntry, RecordPointer};
use super::state::{OnionState, PagePlace, STRUCTURE_BYTES_MAX, origin_bytes};
use super::{NO_ORIGINAL, OnionFiles, OnionOptions, Record};
use crate::{Handle, Sync};

/// Bytes that are written at a time.
const PART_BYTES: u64 = 1 << 20;
/// Bytes of a page's entry in a record.
const ENTRY_BYTES: u64 = 20;

/// What a writer knows.
#[derive(Debug)]
pub(super) struct Writing {
    onion: Handle,
    recovery: Handle,
    /// One past the last byte of the onion file that is in use.
    end: u64,
    /// One past the last page. Records and histories lie behind all pages: libhdf5 reads no page behind them, and writes its own
    /// from there on.
    pages_end: u64,
    /// Pages that nothing leads to.
    free: Vec<u64>,
    /// Pages that the stored history leads to, and the next one will not.
    pending_free: Vec<u64>,
    /// Whether the history must be stored.
    is_dirty: bool,
    /// Whether the last record of the history is that of this writer.
    has_record: bool,
    /// Space of the record and history that the header leads to, if this writer stored them.
    current: Option<RecordSpace>,
    /// Space of those before, which the next ones may take.
    spare: Option<RecordSpace>,
}

/// Space for a record and a history.
#[derive(Debug, Clone, Copy)]
struct RecordSpace {
    at: u64,
    bytes: u64,
}

impl Writing {
    /// Makes pages of space that nothing leads to.
    fn release(&mut self, space: Option<RecordSpace>, page_bytes: u64) {
        let pages = space.into_iter().flat_map(|RecordSpace { at, bytes }| {
            (0..bytes / page_bytes).rev().map(move |n| at + n * page_bytes)
        });
        self.free.extend(pages);
    }
}

impl OnionState {
    /// Takes the files for a writer, before its first change.
    pub(super) fn begin(
        &mut self,
        files: &OnionFiles,
        original: &Handle,
        options: &OnionOptions,
        is_created: bool,
    ) -> io::Result<()> {
        if self.writing.is_some() {
            return Ok(());
        }
        let onion = match &self.onion {
            Some(onion) => onion.clone(),
            None => files.create(&files.onion(), true)?.file,
        };
        let recovery = files.create(&files.recovery(), true)?.file;
        if is_created {
            self.empty_files(original, &onion, options)?;
        }
        if self.onion.is_none() {
            onion.set_len(0)?;
            self.header.origin_bytes = origin_bytes(original)?;
        }
        store_copy(&recovery, &format::encode_history(&self.history))?;
        let end = self.aligned(onion.len()?.max(HEADER_BYTES as u64));
        let mut writing = Writing {
            onion: onion.clone(),
            recovery,
            end,
            pages_end: end,
            free: Vec::new(),
            pending_free: Vec::new(),
            is_dirty: is_created,
            has_record: false,
            current: None,
            spare: None,
        };
        if self.header.history_bytes == 0 {
            let history = format::encode_history(&self.history);
            onion.write_at(writing.end, &history)?;
            (self.header.history_at, self.header.history_bytes) = (writing.end, history.len() as u64);
            writing.end = self.aligned(writing.end + history.len() as u64);
            writing.pages_end = writing.end;
            onion.sync(Sync::All)?;
        }
        self.header.is_write_locked = true;
        onion.write_at(0, &self.header.encode())?;
        (self.onion, self.writing) = (Some(onion), Some(writing));
        Ok(())
    }

    /// Gives up what files hold that are created anew.
    fn empty_files(&mut self, original: &Handle, onion: &Handle, options: &OnionOptions) -> io::Result<()> {
        onion.set_len(0)?;
        original.set_len(0)?;
        original.write_at(0, NO_ORIGINAL)?;
        original.sync(Sync::All)?;
        let header = OnionState::without_history(original, options)?.header;
        (self.header, self.len, self.origin_end) = (header, 0, 0);
        Ok(())
    }

    fn aligned(&self, at: u64) -> u64 {
        if self.header.is_page_aligned { at.next_multiple_of(self.page_bytes()) } else { at }
    }

    fn writing(&mut self) -> io::Result<&mut Writing> {
        self.writing.as_mut().ok_or_else(|| io::ErrorKind::PermissionDenied.into())
    }

    pub(super) fn write(&mut self, original: &Handle, offset: u64, data: &[u8]) -> io::Result<()> {
        let step = PART_BYTES.max(self.page_bytes());
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let bytes = (step - at % step).min(rest.len() as u64) as usize;
            let (part, next) = rest.split_at(bytes);
            self.write_part(original, at, part)?;
            (at, rest) = (at + bytes as u64, next);
        }
        Ok(())
    }

    /// Writes whole pages: what the data does not cover is as it was.
    fn write_part(&mut self, original: &Handle, offset: u64, data: &[u8]) -> io::Result<()> {
        let page_bytes = self.page_bytes();
        let (first, end) = (offset / page_bytes, offset + data.len() as u64);
        let pages = first..end.div_ceil(page_bytes);
        let start = first * page_bytes;
        let stop = pages.end.checked_mul(page_bytes).ok_or(io::ErrorKind::FileTooLarge)?;
        let mut bytes = vec![0; (stop - start) as usize];
        let head = (offset - start) as usize;
        self.read_known(original, start, &mut bytes[..head])?;
        self.read_known(original, end, &mut bytes[head + data.len()..])?;
        bytes[head..head + data.len()].copy_from_slice(data);
        self.write_pages(pages, &bytes)?;
        if end > self.len {
            self.len = end;
            self.writing()?.is_dirty = true;
        }
        Ok(())
    }

    /// Reads what is there; past the end of the file are zeros.
    fn read_known(&self, original: &Handle, at: u64, into: &mut [u8]) -> io::Result<()> {
        let there = self.len.saturating_sub(at).min(into.len() as u64) as usize;
        into[there..].fill(0);
        self.read(original, at, &mut into[..there])
    }

    /// Writes pages to where they are, or to new space.
    fn write_pages(&mut self, pages: std::ops::Range<u64>, bytes: &[u8]) -> io::Result<()> {
        let page_bytes = self.page_bytes();
        let places: Vec<u64> = pages.clone().map(|page| self.place(page)).collect::<io::Result<_>>()?;
        let onion = self.writing()?.onion.clone();
        let mut done = 0;
        while done < places.len() {
            let next_to = |count: usize| places[done] + count as u64 * page_bytes;
            let count = (1..places.len() - done).find(|count| places[done + count] != next_to(*count));
            let count = count.unwrap_or(places.len() - done);
            let run = done * page_bytes as usize..(done + count) * page_bytes as usize;
            onion.write_at(places[done], &bytes[run])?;
            done += count;
        }
        // Only what was written is part of the revision.
        for (page, at) in pages.zip(places) {
            self.pages.insert(page, PagePlace { at, is_own: true });
        }
        Ok(())
    }

    /// Returns where a page is written.
    fn place(&mut self, page: u64) -> io::Result<u64> {
        if let Some(PagePlace { at, is_own: true }) = self.pages.get(&page) {
            return Ok(*at);
        }
        if (self.pages.len() as u64 + 1).saturating_mul(ENTRY_BYTES) > STRUCTURE_BYTES_MAX / 2 {
            let problem = "the revision has too many pages: larger pages are needed";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        let page_bytes = self.page_bytes();
        let writing = self.writing()?;
        writing.is_dirty = true;
        let at = writing.free.pop().unwrap_or(writing.end);
        writing.end = writing.end.max(at + page_bytes);
        writing.pages_end = writing.pages_end.max(at + page_bytes);
        Ok(at)
    }

    pub(super) fn set_len(&mut self, original: &Handle, len: u64) -> io::Result<()> {
        let page_bytes = self.page_bytes();
        if len < self.len {
            let within = len % page_bytes;
            if within > 0 && (self.pages.contains_key(&(len / page_bytes)) || len < self.origin_end) {
                // The rest of the last page reads as zeros when the file grows again.
                let rest = (page_bytes - within).min(self.len - len);
                self.write_part(original, len, &vec![0; rest as usize])?;
            }
            let gone = self.pages.split_off(&len.div_ceil(page_bytes));
            let own = gone.values().filter(|place| place.is_own).map(|place| place.at);
            self.writing()?.pending_free.extend(own);
            self.origin_end = self.origin_end.min(len);
        }
        self.len = len;
        self.writing()?.is_dirty = true;
        Ok(())
    }

    /// Readers of the history see the original wherever no page is: where the file was cut and grew again, pages of zeros are
    /// put over it.
    fn cover_original(&mut self) -> io::Result<()> {
        let page_bytes = self.page_bytes();
        let covered = self.header.origin_bytes.min(self.len).div_ceil(page_bytes);
        let zeros = vec![0; page_bytes as usize];
        for page in self.origin_end.div_ceil(page_bytes)..covered {
            if !self.pages.contains_key(&page) {
                self.write_pages(page..page + 1, &zeros)?;
            }
        }
        Ok(())
    }

    /// Stores the revision: its pages and record, the history and its copy, and then the header that leads there.
    pub(super) fn commit(&mut self, options: &OnionOptions) -> io::Result<()> {
        if self.writing.is_none() {
            return Ok(());
        }
        if !self.writing()?.is_dirty {
            return self.writing()?.onion.sync(Sync::All);
        }
        self.cover_original()?;
        let record = self.record(options).encode();
        let mut history = self.history.clone();
        if self.writing()?.has_record {
            history.pop();
        }
        let pointer = RecordPointer { at: 0, bytes: record.len() as u64 };
        history.push(pointer);
        let history_bytes = format::encode_history(&history).len() as u64;
        let (space, history_at) = self.space_for(record.len() as u64, history_bytes)?;
        if let Some(last) = history.last_mut() {
            last.at = space.at;
        }
        let encoded = format::encode_history(&history);
        let (mut header, page_bytes) = (self.header.clone(), self.page_bytes());
        (header.history_at, header.history_bytes) = (history_at, history_bytes);
        let writing = self.writing()?;
        writing.onion.write_at(space.at, &record)?;
        writing.onion.write_at(history_at, &encoded)?;
        writing.onion.sync(Sync::All)?;
        store_copy(&writing.recovery, &encoded)?;
        // Should this fail, no one knows which of them the header leads to: neither is used again.
        let last = writing.current.take();
        writing.onion.write_at(0, &header.encode())?;
        writing.onion.sync(Sync::All)?;
        writing.current = Some(space);
        let is_behind_pages = |space: &RecordSpace| space.at >= writing.pages_end;
        match last.filter(is_behind_pages) {
            Some(last) => writing.spare = Some(last),
            None => writing.release(last, page_bytes),
        }
        writing.free.append(&mut writing.pending_free);
        (writing.is_dirty, writing.has_record) = (false, true);
        (self.header, self.history) = (header, history);
        Ok(())
    }

    fn record(&self, options: &OnionOptions) -> Record {
        let now =
            system::clock::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let entry = |(page, place): (&u64, &PagePlace)| PageEntry { page: *page, at: place.at };
        Record {
            number: self.number,
            parent: self.parent,
            time: format::time_text(now),
            len: self.len,
            page_bytes: self.header.page_bytes,
            pages: self.pages.iter().map(entry).collect(),
            comment: options.comment.as_bytes().to_vec(),
        }
    }

    /// Returns space behind all pages that the stored header does not lead to, and where the history lies in it. Two spaces take
    /// turns until pages are put behind them; then they become pages. So many syncs do not make the file long.
    fn space_for(&mut self, record_bytes: u64, history_bytes: u64) -> io::Result<(RecordSpace, u64)> {
        let (is_page_aligned, page_bytes) = (self.header.is_page_aligned, self.page_bytes());
        let aligned = |at: u64| if is_page_aligned { at.next_multiple_of(page_bytes) } else { at };
        let writing = self.writing()?;
        let history_at = |at: u64| aligned(at + record_bytes);
        let spare = writing.spare.take();
        let fits = |space: &RecordSpace| {
            space.at >= writing.pages_end && history_at(space.at) + history_bytes <= space.at + space.bytes
        };
        if let Some(space) = spare.filter(fits) {
            return Ok((space, history_at(space.at)));
        }
        writing.release(spare, page_bytes);
        let at = aligned(writing.end);
        let needed = history_at(at) + history_bytes - at;
        // Space for more pages, unless it is the only one of this writer.
        let bytes = if writing.current.is_some() { needed * 2 } else { needed };
        writing.end = aligned(at + bytes);
        Ok((RecordSpace { at, bytes }, history_at(at)))
    }

    /// Stores what is not stored yet, and says that no one writes any more.
    pub(super) fn end(&mut self, files: &OnionFiles, options: &OnionOptions) -> io::Result<()> {
        if self.writing.is_none() {
            return Ok(());
        }
        self.commit(options)?;
        self.header.is_write_locked = false;
        let Some(writing) = self.writing.take() else { return Ok(()) };
        writing.onion.write_at(0, &self.header.encode())?;
        writing.onion.sync(Sync::All)?;
        drop(writing);
        files.inner.delete(&files.recovery(), &files.drivers)
    }
}

/// Stores the copy of the history that is read if the header is lost.
fn store_copy(recovery: &Handle, history: &[u8]) -> io::Result<()> {
    recovery.write_at(0, history)?;
    recovery.set_len(history.len() as u64)?;
    recovery.sync(Sync::All)
}
