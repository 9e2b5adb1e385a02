//! Chunks on their way to the file, and the datasets that elements go to.

use std::sync::Arc;

use super::pending::Pending;
use crate::format::Address;
use crate::object::dataset::Dataset;

/// What is known of chunks that the file does not hold yet.
#[derive(Debug)]
pub(super) struct ChunkStore {
    /// Chunks that changed in part.
    pub(super) pending: Pending,
    /// The dataset that was written last, with an extent that its header may not have yet.
    pub(super) current: Option<Arc<Dataset>>,
    /// The dataset that elements went to last, while its header waits.
    pub(super) drafted: Option<Arc<Dataset>>,
}

impl ChunkStore {
    pub(super) fn new(bytes_max: u64) -> Self {
        ChunkStore { pending: Pending::new(bytes_max), current: None, drafted: None }
    }

    /// What was known of a dataset may be out of date.
    pub(super) fn forget(&mut self, at: Address) {
        self.current.take_if(|current| current.address == at);
    }
}
