//! Filtered chunks: each is one value. Filters are applied and undone on all cores.

use filters::Registry;
use model::properties::Layout;
use model::{Charge, Charged, Result};

use crate::chunk_parts::{ChunkPart, split};
use crate::elements::{each, map};
use crate::mapping::Chunks;
use crate::{Dataset, Elements, StoredChunk};

impl<C: Chunks> Elements<'_, C> {
    pub(crate) fn decode_parts(
        &self,
        id: C::Id,
        dataset: &Dataset,
        parts: &[ChunkPart],
        into: &mut [u8],
    ) -> Result<()> {
        self.flush(id)?;
        let (element_bytes, bytes) = (dataset.element_bytes(), into.len());
        let starts: Vec<&[u64]> = parts.iter().map(|part| &part.start[..]).collect();
        let stored = self.chunks.stored(id, dataset, &starts)?;
        let buffers = split(parts, element_bytes, into);
        let jobs: Vec<_> = parts.iter().zip(stored).zip(buffers).collect();
        each(jobs, shared_bytes(self.filters, dataset, bytes), |((part, stored), mut buffers)| {
            let Some((mask, stored)) = stored else {
                buffers.iter_mut().for_each(|buffer| dataset.fill(buffer));
                return Ok(());
            };
            if let [buffer] = &mut buffers[..]
                && buffer.len() == dataset.chunk_bytes()
            {
                let _charge = self.charge_between(dataset)?;
                return filters::pipeline::undo(self.filters, dataset.filters(), mask, &stored, buffer);
            }
            let chunk = self.undone(dataset, mask, &stored)?;
            for (run, buffer) in part.runs.iter().zip(buffers) {
                let at = run.chunk_offset as usize * element_bytes;
                buffer.copy_from_slice(&chunk[at..at + buffer.len()]);
            }
            Ok(())
        })
    }

    /// Writes elements: chunks that change as a whole are filtered and stored now, others when they are flushed.
    pub(crate) fn encode_parts(
        &self,
        id: C::Id,
        dataset: &Dataset,
        parts: &[ChunkPart],
        from: &[u8],
    ) -> Result<()> {
        filters::pipeline::check(self.filters, dataset.filters())?;
        let is_concurrent = self.chunks.is_concurrent();
        let (whole, partial): (Vec<&ChunkPart>, Vec<&ChunkPart>) =
            parts.iter().partition(|part| replaces_chunk(dataset, part, is_concurrent));
        let starts: Vec<&[u64]> = whole.iter().map(|part| &part.start[..]).collect();
        let bytes = shared_bytes(self.filters, dataset, from.len());
        let made = map(whole, bytes, |part| filtered(self.filters, dataset, part, from))?;
        self.chunks.store(id, dataset, &starts, &made)?;
        let mut cache = self.partial_chunks();
        starts.iter().for_each(|start| cache.remove(id, start));
        for part in partial {
            if !cache.has(id, &part.start) {
                let elements = self.partial_chunk(id, dataset, &part.start)?.into_inner();
                cache.put(id, dataset, &part.start, elements, &self.budget)?;
            }
            if let Some(chunk) = cache.change(id, &part.start) {
                put_runs(dataset, part, from, chunk);
            }
            if is_concurrent {
                cache.note(id, &part.start, &part.runs);
            }
            cache.trim(self.chunks, self.filters)?.into_iter().for_each(|id| self.listings.changed(id));
        }
        Ok(())
    }

    /// Returns the elements of a chunk that is stored, or those of a chunk that was never written. If other processes
    /// write too, the stored elements are those of the moment when the chunk is stored again: they are not read now.
    fn partial_chunk(&self, id: C::Id, dataset: &Dataset, start: &[u64]) -> Result<Charged<Vec<u8>>> {
        let stored = match self.chunks.is_concurrent() {
            true => None,
            false => self.chunks.stored(id, dataset, &[start])?.pop().flatten(),
        };
        match stored {
            Some((mask, stored)) => self.undone(dataset, mask, &stored),
            None => {
                let mut chunk = self.budget.zeroed(dataset.chunk_bytes(), "chunk")?;
                dataset.fill(&mut chunk);
                Ok(chunk)
            }
        }
    }

    /// Returns all elements of a chunk, or `None` if it is not stored.
    pub(crate) fn undone_chunk(
        &self,
        id: C::Id,
        dataset: &Dataset,
        start: &[u64],
    ) -> Result<Option<Charged<Vec<u8>>>> {
        self.flush(id)?;
        let stored = self.chunks.stored(id, dataset, &[start])?.pop().flatten();
        stored.map(|(mask, stored)| self.undone(dataset, mask, &stored)).transpose()
    }

    /// Undoes the filters of a stored chunk.
    fn undone(&self, dataset: &Dataset, mask: u32, stored: &[u8]) -> Result<Charged<Vec<u8>>> {
        let mut chunk = self.budget.zeroed(dataset.chunk_bytes(), "chunk")?;
        let _charge = self.charge_between(dataset)?;
        filters::pipeline::undo(self.filters, dataset.filters(), mask, stored, &mut chunk)?;
        Ok(chunk)
    }

    /// Charges the buffer between two filters.
    fn charge_between(&self, dataset: &Dataset) -> Result<Option<Charge>> {
        let bytes = (dataset.filters().len() > 1).then_some(dataset.chunk_bytes() as u64);
        bytes.map(|bytes| self.budget.charge(bytes, "chunk while it is decoded")).transpose()
    }
}

/// Applies the filters to a chunk. `is_inside` says that all of it is inside of the extent.
pub(crate) fn applied(
    registry: &Registry,
    dataset: &Dataset,
    is_inside: bool,
    chunk: &[u8],
) -> Result<StoredChunk> {
    let leaves_edges =
        matches!(dataset.info.create.layout, Layout::Chunked { edge_chunks_unfiltered: true, .. });
    if leaves_edges && !is_inside {
        return Ok((filters::pipeline::mask_of_none(dataset.filters()), chunk.to_vec()));
    }
    let (bytes, mask) = filters::pipeline::apply(registry, dataset.filters(), chunk)?;
    Ok((mask, bytes))
}

/// Returns whether a write replaces all elements of a chunk. What is outside of the extent does not count, unless other
/// processes write too: they may have grown the extent, and written there.
fn replaces_chunk(dataset: &Dataset, part: &ChunkPart, is_concurrent: bool) -> bool {
    let all = match is_concurrent {
        true => dataset.chunk_elements(),
        false => dataset.inside(&part.start).iter().product(),
    };
    part.elements() == all
}

fn put_runs(dataset: &Dataset, part: &ChunkPart, from: &[u8], chunk: &mut [u8]) {
    let element_bytes = dataset.element_bytes();
    for run in &part.runs {
        let (at, len) = (run.chunk_offset as usize * element_bytes, run.len as usize * element_bytes);
        let packed = run.selection_offset as usize * element_bytes;
        chunk[at..at + len].copy_from_slice(&from[packed..packed + len]);
    }
}

/// Returns a chunk whose elements all change as it is stored.
fn filtered(registry: &Registry, dataset: &Dataset, part: &ChunkPart, from: &[u8]) -> Result<StoredChunk> {
    let is_inside = dataset.is_inside(&part.start);
    if let [run] = &part.runs[..]
        && run.len == dataset.chunk_elements()
    {
        let at = run.selection_offset as usize * dataset.element_bytes();
        return applied(registry, dataset, is_inside, &from[at..at + dataset.chunk_bytes()]);
    }
    let mut chunk = dataset.filled();
    put_runs(dataset, part, from, &mut chunk);
    applied(registry, dataset, is_inside, &chunk)
}

/// Returns the bytes that count for sharing work: filtered ones are more work, and a filter that runs on the caller's thread only is
/// not shared.
pub(crate) fn shared_bytes(registry: &filters::Registry, dataset: &Dataset, bytes: usize) -> usize {
    match registry.is_serial(&filters::pipeline::stages(dataset.filters())) {
        true => 0,
        false => bytes.saturating_mul(4),
    }
}
