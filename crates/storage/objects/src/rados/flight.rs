//! Writes of large bytes that are not acknowledged yet.

use std::collections::VecDeque;
use std::sync::Arc;

use system::sync::{Mutex, MutexGuard};

use super::ffi::{Code, Completion};

/// More than this waits for the oldest.
const BYTES_MAX: usize = 96 << 20;

#[derive(Debug)]
struct Entry {
    number: u64,
    bytes: usize,
    completion: Arc<Completion>,
}

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The first that failed: what was to be written is lost.
    failed: Option<Code>,
}

/// Writes in flight, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Flight(Mutex<Queue>);

impl Queue {
    /// Forgets what ended.
    fn remove_complete(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.completion.is_complete()) {
            let Some(entry) = self.entries.pop_front() else { return };
            self.bytes -= entry.bytes;
            let code = entry.completion.wait();
            if code < 0 {
                self.failed.get_or_insert(code);
            }
        }
    }
}

impl Flight {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock()
    }

    /// Adds a write of a data object, and waits where there are too many.
    pub(super) fn add(&self, number: u64, bytes: usize, completion: Completion) {
        let mut queue = self.lock();
        queue.entries.push_back(Entry { number, bytes, completion: Arc::new(completion) });
        queue.bytes += bytes;
        queue.remove_complete();
        while queue.bytes > BYTES_MAX {
            let Some(oldest) = queue.entries.front().map(|entry| entry.completion.clone()) else { return };
            drop(queue);
            oldest.wait();
            queue = self.lock();
            queue.remove_complete();
        }
    }

    /// Waits for the writes of some data objects, so that they can be read.
    pub(super) fn wait_for(&self, wanted: impl Fn(u64) -> bool) {
        let queue = self.lock();
        let flying = queue.entries.iter().filter(|entry| wanted(entry.number));
        let flying: Vec<Arc<Completion>> = flying.map(|entry| entry.completion.clone()).collect();
        drop(queue);
        for completion in flying {
            completion.wait();
        }
    }

    /// Waits for all; the first that failed ever is the answer.
    pub(super) fn wait(&self) -> Result<(), Code> {
        self.wait_for(|_| true);
        let mut queue = self.lock();
        queue.remove_complete();
        queue.failed.map_or(Ok(()), Err)
    }
}
