//! Elements: chunks as arrays of records, in which nobody writes what the fill value says anyway.

use std::ops::Range;

use algorithms::thread_pool;
use model::selection::ChunkRun;
use model::{Budget, Charged, Result, Selection};
use system::sync::{Mutex, MutexGuard};

use crate::parts::{Part, each_batch, split};
use crate::{ChunkRead, ChunkWrite, Chunks, Dataset, Pending};

/// Runs of this many bytes are fetched where they belong; shorter ones through a buffer.
const DIRECT_BYTES: usize = 16 << 10;
/// Records of many small chunks are fetched by one call for so many.
const FETCHES_MAX: usize = 64;
/// Bytes from which on a second thread is worth it.
const PARALLEL_BYTES: usize = 1 << 20;

/// The same with every item, on all cores where that is worth it.
pub(crate) fn each<T: Send>(
    items: Vec<T>,
    bytes: usize,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    match bytes >= PARALLEL_BYTES && items.len() > 1 {
        true => thread_pool::each(items, work),
        false => items.into_iter().try_for_each(work),
    }
}

/// What `make` gives for every item, on all cores where that is worth it.
pub(crate) fn map<T: Send, R: Send>(
    items: Vec<T>,
    bytes: usize,
    make: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    match bytes >= PARALLEL_BYTES && items.len() > 1 {
        true => thread_pool::map(items, make),
        false => items.into_iter().map(make).collect(),
    }
}

/// Elements of datasets, in chunks and in what waits of them.
#[derive(Debug)]
pub struct Elements<'a, C: Chunks> {
    /// Where chunks are.
    pub chunks: &'a C,
    /// Chunks with filters that changed in part. Whoever holds this and a dataset took the dataset first.
    pub pending: &'a Mutex<Pending<C::Id>>,
    /// What memory for chunks is charged to.
    pub budget: Budget,
}

impl<C: Chunks> Elements<'_, C> {
    pub(crate) fn pending(&self) -> MutexGuard<'_, Pending<C::Id>> {
        self.pending.lock()
    }

    /// Stores what waits of a dataset, so that its chunks can be looked at.
    pub fn settle(&self, id: C::Id) -> Result<()> {
        self.pending().settle(self.chunks, id).map(drop)
    }

    /// Stores what waits of all datasets.
    pub fn settle_all(&self) -> Result<()> {
        let waiting = self.pending().datasets();
        waiting.into_iter().try_for_each(|id| self.settle(id))
    }

    /// Reads elements that hold still; the transfer was checked.
    pub fn read(&self, id: C::Id, dataset: &Dataset, selection: &Selection, into: &mut [u8]) -> Result<()> {
        let (dims, shape) = (dataset.info.space.dims(), &dataset.shape);
        each_batch(selection, dims, shape, dataset.chunk_bytes(), |parts| {
            match dataset.filters().is_empty() {
                true => self.fetch_parts(id, dataset, parts, into),
                false => self.decode_parts(id, dataset, parts, into),
            }
        })
    }

    fn fetch_parts(&self, id: C::Id, dataset: &Dataset, parts: &[Part], into: &mut [u8]) -> Result<()> {
        let element_bytes = dataset.element_bytes();
        let bytes = into.len();
        let mut rooms = split(parts, element_bytes, into);
        let mut targets: Vec<Target<'_, '_>> = Vec::new();
        for (part, rooms) in parts.iter().zip(&mut rooms) {
            targets.extend(targets_of(part, rooms, element_bytes));
        }
        self.fetch_targets(id, dataset, &mut targets, bytes)?;
        let scattered: Vec<Target<'_, '_>> =
            targets.into_iter().filter(|target| target.scatter.is_some()).collect();
        each(scattered, bytes, |target| {
            target.finish(element_bytes);
            Ok(())
        })
    }

    /// Fetches records over the fill value: those that nobody wrote leave what is there.
    fn fetch_targets(
        &self,
        id: C::Id,
        dataset: &Dataset,
        targets: &mut [Target<'_, '_>],
        bytes: usize,
    ) -> Result<()> {
        let fetch = |targets: &mut [Target<'_, '_>]| {
            let mut reads: Vec<ChunkRead<'_>> = Vec::with_capacity(targets.len());
            for target in targets.iter_mut() {
                let (start, first) = (&target.part.start[..], target.first);
                let into = target.bytes.as_mut();
                dataset.fill(into);
                reads.push(ChunkRead { start, first, into });
            }
            self.chunks.fetch(id, dataset, &mut reads)
        };
        if self.chunks.is_far() {
            // What counts is how many requests are under way.
            return fetch(targets);
        }
        // Nearby, what was just filled is still in the cache when it is fetched.
        let threads = algorithms::workers::threads(bytes as u64, PARALLEL_BYTES as u64);
        let pieces = targets.chunks_mut(if threads == 1 { FETCHES_MAX } else { 1 });
        algorithms::workers::each(pieces.map(Ok), threads, |piece, _| fetch(piece))
    }

    /// Writes elements that nobody else looks at; the transfer was checked.
    pub fn write(&self, id: C::Id, dataset: &Dataset, selection: &Selection, from: &[u8]) -> Result<()> {
        let (dims, shape) = (dataset.info.space.dims(), &dataset.shape);
        let done = each_batch(selection, dims, shape, dataset.chunk_bytes(), |parts| {
            match dataset.filters().is_empty() {
                true => self.update_parts(id, dataset, parts, from),
                false => self.encode_parts(id, dataset, parts, from),
            }
        });
        self.chunks.changed(id);
        done
    }

    fn update_parts(&self, id: C::Id, dataset: &Dataset, parts: &[Part], from: &[u8]) -> Result<()> {
        let element_bytes = dataset.element_bytes();
        // However many pieces of a chunk there are, nothing but them is written: another process may write what lies
        // between them, and what nobody writes stays absent.
        let prepared =
            map(parts.iter().collect(), from.len(), |part| Ok(spans_of(part, element_bytes, from)))?;
        let writes: Vec<ChunkWrite<'_>> = parts
            .iter()
            .zip(&prepared)
            .map(|(part, spans)| ChunkWrite {
                start: &part.start,
                runs: spans.iter().map(|span| (span.first, span.bytes(from))).collect(),
            })
            .collect();
        self.chunks.update(id, dataset, &writes)
    }

    /// All elements of a chunk, or `None` where nothing is stored; what nobody wrote stays as it is in `room`.
    pub(crate) fn chunk(
        &self,
        id: C::Id,
        dataset: &Dataset,
        start: &[u64],
        mut room: Vec<u8>,
    ) -> Result<Option<Vec<u8>>> {
        if !dataset.filters().is_empty() {
            return Ok(self.undone_chunk(id, dataset, start)?.map(Charged::into_inner));
        }
        if !self.chunks.has(id, dataset, start)? {
            return Ok(None);
        }
        self.chunks.fetch(id, dataset, &mut [ChunkRead { start, first: 0, into: &mut room }])?;
        Ok(Some(room))
    }
}

/// Where records of a chunk are fetched to.
struct Target<'p, 'b> {
    part: &'p Part,
    first: u64,
    bytes: Room<'b>,
    /// Where they go from a buffer.
    scatter: Option<Vec<&'b mut [u8]>>,
}

enum Room<'b> {
    Place(&'b mut [u8]),
    Buffer(Vec<u8>),
}

impl Room<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Room::Place(place) => place,
            Room::Buffer(buffer) => buffer,
        }
    }
}

impl Target<'_, '_> {
    fn finish(self, element_bytes: usize) {
        let (Some(rooms), Room::Buffer(buffer)) = (self.scatter, self.bytes) else { return };
        for (run, room) in self.part.runs.iter().zip(rooms) {
            let at = (run.chunk_offset - self.first) as usize * element_bytes;
            room.copy_from_slice(&buffer[at..at + room.len()]);
        }
    }
}

/// Long runs are fetched to their places, many short ones through one buffer.
fn targets_of<'p, 'b>(
    part: &'p Part,
    rooms: &mut Vec<&'b mut [u8]>,
    element_bytes: usize,
) -> Vec<Target<'p, 'b>> {
    let rooms = std::mem::take(rooms);
    let bytes = part.elements() as usize * element_bytes;
    if rooms.len() == 1 || bytes / rooms.len().max(1) >= DIRECT_BYTES {
        let target = |(run, room): (&ChunkRun, _)| Target {
            part,
            first: run.chunk_offset,
            bytes: Room::Place(room),
            scatter: None,
        };
        return part.runs.iter().zip(rooms).map(target).collect();
    }
    let (first, last) = part.span();
    let buffer = vec![0; (last - first) as usize * element_bytes];
    vec![Target { part, first, bytes: Room::Buffer(buffer), scatter: Some(rooms) }]
}

/// Records of a chunk that lie together.
struct Span {
    first: u64,
    source: Source,
}

enum Source {
    /// In the caller's buffer.
    Place(Range<usize>),
    /// Put together from pieces of it.
    Gathered(Vec<u8>),
}

impl Span {
    fn bytes<'c>(&'c self, from: &'c [u8]) -> &'c [u8] {
        match &self.source {
            Source::Place(range) => &from[range.clone()],
            Source::Gathered(bytes) => bytes,
        }
    }
}

/// Runs as they lie in the chunk, which is faster to write than any other order; where some overlap, as they were given,
/// since the last one wins.
fn in_place_order(runs: &[ChunkRun]) -> Vec<&ChunkRun> {
    let mut sorted: Vec<&ChunkRun> = runs.iter().collect();
    sorted.sort_by_key(|run| run.chunk_offset);
    let overlap = |pair: &[&ChunkRun]| pair[0].chunk_offset + pair[0].len > pair[1].chunk_offset;
    match sorted.windows(2).any(overlap) {
        true => runs.iter().collect(),
        false => sorted,
    }
}

/// Runs that touch in the chunk become one piece; one that is a single run stays where it is.
fn spans_of(part: &Part, element_bytes: usize, from: &[u8]) -> Vec<Span> {
    let packed = |run: &ChunkRun| {
        let at = run.selection_offset as usize * element_bytes;
        at..at + run.len as usize * element_bytes
    };
    let mut spans = Vec::new();
    let mut runs = in_place_order(&part.runs).into_iter().peekable();
    while let Some(run) = runs.next() {
        let (first, mut end, mut source) =
            (run.chunk_offset, run.chunk_offset + run.len, Source::Place(packed(run)));
        while let Some(next) = runs.next_if(|next| next.chunk_offset == end) {
            let mut bytes = match source {
                Source::Place(range) => from[range].to_vec(),
                Source::Gathered(bytes) => bytes,
            };
            bytes.extend_from_slice(&from[packed(next)]);
            (end, source) = (next.chunk_offset + next.len, Source::Gathered(bytes));
        }
        spans.push(Span { first, source });
    }
    spans
}
