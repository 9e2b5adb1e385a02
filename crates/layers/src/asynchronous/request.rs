//! Requests: one for each change that was queued.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use system::clock::Instant;

use model::{Error, Result, Token};
use system::sync::{Condvar, Mutex, MutexGuard};
use vol::Operation;

use crate::asynchronous::queue::Queue;

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It has not begun.
    Waiting,
    /// It is at work.
    Running,
    /// It went well.
    Done,
    /// It failed; [`Request::wait`] tells how.
    Failed,
    /// It was cancelled before it began.
    Cancelled,
}

impl Status {
    /// Returns whether nothing more happens.
    pub fn is_final(self) -> bool {
        !matches!(self, Status::Waiting | Status::Running)
    }
}

/// A change that was queued. Clones are the same request.
#[derive(Clone)]
pub struct Request(Arc<Inner>);

struct Inner {
    operation: Operation,
    object: Token,
    ticket: u64,
    home: Weak<Queue>,
    state: Mutex<RequestState>,
    changed: Condvar,
    is_told: AtomicBool,
}

struct RequestState {
    status: Status,
    error: Option<Error>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status();
        write!(f, "Request({} of {}: {status:?})", self.0.operation.name(), self.0.object)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock()
    }
}

impl Drop for Inner {
    /// A failure that no one looked at goes to the container.
    fn drop(&mut self) {
        let error = self.state().error.take();
        if let Some(error) = error.filter(|_| !self.is_told.load(Ordering::SeqCst))
            && let Some(home) = self.home.upgrade()
        {
            home.keep_failure(error);
        }
    }
}

impl Request {
    pub(crate) fn new(operation: Operation, object: Token, ticket: u64, home: Weak<Queue>) -> Self {
        let state = Mutex::new(RequestState { status: Status::Waiting, error: None });
        let (changed, is_told) = (Condvar::new(), AtomicBool::new(false));
        Request(Arc::new(Inner { operation, object, ticket, home, state, changed, is_told }))
    }

    pub(crate) fn set(&self, status: Status) {
        self.0.state().status = status;
        self.0.changed.notify_all();
    }

    pub(crate) fn finish(&self, outcome: Result<()>) {
        let mut state = self.0.state();
        state.status = if outcome.is_ok() { Status::Done } else { Status::Failed };
        let during = || format!("{} of {} in the background", self.0.operation.name(), self.0.object);
        state.error = outcome.err().map(|error| error.during(during()));
        self.0.changed.notify_all();
    }

    /// Returns what was queued.
    pub fn operation(&self) -> Operation {
        self.0.operation
    }

    /// Returns the object that it changes.
    pub fn object(&self) -> Token {
        self.0.object
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.0.ticket
    }

    /// Returns how far it is.
    pub fn status(&self) -> Status {
        self.0.state().status
    }

    /// Waits for its end, for so long at most; `None` where it has not ended then. A failure that was given here is not
    /// told again by the container.
    pub fn wait(&self, timeout: Duration) -> Option<Result<()>> {
        self.ended(timeout).map(|state| self.outcome(&state))
    }

    /// Waits for its end, for so long at most, without looking how it ended.
    pub(crate) fn wait_silently(&self, timeout: Duration) {
        drop(self.ended(timeout));
    }

    fn ended(&self, timeout: Duration) -> Option<MutexGuard<'_, RequestState>> {
        let until = Instant::now().checked_add(timeout);
        let mut state = self.0.state();
        while !state.status.is_final() {
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            // The longest wait that every system can express; the loop goes on after it.
            let left = left.min(Duration::from_secs(3600));
            state = self.0.changed.wait_timeout(state, left);
        }
        Some(state)
    }

    fn outcome(&self, state: &RequestState) -> Result<()> {
        match (&state.error, state.status) {
            (Some(error), _) => {
                self.0.is_told.store(true, Ordering::SeqCst);
                Err(error.clone())
            }
            (None, Status::Cancelled) => {
                let error = Error::new(model::Kind::Cancelled, self.0.operation.name());
                Err(error.with("object", self.0.object))
            }
            _ => Ok(()),
        }
    }

    /// Takes it back if it has not begun; whether it had not.
    pub fn cancel(&self) -> bool {
        self.0.home.upgrade().is_some_and(|home| home.cancel(self))
    }
}

thread_local! {
    /// The collectors of what this thread queues; the last one is active.
    static COLLECTORS: RefCell<Vec<Vec<Request>>> = const { RefCell::new(Vec::new()) };
}

/// Gives a new request to a caller that collects.
pub(crate) fn collect(request: &Request) {
    COLLECTORS.with_borrow_mut(|collectors| {
        if let Some(last) = collectors.last_mut() {
            last.push(request.clone());
        }
    });
}

/// Takes the collector away again, though `f` panics.
struct Collecting;

impl Collecting {
    fn end(self) -> Vec<Request> {
        std::mem::forget(self);
        COLLECTORS.with_borrow_mut(|collectors| collectors.pop().unwrap_or_default())
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        COLLECTORS.with_borrow_mut(Vec::pop);
    }
}

/// Calls `f`, and gives the requests of what it queued on this thread.
pub fn requests<R>(f: impl FnOnce() -> R) -> (R, Vec<Request>) {
    COLLECTORS.with_borrow_mut(|collectors| collectors.push(Vec::new()));
    let collecting = Collecting;
    let answer = f();
    (answer, collecting.end())
}
