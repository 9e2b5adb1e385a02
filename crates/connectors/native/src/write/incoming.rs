//! Elements on their way to chunks: which of a chunk's are new, where they lie, and the chunk after its filters.

use model::properties::FilterSpec;
use model::selection::{ChunkRuns, PointIndex};
use model::{Result, Selection};
use vol::OpWrite;

use crate::chunk;
use crate::format::layout::Chunked;
use crate::object::dataset::Dataset;
use crate::reader::Reader;
use crate::work::{self, Work};

/// A chunk after its filters, in a buffer that serves chunk after chunk.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    /// At its start; what follows is space.
    buffer: Vec<u8>,
    len: usize,
    pub(super) mask: u32,
}

impl Encoded {
    pub(super) fn set(
        &mut self,
        file: &Reader,
        filters: &[FilterSpec],
        plain: &[u8],
        work: &mut Work,
    ) -> Result<()> {
        (self.len, self.mask) = match filters.is_empty() {
            true => {
                self.buffer.clear();
                self.buffer.extend_from_slice(plain);
                (plain.len(), 0)
            }
            false => file.filter_into(filters, plain, work, &mut self.buffer)?,
        };
        Ok(())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// Elements on their way to the chunks of one dataset.
pub(super) struct Incoming<'a> {
    pub(super) file: &'a Reader,
    pub(super) dataset: &'a Dataset,
    pub(super) layout: &'a Chunked,
    pub(super) op: &'a OpWrite<'a>,
    pub(super) points: Option<PointIndex>,
    pub(super) chunk_bytes: usize,
}

impl Incoming<'_> {
    pub(super) fn runs(&self, chunk_coords: &[u64]) -> Result<ChunkRuns> {
        let given = (self.op.selection, self.points.as_ref());
        chunk::runs_in(self.dataset, &self.layout.shape, given, chunk_coords)
    }

    /// Returns the number of elements of a chunk that are in the extent.
    fn elements_inside(&self, chunk_coords: &[u64]) -> u64 {
        let ends = self.dataset.dims().iter().zip(chunk_coords).zip(&self.layout.shape);
        ends.map(|((dim, s), c)| (*dim - (s * c).min(*dim)).min(*c)).product()
    }

    /// Returns whether nothing of what a chunk held stays.
    pub(super) fn replaces(&self, chunk_coords: &[u64]) -> Result<bool> {
        // Points may name an element twice.
        if self.points.is_some() {
            return Ok(false);
        }
        let wanted = self.elements_inside(chunk_coords);
        // Where the extent can grow, so may what a chunk at its edge shows.
        let whole = (self.chunk_bytes / self.dataset.element_bytes()) as u64;
        let can_grow = self.dataset.info.space.max_dims() != self.dataset.dims();
        if (self.op.from.len() as u64) < wanted * self.dataset.element_bytes() as u64
            || (can_grow && wanted < whole)
        {
            return Ok(false);
        }
        let mut found = 0;
        Ok(self.runs(chunk_coords)?.any(|run| {
            found += run.len;
            found >= wanted
        }))
    }

    /// Returns the elements of a chunk that is replaced, where they lie in one piece of the caller's buffer.
    pub(super) fn in_place(&self, chunk_coords: &[u64]) -> Result<Option<&[u8]>> {
        let bytes = self.dataset.element_bytes();
        let first = self.runs(chunk_coords)?.next();
        let whole = first.filter(|run| run.len as usize * bytes == self.chunk_bytes);
        Ok(whole.map(|run| &self.op.from[run.selection_offset as usize * bytes..][..self.chunk_bytes]))
    }

    /// Puts the new elements of a chunk among the others.
    pub(super) fn put(&self, chunk_coords: &[u64], chunk: &mut [u8]) -> Result<()> {
        self.runs(chunk_coords)?.copy_in(self.dataset.element_bytes(), self.op.from, chunk)
    }

    /// Calls `f` with all elements of a chunk that is replaced.
    pub(super) fn with_whole<T>(
        &self,
        chunk_coords: &[u64],
        f: impl FnOnce(&[u8], &mut Work) -> Result<T>,
    ) -> Result<T> {
        let in_place = self.in_place(chunk_coords)?;
        self.file.works.with(|work| {
            if let Some(chunk) = in_place {
                return f(chunk, work);
            }
            let mut plain = std::mem::take(&mut work.plain);
            let chunk = work::sized(&mut plain, self.chunk_bytes);
            if self.elements_inside(chunk_coords) * (self.dataset.element_bytes() as u64)
                < self.chunk_bytes as u64
            {
                chunk::fill(self.dataset, chunk);
            }
            let done = self.put(chunk_coords, chunk).and_then(|()| f(chunk, work));
            work.plain = plain;
            done
        })
    }
}

/// Puts the fill value over the elements of a chunk that lie outside of `dims`; whether something else was there.
pub(super) fn keep_only(
    dataset: &Dataset,
    layout: &Chunked,
    chunk_coords: &[u64],
    dims: &[u64],
    chunk: &mut Vec<u8>,
) -> Result<bool> {
    let start = chunk::start_of(chunk_coords, &layout.shape);
    if start.iter().zip(&layout.shape).zip(dims).all(|((s, c), d)| s + c <= *d) {
        return Ok(false);
    }
    let mut kept = vec![0; chunk.len()];
    chunk::fill(dataset, &mut kept);
    let bytes = dataset.element_bytes();
    for run in Selection::All.chunk_runs(dims, &start, &layout.shape)? {
        let (at, len) = (run.chunk_offset as usize * bytes, run.len as usize * bytes);
        kept[at..at + len].copy_from_slice(&chunk[at..at + len]);
    }
    let differs = *chunk != kept;
    *chunk = kept;
    Ok(differs)
}

/// Returns the filters that a chunk goes through: none at the edge of an extent, where the dataset wants it so.
pub(crate) fn filters_of<'d>(
    dataset: &'d Dataset,
    layout: &Chunked,
    chunk_coords: &[u64],
    dims: &[u64],
) -> &'d [FilterSpec] {
    let mut ends = chunk_coords.iter().zip(&layout.shape).map(|(s, c)| (s + 1).saturating_mul(*c)).zip(dims);
    match layout.edge_chunks_unfiltered && ends.any(|(end, dim)| end > *dim) {
        true => &[],
        false => dataset.filters(),
    }
}
