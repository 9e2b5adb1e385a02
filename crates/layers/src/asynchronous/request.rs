//! Requests: one for each operation that was queued.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
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

/// An operation that was queued. Clones are the same request.
///
/// It is a future of its outcome: a program with an executor of its own, such as `tokio`, awaits it.
#[derive(Clone)]
pub struct Request(Arc<Inner>);

struct Inner {
    operation: Operation,
    object: Option<Token>,
    path: Option<Arc<str>>,
    bytes: u64,
    ticket: u64,
    home: Weak<Queue>,
    state: Mutex<RequestState>,
    changed: Condvar,
    is_told: AtomicBool,
}

struct RequestState {
    status: Status,
    error: Option<Error>,
    /// The inner container has it.
    is_begun: bool,
    created: Option<Token>,
    wakers: Vec<Waker>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status();
        write!(f, "Request({}: {status:?})", self.0.what())
    }
}

impl Inner {
    /// Returns the operation and its object, for people.
    fn what(&self) -> String {
        match (&self.path, self.object) {
            (Some(path), _) => format!("{} of {path}", self.operation.name()),
            (None, Some(object)) => format!("{} of {object}", self.operation.name()),
            (None, None) => self.operation.name().to_owned(),
        }
    }

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
    pub(crate) fn new(
        operation: Operation,
        object: Option<Token>,
        path: Option<Arc<str>>,
        bytes: u64,
        ticket: u64,
        home: Weak<Queue>,
    ) -> Self {
        let state = RequestState {
            status: Status::Waiting,
            error: None,
            is_begun: false,
            created: None,
            wakers: Vec::new(),
        };
        let (state, changed, is_told) = (Mutex::new(state), Condvar::new(), AtomicBool::new(false));
        Request(Arc::new(Inner { operation, object, path, bytes, ticket, home, state, changed, is_told }))
    }

    pub(crate) fn set(&self, status: Status) {
        let mut state = self.0.state();
        state.status = status;
        self.tell(state);
    }

    /// Wakes who waits.
    fn tell(&self, mut state: MutexGuard<'_, RequestState>) {
        let is_final = state.status.is_final();
        let wakers = if is_final { std::mem::take(&mut state.wakers) } else { Vec::new() };
        drop(state);
        self.0.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The inner container has it, and knows what it creates.
    pub(crate) fn begin(&self, created: Option<Token>) {
        let mut state = self.0.state();
        (state.is_begun, state.created) = (true, created);
    }

    pub(crate) fn is_begun(&self) -> bool {
        self.0.state().is_begun
    }

    /// Returns the object that it creates, where that is known beforehand.
    pub fn created(&self) -> Option<Token> {
        self.0.state().created
    }

    /// Returns how it failed, without taking that.
    pub(crate) fn error(&self) -> Option<Error> {
        self.0.state().error.clone()
    }

    /// Wakes `waker` when it ends; whether it has ended already.
    pub(crate) fn wake_at_end(&self, waker: &Waker) -> bool {
        let mut state = self.0.state();
        let is_final = state.status.is_final();
        if !is_final && !state.wakers.iter().any(|other| other.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        is_final
    }

    pub(crate) fn finish(&self, outcome: Result<()>) {
        let mut state = self.0.state();
        if state.status == Status::Cancelled {
            return;
        }
        state.status = if outcome.is_ok() { Status::Done } else { Status::Failed };
        let during = || format!("{} in the background", self.0.what());
        state.error = outcome.err().map(|error| error.during(during()));
        self.tell(state);
    }

    /// Returns what was queued.
    pub fn operation(&self) -> Operation {
        self.0.operation
    }

    /// Returns the object that it is about; `None` for an operation of the whole container.
    pub fn object(&self) -> Option<Token> {
        self.0.object
    }

    /// Returns the path of its object, where that is known.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Returns the bytes of elements and values that it moves.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
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
                Err(error.with("operation", self.0.what()))
            }
            _ => Ok(()),
        }
    }

    /// Takes it back if it has not begun; whether it had not.
    pub fn cancel(&self) -> bool {
        self.0.home.upgrade().is_some_and(|home| home.cancel(self))
    }
}

impl Future for Request {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        match self.wake_at_end(context.waker()) {
            true => Poll::Ready(self.outcome(&self.0.state())),
            false => Poll::Pending,
        }
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

/// Returns whether this thread is in a scope of an event set, [`requests`] or
/// [`queued`](crate::asynchronous::queued): then operations are queued whose failure the caller looks for.
pub(crate) fn is_collecting() -> bool {
    COLLECTORS.with_borrow(|collectors| !collectors.is_empty())
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
