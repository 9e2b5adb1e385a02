//! One dataset of the log: what waits, and where its elements are in the file.

use std::borrow::Cow;
use std::sync::Arc;

use model::selection::Run;
use model::{Error, Limits, Result};
use vol::DatasetInfo;

use crate::element_index::ElementIndex;
use crate::flat;
use crate::logs::Logs;
use crate::pieces::{ElementRun, Index, PieceList, file_of, file_source, without_overlaps};
use crate::table::{Coded, Entry};

/// A dataset whose elements are in the log.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) id: u64,
    pub(crate) info: Arc<DatasetInfo>,
    /// The extent in which elements are counted.
    pub(crate) shape: Vec<u64>,
    /// Bytes of an element.
    pub(crate) size: u64,
    /// Elements hold variable-length values or references.
    pub(crate) has_descriptors: bool,
    /// Pending writes, in the order of writing.
    pub(crate) requests: Vec<ElementRun>,
    /// The pending writes sorted by position, as far as a caller asked for them.
    pub(crate) recent: Index,
    pub(crate) absorbed: usize,
    /// The entries in the file, when those of the table of all flushes were looked up.
    pub(crate) index: Index,
    pub(crate) is_loaded: bool,
    /// Where the bytes of entries are: sources of the pieces in the index.
    pub(crate) places: Vec<EntryPlace>,
    /// Entries that went through filters.
    pub(crate) coded: Vec<Entry>,
    /// Runs of all entries: there cannot be more of them than bytes in the logs.
    pub(crate) runs: u64,
    /// Why it cannot be read.
    pub(crate) broken: Option<Error>,
}

/// Where the bytes of an entry begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryPlace {
    /// A file, or the number of an entry that went through filters.
    pub(crate) source: u32,
    pub(crate) at: u64,
}

/// Lists of pieces that are held: variables of a model that are divided alike come one after another.
const LISTS_MAX: usize = 8;

/// A list of pieces, with the selections and the element size that it was made of.
#[derive(Debug)]
struct SharedList {
    runs: Vec<Arc<[Run]>>,
    /// Elements of each selection: there are too many runs to count them for every dataset.
    counts: Vec<Option<u64>>,
    size: u64,
    list: PieceList,
    /// Made for the second dataset that has the list.
    elements: Option<Arc<ElementIndex>>,
}

/// Lists of pieces that several datasets may have.
#[derive(Debug, Default)]
pub(crate) struct SharedLists(Vec<SharedList>);

impl SharedLists {
    fn find(&mut self, entries: &[Entry], size: u64) -> Option<&SharedList> {
        let is_same = |runs: &[Arc<[Run]>]| {
            runs.len() == entries.len()
                && runs.iter().zip(entries).all(|(runs, e)| Arc::ptr_eq(runs, &e.runs))
        };
        let found = self.0.iter_mut().find(|shared| shared.size == size && is_same(&shared.runs))?;
        found.elements.get_or_insert_with(|| Arc::new(ElementIndex::new(&found.list, size)));
        Some(found)
    }

    fn keep(&mut self, entries: &[Entry], size: u64, list: Option<&PieceList>) {
        let Some(list) = list else { return };
        if self.0.len() == LISTS_MAX {
            self.0.remove(0);
        }
        let runs = entries.iter().map(|entry| entry.runs.clone()).collect();
        let counts = entries.iter().map(Entry::elements).collect();
        self.0.push(SharedList { runs, counts, size, list: list.clone(), elements: None });
    }
}

impl Logged {
    pub(crate) fn new(id: u64, info: Arc<DatasetInfo>) -> Result<Self> {
        let shape = flat::shape(&info.space)?;
        Ok(Logged {
            id,
            shape,
            size: u64::from(info.datatype.size()).max(1),
            has_descriptors: info.datatype.has_descriptors(),
            info,
            requests: Vec::new(),
            recent: Index::default(),
            absorbed: 0,
            index: Index::default(),
            is_loaded: false,
            places: Vec::new(),
            coded: Vec::new(),
            runs: 0,
            broken: None,
        })
    }

    /// Returns where the bytes of a piece of the index are.
    pub(crate) fn place_of(&self, piece: &ElementRun) -> (u32, u64) {
        let place = self.places[piece.source as usize];
        (place.source, place.at + piece.at)
    }

    /// Takes the place of the requests that waited.
    pub(crate) fn flushed(&mut self) {
        self.requests.clear();
        self.recent.clear();
        self.absorbed = 0;
    }

    /// Forgets what is in the file: it is about to be read again.
    pub(crate) fn forget_file(&mut self) {
        (self.runs, self.broken, self.is_loaded) = (0, None, false);
        self.places.clear();
        self.coded.clear();
        self.index.clear();
    }

    /// Puts what waits in order. Returns how many more runs are held for that.
    pub(crate) fn absorb(&mut self) -> u64 {
        let Some(new) = self.requests.get(self.absorbed..).filter(|new| !new.is_empty()) else { return 0 };
        let list = without_overlaps(new, self.size).into_owned();
        let runs = list.len() as u64;
        self.recent.push(list, self.size);
        self.absorbed = self.requests.len();
        runs
    }

    /// Notes where the bytes of an entry of `elements` are. Returns the source of its pieces.
    fn place(&mut self, entry: &Entry, elements: Option<u64>, logs: &Logs, limits: &Limits) -> Result<u32> {
        let broken = |problem: &str| Error::corrupt("read log entry").with("problem", problem);
        let elements = elements.ok_or_else(|| broken("too many elements"))?;
        let bytes = elements.checked_mul(self.size).ok_or_else(|| broken("too many bytes"))?;
        self.runs = self.runs.saturating_add(entry.runs.len() as u64);
        let (place, scale) = match entry.coded {
            Coded::Plain => {
                let found = logs.find(entry.place, bytes)?;
                (EntryPlace { source: file_source(found.file), at: found.offset }, 1)
            }
            _ if bytes > limits.chunk_bytes_max => return Err(broken("an entry is too large")),
            _ => (EntryPlace { source: self.coded.len() as u32, at: 0 }, 1024),
        };
        if self.runs > logs.bytes().saturating_mul(scale) {
            return Err(broken("more runs than bytes"));
        }
        if file_of(place.source).is_none() {
            if let Some(stored) = entry.stored {
                logs.find(entry.place, stored)?;
            }
            self.coded.push(entry.clone());
        }
        self.places.push(place);
        Ok(self.places.len() as u32 - 1)
    }

    /// Adds an entry to the index.
    pub(crate) fn attach(&mut self, entry: &Entry, logs: &Logs, limits: &Limits) -> Result<()> {
        let (source, mut at) = (self.place(entry, entry.elements(), logs, limits)?, 0);
        let mut pieces = Vec::with_capacity(entry.runs.len());
        for run in entry.runs.iter() {
            pieces.push(ElementRun { start: run.offset, len: run.len, at, source });
            at += run.len * self.size;
        }
        let list = match without_overlaps(&pieces, self.size) {
            Cow::Borrowed(_) => pieces,
            Cow::Owned(list) => list,
        };
        self.index.push(list, self.size);
        Ok(())
    }

    /// Adds the entries of the table of all flushes, with a list of pieces that another dataset has of the same ones.
    pub(crate) fn load(
        &mut self,
        entries: &[Entry],
        lists: &mut SharedLists,
        logs: &Logs,
        limits: &Limits,
    ) -> Result<()> {
        match lists.find(entries, self.size) {
            Some(shared) => {
                for (entry, count) in entries.iter().zip(&shared.counts) {
                    self.place(entry, *count, logs, limits)?;
                }
                self.index.share(shared.list.clone(), shared.elements.clone());
            }
            None => {
                entries.iter().try_for_each(|entry| self.attach(entry, logs, limits))?;
                self.index.merge(self.size);
                lists.keep(entries, self.size, self.index.whole());
            }
        }
        Ok(())
    }
}
