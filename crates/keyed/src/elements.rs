//! Elements: chunks as arrays of elements, of which those that were never written are absent.

use std::ops::Range;

use algorithms::thread_pool;
use model::selection::ChunkRun;
use model::{Budget, Charged, Result, Selection};
use system::sync::{Mutex, MutexGuard};

use crate::chunk_parts::{ChunkPart, each_batch, split};
use crate::mapping::Chunks;
use crate::{ChunkRead, ChunkWrite, Dataset, Listings, PartialChunks};

/// Runs of this many bytes are read into the caller's buffer; shorter ones through one of their own.
const DIRECT_BYTES: usize = 16 << 10;
/// Elements of this many small chunks are read by one call.
const FETCHES_MAX: usize = 64;
/// Bytes from which on a second thread pays.
const PARALLEL_BYTES: usize = 1 << 20;

/// Runs `work` for every item, on all cores if there are enough bytes.
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

/// Returns what `make` returns for every item, on all cores if there are enough bytes.
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

/// Elements of datasets: in stored chunks, and in chunks that changed in part.
#[derive(Debug)]
pub struct Elements<'a, C: Chunks> {
    /// Where chunks are stored.
    pub(crate) chunks: &'a C,
    /// Listings of chunks that were made.
    pub(crate) listings: &'a Listings<C::Id>,
    /// Filtered chunks that changed in part. A dataset is locked before this is.
    pub(crate) partial_chunks: &'a Mutex<PartialChunks<C::Id>>,
    /// Filters of the registry that the container was opened with.
    pub(crate) filters: &'a filters::Registry,
    /// The account that memory for chunks is charged to.
    pub(crate) budget: Budget,
}

impl<C: Chunks> Elements<'_, C> {
    pub(crate) fn partial_chunks(&self) -> MutexGuard<'_, PartialChunks<C::Id>> {
        self.partial_chunks.lock()
    }

    /// Stores the chunks of a dataset that changed in part.
    pub(crate) fn flush(&self, id: C::Id) -> Result<()> {
        let is_changed = self.partial_chunks().flush(self.chunks, self.filters, id)?;
        if is_changed {
            self.listings.changed(id);
        }
        Ok(())
    }

    /// Stores the chunks of all datasets that changed in part.
    pub(crate) fn flush_all(&self) -> Result<()> {
        let changed = self.partial_chunks().datasets();
        changed.into_iter().try_for_each(|id| self.flush(id))
    }

    /// Reads the selected elements. The elements are locked, and the selection was checked.
    pub(crate) fn read(
        &self,
        id: C::Id,
        dataset: &Dataset,
        selection: &Selection,
        into: &mut [u8],
    ) -> Result<()> {
        let (dims, shape) = (dataset.info.space.dims(), &dataset.shape);
        each_batch(selection, dims, shape, dataset.chunk_bytes(), |parts| {
            match dataset.filters().is_empty() {
                true => self.fetch_parts(id, dataset, parts, into),
                false => self.decode_parts(id, dataset, parts, into),
            }
        })
    }

    fn fetch_parts(&self, id: C::Id, dataset: &Dataset, parts: &[ChunkPart], into: &mut [u8]) -> Result<()> {
        let element_bytes = dataset.element_bytes();
        let bytes = into.len();
        let buffers = split(parts, element_bytes, into);
        let mut targets: Vec<Target<'_, '_>> = Vec::new();
        for (part, buffers) in parts.iter().zip(buffers) {
            targets.extend(targets_of(part, buffers, element_bytes));
        }
        self.fetch_targets(id, dataset, &mut targets, bytes)?;
        let scattered: Vec<Target<'_, '_>> =
            targets.into_iter().filter(|target| target.scatter.is_some()).collect();
        each(scattered, bytes, |target| {
            target.finish(element_bytes);
            Ok(())
        })
    }

    /// Reads elements over the fill value, which stays where nothing was written.
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
        if self.chunks.is_remote() {
            // The number of requests under way matters.
            return fetch(targets);
        }
        // A local store finds what was just filled in the processor's cache.
        let threads = algorithms::workers::threads(bytes as u64, PARALLEL_BYTES as u64);
        let pieces = targets.chunks_mut(if threads == 1 { FETCHES_MAX } else { 1 });
        algorithms::workers::each(pieces.map(Ok), threads, |piece, _| fetch(piece))
    }

    /// Writes the selected elements. The elements are locked, and the selection was checked.
    pub(crate) fn write(
        &self,
        id: C::Id,
        dataset: &Dataset,
        selection: &Selection,
        from: &[u8],
    ) -> Result<()> {
        let (dims, shape) = (dataset.info.space.dims(), &dataset.shape);
        let done = each_batch(selection, dims, shape, dataset.chunk_bytes(), |parts| {
            match dataset.filters().is_empty() {
                true => self.update_parts(id, dataset, parts, from),
                false => self.encode_parts(id, dataset, parts, from),
            }
        });
        self.listings.changed(id);
        done
    }

    fn update_parts(&self, id: C::Id, dataset: &Dataset, parts: &[ChunkPart], from: &[u8]) -> Result<()> {
        let element_bytes = dataset.element_bytes();
        // Nothing but the selected elements is written: another process may write those between them, and elements that
        // were never written stay absent.
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

    /// Returns all elements of a chunk, or `None` if nothing of it is stored. Elements that were never written are those of
    /// `buffer`.
    pub(crate) fn chunk(
        &self,
        id: C::Id,
        dataset: &Dataset,
        start: &[u64],
        mut buffer: Vec<u8>,
    ) -> Result<Option<Vec<u8>>> {
        if !dataset.filters().is_empty() {
            return Ok(self.undone_chunk(id, dataset, start)?.map(Charged::into_inner));
        }
        if !self.chunks.has(id, dataset, start)? {
            return Ok(None);
        }
        self.chunks.fetch(id, dataset, &mut [ChunkRead { start, first: 0, into: &mut buffer }])?;
        Ok(Some(buffer))
    }
}

/// Where elements of a chunk are read to.
struct Target<'p, 'b> {
    part: &'p ChunkPart,
    first: u64,
    bytes: TargetBuffer<'b>,
    /// Where they are copied to from a buffer of their own.
    scatter: Option<Vec<&'b mut [u8]>>,
}

enum TargetBuffer<'b> {
    Borrowed(&'b mut [u8]),
    Owned(Vec<u8>),
}

impl TargetBuffer<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            TargetBuffer::Borrowed(buffer) => buffer,
            TargetBuffer::Owned(buffer) => buffer,
        }
    }
}

impl Target<'_, '_> {
    fn finish(self, element_bytes: usize) {
        let (Some(scatter), TargetBuffer::Owned(buffer)) = (self.scatter, self.bytes) else { return };
        for (run, into) in self.part.runs.iter().zip(scatter) {
            let at = (run.chunk_offset - self.first) as usize * element_bytes;
            into.copy_from_slice(&buffer[at..at + into.len()]);
        }
    }
}

/// Returns where the elements of one chunk are read to: long runs directly, many short ones through one buffer.
fn targets_of<'p, 'b>(
    part: &'p ChunkPart,
    buffers: Vec<&'b mut [u8]>,
    element_bytes: usize,
) -> Vec<Target<'p, 'b>> {
    let bytes = part.elements() as usize * element_bytes;
    if buffers.len() == 1 || bytes / buffers.len().max(1) >= DIRECT_BYTES {
        let target = |(run, buffer): (&ChunkRun, _)| Target {
            part,
            first: run.chunk_offset,
            bytes: TargetBuffer::Borrowed(buffer),
            scatter: None,
        };
        return part.runs.iter().zip(buffers).map(target).collect();
    }
    let (first, last) = part.span();
    let buffer = vec![0; (last - first) as usize * element_bytes];
    vec![Target { part, first, bytes: TargetBuffer::Owned(buffer), scatter: Some(buffers) }]
}

/// Adjacent elements of a chunk.
struct Span {
    first: u64,
    source: Source,
}

enum Source {
    /// A range of the caller's buffer.
    Borrowed(Range<usize>),
    /// Several ranges of it, one after another.
    Gathered(Vec<u8>),
}

impl Span {
    fn bytes<'c>(&'c self, from: &'c [u8]) -> &'c [u8] {
        match &self.source {
            Source::Borrowed(range) => &from[range.clone()],
            Source::Gathered(bytes) => bytes,
        }
    }
}

/// Returns runs in the order of the chunk, which is the fastest to write. If some overlap, returns them in the order of
/// the selection, in which the last one wins.
fn in_chunk_order(runs: &[ChunkRun]) -> Vec<&ChunkRun> {
    let mut sorted: Vec<&ChunkRun> = runs.iter().collect();
    sorted.sort_by_key(|run| run.chunk_offset);
    let overlap = |pair: &[&ChunkRun]| pair[0].chunk_offset + pair[0].len > pair[1].chunk_offset;
    match sorted.windows(2).any(overlap) {
        true => runs.iter().collect(),
        false => sorted,
    }
}

/// Joins runs that touch in the chunk. A single run is not copied.
fn spans_of(part: &ChunkPart, element_bytes: usize, from: &[u8]) -> Vec<Span> {
    let packed = |run: &ChunkRun| {
        let at = run.selection_offset as usize * element_bytes;
        at..at + run.len as usize * element_bytes
    };
    let mut spans = Vec::new();
    let mut runs = in_chunk_order(&part.runs).into_iter().peekable();
    while let Some(run) = runs.next() {
        let (first, mut end, mut source) =
            (run.chunk_offset, run.chunk_offset + run.len, Source::Borrowed(packed(run)));
        while let Some(next) = runs.next_if(|next| next.chunk_offset == end) {
            let mut bytes = match source {
                Source::Borrowed(range) => from[range].to_vec(),
                Source::Gathered(bytes) => bytes,
            };
            bytes.extend_from_slice(&from[packed(next)]);
            (end, source) = (next.chunk_offset + next.len, Source::Gathered(bytes));
        }
        spans.push(Span { first, source });
    }
    spans
}
