//! Event sets: many requests as one.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use system::clock::Instant;

use model::Error;
use system::sync::{Condvar, Mutex, MutexGuard};

use crate::asynchronous::request::{Request, Status, requests};

/// Requests that are waited for together. It may be shared between threads.
///
/// Failures that were not taken with [`EventSet::errors`] go back to the containers when the set is dropped, whose next
/// commit or close tells them.
#[derive(Debug, Default)]
pub struct EventSet {
    requests: Mutex<Vec<Request>>,
}

/// How far the requests of a set are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Not begun.
    pub waiting: usize,
    /// At work.
    pub running: usize,
    /// Ended well.
    pub done: usize,
    /// Failed.
    pub failed: usize,
    /// Cancelled.
    pub cancelled: usize,
    /// Bytes of elements and values of those that ended well.
    pub bytes_done: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Progress {
    /// Returns whether all have ended, in one way or another.
    pub fn is_final(&self) -> bool {
        self.waiting + self.running == 0
    }
}

impl EventSet {
    /// Returns a set without requests.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock()
    }

    fn all(&self) -> Vec<Request> {
        self.lock().clone()
    }

    /// Adds a request.
    pub fn insert(&self, request: Request) {
        self.lock().push(request);
    }

    /// Calls `f`; what it queues on this thread belongs to this set.
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        let (answer, queued) = requests(f);
        self.lock().extend(queued);
        answer
    }

    /// Returns how far its requests are, without waiting.
    pub fn test(&self) -> Progress {
        let mut progress = Progress::default();
        for request in self.lock().iter() {
            progress.bytes += request.bytes();
            match request.status() {
                Status::Waiting => progress.waiting += 1,
                Status::Running => progress.running += 1,
                Status::Done => {
                    progress.done += 1;
                    progress.bytes_done += request.bytes();
                }
                Status::Failed => progress.failed += 1,
                Status::Cancelled => progress.cancelled += 1,
            }
        }
        progress
    }

    /// Waits until all have ended, for so long at most, and says how far they are then.
    pub fn wait(&self, timeout: Duration) -> Progress {
        let begun = Instant::now();
        for request in self.all() {
            request.wait_silently(timeout.saturating_sub(begun.elapsed()));
        }
        self.test()
    }

    /// Waits until one of them has ended, for so long at most, and takes all that have ended out of the set. A failure is
    /// with its request: [`Request::wait`] returns it.
    pub fn wait_some(&self, timeout: Duration) -> Vec<Request> {
        let (begun, signal) = (Instant::now(), Arc::new(Signal::default()));
        let waker = Waker::from(signal.clone());
        if !self.all().iter().any(|request| request.wake_at_end(&waker)) && !self.lock().is_empty() {
            signal.wait(begun, timeout);
        }
        let mut requests = self.lock();
        let (ended, going) = requests.drain(..).partition(|request| request.status().is_final());
        *requests = going;
        ended
    }

    /// Takes back what has not begun; how many that were.
    pub fn cancel(&self) -> usize {
        // The last first: those before it keep the workers busy, and nothing begins on a half that is left.
        self.all().iter().rev().filter(|request| request.cancel()).count()
    }

    /// Takes the failures so far out of the set, in the order in which they were queued, with all that has ended.
    pub fn errors(&self) -> Vec<Error> {
        let mut requests = self.lock();
        let (ended, going): (Vec<Request>, Vec<Request>) =
            requests.drain(..).partition(|request| request.status().is_final());
        *requests = going;
        drop(requests);
        let failed = ended.iter().filter(|request| request.status() == Status::Failed);
        failed.filter_map(|request| request.wait(Duration::ZERO)?.err()).collect()
    }
}

/// Says that one of many requests ended.
#[derive(Debug, Default)]
struct Signal {
    has_ended: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.has_ended.lock() = true;
        self.changed.notify_all();
    }
}

impl Signal {
    fn wait(&self, begun: Instant, timeout: Duration) {
        let mut has_ended = self.has_ended.lock();
        while !*has_ended {
            let left = timeout.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return;
            }
            // The longest wait that every system can express; the loop goes on after it.
            has_ended = self.changed.wait_timeout(has_ended, left.min(Duration::from_secs(3600)));
        }
    }
}
