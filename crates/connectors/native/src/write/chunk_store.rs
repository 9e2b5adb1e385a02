//! Chunks on their way to the file, and the dataset that elements go to.

use std::collections::HashSet;
use std::sync::Arc;

use algorithms::partial_chunks::PartialChunks;
use model::spread::Spread;

use crate::format::Address;
use crate::object::dataset::Dataset;

/// Elements that the file does not hold yet.
#[derive(Debug)]
pub(super) struct ChunkStore {
    /// Chunks that changed in part.
    pub(super) pending: PartialChunks<Address>,
    /// The dataset that was used last, if its header in the file is out of date.
    current: Option<Arc<Dataset>>,
    /// Datasets whose committed elements are overwritten where they are.
    in_place: HashSet<Address, Spread>,
}

impl ChunkStore {
    pub(super) fn new(bytes_max: u64) -> Self {
        ChunkStore { pending: PartialChunks::new(bytes_max), current: None, in_place: HashSet::default() }
    }

    /// Returns the dataset at `at`, or `None` if another one was used since, or if its header is in the file.
    pub(super) fn current(&self, at: Address) -> Option<&Arc<Dataset>> {
        self.current.as_ref().filter(|current| current.address == at)
    }

    /// Keeps a dataset whose header waits.
    pub(super) fn set_current(&mut self, dataset: Arc<Dataset>) {
        self.current = Some(dataset);
    }

    /// Takes out the dataset that is kept, whichever it is.
    pub(super) fn take_current(&mut self) -> Option<Arc<Dataset>> {
        self.current.take()
    }

    /// Chooses whether the committed elements of a dataset are overwritten where they are.
    pub(super) fn set_in_place(&mut self, dataset: Address, is_in_place: bool) {
        match is_in_place {
            true => self.in_place.insert(dataset),
            false => self.in_place.remove(&dataset),
        };
    }

    pub(super) fn is_in_place(&self, dataset: Address) -> bool {
        !self.in_place.is_empty() && self.in_place.contains(&dataset)
    }

    /// Removes a dataset.
    pub(super) fn remove(&mut self, dataset: Address) {
        self.pending.remove_dataset(dataset);
        self.in_place.remove(&dataset);
        self.forget(dataset);
    }

    /// Forgets a dataset whose state may be out of date.
    pub(super) fn forget(&mut self, at: Address) {
        self.current.take_if(|current| current.address == at);
    }
}
