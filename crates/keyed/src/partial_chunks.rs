//! Filtered chunks that changed in part. They are stored when the dataset is read, at a commit, or when memory is short.

use std::collections::HashMap;
use std::hash::Hash;

use algorithms::{partial_chunks, workers};
use filters::Registry;
use model::selection::ChunkRun;
use model::{Budget, Charge, Result};
use objects::Runs;

use crate::elements::map;
use crate::filtered::applied;
use crate::mapping::Chunks;
use crate::retry::retried;
use crate::{Dataset, StoredChunk};

/// Bytes of chunks in the cache.
const BYTES_MAX: u64 = 64 << 20;
/// Chunks that are merged at the same time: each waits for its store.
const MERGES_AT_ONCE: usize = 8;

/// Filtered chunks that changed in part, of all datasets, by their first elements.
#[derive(Debug)]
pub(crate) struct PartialChunks<Id> {
    cache: partial_chunks::PartialChunks<Id>,
    /// The datasets that have chunks in the cache, with their extents.
    datasets: HashMap<Id, Dataset>,
    /// Elements of these chunks that were written here, if other processes may write the others.
    written: HashMap<Id, HashMap<Vec<u64>, Runs>>,
    /// For the chunks in the cache.
    charge: Option<Charge>,
}

impl<Id: Copy + Ord + Hash> Default for PartialChunks<Id> {
    fn default() -> Self {
        let cache = partial_chunks::PartialChunks::new(BYTES_MAX);
        PartialChunks { cache, datasets: HashMap::new(), written: HashMap::new(), charge: None }
    }
}

impl<Id: Copy + Ord + Hash + Sync> PartialChunks<Id> {
    pub(crate) fn has(&self, id: Id, start: &[u64]) -> bool {
        self.cache.has(id, start)
    }

    /// Returns the elements of a chunk that is about to change, or `None` if it is not in the cache.
    pub(crate) fn change(&mut self, id: Id, start: &[u64]) -> Option<&mut [u8]> {
        self.cache.change(id, start)
    }

    /// Notes elements of a chunk that were written: those between them are other processes'.
    pub(crate) fn note(&mut self, id: Id, start: &[u64], runs: &[ChunkRun]) {
        let chunks = self.written.entry(id).or_default();
        let written = chunks.entry(start.to_vec()).or_default();
        runs.iter().for_each(|run| written.insert(run.chunk_offset, run.chunk_offset + run.len));
    }

    /// Puts a chunk into the cache.
    ///
    /// # Errors
    /// Returns `Limit` if the budget does not suffice; then the chunk is not in the cache.
    pub(crate) fn put(
        &mut self,
        id: Id,
        dataset: &Dataset,
        start: &[u64],
        elements: Vec<u8>,
        budget: &Budget,
    ) -> Result<()> {
        self.cache.insert(id, start, elements, false);
        self.datasets.entry(id).or_insert_with(|| dataset.clone());
        let charge = self.charge.get_or_insert_with(|| budget.empty_charge());
        let charged = charge.resize(self.cache.bytes(), "chunks that changed in part");
        if charged.is_err() {
            self.cache.remove(id, start);
        }
        charged
    }

    /// Drops a chunk that was replaced as a whole.
    pub(crate) fn remove(&mut self, id: Id, start: &[u64]) {
        self.forget_chunk(id, start);
        self.uncharge();
    }

    fn forget_chunk(&mut self, id: Id, start: &[u64]) {
        self.cache.remove(id, start);
        self.written.get_mut(&id).map(|chunks| chunks.remove(start));
    }

    /// Drops the chunks of a dataset.
    pub(crate) fn forget(&mut self, id: Id) {
        self.cache.remove_dataset(id);
        self.datasets.remove(&id);
        self.written.remove(&id);
        self.uncharge();
    }

    /// Gives back what removed chunks were charged for.
    fn uncharge(&mut self) {
        let bytes = self.cache.bytes();
        // Less than before is always granted.
        self.charge.iter_mut().for_each(|charge| drop(charge.resize(bytes, "chunks")));
    }

    /// Stores the chunks of a dataset, and returns whether there were any.
    pub(crate) fn flush(
        &mut self,
        chunks: &impl Chunks<Id = Id>,
        filters: &Registry,
        id: Id,
    ) -> Result<bool> {
        if !self.datasets.contains_key(&id) {
            return Ok(false);
        }
        let changed = self.cache.changed(id);
        self.store(chunks, filters, id, &changed)?;
        self.forget(id);
        Ok(true)
    }

    /// Keeps the memory of chunks below its bound: stores those that were used longest ago, and returns their datasets.
    pub(crate) fn trim(&mut self, chunks: &impl Chunks<Id = Id>, filters: &Registry) -> Result<Vec<Id>> {
        if !self.cache.is_over_budget() {
            return Ok(Vec::new());
        }
        let oldest = self.cache.oldest();
        for (id, old) in &oldest {
            self.store(chunks, filters, *id, &old.changed)?;
            old.changed.iter().chain(&old.unchanged).for_each(|start| self.forget_chunk(*id, start));
        }
        self.uncharge();
        Ok(oldest.into_iter().map(|(id, _)| id).collect())
    }

    /// Stores chunks of a dataset. They stay in the cache, as changed ones where they could not be stored.
    fn store(
        &mut self,
        chunks: &impl Chunks<Id = Id>,
        filters: &Registry,
        id: Id,
        starts: &[Vec<u64>],
    ) -> Result<()> {
        let Some(dataset) = self.datasets.get(&id) else { return Ok(()) };
        let Some(cached) = self.cache.take(id, starts) else { return Ok(()) };
        let elements = |start: &Vec<u64>| cached.get(start).map_or(&[][..], |chunk| chunk.elements());
        let is_serial = filters.is_serial(&::filters::pipeline::stages(dataset.filters()));
        let stored = if chunks.is_concurrent() {
            let written = self.written.get(&id);
            let threads = if is_serial { 1 } else { starts.len().min(MERGES_AT_ONCE) };
            workers::each(starts.iter().map(Ok), threads, |start, _| {
                let runs = written.and_then(|chunks| chunks.get(start)).map_or(&[][..], Runs::as_slice);
                merge(chunks, filters, (id, dataset, start), elements(start), runs)
            })
        } else {
            let bytes = if is_serial { 0 } else { starts.len().saturating_mul(dataset.chunk_bytes()) };
            let made = map(starts.iter().collect(), bytes, |start| {
                applied(filters, dataset, dataset.is_inside(start), elements(start))
            });
            let at: Vec<&[u64]> = starts.iter().map(Vec::as_slice).collect();
            made.and_then(|made: Vec<StoredChunk>| chunks.store(id, dataset, &at, &made))
        };
        self.cache.put_back(id, cached, if stored.is_ok() { starts } else { &[] });
        stored
    }

    /// Returns the datasets that have chunks in the cache.
    pub(crate) fn datasets(&self) -> Vec<Id> {
        self.datasets.keys().copied().collect()
    }
}

/// Stores runs of elements of a chunk over what is stored, and leaves the elements between them as other processes write
/// them meanwhile.
///
/// # Errors
/// Returns `Busy` if other processes are faster all the time.
fn merge<C: Chunks>(
    chunks: &C,
    filters: &Registry,
    (id, dataset, start): (C::Id, &Dataset, &[u64]),
    elements: &[u8],
    runs: &[(u64, u64)],
) -> Result<()> {
    let element_bytes = dataset.element_bytes();
    retried("write elements", || {
        let old = chunks.stored(id, dataset, &[start])?.pop().flatten();
        let mut chunk = dataset.filled();
        if let Some((mask, stored)) = &old {
            ::filters::pipeline::undo(filters, dataset.filters(), *mask, stored, &mut chunk)?;
        }
        for (first, end) in runs {
            let range = *first as usize * element_bytes..*end as usize * element_bytes;
            chunk[range.clone()].copy_from_slice(&elements[range]);
        }
        let new = applied(filters, dataset, dataset.is_inside(start), &chunk)?;
        Ok(chunks.replace(id, dataset, start, old.as_ref(), new)?.then_some(()))
    })
}
