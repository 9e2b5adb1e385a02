//! The chunks that a selection touches, in batches.

use model::selection::{ChunkRun, ChunkRuns, PointIndex};
use model::{Result, Selection};

/// The part of a selection in one chunk.
#[derive(Debug)]
pub(crate) struct ChunkPart {
    /// The first element of the chunk.
    pub(crate) start: Vec<u64>,
    /// Runs in the order of the selection; those that touch in both the selection and the chunk are joined.
    pub(crate) runs: Vec<ChunkRun>,
}

/// A batch takes at most this many bytes of chunks, runs, and chunks.
const BATCH_BYTES: usize = 64 << 20;
const BATCH_RUNS: usize = 1 << 18;
const BATCH_CHUNKS: usize = 4096;

impl ChunkPart {
    fn new(chunk_coords: &[u64], shape: &[u64], found: ChunkRuns) -> Self {
        // Chunks touch their extent, so the product is within it.
        let start: Vec<u64> = chunk_coords.iter().zip(shape).map(|(n, len)| n.saturating_mul(*len)).collect();
        let mut runs: Vec<ChunkRun> = Vec::new();
        for run in found {
            match runs.last_mut() {
                Some(last)
                    if last.chunk_offset + last.len == run.chunk_offset
                        && last.selection_offset + last.len == run.selection_offset =>
                {
                    last.len += run.len;
                }
                _ => runs.push(run),
            }
        }
        ChunkPart { start, runs }
    }

    /// Returns the number of selected elements in this chunk.
    pub(crate) fn elements(&self) -> u64 {
        self.runs.iter().map(|run| run.len).sum()
    }

    /// Returns the first selected element of the chunk, and one past the last.
    pub(crate) fn span(&self) -> (u64, u64) {
        let first = self.runs.iter().map(|run| run.chunk_offset).min().unwrap_or(0);
        let last = self.runs.iter().map(|run| run.chunk_offset + run.len).max().unwrap_or(0);
        (first, last)
    }
}

/// Visits the chunks that a selection touches, batch by batch.
pub(crate) fn each_batch(
    selection: &Selection,
    dims: &[u64],
    shape: &[u64],
    chunk_bytes: usize,
    mut visit: impl FnMut(&[ChunkPart]) -> Result<()>,
) -> Result<()> {
    let mut batch = Batch { parts: Vec::new(), runs: 0, chunk_bytes };
    let mut add = |part: ChunkPart| -> Result<()> {
        if batch.is_full() {
            visit(&std::mem::take(&mut batch.parts))?;
            batch.runs = 0;
        }
        batch.runs += part.runs.len();
        batch.parts.push(part);
        Ok(())
    };
    if matches!(selection, Selection::All) && dims == shape {
        // A small dataset is one chunk, and all of it one run.
        let run = ChunkRun { chunk_offset: 0, selection_offset: 0, len: dims.iter().product() };
        add(ChunkPart { start: vec![0; dims.len()], runs: vec![run] })?;
    } else if let Selection::Points(points) = selection {
        let index = PointIndex::new(points, shape)?;
        for chunk_coords in index.chunks() {
            add(ChunkPart::new(&chunk_coords, shape, index.chunk_runs(&chunk_coords)?))?;
        }
    } else {
        for chunk_coords in selection.chunks(dims, shape)? {
            let start: Vec<u64> =
                chunk_coords.iter().zip(shape).map(|(n, len)| n.saturating_mul(*len)).collect();
            add(ChunkPart::new(&chunk_coords, shape, selection.chunk_runs(dims, &start, shape)?))?;
        }
    }
    match batch.parts.is_empty() {
        true => Ok(()),
        false => visit(&batch.parts),
    }
}

struct Batch {
    parts: Vec<ChunkPart>,
    runs: usize,
    chunk_bytes: usize,
}

impl Batch {
    fn is_full(&self) -> bool {
        let bytes = self.parts.len().saturating_mul(self.chunk_bytes);
        !self.parts.is_empty()
            && (bytes.saturating_add(self.chunk_bytes) > BATCH_BYTES
                || self.runs >= BATCH_RUNS
                || self.parts.len() >= BATCH_CHUNKS)
    }
}

/// Splits a buffer of packed elements into the buffers of runs, part by part.
pub(crate) fn split<'b>(
    parts: &[ChunkPart],
    element_bytes: usize,
    into: &'b mut [u8],
) -> Vec<Vec<&'b mut [u8]>> {
    let mut order: Vec<(u64, u64, usize, usize)> = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        order.extend(part.runs.iter().enumerate().map(|(r, run)| (run.selection_offset, run.len, p, r)));
    }
    order.sort_unstable();
    let mut buffers: Vec<Vec<(usize, &mut [u8])>> =
        parts.iter().map(|part| Vec::with_capacity(part.runs.len())).collect();
    let (mut rest, mut at) = (into, 0);
    for (offset, len, p, r) in order {
        let (offset, len) = (offset as usize * element_bytes, len as usize * element_bytes);
        let (_, after) = std::mem::take(&mut rest).split_at_mut(offset - at);
        let (buffer, after) = after.split_at_mut(len);
        buffers[p].push((r, buffer));
        (rest, at) = (after, offset + len);
    }
    let in_order = |mut buffers: Vec<(usize, &'b mut [u8])>| {
        buffers.sort_unstable_by_key(|(run, _)| *run);
        buffers.into_iter().map(|(_, buffer)| buffer).collect()
    };
    buffers.into_iter().map(in_order).collect()
}
