//! From a selection to the chunks that it touches, in batches.

use model::selection::{ChunkRun, ChunkRuns, PointIndex};
use model::{Result, Selection};

/// What a selection has of one chunk.
#[derive(Debug)]
pub(crate) struct Part {
    /// The first element of the chunk.
    pub(crate) start: Vec<u64>,
    /// In the order of the selection; runs that touch on both sides are one.
    pub(crate) runs: Vec<ChunkRun>,
}

/// A batch takes at most this many bytes of chunks, runs, and chunks.
const BATCH_BYTES: usize = 64 << 20;
const BATCH_RUNS: usize = 1 << 18;
const BATCH_CHUNKS: usize = 4096;

impl Part {
    fn new(scaled: &[u64], shape: &[u64], found: ChunkRuns) -> Self {
        // Chunks touch their extent, so the product is within it.
        let start: Vec<u64> = scaled.iter().zip(shape).map(|(n, len)| n.saturating_mul(*len)).collect();
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
        Part { start, runs }
    }

    /// Elements of the selection in this chunk.
    pub(crate) fn elements(&self) -> u64 {
        self.runs.iter().map(|run| run.len).sum()
    }

    /// The elements of the chunk from the first to the last that are selected.
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
    mut visit: impl FnMut(&[Part]) -> Result<()>,
) -> Result<()> {
    let mut batch = Batch { parts: Vec::new(), runs: 0, chunk_bytes };
    let mut add = |part: Part| -> Result<()> {
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
        add(Part { start: vec![0; dims.len()], runs: vec![run] })?;
    } else if let Selection::Points(points) = selection {
        let index = PointIndex::new(points, shape)?;
        for scaled in index.chunks() {
            add(Part::new(&scaled, shape, index.chunk_runs(&scaled)?))?;
        }
    } else {
        for scaled in selection.chunks(dims, shape)? {
            let start: Vec<u64> = scaled.iter().zip(shape).map(|(n, len)| n.saturating_mul(*len)).collect();
            add(Part::new(&scaled, shape, selection.chunk_runs(dims, &start, shape)?))?;
        }
    }
    match batch.parts.is_empty() {
        true => Ok(()),
        false => visit(&batch.parts),
    }
}

struct Batch {
    parts: Vec<Part>,
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

/// The room of every run, part by part, in a buffer of packed elements.
pub(crate) fn split<'b>(parts: &[Part], element_bytes: usize, into: &'b mut [u8]) -> Vec<Vec<&'b mut [u8]>> {
    let mut order: Vec<(u64, u64, usize, usize)> = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        order.extend(part.runs.iter().enumerate().map(|(r, run)| (run.selection_offset, run.len, p, r)));
    }
    order.sort_unstable();
    let mut rooms: Vec<Vec<(usize, &mut [u8])>> =
        parts.iter().map(|part| Vec::with_capacity(part.runs.len())).collect();
    let (mut rest, mut at) = (into, 0);
    for (offset, len, p, r) in order {
        let (offset, len) = (offset as usize * element_bytes, len as usize * element_bytes);
        let (_, after) = std::mem::take(&mut rest).split_at_mut(offset - at);
        let (room, after) = after.split_at_mut(len);
        rooms[p].push((r, room));
        (rest, at) = (after, offset + len);
    }
    let in_order = |mut rooms: Vec<(usize, &'b mut [u8])>| {
        rooms.sort_unstable_by_key(|(run, _)| *run);
        rooms.into_iter().map(|(_, room)| room).collect()
    };
    rooms.into_iter().map(in_order).collect()
}
