//! Chunks with filters that changed in part: they wait without their filters until somebody looks at the dataset, or
//! commits. Appending rows would else undo and apply the filters of a chunk for every row.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use model::Result;
use objects::{ObjectId, Store};

use crate::described::Described;
use crate::elements::map;
use crate::filtered::{Stored, applied, put_chunks};

/// Chunks that wait take at most so many bytes.
pub(crate) const BYTES_MAX: usize = 64 << 20;

/// A chunk without its filters, and whether all of it is inside of the extent.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) is_inside: bool,
    pub(crate) elements: Vec<u8>,
}

/// Chunks of one dataset, by their dkeys.
#[derive(Debug)]
struct Dataset {
    described: Arc<Described>,
    chunks: BTreeMap<Vec<u8>, Waiting>,
}

/// All chunks that wait.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    datasets: HashMap<ObjectId, Dataset>,
    bytes: usize,
}

impl Pending {
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > BYTES_MAX
    }

    /// A chunk that waits.
    pub(crate) fn get(&mut self, id: ObjectId, dkey: &[u8]) -> Option<&mut Waiting> {
        self.datasets.get_mut(&id)?.chunks.get_mut(dkey)
    }

    /// Lets a chunk wait.
    pub(crate) fn put(&mut self, described: &Arc<Described>, dkey: &[u8], waiting: Waiting) {
        self.remove(described.id, dkey);
        self.bytes += waiting.elements.len();
        let new = || Dataset { described: described.clone(), chunks: BTreeMap::new() };
        self.datasets.entry(described.id).or_insert_with(new).chunks.insert(dkey.to_vec(), waiting);
    }

    /// A chunk that was replaced.
    pub(crate) fn remove(&mut self, id: ObjectId, dkey: &[u8]) {
        let Some(dataset) = self.datasets.get_mut(&id) else { return };
        if let Some(gone) = dataset.chunks.remove(dkey) {
            self.bytes -= gone.elements.len();
        }
    }

    /// A dataset that is gone.
    pub(crate) fn forget(&mut self, id: ObjectId) {
        let Some(dataset) = self.datasets.remove(&id) else { return };
        self.bytes -= dataset.chunks.values().map(|waiting| waiting.elements.len()).sum::<usize>();
    }

    /// Stores the chunks of a dataset; `true` where there were some.
    pub(crate) fn settle(&mut self, store: &dyn Store, id: ObjectId) -> Result<bool> {
        let Some(waiting) = self.datasets.get(&id) else { return Ok(false) };
        let dataset = waiting.described.dataset()?;
        let bytes = waiting.chunks.values().map(|waiting| waiting.elements.len()).sum::<usize>();
        let jobs: Vec<&Waiting> = waiting.chunks.values().collect();
        let made: Vec<Stored> =
            map(jobs, bytes, |waiting| applied(dataset, waiting.is_inside, &waiting.elements))?;
        let dkeys: Vec<&[u8]> = waiting.chunks.keys().map(Vec::as_slice).collect();
        put_chunks(store, id, &dkeys, &made)?;
        self.forget(id);
        Ok(true)
    }

    /// Datasets with chunks that wait.
    pub(crate) fn datasets(&self) -> Vec<ObjectId> {
        self.datasets.keys().copied().collect()
    }
}
