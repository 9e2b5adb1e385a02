//! A revision as it is read: which pages differ from the original, and where they are.

use std::collections::BTreeMap;
use std::io;

use super::format::{self, HEADER_BYTES, PageEntry, RecordPointer};
use super::writing::Writing;
use super::{Header, NO_ORIGINAL, OnionFiles, OnionOptions, Record, corrupt, no_revision};
use crate::{Handle, Mode};

/// The largest history or revision record: what a file says of its size is not believed further.
pub(super) const STRUCTURE_BYTES_MAX: u64 = 256 << 20;

/// An onion file with its history.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) onion: Handle,
    pub(super) header: Header,
    pub(super) history: Vec<RecordPointer>,
}

/// Reads the history of an onion file. Where a crash tore the header, the copy of the history that its writer kept is read.
pub(super) fn load(files: &OnionFiles, original: &Handle, onion: Handle) -> io::Result<Loaded> {
    let mut head = [0; HEADER_BYTES];
    let header = match onion.read_at(0, &mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(corrupt("it is cut short")),
        Err(error) => return Err(error),
        Ok(()) => Header::decode(&head),
    };
    match header {
        Ok(header) => {
            let history = read_structure(&onion, header.history_at, header.history_bytes)?;
            let history = format::decode_history(&history)?;
            Ok(Loaded { onion, header, history })
        }
        Err(error) => recovered(files, original, onion)?.ok_or(error),
    }
}

/// Returns the history that a writer kept for the case that the header is lost.
fn recovered(files: &OnionFiles, original: &Handle, onion: Handle) -> io::Result<Option<Loaded>> {
    let Some(copy) = files.open_optional(&files.recovery(), Mode::Read)? else { return Ok(None) };
    let Ok(history) = read_structure(&copy, 0, copy.len()?).and_then(|bytes| format::decode_history(&bytes))
    else {
        return Ok(None);
    };
    let Some(last) = history.last() else { return Ok(None) };
    let page_bytes = Record::decode(&read_structure(&onion, last.at, last.bytes)?)?.page_bytes;
    let header = Header {
        is_write_locked: true,
        is_page_aligned: false,
        page_bytes,
        origin_bytes: origin_bytes(original)?,
        history_at: 0,
        history_bytes: 0,
    };
    Ok(Some(Loaded { onion, header, history }))
}

/// Returns the bytes of the original file that are content.
pub(super) fn origin_bytes(original: &Handle) -> io::Result<u64> {
    let len = original.len()?;
    let is_placeholder =
        len == NO_ORIGINAL.len() as u64 && original.read_vec(0, NO_ORIGINAL.len())? == NO_ORIGINAL;
    Ok(if is_placeholder { 0 } else { len })
}

fn read_structure(file: &Handle, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
    if at.checked_add(bytes).is_none_or(|end| file.len().is_ok_and(|len| end > len)) {
        return Err(corrupt("a structure lies past its end"));
    }
    if bytes > STRUCTURE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "onion file: a structure is too large"));
    }
    file.read_vec(at, bytes as usize)
}

impl Loaded {
    /// Returns the record of a revision, with pages that are in the file.
    pub(super) fn record(&self, pointer: RecordPointer) -> io::Result<Record> {
        let record = Record::decode(&read_structure(&self.onion, pointer.at, pointer.bytes)?)?;
        let len = self.onion.len()?;
        let is_there =
            |page: &PageEntry| page.at.checked_add(record.page_bytes.into()).is_some_and(|end| end <= len);
        match record.page_bytes == self.header.page_bytes && record.pages.iter().all(is_there) {
            true => Ok(record),
            false => Err(corrupt("a page of a revision is not where it should be")),
        }
    }
}

/// Where a page is in the onion file.
#[derive(Debug, Clone, Copy)]
pub(super) struct PagePlace {
    pub(super) at: u64,
    /// Whether it is of the revision that is being written, and may be changed in place.
    pub(super) is_own: bool,
}

/// A revision.
#[derive(Debug)]
pub(super) struct OnionState {
    /// `None` until the first change of a file that has no revisions.
    pub(super) onion: Option<Handle>,
    pub(super) header: Header,
    pub(super) history: Vec<RecordPointer>,
    /// Pages that differ from the original.
    pub(super) pages: BTreeMap<u64, PagePlace>,
    pub(super) len: u64,
    /// Bytes of the original that still show.
    pub(super) origin_end: u64,
    /// The numbers that the next revision is stored with.
    pub(super) number: u64,
    pub(super) parent: u64,
    /// What a writer knows, from its first change on.
    pub(super) writing: Option<Writing>,
}

/// The bytes of a run of pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PageSource {
    Onion(u64),
    Original,
}

impl OnionState {
    /// Returns a revision of a file, or its original for revision 0.
    pub(super) fn of_revision(
        loaded: Loaded,
        original: &Handle,
        revision: Option<u64>,
    ) -> io::Result<OnionState> {
        let count = loaded.history.len();
        let index = match revision {
            None => count.checked_sub(1),
            Some(0) => None,
            Some(number) if number > count as u64 => return Err(no_revision(revision, count)),
            Some(number) => Some(number as usize - 1),
        };
        let record = index.map(|index| loaded.record(loaded.history[index])).transpose()?;
        let origin_end = loaded.header.origin_bytes.min(original.len()?);
        let (len, parent) = record.as_ref().map_or((origin_end, 0), |record| (record.len, record.number));
        let place = |entry: &PageEntry| (entry.page, PagePlace { at: entry.at, is_own: false });
        let pages = record.iter().flat_map(|record| &record.pages).map(place).collect();
        let Loaded { onion, header, history } = loaded;
        let onion = Some(onion);
        // libhdf5 searches revisions by these numbers: they go up by one, whichever revision is continued.
        let number = count as u64;
        Ok(OnionState { onion, header, history, pages, len, origin_end, number, parent, writing: None })
    }

    /// Returns a file that has no revisions yet.
    pub(super) fn without_history(original: &Handle, options: &OnionOptions) -> io::Result<OnionState> {
        let origin_bytes = origin_bytes(original)?;
        let header = Header {
            is_write_locked: false,
            is_page_aligned: options.is_page_aligned,
            page_bytes: options.page_bytes,
            origin_bytes,
            history_at: 0,
            history_bytes: 0,
        };
        Ok(OnionState {
            onion: None,
            header,
            history: Vec::new(),
            pages: BTreeMap::new(),
            len: origin_bytes,
            origin_end: origin_bytes,
            number: 0,
            parent: 0,
            writing: None,
        })
    }

    pub(super) fn page_bytes(&self) -> u64 {
        self.header.page_bytes.into()
    }

    fn source(&self, page: u64) -> PageSource {
        self.pages.get(&page).map_or(PageSource::Original, |place| PageSource::Onion(place.at))
    }

    /// Fills `buf` from `offset` on, run by run of pages that lie next to each other.
    pub(super) fn read(&self, original: &Handle, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let page_bytes = self.page_bytes();
        let (mut at, end) = (offset, offset + buf.len() as u64);
        while at < end {
            let first = at / page_bytes;
            let source = self.source(first);
            let mut next = first + 1;
            while next * page_bytes < end
                && self.source(next) == followed(source, (next - first) * page_bytes)
            {
                next += 1;
            }
            let stop = (next * page_bytes).min(end);
            let run = &mut buf[(at - offset) as usize..(stop - offset) as usize];
            match (source, &self.onion) {
                (PageSource::Onion(start), Some(onion)) => onion.read_at(start + at % page_bytes, run)?,
                _ => self.read_original(original, at, run)?,
            }
            at = stop;
        }
        Ok(())
    }

    /// Past what shows of the original there are zeros.
    fn read_original(&self, original: &Handle, at: u64, run: &mut [u8]) -> io::Result<()> {
        let there = self.origin_end.saturating_sub(at).min(run.len() as u64) as usize;
        run[there..].fill(0);
        original.read_at(at, &mut run[..there])
    }
}

/// Returns where bytes must be that follow a run.
fn followed(source: PageSource, bytes: u64) -> PageSource {
    match source {
        PageSource::Onion(at) => PageSource::Onion(at.saturating_add(bytes)),
        PageSource::Original => PageSource::Original,
    }
}
