//! The queue: operations in the order that they depend on each other, within a budget of bytes, and what runs them: the
//! pipeline of the inner container, or threads where it has none.

mod handles;
mod known;
mod pipeline;
mod threads;
mod waiting;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use model::{Error, Result, Token};
use system::sync::{Condvar, Mutex, MutexGuard};
use system::thread::JoinHandle;
use vol::{Container, Operation};

use handles::Handles;
use known::Known;
use pipeline::InPipeline;

use crate::asynchronous::buffers::Buffers;
use crate::asynchronous::graph::{Entry, Foreseen, Graph, Reach};
use crate::asynchronous::request::{Request, Status, collect};
use crate::asynchronous::work::Work;

/// Bytes that an operation counts besides its data.
const ENTRY_BYTES: usize = 512;
/// Objects whose paths, or whose failed creations, are remembered.
const REMEMBERED_MAX: usize = 1 << 16;

/// An operation to be queued.
pub(crate) struct Queueing {
    pub(crate) operation: Operation,
    pub(crate) reach: Reach,
    pub(crate) foreseen: Foreseen,
    pub(crate) work: Work,
    /// Bytes that [`Queue::copy`] or [`Queue::reserve`] counted.
    pub(crate) bytes: usize,
    /// Bytes of elements and values.
    pub(crate) moved: u64,
    /// The path of what it is about, where that is known.
    pub(crate) path: Option<String>,
    /// Whether someone gets the request.
    pub(crate) is_shown: bool,
}

#[derive(Default)]
struct QueueState {
    graph: Graph,
    ticket_next: u64,
    /// Bytes of operations that have not ended, and of buffers that are being filled.
    bytes: usize,
    buffers: Buffers,
    threads: Vec<JoinHandle<()>>,
    idle: usize,
    is_stopped: bool,
    /// Paths of objects that were created here.
    paths: HashMap<Token, Arc<str>>,
    /// Why objects do not exist.
    failed: HashMap<Token, Error>,
    handles: Handles,
    known: Known,
}

/// The operations of one container.
pub(crate) struct Queue {
    container: Arc<dyn Container>,
    threads_max: usize,
    bytes_max: usize,
    is_pipelined: bool,
    /// Operations that have not ended: most calls need only this number.
    count: AtomicUsize,
    state: Mutex<QueueState>,
    /// Something ended.
    ended: Condvar,
    /// Something can begin.
    ready: Condvar,
    /// Held by who starts operations in the pipeline.
    starting: Mutex<()>,
    failures: Mutex<Vec<Error>>,
    /// A dataset was changed that only threads of the caller may use. Any later operation may reach what is still to be
    /// written of it, so that none is queued any more.
    pub(crate) is_serial: AtomicBool,
    own: Weak<Queue>,
}

impl Queue {
    pub(crate) fn new(container: Arc<dyn Container>, threads_max: usize, bytes_max: usize) -> Arc<Self> {
        let is_pipelined = container.pipeline().is_some();
        let mut state = QueueState::default();
        state.graph.keeps_order = is_pipelined;
        Arc::new_cyclic(|own| Queue {
            container,
            threads_max,
            bytes_max,
            is_pipelined,
            count: AtomicUsize::new(0),
            state: Mutex::new(state),
            ended: Condvar::new(),
            ready: Condvar::new(),
            starting: Mutex::default(),
            failures: Mutex::default(),
            is_serial: AtomicBool::new(false),
            own: own.clone(),
        })
    }

    /// Returns a reference that does not keep the queue.
    pub(crate) fn weak(&self) -> Weak<Queue> {
        self.own.clone()
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    fn wait_until(&self, is_so: impl Fn(&QueueState) -> bool) -> MutexGuard<'_, QueueState> {
        let state = self.state();
        self.ended.wait_while(state, |state| !is_so(state))
    }

    /// Counts bytes, when there is space for them.
    fn take_space(&self, bytes: usize) -> MutexGuard<'_, QueueState> {
        let has_space = |state: &QueueState| {
            state.graph.is_empty() && state.bytes == 0 || state.bytes.saturating_add(bytes) <= self.bytes_max
        };
        let mut state = self.wait_until(has_space);
        state.bytes += bytes;
        state
    }

    /// Returns a copy of bytes, when there is space for it.
    pub(crate) fn copy(&self, data: &[u8]) -> Vec<u8> {
        let mut state = self.take_space(data.len());
        let left = self.bytes_max.saturating_sub(state.bytes);
        let mut buffer = state.buffers.take(data.len());
        state.buffers.shrink(left);
        drop(state);
        buffer.extend_from_slice(data);
        buffer
    }

    /// Waits for space for what an operation will hold, and returns how much that is.
    pub(crate) fn reserve(&self, bytes: usize) -> usize {
        let bytes = bytes.saturating_add(ENTRY_BYTES).min(self.bytes_max);
        drop(self.take_space(bytes));
        bytes
    }

    /// Counts what an operation will hold without waiting for space: an operation that is queued already needs it to
    /// go on.
    pub(crate) fn overdraw(&self, bytes: usize) -> usize {
        let bytes = bytes.saturating_add(ENTRY_BYTES).min(self.bytes_max);
        self.state().bytes += bytes;
        bytes
    }

    /// Queues an operation.
    pub(crate) fn push(&self, queueing: Queueing) -> Request {
        self.push_entry(queueing, false)
    }

    /// Gives an operation its place in the queue, whose work comes later with [`Queue::let_go`].
    pub(crate) fn push_held(&self, queueing: Queueing) -> Request {
        self.push_entry(queueing, true)
    }

    /// Gives an operation that was held its work.
    pub(crate) fn let_go(&self, ticket: u64, work: Work) {
        let mut state = self.state();
        state.graph.let_go(ticket, work);
        self.go_on(state);
    }

    fn push_entry(&self, queueing: Queueing, is_held: bool) -> Request {
        let Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown } = queueing;
        let mut state = self.state();
        let ticket = state.ticket_next;
        state.ticket_next += 1;
        self.count.fetch_add(1, Ordering::SeqCst);
        let object = reach.objects.first().copied();
        let path = path.map(Arc::from).or_else(|| state.paths.get(&object?).cloned());
        let request = Request::new(operation, object, path, moved, ticket, self.own.clone());
        if is_shown {
            collect(&request);
        }
        state.known.note(operation, &reach, &foreseen);
        let is_kept = state.are_kept(&reach.objects);
        let mut entry = Entry::new(request.clone(), work, reach, foreseen, bytes);
        entry.is_kept = is_kept;
        if is_held {
            entry.hold();
        }
        state.graph.insert(ticket, entry);
        self.go_on(state);
        request
    }

    /// Queues an operation that creates an object, whose token the inner container knows when it is started.
    pub(crate) fn push_creation(&self, queueing: Queueing) -> Result<Token> {
        let path = queueing.path.clone();
        let request = self.push(queueing);
        // It is started at once, unless a read of the group has not ended.
        let mut state = self.wait_until(|_| request.is_begun());
        match request.created() {
            Some(token) => {
                if let Some(path) = path.filter(|_| state.paths.len() < REMEMBERED_MAX) {
                    state.paths.insert(token, path.into());
                }
                Ok(token)
            }
            None => {
                drop(state);
                let wait = request.wait(std::time::Duration::MAX);
                let lost = || Error::invalid(request.operation().name()).with("problem", "it has no token");
                Err(wait.and_then(Result::err).unwrap_or_else(lost))
            }
        }
    }

    /// Returns the path of an object that was created here.
    pub(crate) fn path_of(&self, object: Token) -> Option<Arc<str>> {
        self.state().paths.get(&object).cloned()
    }

    /// Remembers the path of an object.
    pub(crate) fn name(&self, object: Token, path: &str) {
        self.state().paths.insert(object, path.into());
    }

    /// Lets operations begin that can.
    fn go_on(&self, state: MutexGuard<'_, QueueState>) {
        match self.is_pipelined {
            true => {
                drop(state);
                self.start_ready();
            }
            false => self.wake_thread(state),
        }
    }

    /// Hands everything that can begin to the pipeline, in order. Another thread that does so goes on with it.
    fn start_ready(&self) {
        while self.state().graph.ready() > 0 {
            let Some(_starting) = self.starting.try_lock() else { return };
            loop {
                let taken = self.state().graph.next(1);
                if taken.is_empty() {
                    break;
                }
                taken.into_iter().for_each(|(ticket, work)| self.start(ticket, work));
            }
        }
    }

    fn start(&self, ticket: u64, work: Work) {
        let request = self.state().graph.request(ticket);
        let created = match (self.container.pipeline(), self.own.upgrade(), work) {
            (Some(pipeline), Some(queue), work) if !matches!(work, Work::Nothing) => {
                pipeline.start(Box::new(InPipeline { queue, ticket, work }))
            }
            // It was cancelled.
            (_, _, work) => {
                self.end(ticket, work, Ok(()));
                None
            }
        };
        let mut state = self.state();
        if let Some(request) = request {
            request.begin(created);
            if let (Some(object), Some(error)) = (created, request.error()) {
                state.failed.insert(object, error);
            }
        }
        if let Some(object) = created {
            state.graph.created(ticket, object);
            let info = state.graph.dataset(object);
            state.known.created(object, info);
        }
        state.graph.began(ticket);
        drop(state);
        self.ended.notify_all();
    }

    /// An operation ended.
    fn end(&self, ticket: u64, work: Work, outcome: Result<()>) {
        let mut state = self.state();
        let Some(entry) = state.graph.end(ticket) else { return };
        let outcome = Self::explained(&mut state, &entry, outcome);
        drop(state);
        let buffer = work.end(&outcome);
        let Entry { request, bytes, .. } = entry;
        request.finish(outcome);
        // Before anybody is told that it ended: a failure no one holds goes to the container now.
        drop(request);
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
        state.buffers.give(buffer);
        let left = self.bytes_max.saturating_sub(state.bytes);
        state.buffers.shrink(left);
        self.count.fetch_sub(1, Ordering::SeqCst);
        self.ended.notify_all();
        self.go_on(state);
    }

    /// What uses an object whose creation failed, fails for that reason and no other.
    fn explained(state: &mut QueueState, entry: &Entry, outcome: Result<()>) -> Result<()> {
        let Err(error) = outcome else { return Ok(()) };
        entry.reach.objects.iter().for_each(|object| state.known.forget(*object));
        let cause = entry.reach.objects.iter().find_map(|object| state.failed.get(object));
        let error = cause.cloned().unwrap_or(error);
        if let Some(object) = entry.creates.filter(|_| state.failed.len() < REMEMBERED_MAX) {
            state.failed.insert(object, error.clone());
        }
        Err(error)
    }

    /// Takes back an operation that has not begun; whether it had not.
    pub(crate) fn cancel(&self, request: &Request) -> bool {
        let mut state = self.state();
        let Some((work, bytes)) = state.graph.cancel(request.ticket()) else { return false };
        request.object().into_iter().for_each(|object| state.known.forget(object));
        request.set(Status::Cancelled);
        state.bytes = state.bytes.saturating_sub(bytes);
        drop(state);
        drop(work.end(&Err(Error::new(model::Kind::Cancelled, request.operation().name()))));
        self.ended.notify_all();
        true
    }

    /// Keeps a failure until a commit or close tells it.
    pub(crate) fn keep_failure(&self, error: Error) {
        self.failures.lock().push(error);
    }

    /// Waits for all operations. Returns an error that names all failures that no caller has seen.
    pub(crate) fn finish(&self) -> Result<()> {
        self.wait_for_all();
        self.unseen_failures()
    }

    /// Returns an error that names all failures that no caller has seen.
    pub(crate) fn unseen_failures(&self) -> Result<()> {
        let failures = std::mem::take(&mut *self.failures.lock());
        let mut failures = failures.into_iter();
        let Some(first) = failures.next() else { return Ok(()) };
        let more: Vec<Error> = failures.collect();
        let error = Error::new(first.kind(), "change in the background").with("failures", more.len() + 1);
        Err(more.iter().fold(error, |error, failure| error.with("another", failure)).because(first))
    }
}
