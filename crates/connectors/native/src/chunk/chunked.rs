//! Reading chunked datasets: which chunks, decoded on all cores, into the caller's buffer.
//!
//! Selections run through the slowest dimension first, so that all chunks with the same first coordinate, a *band*, fill
//! one piece of the caller's buffer. Bands go to different cores, which share nothing. A chunk that is wanted whole and in
//! one piece is read or decoded in its place.

use std::iter::Peekable;
use std::ops::Range;

use algorithms::thread_pool;
use filters::pipeline::stages;
use model::selection::{ChunkRun, ChunkRuns, PointIndex};
use model::{Context, Result, Selection, Within};

use super::index::{ChunkAt, Chunks};
use super::load::Filtered;
use super::pieces::{self, FileRun};
use crate::format::layout::Chunked;
use crate::object::dataset::Dataset;
use crate::reader::Reader;
use crate::work::{self, Work};

/// Bytes of chunks whose coordinates are listed at a time.
const BATCH_BYTES: u64 = 256 << 20;
/// Bytes of chunks whose coordinates are listed at a time, for remote files, of which two batches are read at a time.
const REMOTE_BATCH_BYTES: u64 = 64 << 20;
/// Decoded chunks that wait to be copied to their places.
const WAITING_BYTES: u64 = 32 << 20;
/// Less than this is not worth waking another core for, unless filters have to be undone.
const PARALLEL_BYTES: u64 = 512 << 10;
/// Chunks up to this size are decoded on all cores whatever memory is left.
const SMALL_BYTES: u64 = 4 << 20;
/// A chunk of which more runs than this are wanted is read from the first of them to the last.
const RUNS_APART_MAX: usize = 64;

/// The state of reading one dataset's chunks.
struct Reading<'a> {
    file: &'a Reader,
    dataset: &'a Dataset,
    chunks: Chunks<'a>,
    /// Chunks along each dimension.
    grid: Vec<u64>,
    selection: &'a Selection,
    points: Option<PointIndex>,
    /// First and last coordinates of what is selected.
    bounds: (Vec<u64>, Vec<u64>),
    /// Chunks that are wanted whole are cached too: so little is read that it may be read again.
    keeps_whole: bool,
}

/// The chunks of a band, and how many elements of the selection come before.
struct Band {
    chunks: Vec<Vec<u64>>,
    before: u64,
}

/// A part of the caller's buffer: elements of the selection from `before` on.
struct ElementBuffer<'b> {
    before: u64,
    bytes: &'b mut [u8],
}

pub(crate) fn read(
    file: &Reader,
    dataset: &Dataset,
    layout: &Chunked,
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    if into.is_empty() {
        return Ok(());
    }
    let chunks = Chunks::open(file, dataset, layout)?;
    let points = match selection {
        Selection::Points(points) => Some(PointIndex::new(points, &layout.shape)?),
        _ => None,
    };
    let grid = dataset.dims().iter().zip(&layout.shape).map(|(d, c)| d.div_ceil(*c)).collect();
    let keeps_whole = file.chunks.budget(dataset.address).has_space(2 * into.len() as u64);
    let Some(bounds) = selection.bounds(dataset.dims())? else { return Ok(()) };
    let reader = Reading { file, dataset, chunks, grid, selection, points, bounds, keeps_whole };
    match &reader.points {
        Some(points) => reader.read_apart(points.chunks(), ElementBuffer { before: 0, bytes: into }),
        None => reader.read_bands(selection.chunks(dataset.dims(), &layout.shape)?, into),
    }
}

impl Reading<'_> {
    fn element_bytes(&self) -> u64 {
        self.dataset.element_bytes() as u64
    }

    /// Returns whether it pays to use other cores for so many chunks, and there is memory for that.
    fn is_worth_sharing(&self, chunks: u64, bytes: usize) -> bool {
        let is_work = chunks > 1 && (self.chunks.filtered || self.touched(chunks, bytes) >= PARALLEL_BYTES);
        let is_alone =
            || self.file.store.is_serial() || self.file.registry.is_serial(&stages(self.dataset.filters()));
        is_work && !is_alone() && (self.chunks.chunk_bytes <= SMALL_BYTES || self.has_memory_to_share())
    }

    /// Returns about how many bytes of chunks without filters are read for so many bytes of elements.
    fn touched(&self, chunks: u64, bytes: usize) -> u64 {
        let whole = chunks.saturating_mul(self.chunks.chunk_bytes);
        pieces::touched_bytes(self.selection, bytes as u64, self.element_bytes(), whole)
    }

    /// Returns whether every core could decode a chunk at the same time.
    fn has_memory_to_share(&self) -> bool {
        let each = self.chunks.chunk_bytes.saturating_mul(3);
        each.saturating_mul(thread_pool::threads() as u64) <= self.file.store.budget.left()
    }

    fn read_bands(&self, wanted: impl Iterator<Item = Vec<u64>>, into: &mut [u8]) -> Result<()> {
        let mut wanted = wanted.peekable();
        let mut rest = ElementBuffer { before: 0, bytes: into };
        let mut bands = self.next_bands(&mut wanted)?;
        while !bands.is_empty() {
            // The next ones are fetched while these are decoded.
            let next = self.next_bands(&mut wanted)?;
            let end = rest.before + rest.bytes.len() as u64 / self.element_bytes();
            let (now, later) = rest.split(next.first().map_or(end, |band| band.before), self.element_bytes());
            self.read_batch(std::mem::replace(&mut bands, next), now)?;
            rest = later;
        }
        Ok(())
    }

    /// Starts to fetch chunks that are about to be read, where that takes long to begin.
    fn prefetch<'c>(&self, chunks: impl Iterator<Item = &'c Vec<u64>>) -> Result<()> {
        if !self.file.store.shared.is_remote() {
            return Ok(());
        }
        let ranges = chunks.map(|chunk_coords| self.stored_range(chunk_coords));
        let ranges: Vec<_> = ranges.filter_map(Result::transpose).collect::<Result<_>>()?;
        self.file.store.shared.prefetch(&ranges)
    }

    /// Returns the addresses that reading a chunk takes: all of a chunk with filters, else from the first wanted element on to
    /// the last.
    fn stored_range(&self, chunk_coords: &[u64]) -> Result<Option<Range<u64>>> {
        let Some(at) = self.find(chunk_coords)? else { return Ok(None) };
        let start = at.address.0;
        if self.chunks.filtered {
            let is_cached = self.filtered().cached(at).is_some();
            return Ok((!is_cached).then(|| start..start.saturating_add(at.bytes)));
        }
        let Some(first) = self.runs(chunk_coords)?.next() else { return Ok(None) };
        let last = self.last_offset(chunk_coords).saturating_add(1).saturating_mul(self.element_bytes());
        let from = first.chunk_offset.saturating_mul(self.element_bytes());
        Ok(Some(start.saturating_add(from)..start.saturating_add(last.min(self.chunks.chunk_bytes))))
    }

    /// Returns some bands, each whole, whose chunks are on their way.
    fn next_bands(&self, wanted: &mut Peekable<impl Iterator<Item = Vec<u64>>>) -> Result<Vec<Band>> {
        let mut bands: Vec<Band> = Vec::new();
        let mut bytes = 0;
        let is_remote = self.file.store.shared.is_remote();
        let batch_bytes = if is_remote { REMOTE_BATCH_BYTES } else { BATCH_BYTES };
        while let Some(next) = wanted.peek() {
            let same = bands.last().is_some_and(|band| band.chunks[0].first() == next.first());
            if !same && bytes >= batch_bytes {
                break;
            }
            if !same {
                bands.push(Band { chunks: Vec::new(), before: self.elements_before(next)? });
            }
            if let (Some(band), Some(next)) = (bands.last_mut(), wanted.next()) {
                band.chunks.push(next);
            }
            bytes += self.chunks.chunk_bytes;
        }
        self.prefetch(bands.iter().flat_map(|band| &band.chunks))?;
        Ok(bands)
    }

    /// Selected elements before those of the band that a chunk is in.
    fn elements_before(&self, chunk_coords: &[u64]) -> Result<u64> {
        let (dims, shape) = (self.dataset.dims(), &self.chunks.layout.shape);
        let mut start = vec![0; dims.len()];
        let mut whole = dims.to_vec();
        if let (Some(start), Some(whole)) = (start.first_mut(), whole.first_mut()) {
            (*start, *whole) = (chunk_coords[0] * shape[0], shape[0]);
        }
        let first = self.selection.chunk_runs(dims, &start, &whole)?.next();
        Ok(first.map_or(0, |run| run.selection_offset))
    }

    fn read_batch(&self, bands: Vec<Band>, into: ElementBuffer<'_>) -> Result<()> {
        let count: usize = bands.iter().map(|band| band.chunks.len()).sum();
        if !self.is_worth_sharing(count as u64, into.bytes.len()) {
            let chunks = bands.iter().flat_map(|band| &band.chunks);
            return self.file.works.with(|work| self.read_in_turn(chunks, into, work));
        }
        if bands.len() == 1 {
            return self.read_apart(bands.into_iter().flat_map(|band| band.chunks), into);
        }
        let parts = into.split_at_bands(&bands, self.element_bytes());
        thread_pool::each(bands.iter().zip(parts).collect(), |(band, part)| {
            self.file.works.with(|work| self.read_in_turn(band.chunks.iter(), part, work))
        })
    }

    fn read_in_turn<'s>(
        &self,
        mut chunks: impl Iterator<Item = &'s Vec<u64>>,
        mut into: ElementBuffer<'_>,
        work: &mut Work,
    ) -> Result<()> {
        chunks.try_for_each(|chunk_coords| self.read_chunk(chunk_coords, &mut into, work))
    }

    /// Reads chunks whose elements lie between each other's: they are loaded on all cores, and then copied by one.
    fn read_apart(&self, wanted: impl Iterator<Item = Vec<u64>>, mut into: ElementBuffer<'_>) -> Result<()> {
        let batch_max = (WAITING_BYTES / self.chunks.chunk_bytes.max(1)).clamp(1, 4096) as usize;
        let mut wanted = wanted.peekable();
        while wanted.peek().is_some() {
            let batch: Vec<Vec<u64>> = wanted.by_ref().take(batch_max).collect();
            self.prefetch(batch.iter())?;
            if !self.is_worth_sharing(batch.len() as u64, into.bytes.len()) {
                self.file.works.with(|work| {
                    batch.iter().try_for_each(|chunk_coords| self.read_chunk(chunk_coords, &mut into, work))
                })?;
                continue;
            }
            let packed = thread_pool::map(batch.iter().collect(), |chunk_coords| self.packed(chunk_coords))?;
            for (chunk_coords, packed) in batch.iter().zip(packed) {
                self.unpack(chunk_coords, &packed, &mut into)?;
            }
        }
        Ok(())
    }

    /// Returns the wanted elements of one chunk, one after the other.
    fn packed(&self, chunk_coords: &[u64]) -> Result<Vec<u8>> {
        let bytes = self.element_bytes();
        let mut count = 0;
        let runs = self.runs(chunk_coords)?.map(|run| {
            let here = ChunkRun { selection_offset: count, ..run };
            count += run.len;
            here
        });
        let runs: Vec<ChunkRun> = runs.collect();
        let mut packed = vec![0; (count * bytes) as usize];
        let mut target = ElementBuffer { before: 0, bytes: &mut packed };
        self.file.works.with(|work| self.read_runs(chunk_coords, &runs, &mut target, work))?;
        Ok(packed)
    }

    fn unpack(&self, chunk_coords: &[u64], packed: &[u8], into: &mut ElementBuffer<'_>) -> Result<()> {
        let mut rest = packed;
        for run in self.runs(chunk_coords)? {
            let target = into.part(&run, self.element_bytes());
            let (now, later) = rest.split_at(target.len());
            target.copy_from_slice(now);
            rest = later;
        }
        Ok(())
    }

    fn runs(&self, chunk_coords: &[u64]) -> Result<ChunkRuns> {
        let wanted = (self.selection, self.points.as_ref());
        super::runs_in(self.dataset, &self.chunks.layout.shape, wanted, chunk_coords)
    }

    fn find(&self, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        let found = self.dataset.map.find(&self.chunks, &self.grid, chunk_coords);
        found.during_at("find chunk", self.dataset.address.0)
    }

    fn filtered(&self) -> Filtered<'_> {
        Filtered { file: self.file, dataset: self.dataset, chunks: &self.chunks }
    }

    /// Copies the wanted elements of one chunk to their places.
    fn read_chunk(&self, chunk_coords: &[u64], into: &mut ElementBuffer<'_>, work: &mut Work) -> Result<()> {
        let mut runs = self.runs(chunk_coords)?;
        let Some(first) = runs.next() else { return Ok(()) };
        let Some(at) = self.find(chunk_coords)? else {
            return std::iter::once(first).chain(runs).try_for_each(|run| {
                super::fill(self.dataset, into.part(&run, self.element_bytes()));
                Ok(())
            });
        };
        if first.len * self.element_bytes() == self.chunks.chunk_bytes {
            return self.read_whole(chunk_coords, at, into.part(&first, self.element_bytes()), work);
        }
        if self.chunks.filtered && !self.keeps_whole && self.is_whole(chunk_coords)? {
            return self.filtered().with_elements(chunk_coords, at, work, |chunk| {
                copy([first], chunk, into, self.element_bytes());
                self.copy_rest(runs, chunk, into)
            });
        }
        if self.chunks.filtered {
            let chunk = self.filtered().load(chunk_coords, at, work)?;
            copy([first], &chunk, into, self.element_bytes());
            return self.copy_rest(runs, &chunk, into);
        }
        self.read_plain(chunk_coords, at, (first, runs), into, work)
    }

    /// Returns whether every element of a chunk is wanted: a reader of so much does not come back for it.
    fn is_whole(&self, chunk_coords: &[u64]) -> Result<bool> {
        let wanted: u64 = self.runs(chunk_coords)?.map(|run| run.len).sum();
        Ok(wanted.saturating_mul(self.element_bytes()) == self.chunks.chunk_bytes)
    }

    fn read_whole(&self, chunk_coords: &[u64], at: ChunkAt, into: &mut [u8], work: &mut Work) -> Result<()> {
        if !self.chunks.filtered {
            return self.file.store.read(at.address, into, "chunk");
        }
        let filtered = self.filtered();
        if self.keeps_whole {
            into.copy_from_slice(&filtered.load(chunk_coords, at, work)?);
            return Ok(());
        }
        match filtered.cached(at) {
            Some(chunk) => into.copy_from_slice(&chunk),
            None => filtered.decode(chunk_coords, at, into, work)?,
        }
        Ok(())
    }

    /// Reads parts of a chunk without filters: few runs one by one, and many with all that lies between them.
    fn read_plain(
        &self,
        chunk_coords: &[u64],
        at: ChunkAt,
        (first, mut runs): (ChunkRun, ChunkRuns),
        into: &mut ElementBuffer<'_>,
        work: &mut Work,
    ) -> Result<()> {
        let mut some = vec![first];
        some.extend(runs.by_ref().take(RUNS_APART_MAX));
        if some.len() <= RUNS_APART_MAX {
            return self.read_pieces(at, some.into_iter(), into, work);
        }
        if self.points.is_some() {
            return self.read_pieces(at, some.into_iter().chain(runs), into, work);
        }
        let end = self.chunks.chunk_bytes.within(self.file.store.end(), "chunk")?;
        let end = end.min((self.last_offset(chunk_coords) + 1).saturating_mul(self.element_bytes()) as usize);
        let mut chunk = std::mem::take(&mut work.plain);
        let start = ((first.chunk_offset * self.element_bytes()) as usize).min(end);
        let span = &mut work::sized(&mut chunk, end)[start..];
        let place = crate::format::Address(at.address.0.saturating_add(start as u64));
        let read = self.file.store.read(place, span, "chunk");
        let done = read.and_then(|()| {
            copy(some, &chunk, into, self.element_bytes());
            self.copy_rest(runs, &chunk, into)
        });
        work.plain = chunk;
        done
    }

    fn copy_rest(&self, runs: ChunkRuns, chunk: &[u8], into: &mut ElementBuffer<'_>) -> Result<()> {
        runs.copy_out(self.dataset.element_bytes(), chunk, into.before, into.bytes)
    }

    /// No selected element of a chunk comes after this one.
    fn last_offset(&self, chunk_coords: &[u64]) -> u64 {
        let shape = &self.chunks.layout.shape;
        let at = |d: usize| (self.bounds.1[d] - chunk_coords[d] * shape[d]).min(shape[d] - 1);
        (0..shape.len()).fold(0, |offset: u64, d| offset.saturating_mul(shape[d]).saturating_add(at(d)))
    }

    fn read_pieces(
        &self,
        at: ChunkAt,
        runs: impl Iterator<Item = ChunkRun>,
        into: &mut ElementBuffer<'_>,
        work: &mut Work,
    ) -> Result<()> {
        let (bytes, before) = (self.element_bytes(), into.before);
        let piece = |run: ChunkRun| FileRun {
            from: run.chunk_offset * bytes,
            to: ((run.selection_offset - before) * bytes) as usize,
            len: (run.len * bytes) as usize,
        };
        pieces::read(&self.file.store, at.address, runs.map(piece), into.bytes, work)
    }

    /// Runs of a chunk, to the places that they name.
    fn read_runs(
        &self,
        chunk_coords: &[u64],
        runs: &[ChunkRun],
        into: &mut ElementBuffer<'_>,
        work: &mut Work,
    ) -> Result<()> {
        let runs = runs.iter().copied();
        match self.find(chunk_coords)? {
            None => {
                super::fill(self.dataset, into.bytes);
                Ok(())
            }
            Some(at) if self.chunks.filtered => {
                copy(runs, &self.filtered().load(chunk_coords, at, work)?, into, self.element_bytes());
                Ok(())
            }
            Some(at) => self.read_pieces(at, runs, into, work),
        }
    }
}

/// Copies runs of a chunk to their places.
fn copy(
    runs: impl IntoIterator<Item = ChunkRun>,
    chunk: &[u8],
    into: &mut ElementBuffer<'_>,
    element_bytes: u64,
) {
    for run in runs {
        let target = into.part(&run, element_bytes);
        let from = (run.chunk_offset * element_bytes) as usize;
        target.copy_from_slice(&chunk[from..from + target.len()]);
    }
}

impl<'b> ElementBuffer<'b> {
    /// Returns the place of a run.
    fn part(&mut self, run: &ChunkRun, element_bytes: u64) -> &mut [u8] {
        let start = ((run.selection_offset - self.before) * element_bytes) as usize;
        &mut self.bytes[start..start + (run.len * element_bytes) as usize]
    }

    /// Returns what comes before the element with that number, and the rest.
    fn split(self, at: u64, element_bytes: u64) -> (ElementBuffer<'b>, ElementBuffer<'b>) {
        let (now, later) = self.bytes.split_at_mut(((at - self.before) * element_bytes) as usize);
        (ElementBuffer { before: self.before, bytes: now }, ElementBuffer { before: at, bytes: later })
    }

    fn split_at_bands(self, bands: &[Band], element_bytes: u64) -> Vec<ElementBuffer<'b>> {
        let mut parts = Vec::with_capacity(bands.len());
        let mut rest = self;
        for next in bands.iter().skip(1) {
            let (now, later) = rest.split(next.before, element_bytes);
            parts.push(now);
            rest = later;
        }
        parts.push(rest);
        parts
    }
}
