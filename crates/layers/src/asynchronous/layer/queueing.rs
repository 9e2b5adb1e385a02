//! What the layer queues, and how.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::properties::Layout;
use model::{Dataspace, Result, Selection, Token};
use vol::{Container, DatasetInfo, LinkLocation, OpWrite, Operation};

use super::QueuedContainer;
use crate::asynchronous::graph::{Foreseen, Reach};
use crate::asynchronous::queue::Queueing;
use crate::asynchronous::request::is_collecting;
use crate::asynchronous::work::{Call, Work};

/// Elements may lie in other datasets or in files that other datasets share.
pub(super) fn is_elsewhere(info: &DatasetInfo) -> bool {
    matches!(info.create.layout, Layout::Virtual(_) | Layout::External(_))
}

/// Returns whether a write of these bytes can only fail in the storage.
fn is_sound(info: &DatasetInfo, selection: &Selection, bytes: usize) -> bool {
    let Dataspace::Simple(_) = info.space else {
        return info.space == Dataspace::Scalar && fits(info, 1, bytes);
    };
    let dims = info.space.dims();
    selection.validate(dims).is_ok()
        && selection.element_count(dims).is_ok_and(|count| fits(info, count, bytes))
}

fn fits(info: &DatasetInfo, count: u64, bytes: usize) -> bool {
    count.checked_mul(info.datatype.size().into()) == Some(bytes as u64)
}

/// What is queued.
impl QueuedContainer {
    /// Returns whether operations are queued that may fail for reasons of their own: the caller looks for failures.
    pub(super) fn queues(&self) -> bool {
        self.is_writable && is_collecting() && !self.queue.is_serial.load(Ordering::SeqCst)
    }

    /// Returns whether the calling thread has to change this dataset itself. What is queued is done then.
    pub(super) fn is_serial(&self, dataset: Token, info: &DatasetInfo) -> bool {
        // Where the inner container starts operations itself, its filters are those of a server.
        if info.create.filters.is_empty() || self.queue.is_pipelined() {
            return self.queue.is_serial.load(Ordering::SeqCst);
        }
        self.queue.wait_for_creation(dataset);
        if self.inner.is_serial(dataset) {
            self.queue.is_serial.store(true, Ordering::SeqCst);
            self.queue.wait_for_all();
        }
        self.queue.is_serial.load(Ordering::SeqCst)
    }

    /// Returns the path of a link, where that of its group is known.
    pub(super) fn path(&self, place: &LinkLocation) -> Option<String> {
        let group = self.queue.path_of(place.group)?;
        Some(format!("{}/{}", group.trim_end_matches('/'), place.name))
    }

    pub(super) fn push(&self, operation: Operation, reach: Reach, path: Option<String>, call: Call) {
        let (work, bytes) = (Work::Call(call), self.queue.reserve(0));
        let (foreseen, moved, is_shown) = (Foreseen::Nothing, 0, true);
        self.queue.push(Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown });
    }

    /// Queues what no one asks about.
    pub(super) fn push_unseen(&self, operation: Operation, reach: Reach, call: Call) {
        let (work, bytes) = (Work::Call(call), self.queue.reserve(0));
        let (foreseen, moved, path, is_shown) = (Foreseen::Nothing, 0, None, false);
        self.queue.push(Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown });
    }

    /// Queues a change whose bytes are counted.
    pub(super) fn push_work(&self, operation: Operation, reach: Reach, work: Work, bytes: usize) {
        let (foreseen, moved, path, is_shown) = (Foreseen::Nothing, bytes as u64, None, true);
        self.queue.push(Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown });
    }

    /// Creates an object. Where the inner container knows its token beforehand, the caller need not wait.
    pub(super) fn create(
        &self,
        operation: Operation,
        place: Option<&LinkLocation>,
        foreseen: Foreseen,
        mut create: impl FnMut(&dyn Container) -> Result<Token> + Send + 'static,
    ) -> Result<Token> {
        let Some(place) = place.filter(|_| self.queues() && self.queue.is_pipelined()) else {
            return create(&*self.inner);
        };
        let path = self.path(place);
        let work = Work::Call(Box::new(move |container| create(container).map(drop)));
        let (reach, bytes) = (Reach::structure(place.group).of_link(&place.name), self.queue.reserve(0));
        let (moved, is_shown) = (0, true);
        self.queue.push_creation(Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown })
    }

    /// Returns the dataset as it is known, where the caller looks for failures: of an extent that another process
    /// changed too.
    pub(super) fn expected(&self, dataset: Token) -> Option<Arc<DatasetInfo>> {
        self.queue
            .future_info(dataset)
            .or_else(|| self.queue.known_dataset(dataset))
            .filter(|_| self.queues())
    }

    pub(super) fn is_queueable(&self, write: &OpWrite<'_>) -> bool {
        let is_expected = |info: Arc<DatasetInfo>| self.is_queueable_to(&info, write);
        self.expected(write.dataset).is_some_and(is_expected)
            || self.future(write.dataset).is_ok_and(|info| self.is_queueable_to(&info, write))
    }

    fn is_queueable_to(&self, info: &DatasetInfo, write: &OpWrite<'_>) -> bool {
        if self.is_serial(write.dataset, info) {
            return false;
        }
        let is_plain = !is_elsewhere(info) && !info.datatype.has_descriptors();
        let bytes = write.from.len();
        is_plain && is_sound(info, write.selection, bytes) && self.queue.has_space_for(bytes)
    }
}
