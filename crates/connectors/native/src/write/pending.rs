//! Chunks that changed in part wait in memory (`algorithms::partial_chunks`).
//!
//! A chunk that waits has the fill value wherever it sticks out of the extent. Once written it stays, within the budget,
//! so that the next change need not decode it again.

use algorithms::partial_chunks::{DatasetChunks, PartialChunk};
use model::Result;

use super::Writer;
use super::incoming::filters_of;
use crate::chunk;
use crate::format::Address;
use crate::format::layout::{Chunked, Layout};
use crate::object::dataset::Dataset;

impl Writer {
    /// Writes the changed chunks of a dataset. Those that cannot be written wait on.
    pub(super) fn flush_chunks(&mut self, dataset: Address) -> Result<()> {
        if !self.chunks.pending.is_changed(dataset) {
            return Ok(());
        }
        let changed = self.chunks.pending.changed(dataset);
        self.flush_some(dataset, &changed)
    }

    /// Writes one chunk, which then no longer waits.
    pub(super) fn flush_chunk(&mut self, dataset: Address, chunk_coords: &[u64]) -> Result<()> {
        self.flush_some(dataset, &[chunk_coords.to_vec()])?;
        self.chunks.pending.remove(dataset, chunk_coords);
        Ok(())
    }

    /// Keeps the memory of chunks below its bound.
    pub(super) fn trim_chunks(&mut self) -> Result<()> {
        if !self.chunks.pending.is_over_budget() {
            return Ok(());
        }
        for (dataset, old) in self.chunks.pending.oldest() {
            self.flush_some(dataset, &old.changed)?;
            let all = old.changed.iter().chain(&old.unchanged);
            all.for_each(|chunk_coords| self.chunks.pending.remove(dataset, chunk_coords));
        }
        Ok(())
    }

    fn flush_some(&mut self, at: Address, changed: &[Vec<u64>]) -> Result<()> {
        let dataset = self.dataset(at)?;
        let Layout::Chunked(layout) = &dataset.layout else { return Ok(()) };
        // Taken out while they are written, since both are the writer's.
        let Some(chunks) = self.chunks.pending.take(at, changed) else { return Ok(()) };
        let done = self.put_waiting(&dataset, layout, changed, &chunks);
        self.chunks.pending.put_back(at, chunks, if done.is_ok() { changed } else { &[] });
        done
    }

    fn put_waiting(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        changed: &[Vec<u64>],
        chunks: &DatasetChunks,
    ) -> Result<()> {
        let plain = |chunk_coords: &[u64]| chunks.get(chunk_coords).map_or(&[][..], PartialChunk::elements);
        if dataset.filters().is_empty() {
            let mut changed = changed.iter();
            return changed.try_for_each(|s| self.put_chunk(dataset.address, s, plain(s), 0));
        }
        let reader = self.reader.clone();
        let chunk_bytes = chunk::chunk_bytes(&reader, &layout.shape, layout.element_bytes)?;
        self.put_encoded(dataset, changed, chunk_bytes, |chunk_coords, encoded| {
            let filters = filters_of(dataset, layout, chunk_coords, dataset.dims());
            reader.works.with(|work| encoded.set(&reader, filters, plain(chunk_coords), work))
        })
    }
}
