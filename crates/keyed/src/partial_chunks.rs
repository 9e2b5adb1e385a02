//! The cache of filtered chunks that changed in part. They are stored when the dataset is read, or at a commit:
//! appending rows would otherwise undo and apply the filters of a chunk for every row.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use model::{Charged, Result};

use crate::elements::map;
use crate::filtered::applied;
use crate::mapping::Chunks;
use crate::{Dataset, StoredChunk};

/// Bytes of chunks in the cache, beyond which all are stored.
const BYTES_MAX: usize = 64 << 20;

/// The elements of a chunk.
#[derive(Debug)]
pub(crate) struct PartialChunk {
    /// Whether all of the chunk is inside of the extent.
    pub(crate) is_inside: bool,
    pub(crate) elements: Charged<Vec<u8>>,
}

/// Chunks of one dataset, by their first elements.
#[derive(Debug)]
struct DatasetChunks {
    dataset: Dataset,
    chunks: BTreeMap<Vec<u64>, PartialChunk>,
}

/// Filtered chunks that changed in part, of all datasets.
#[derive(Debug)]
pub(crate) struct PartialChunks<Id> {
    datasets: HashMap<Id, DatasetChunks>,
    bytes: usize,
}

impl<Id> Default for PartialChunks<Id> {
    fn default() -> Self {
        PartialChunks { datasets: HashMap::new(), bytes: 0 }
    }
}

impl<Id: Copy + Eq + Hash> PartialChunks<Id> {
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > BYTES_MAX
    }

    /// Returns a chunk that changed in part, or `None` if it is not in the cache.
    pub(crate) fn get(&mut self, id: Id, start: &[u64]) -> Option<&mut PartialChunk> {
        self.datasets.get_mut(&id)?.chunks.get_mut(start)
    }

    /// Puts a chunk into the cache.
    pub(crate) fn put(&mut self, id: Id, dataset: &Dataset, start: &[u64], chunk: PartialChunk) {
        self.remove(id, start);
        self.bytes += chunk.elements.len();
        let new = || DatasetChunks { dataset: dataset.clone(), chunks: BTreeMap::new() };
        self.datasets.entry(id).or_insert_with(new).chunks.insert(start.to_vec(), chunk);
    }

    /// Drops a chunk that was replaced as a whole.
    pub(crate) fn remove(&mut self, id: Id, start: &[u64]) {
        let Some(dataset) = self.datasets.get_mut(&id) else { return };
        if let Some(gone) = dataset.chunks.remove(start) {
            self.bytes -= gone.elements.len();
        }
    }

    /// Drops the chunks of a dataset.
    pub(crate) fn forget(&mut self, id: Id) {
        let Some(dataset) = self.datasets.remove(&id) else { return };
        self.bytes -= dataset.chunks.values().map(|chunk| chunk.elements.len()).sum::<usize>();
    }

    /// Stores the chunks of a dataset, and returns whether there were any.
    pub(crate) fn flush(&mut self, chunks: &impl Chunks<Id = Id>, id: Id) -> Result<bool> {
        let Some(DatasetChunks { dataset, chunks: changed }) = self.datasets.get(&id) else {
            return Ok(false);
        };
        let bytes = changed.values().map(|chunk| chunk.elements.len()).sum::<usize>();
        let jobs: Vec<&PartialChunk> = changed.values().collect();
        let made: Vec<StoredChunk> =
            map(jobs, bytes, |chunk| applied(dataset, chunk.is_inside, &chunk.elements))?;
        let starts: Vec<&[u64]> = changed.keys().map(Vec::as_slice).collect();
        chunks.store(id, dataset, &starts, &made)?;
        self.forget(id);
        Ok(true)
    }

    /// Returns the datasets that have chunks in the cache.
    pub(crate) fn datasets(&self) -> Vec<Id> {
        self.datasets.keys().copied().collect()
    }
}
