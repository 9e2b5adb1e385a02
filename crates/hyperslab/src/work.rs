//! Limits of the work that a walk over whole containers may do, by the number of bytes that are stored.
//!
//! A few bytes can stand for much: a filter can expand them to gigabytes of zeros, and entries of a forged index share one chunk.
//! No single read of that is wrong, but a walk over all of it takes as long as the file says. Such a walk has a [`Work`]: an
//! account of the bytes that were decoded for it, which may be a multiple of those that its files have in storage.
//!
//! ```
//! use hyperslab::work::{Work, WorkLimits};
//!
//! let work = Work::new(WorkLimits { free_bytes: 1 << 20, expansion_max: 10 }, "call `lift`");
//! work.add_stored(1 << 20);
//! assert!(work.charge(11 << 20, "elements").is_ok());
//! assert!(work.charge(1, "elements").is_err());
//! ```

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::properties::Layout;
use model::{Error, Result, Selection, Token};
use system::sync::Mutex;
use vol::{Blobs, Container, DatasetInfo, Layer, OpRead};

/// Bytes of decoded chunks that a cache may hold, for callers that walk over a container in strips. Most rows of
/// chunks fit.
pub const CHUNK_CACHE_BYTES: u64 = 256 << 20;
/// Bytes of chunks of one strip that are still cached for the next strip.
const KEPT_BYTES: u64 = CHUNK_CACHE_BYTES / 2;

/// How much work a walk may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimits {
    /// Bytes that may be decoded whatever is stored.
    pub free_bytes: u64,
    /// Bytes that may be decoded in addition for every byte that is stored.
    pub expansion_max: u64,
}

impl Default for WorkLimits {
    /// Returns limits of some seconds of work for a small file. Real files hardly reach a ratio of 256 as a whole,
    /// though single chunks do.
    fn default() -> Self {
        WorkLimits { free_bytes: 256 << 20, expansion_max: 256 }
    }
}

impl WorkLimits {
    /// Limits for callers that format elements as text, which takes several times as long as decoding or copying them.
    pub const TEXT: WorkLimits = WorkLimits { free_bytes: 128 << 20, expansion_max: 64 };
    /// No limit.
    pub const NONE: WorkLimits = WorkLimits { free_bytes: u64::MAX, expansion_max: u64::MAX };
}

/// An account of work. Clones share it.
#[derive(Debug, Clone)]
pub struct Work(Arc<Account>);

#[derive(Debug)]
struct Account {
    limits: WorkLimits,
    /// A sentence for errors that says how the limit is raised.
    help: &'static str,
    stored: AtomicU64,
    done: AtomicU64,
    /// Files whose bytes are in `stored`.
    counted: Mutex<HashSet<PathBuf>>,
}

impl Work {
    /// Returns an empty account. Errors contain `help`, which says how the limit is raised.
    pub fn new(limits: WorkLimits, help: &'static str) -> Self {
        let (stored, done, counted) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
        Work(Arc::new(Account { limits, help, stored, done, counted }))
    }

    /// Returns the number of bytes decoded so far.
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// Adds stored bytes, which raise the limit.
    pub fn add_stored(&self, bytes: u64) {
        self.0.stored.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds the stored bytes of a path, if it was not added before. Returns whether there is a file.
    pub fn add_file(&self, path: &Path) -> bool {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut counted = self.0.counted.lock();
        if counted.contains(&path) {
            return true;
        }
        let Ok(bytes) = dir::stored_bytes(&path) else { return false };
        self.add_stored(bytes);
        counted.insert(path)
    }

    /// Charges decoded bytes.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Limit` if this is more than what is stored pays for.
    pub fn charge(&self, bytes: u64, what: &str) -> Result<()> {
        let Account { limits, help, stored, done, .. } = &*self.0;
        let stored = stored.load(Ordering::Relaxed);
        let limit = limits.free_bytes.saturating_add(stored.saturating_mul(limits.expansion_max));
        let before = done.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= limit {
            return Ok(());
        }
        done.fetch_sub(bytes, Ordering::Relaxed);
        let error =
            Error::limit(format!("decode {what}")).with("bytes", bytes).with("decoded before", before);
        Err(error.with("limit", limit).with("stored", stored).with("help", help))
    }

    /// Returns a container whose reads are charged to this account.
    pub fn metered(&self, inner: Arc<dyn Container>) -> Arc<dyn Container> {
        Arc::new(Metered { inner, work: self.clone(), last: Mutex::default() })
    }
}

struct Metered {
    inner: Arc<dyn Container>,
    work: Work,
    last: Mutex<Option<LastRead>>,
}

/// The range of chunks of the dataset that was read last.
struct LastRead {
    dataset: Token,
    info: Arc<DatasetInfo>,
    chunks: Option<ChunkRange>,
}

/// Chunks with filters, as a block of a dataset's grid of chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChunkRange {
    first: Vec<u64>,
    last: Vec<u64>,
    /// Most bytes of decoding them.
    bytes: u64,
}

impl ChunkRange {
    /// Returns the chunks that a selection touches, if they have filters: a chunk is decoded whole, even if only a
    /// part of it is read.
    fn of(info: &DatasetInfo, selection: &Selection) -> Result<Option<ChunkRange>> {
        let Layout::Chunked { shape, .. } = &info.create.layout else { return Ok(None) };
        let dims = info.space.dims();
        let Some((start, end)) = selection.bounds(dims)?.filter(|_| !info.create.filters.is_empty()) else {
            return Ok(None);
        };
        let index = |at: &[u64]| at.iter().zip(shape).map(|(at, len)| at / (*len).max(1)).collect::<Vec<_>>();
        let (first, last) = (index(&start), index(&end));
        let product = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(1, u64::saturating_mul);
        let chunk_bytes = product(&mut shape.iter().copied()).saturating_mul(info.datatype.size().into());
        // An element is in one chunk: the block around few that are far apart says nothing.
        let count = product(&mut first.iter().zip(&last).map(|(first, last)| last - first + 1));
        let count = count.min(selection.element_count(dims)?);
        Ok(Some(ChunkRange { first, last, bytes: count.saturating_mul(chunk_bytes) }))
    }

    /// Returns whether these chunks are still decoded after `other` was read.
    fn is_kept_of(&self, other: &ChunkRange) -> bool {
        let starts = self.first.iter().zip(&other.first).all(|(own, other)| own >= other);
        let ends = self.last.iter().zip(&other.last).all(|(own, other)| own <= other);
        starts && ends && other.bytes <= KEPT_BYTES
    }
}

impl Metered {
    /// Returns the number of bytes that are decoded for a read.
    fn decoded(&self, read: &OpRead<'_>) -> Result<u64> {
        let bytes = read.into.len() as u64;
        let mut guard = self.last.lock();
        let known = guard.take().filter(|last| last.dataset == read.dataset);
        let mut last = match known {
            Some(last) => last,
            None => {
                LastRead { dataset: read.dataset, info: self.inner.dataset_info(read.dataset)?, chunks: None }
            }
        };
        let chunks = ChunkRange::of(&last.info, read.selection)?;
        let work = match (&chunks, &last.chunks) {
            (Some(now), Some(before)) if now.is_kept_of(before) => bytes,
            (Some(now), _) => {
                last.chunks = chunks.clone();
                bytes.max(now.bytes)
            }
            (None, _) => bytes,
        };
        *guard = Some(last);
        Ok(work)
    }
}

impl Layer for Metered {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for read in reads.iter() {
            self.work.charge(self.decoded(read)?, "elements")?;
        }
        self.inner.dataset_read(reads)
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let chunk = self.inner.chunk_read(dataset, offset)?;
        self.work.charge(chunk.1.len() as u64, "chunk")?;
        Ok(chunk)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let values = self.inner.attribute_read(object, names)?;
        self.work.charge(values.iter().map(|value| value.len() as u64).sum(), "attributes")?;
        Ok(values)
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let values = self.inner.map_get(map, keys)?;
        self.work.charge(values.iter().flatten().map(|value| value.len() as u64).sum(), "map")?;
        Ok(values)
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        let before = out.bytes().len();
        self.inner.blob_get(ids, out)?;
        self.work.charge((out.bytes().len() - before) as u64, "values")
    }
}

#[cfg(test)]
mod tests {
    use model::Dataspace;
    use model::properties::{DatasetCreate, FileCreate, FilterSpec};
    use vol::{FileAccess, LinkLocation, OpDatasetCreate};

    use super::*;

    /// Returns a dataset of bytes with a filter, whose chunks are columns.
    fn columns(name: &str, rows: u64, columns: u64) -> (Arc<dyn Container>, Token) {
        let registry = crate::registry();
        let location = format!("memory:{name}");
        let made = registry.create(&location, &FileCreate::default(), &FileAccess::write(), true).unwrap();
        let shuffle = FilterSpec { id: 2, name: None, optional: true, values: vec![] };
        let layout = Layout::chunked(&[rows, 1]);
        let create = DatasetCreate { layout, filters: vec![shuffle], ..DatasetCreate::default() };
        let place = Some(LinkLocation::new(made.info().unwrap().root, "d"));
        let space = Dataspace::simple(&[rows, columns]).unwrap();
        let datatype = model::Datatype::native_int(1);
        let op = OpDatasetCreate { place, datatype, committed: None, space, create };
        let dataset = made.dataset_create(&op).unwrap();
        (made, dataset)
    }

    fn read(container: &dyn Container, dataset: Token, start: [u64; 2], shape: [u64; 2]) -> Result<()> {
        let selection = &Selection::block(&start, &shape).unwrap();
        let into = &mut vec![0; (shape[0] * shape[1]) as usize];
        container.dataset_read(&mut [OpRead { dataset, selection, into }])
    }

    #[test]
    fn a_chunk_is_decoded_whole_and_once() {
        let (container, dataset) = columns("work-once", 1000, 10);
        let work = Work::new(WorkLimits::default(), "");
        let container = work.metered(container);
        read(&*container, dataset, [0, 0], [1, 10]).unwrap();
        assert_eq!(work.done(), 10_000);
        // The chunks are there already.
        read(&*container, dataset, [1, 0], [1, 10]).unwrap();
        assert_eq!(work.done(), 10_010);
    }

    #[test]
    fn chunks_that_no_cache_keeps_are_decoded_again() {
        let (container, dataset) = columns("work-again", 1 << 24, 10);
        let work = Work::new(WorkLimits::NONE, "");
        let container = work.metered(container);
        read(&*container, dataset, [0, 0], [1, 10]).unwrap();
        read(&*container, dataset, [1, 0], [1, 10]).unwrap();
        assert_eq!(work.done(), 20 << 24);
    }

    #[test]
    fn what_is_stored_pays_for_what_is_decoded() {
        let (container, dataset) = columns("work-paid", 1000, 10);
        let work = Work::new(WorkLimits { free_bytes: 0, expansion_max: 100 }, "ask for more");
        let container = work.metered(container);
        work.add_stored(100);
        read(&*container, dataset, [0, 0], [1, 10]).unwrap();
        let refused = read(&*container, dataset, [1, 0], [1, 10]).unwrap_err();
        assert!(refused.to_string().contains("ask for more"), "{refused}");
        work.add_stored(1);
        read(&*container, dataset, [1, 0], [1, 10]).unwrap();
    }
}
