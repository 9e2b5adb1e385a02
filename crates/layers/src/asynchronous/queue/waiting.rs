//! What is known of operations that have not ended, and waiting for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::Token;
use vol::{AttributeInfo, DatasetInfo};

use super::{Queue, QueueState};

impl Queue {
    /// Returns whether nothing is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Returns whether the inner container starts operations itself, and knows beforehand what they create.
    pub(crate) fn is_pipelined(&self) -> bool {
        self.is_pipelined
    }

    /// Returns whether a change of so many bytes can be queued at all.
    pub(crate) fn has_space_for(&self, bytes: usize) -> bool {
        bytes <= self.bytes_max
    }

    /// Returns whether an object has something queued.
    pub(crate) fn is_busy(&self, object: Token) -> bool {
        !self.is_empty() && self.state().graph.is_busy(object)
    }

    /// Returns the dataset as it will be when what is queued is done.
    pub(crate) fn future_info(&self, dataset: Token) -> Option<Arc<DatasetInfo>> {
        if self.is_empty() { None } else { self.state().graph.dataset(dataset) }
    }

    /// Returns an attribute as it will be when what is queued is done, or that there will be none; `None` where the
    /// queue does not say.
    pub(crate) fn future_attribute(&self, object: Token, name: &str) -> Option<Option<AttributeInfo>> {
        if self.is_empty() { None } else { self.state().graph.attribute(object, name) }
    }

    /// Waits for what was queued for an object before now.
    pub(crate) fn wait_for(&self, object: Token) {
        self.wait_past(|state, now| state.graph.is_past(object, now));
    }

    /// Waits for all that was queued before now.
    pub(crate) fn wait_for_all(&self) {
        self.wait_past(|state, now| state.graph.is_all_past(now));
    }

    /// Waits for all that was queued before now and creates, links or removes objects.
    pub(crate) fn wait_for_structure(&self) {
        self.wait_past(|state, now| state.graph.is_structure_past(now));
    }

    fn wait_past(&self, is_past: impl Fn(&QueueState, u64) -> bool) {
        if !self.is_empty() {
            let now = self.state().ticket_next;
            drop(self.wait_until(|state| is_past(state, now)));
        }
    }

    /// Waits until no release is queued: of an object, or of any.
    pub(crate) fn wait_for_releases(&self, object: Option<Token>) {
        if !self.is_empty() {
            drop(self.wait_until(|state| !state.graph.has_releases(object)));
        }
    }

    /// Waits until it is known which attributes an object has.
    pub(crate) fn wait_for_attributes(&self, object: Token) {
        if !self.is_empty() {
            drop(self.wait_until(|state| state.graph.has_its_attributes(object)));
        }
    }

    /// Waits until it is known whether an object that no handle keeps goes with a link that is being removed.
    pub(crate) fn wait_for_removal(&self, object: Token) {
        if !self.is_empty() && !self.is_retained(object) {
            drop(self.wait_until(|state| !state.graph.has_removals()));
        }
    }

    /// Waits until an object is created.
    pub(crate) fn wait_for_creation(&self, object: Token) {
        if !self.is_empty() {
            drop(self.wait_until(|state| state.graph.is_created(object)));
        }
    }
}
