//! The queue: changes by object, in order, within a budget of bytes, and the threads that make them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use system::thread::JoinHandle;

use model::{Error, Result, Selection, Token};
use system::sync::{Condvar, Mutex, MutexGuard};
use vol::{Container, DatasetInfo, OpWrite, Operation};

use crate::asynchronous::buffers::Buffers;
use crate::asynchronous::request::{Request, Status, collect};

/// The work of a change.
pub(crate) enum Work {
    Write { selection: Selection, data: Vec<u8> },
    Resize { dims: Vec<u64>, after: Arc<DatasetInfo> },
    Attribute { name: String, data: Vec<u8> },
    Release,
}

impl Work {
    pub(crate) fn operation(&self) -> Operation {
        match self {
            Work::Write { .. } => Operation::dataset_write,
            Work::Resize { .. } => Operation::dataset_resize,
            Work::Attribute { .. } => Operation::attribute_write,
            Work::Release => Operation::release,
        }
    }

    fn run(&self, container: &dyn Container, object: Token) -> Result<()> {
        match self {
            Work::Write { selection, data } => {
                container.dataset_write(&[OpWrite { dataset: object, selection, from: data }])
            }
            Work::Resize { dims, .. } => container.dataset_resize(object, dims),
            Work::Attribute { name, data } => container.attribute_write(object, name, data),
            Work::Release => container.release(object),
        }
    }

    fn info_after(&self) -> Option<&Arc<DatasetInfo>> {
        match self {
            Work::Resize { after, .. } => Some(after),
            _ => None,
        }
    }

    fn into_buffer(self) -> Vec<u8> {
        match self {
            Work::Write { data, .. } | Work::Attribute { data, .. } => data,
            Work::Resize { .. } | Work::Release => Vec::new(),
        }
    }
}

struct Task {
    request: Request,
    work: Work,
}

/// The changes of one object that have not ended.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Task>,
    running: Option<u64>,
    releases: usize,
    /// The dataset as it will be, where a resize was queued.
    info: Option<Arc<DatasetInfo>>,
    /// The dataset as the last resize that began leaves it.
    begun: Option<Arc<DatasetInfo>>,
}

impl Line {
    fn oldest(&self) -> Option<u64> {
        self.running.or_else(|| self.waiting.front().map(|task| task.request.ticket()))
    }

    /// Returns the dataset as the last resize leaves it.
    fn last_resize(&self) -> Option<Arc<DatasetInfo>> {
        let last = self.waiting.iter().rev().find_map(|task| task.work.info_after());
        last.or(self.begun.as_ref()).cloned()
    }
}

#[derive(Default)]
struct QueueState {
    lines: HashMap<Token, Line>,
    /// Objects whose next change can begin.
    ready: VecDeque<Token>,
    unfinished: BTreeSet<u64>,
    ticket_next: u64,
    /// Bytes of changes that have not ended, and of buffers that are being filled.
    bytes: usize,
    buffers: Buffers,
    threads: Vec<JoinHandle<()>>,
    is_stopped: bool,
}

/// The changes of one container.
pub(crate) struct Queue {
    container: Arc<dyn Container>,
    threads_max: usize,
    bytes_max: usize,
    /// Changes that have not ended: most calls need only this number.
    count: AtomicUsize,
    state: Mutex<QueueState>,
    /// Something ended.
    ended: Condvar,
    /// Something can begin.
    ready: Condvar,
    failures: Mutex<Vec<Error>>,
}

impl Queue {
    pub(crate) fn new(container: Arc<dyn Container>, threads_max: usize, bytes_max: usize) -> Arc<Self> {
        Arc::new(Queue {
            container,
            threads_max,
            bytes_max,
            count: AtomicUsize::new(0),
            state: Mutex::default(),
            ended: Condvar::new(),
            ready: Condvar::new(),
            failures: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    fn wait_until(&self, is_so: impl Fn(&QueueState) -> bool) -> MutexGuard<'_, QueueState> {
        let state = self.state();
        self.ended.wait_while(state, |state| !is_so(state))
    }

    /// Returns whether nothing is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Returns whether a change of so many bytes can be queued at all.
    pub(crate) fn has_space_for(&self, bytes: usize) -> bool {
        bytes <= self.bytes_max
    }

    /// Returns whether an object has something queued.
    pub(crate) fn is_busy(&self, object: Token) -> bool {
        !self.is_empty() && self.state().lines.contains_key(&object)
    }

    /// Returns the dataset as it will be when what is queued is done.
    pub(crate) fn future_info(&self, dataset: Token) -> Option<Arc<DatasetInfo>> {
        if self.is_empty() {
            return None;
        }
        self.state().lines.get(&dataset)?.info.clone()
    }

    /// Waits for what was queued for an object before now.
    pub(crate) fn wait_for(&self, object: Token) {
        if self.is_empty() {
            return;
        }
        let now = self.state().ticket_next;
        let is_past = |line: &Line| line.oldest().is_none_or(|oldest| oldest >= now);
        drop(self.wait_until(|state| state.lines.get(&object).is_none_or(is_past)));
    }

    /// Waits until no release of an object is queued.
    pub(crate) fn wait_for_releases(&self, object: Token) {
        if !self.is_empty() {
            let is_past = |line: &Line| line.releases == 0;
            drop(self.wait_until(|state| state.lines.get(&object).is_none_or(is_past)));
        }
    }

    /// Waits for all that was queued before now.
    pub(crate) fn wait_for_all(&self) {
        if self.is_empty() {
            return;
        }
        let now = self.state().ticket_next;
        drop(self.wait_until(|state| state.unfinished.first().is_none_or(|oldest| *oldest >= now)));
    }

    /// Returns a copy of bytes, when there is space for it.
    pub(crate) fn copy(&self, data: &[u8]) -> Vec<u8> {
        let has_space =
            |state: &QueueState| state.bytes == 0 || state.bytes.saturating_add(data.len()) <= self.bytes_max;
        let mut state = self.wait_until(has_space);
        state.bytes += data.len();
        let left = self.bytes_max.saturating_sub(state.bytes);
        let mut buffer = state.buffers.take(data.len());
        state.buffers.shrink(left);
        drop(state);
        buffer.extend_from_slice(data);
        buffer
    }

    /// Queues a change.
    pub(crate) fn push(self: &Arc<Self>, object: Token, work: Work) {
        let mut state = self.state();
        let ticket = state.ticket_next;
        state.ticket_next += 1;
        state.unfinished.insert(ticket);
        self.count.fetch_add(1, Ordering::SeqCst);
        let request = Request::new(work.operation(), object, ticket, Arc::downgrade(self));
        let is_release = matches!(work, Work::Release);
        if !is_release {
            collect(&request);
        }
        let line = state.lines.entry(object).or_default();
        let was_idle = line.oldest().is_none();
        line.releases += usize::from(is_release);
        line.info = work.info_after().cloned().or_else(|| line.info.take());
        line.waiting.push_back(Task { request, work });
        if was_idle {
            state.ready.push_back(object);
            self.ready.notify_one();
        }
        self.start_thread(&mut state);
        let has_nobody = state.threads.is_empty();
        drop(state);
        if has_nobody {
            // The system gave no thread: the caller does it all.
            while self.work_once(false) {}
        }
    }

    /// One more thread, while there are fewer than may be and than objects with something to do.
    fn start_thread(self: &Arc<Self>, state: &mut QueueState) {
        if state.threads.len() >= self.threads_max.min(state.lines.len()) {
            return;
        }
        let queue = Arc::clone(self);
        let name = format!("hyperslab-async-{}", state.threads.len());
        let work = move || while queue.work_once(true) {};
        if let Ok(thread) = system::thread::Builder::named(name).spawn(work) {
            state.threads.push(thread);
        }
    }

    /// Makes one change; `false` where there is none and none will come.
    fn work_once(&self, waits: bool) -> bool {
        let Some((object, task)) = self.next(waits) else { return false };
        let ticket = task.request.ticket();
        let (run, container) = (|| task.work.run(&*self.container, object), &self.container);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        let panicked =
            |_| Err(Error::invalid("storage panicked").with("container", format!("{container:?}")));
        task.request.finish(outcome.unwrap_or_else(panicked));
        let Task { request, work } = task;
        // Before anybody is reported that it ended: a failure no one holds goes to the container now.
        drop(request);
        self.end(object, ticket, work);
        true
    }

    /// Returns the next change that can begin.
    fn next(&self, waits: bool) -> Option<(Token, Task)> {
        let mut state = self.state();
        loop {
            if let Some(object) = state.ready.pop_front() {
                let Some(line) = state.lines.get_mut(&object) else { continue };
                let Some(task) = line.waiting.pop_front() else { continue };
                line.running = Some(task.request.ticket());
                line.begun = task.work.info_after().cloned().or_else(|| line.begun.take());
                task.request.set(Status::Running);
                return Some((object, task));
            }
            if state.is_stopped || !waits {
                return None;
            }
            state = self.ready.wait(state);
        }
    }

    fn end(&self, object: Token, ticket: u64, work: Work) {
        let mut state = self.state();
        if let Some(line) = state.lines.get_mut(&object) {
            line.running = None;
            line.releases -= usize::from(matches!(work, Work::Release));
            match line.waiting.is_empty() {
                true => drop(state.lines.remove(&object)),
                false => {
                    state.ready.push_back(object);
                    self.ready.notify_one();
                }
            }
        }
        self.forget(&mut state, ticket, work);
    }

    fn forget(&self, state: &mut QueueState, ticket: u64, work: Work) {
        state.unfinished.remove(&ticket);
        let buffer = work.into_buffer();
        state.bytes = state.bytes.saturating_sub(buffer.len());
        state.buffers.give(buffer);
        let left = self.bytes_max.saturating_sub(state.bytes);
        state.buffers.shrink(left);
        self.count.fetch_sub(1, Ordering::SeqCst);
        self.ended.notify_all();
    }

    /// Takes back a change that has not begun; whether it had not.
    pub(crate) fn cancel(&self, request: &Request) -> bool {
        let mut state = self.state();
        let object = request.object();
        let Some(line) = state.lines.get_mut(&object) else { return false };
        let at = line.waiting.iter().position(|task| task.request.ticket() == request.ticket());
        let Some(task) = at.and_then(|at| line.waiting.remove(at)) else { return false };
        if matches!(task.work, Work::Resize { .. }) {
            line.info = line.last_resize();
        }
        if line.oldest().is_none() {
            state.lines.remove(&object);
            state.ready.retain(|ready| *ready != object);
        }
        task.request.set(Status::Cancelled);
        self.forget(&mut state, task.request.ticket(), task.work);
        true
    }

    /// Keeps a failure until a commit or close tells it.
    pub(crate) fn keep_failure(&self, error: Error) {
        self.failures.lock().push(error);
    }

    /// Waits for all changes. Returns an error that names all failures that no caller has seen.
    pub(crate) fn finish(&self) -> Result<()> {
        self.wait_for_all();
        let failures = std::mem::take(&mut *self.failures.lock());
        let mut failures = failures.into_iter();
        let Some(first) = failures.next() else { return Ok(()) };
        let more: Vec<Error> = failures.collect();
        let error = Error::new(first.kind(), "change in the background").with("failures", more.len() + 1);
        Err(more.iter().fold(error, |error, failure| error.with("another", failure)).because(first))
    }

    /// Lets the threads go once all is done.
    pub(crate) fn stop(&self) {
        self.wait_for_all();
        let mut state = self.state();
        state.is_stopped = true;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.ready.notify_all();
        for thread in threads {
            // A thread that panicked is gone too.
            let _ = thread.join();
        }
    }
}
