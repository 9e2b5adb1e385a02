//! Chunks with filters that changed in part: they wait without their filters until somebody looks at the dataset, or
//! commits. Appending rows would else undo and apply the filters of a chunk for every row.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use model::{Charged, Result};

use crate::elements::map;
use crate::filtered::applied;
use crate::{Chunks, Dataset, Stored};

/// Chunks that wait take at most so many bytes.
const BYTES_MAX: usize = 64 << 20;

/// A chunk without its filters, and whether all of it is inside of the extent.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) is_inside: bool,
    pub(crate) elements: Charged<Vec<u8>>,
}

/// Chunks of one dataset, by their first elements.
#[derive(Debug)]
struct Group {
    dataset: Dataset,
    chunks: BTreeMap<Vec<u64>, Waiting>,
}

/// All chunks that wait.
#[derive(Debug)]
pub struct Pending<Id> {
    groups: HashMap<Id, Group>,
    bytes: usize,
}

impl<Id> Default for Pending<Id> {
    fn default() -> Self {
        Pending { groups: HashMap::new(), bytes: 0 }
    }
}

impl<Id: Copy + Eq + Hash> Pending<Id> {
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > BYTES_MAX
    }

    /// A chunk that waits.
    pub(crate) fn get(&mut self, id: Id, start: &[u64]) -> Option<&mut Waiting> {
        self.groups.get_mut(&id)?.chunks.get_mut(start)
    }

    /// Lets a chunk wait.
    pub(crate) fn put(&mut self, id: Id, dataset: &Dataset, start: &[u64], waiting: Waiting) {
        self.remove(id, start);
        self.bytes += waiting.elements.len();
        let new = || Group { dataset: dataset.clone(), chunks: BTreeMap::new() };
        self.groups.entry(id).or_insert_with(new).chunks.insert(start.to_vec(), waiting);
    }

    /// A chunk that was replaced.
    pub(crate) fn remove(&mut self, id: Id, start: &[u64]) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        if let Some(gone) = group.chunks.remove(start) {
            self.bytes -= gone.elements.len();
        }
    }

    /// A dataset that is gone.
    pub fn forget(&mut self, id: Id) {
        let Some(group) = self.groups.remove(&id) else { return };
        self.bytes -= group.chunks.values().map(|waiting| waiting.elements.len()).sum::<usize>();
    }

    /// Stores the chunks of a dataset; `true` where there were some.
    pub(crate) fn settle(&mut self, chunks: &impl Chunks<Id = Id>, id: Id) -> Result<bool> {
        let Some(Group { dataset, chunks: waiting }) = self.groups.get(&id) else { return Ok(false) };
        let bytes = waiting.values().map(|waiting| waiting.elements.len()).sum::<usize>();
        let jobs: Vec<&Waiting> = waiting.values().collect();
        let made: Vec<Stored> =
            map(jobs, bytes, |waiting| applied(dataset, waiting.is_inside, &waiting.elements))?;
        let starts: Vec<&[u64]> = waiting.keys().map(Vec::as_slice).collect();
        chunks.store(id, dataset, &starts, &made)?;
        self.forget(id);
        chunks.changed(id);
        Ok(true)
    }

    /// Datasets with chunks that wait.
    pub(crate) fn datasets(&self) -> Vec<Id> {
        self.groups.keys().copied().collect()
    }
}
