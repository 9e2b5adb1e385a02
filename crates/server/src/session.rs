//! A container that a client has open: runs each of its operations once, however often it comes.

mod locks;

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use system::clock::Instant;

use model::{Budget, Charge, Error, Kind, Result, Token};
use protocol::frame::{FrameKind, Header};
use protocol::wire::{self, Answer, Request};
use protocol::{Id, makes_object, queued_token};
use system::sync::{Condvar, Mutex};
use vol::{Access, Container, Durability, Operation};

use crate::direct::Direct;
use crate::guard::Guard;
use crate::hidden::HiddenPaths;
use crate::metrics::Metrics;
use crate::nodes::{NodeChange, NodeSession, SharedStore};
use crate::outcomes::{Outcome, Queued, StoredOutcome};
use crate::translate::Translated;

/// Answers that a client may leave unacknowledged.
const ANSWERS_MAX: usize = 4096;

/// One open container of one client.
pub(crate) struct Session {
    pub(crate) id: Id,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) writable: bool,
    /// The account of memory for its operations.
    pub(crate) budget: Budget,
    direct: Option<Arc<Direct>>,
    guard: Arc<Guard>,
    translated: Option<Arc<Translated>>,
    container: Arc<dyn Container>,
    outcomes: Mutex<BTreeMap<u64, Outcome>>,
    finished: Condvar,
    queued: Mutex<Queued>,
    connections: AtomicUsize,
    /// Counted among those that have the container open.
    is_counted: AtomicBool,
    seen: Mutex<Instant>,
    metrics: Arc<Metrics>,
    hidden: Arc<HiddenPaths>,
    /// Memory of locks, by their numbers.
    lock_charges: Mutex<HashMap<u64, Charge>>,
    /// Where several servers share the store.
    store: Option<Arc<SharedStore>>,
    /// Where the client goes on at another node when this one dies.
    nodes: Option<NodeSession>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("owner", &self.owner)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The parts of a new session.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) id: Id,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) writable: bool,
    pub(crate) queued: bool,
    pub(crate) objects_max: usize,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) budget: Budget,
    pub(crate) hidden: Arc<HiddenPaths>,
    /// Extensions that need no right to write.
    pub(crate) readable: Arc<[&'static str]>,
    /// Where several servers share the store.
    pub(crate) store: Option<Arc<SharedStore>>,
    /// Where the client goes on at another node when this one dies.
    pub(crate) nodes: Option<NodeSession>,
}

impl Session {
    /// `direct` is the container, where clients may use elements in its file themselves.
    pub(crate) fn new(container: Arc<dyn Container>, direct: Option<Arc<Direct>>, of: Beginning) -> Self {
        let guard =
            Arc::new(Guard::new(container, of.objects_max, of.writable, of.budget.clone(), of.readable));
        let translated = of.queued.then(|| Arc::new(Translated::new(guard.clone(), of.budget.clone())));
        let container: Arc<dyn Container> = match &translated {
            Some(translated) => translated.clone(),
            None => guard.clone(),
        };
        Session {
            id: of.id,
            owner: of.owner,
            name: of.name,
            writable: of.writable,
            budget: of.budget,
            direct,
            guard,
            translated,
            container,
            outcomes: Mutex::default(),
            finished: Condvar::new(),
            queued: Mutex::default(),
            connections: AtomicUsize::new(0),
            is_counted: AtomicBool::new(true),
            seen: Mutex::new(Instant::now()),
            metrics: of.metrics,
            hidden: of.hidden,
            lock_charges: Mutex::default(),
            store: of.store,
            nodes: of.nodes,
        }
    }

    /// The container is not this session's any more; whether it was until now.
    pub(crate) fn uncount(&self) -> bool {
        self.is_counted.swap(false, Ordering::AcqRel)
    }

    /// A connection of this session came.
    pub(crate) fn join(&self) {
        self.connections.fetch_add(1, Ordering::AcqRel);
    }

    /// A connection of this session ended.
    pub(crate) fn leave(&self) {
        *self.seen.lock() = Instant::now();
        self.connections.fetch_sub(1, Ordering::AcqRel);
    }

    /// Returns whether no one came back in time.
    pub(crate) fn is_expired(&self, lease: Duration) -> bool {
        self.connections.load(Ordering::Acquire) == 0 && self.seen.lock().elapsed() >= lease
    }

    /// Frees what the client held. What it did not commit stays uncommitted.
    pub(crate) fn end(&self, in_good_order: bool) {
        if let Some(direct) = &self.direct {
            direct.end(in_good_order);
        }
        let order = self.store.as_ref().map(|store| store.ordered());
        self.guard.let_go();
        if order.is_some() {
            // Closing stores what waits: that has its turn here, and not where the last owner goes.
            let _ = self.container.close();
        }
        if let Some(nodes) = self.nodes.as_ref().filter(|_| in_good_order) {
            nodes.end();
        }
    }

    /// Stores what a client of several nodes changed: it may go on at another one as soon as it hears no more of this one.
    pub(crate) fn store_for_others(&self) {
        if let (Some(store), Some(_)) = (&self.store, &self.nodes) {
            let _order = store.ordered();
            // Its client has these changes too, and makes them again.
            let _ = self.container.commit(Durability::Full);
        }
    }

    /// Commits and closes, for a server that stops in good order.
    pub(crate) fn finish(&self) -> Result<()> {
        self.expire_locks();
        let _order = self.store.as_ref().map(|store| store.ordered());
        self.guard.let_go();
        if !self.writable {
            return self.container.close();
        }
        match self.container.commit(Durability::Full) {
            // The client closed it.
            Err(error) if error.kind() == Kind::Invalid => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.container.close(),
        }
    }

    /// Returns the number of the last queued operation that was run.
    pub(crate) fn queue_done(&self) -> u64 {
        self.queued.lock().done
    }

    /// Runs an operation that the client waits for, or answers as it was answered before.
    pub(crate) fn call(&self, header: Header, request: Request<'_>, answer: &mut Answer) {
        let Header { sequence, acknowledged, .. } = header;
        if !is_once(request.code) {
            return self.run(header, request, answer);
        }
        match self.begin(sequence, acknowledged) {
            Err(error) => answer.fail(&error),
            Ok(Some(kept)) => {
                answer.failed = kept.failed;
                answer.bytes.extend_from_slice(&kept.bytes);
                answer.bulk.clone_from(&kept.bulk);
            }
            Ok(None) => {
                match header.kind == FrameKind::Started && makes_object(request.code) {
                    true => self.create(header, request, answer),
                    false => self.run(header, request, answer),
                }
                let kept = StoredOutcome::new(answer, &self.budget);
                self.outcomes.lock().insert(sequence, Outcome::Done(Arc::new(kept)));
                self.finished.notify_all();
            }
        }
    }

    /// Runs an operation whose object has the token of its number: those that were started after it may name it already.
    fn create(&self, header: Header, request: Request<'_>, answer: &mut Answer) {
        if let Err(refused) = self.promise(request.code) {
            return answer.fail(&refused);
        }
        let sequence = header.sequence;
        self.run(header, request, answer);
        let Some(translated) = &self.translated else { return };
        let made = created(answer);
        translated.made(sequence, made);
        if made.is_some() {
            answer.bytes.clear();
            answer.bytes.extend_from_slice(&queued_token(sequence).0);
        }
    }

    /// Marks an operation as running, or gives the answer that it had.
    fn begin(&self, sequence: u64, acknowledged: u64) -> Result<Option<Arc<StoredOutcome>>> {
        let mut outcomes = self.outcomes.lock();
        if outcomes.first_key_value().is_some_and(|(first, _)| *first < acknowledged) {
            *outcomes = outcomes.split_off(&acknowledged);
        }
        if sequence < acknowledged {
            return Err(Error::invalid("run operation").with("problem", "its number was acknowledged"));
        }
        loop {
            match outcomes.get(&sequence) {
                Some(Outcome::Done(kept)) => return Ok(Some(kept.clone())),
                Some(Outcome::Running) => {
                    outcomes = self.finished.wait(outcomes);
                }
                None if outcomes.len() >= ANSWERS_MAX => {
                    return Err(Error::limit("run operation").with("unacknowledged", outcomes.len()));
                }
                None => {
                    outcomes.insert(sequence, Outcome::Running);
                    return Ok(None);
                }
            }
        }
    }

    /// A commit or close tells the failures of what was queued before it, instead of doing anything.
    fn run(&self, header: Header, request: Request<'_>, answer: &mut Answer) {
        let code = request.code;
        if let Err(denied) = self.check(code) {
            return answer.fail(&denied);
        }
        if matches!(code, Operation::commit | Operation::close)
            && let Some(error) = self.failures()
        {
            if code == Operation::close {
                let _ = self.container.close();
            }
            return answer.fail(&error);
        }
        self.guarded(header, request, answer);
    }

    /// Whether the session may do this at all: see [`Operation::access`].
    fn check(&self, code: Operation) -> Result<()> {
        match code.access() == Access::Write && !self.writable {
            true => Err(Error::denied(code.name()).with("problem", "the container is open to read")),
            false => Ok(()),
        }
    }

    fn failures(&self) -> Option<Error> {
        let mut queued = self.queued.lock();
        let count = std::mem::take(&mut queued.failures_count);
        let mut failures = std::mem::take(&mut queued.failures).into_iter();
        let first = failures.next()?;
        let mut error = Error::new(first.kind(), "run queued operations").with("failed", count);
        for (number, other) in failures.enumerate() {
            error = error.with_fact(format!("failure {}", number + 2), other.to_string());
        }
        Some(error.because(first))
    }

    /// Runs an operation that no one waits for. Those of a session come one after another.
    pub(crate) fn queue(&self, header: Header, request: Request<'_>) {
        let (code, sequence) = (request.code, header.sequence);
        let mut queued = self.queued.lock();
        if sequence <= queued.done {
            return;
        }
        queued.done = sequence;
        let mut answer = Answer::new();
        match self.check(code).and_then(|()| self.promise(code)) {
            Err(refused) => answer.fail(&refused),
            Ok(()) => self.guarded(header, request, &mut answer),
        }
        if let (Some(translated), true) = (&self.translated, makes_object(code)) {
            translated.made(sequence, created(&answer));
        }
        if answer.failed {
            queued.failed(&answer);
        }
        answer.recycle();
    }

    /// Runs an operation; a panic is a failure of that operation. What fails does not tell where the container is.
    fn guarded(&self, header: Header, request: Request<'_>, answer: &mut Answer) {
        let code = request.code;
        let run = AssertUnwindSafe(|| self.dispatch(header, request, answer));
        match catch_unwind(run) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => answer.fail(&self.hidden.hide(error)),
            Err(_) => {
                self.metrics.panics_total.fetch_add(1, Ordering::Relaxed);
                tracing::error!(operation = code.name(), "an operation panicked");
                answer.fail(&Error::new(Kind::Io, code.name()).with("problem", "the server failed in it"));
            }
        }
    }

    fn dispatch(&self, header: Header, request: Request<'_>, answer: &mut Answer) -> Result<()> {
        let _order = self.store.as_ref().and_then(|store| store.order(request.code));
        let Some(session) = &self.nodes else { return wire::dispatch(&*self.container, request, answer) };
        let Header { sequence: number, acknowledged, .. } = header;
        let change = NodeChange { session, inner: &*self.container, number, acknowledged };
        wire::dispatch(&change, request, answer)
    }

    /// Memory for the token that the client gave to what an operation makes.
    fn promise(&self, code: Operation) -> Result<()> {
        match &self.translated {
            Some(translated) if makes_object(code) => translated.promise(),
            _ => Ok(()),
        }
    }

    /// A queued operation that was not even received.
    pub(crate) fn queue_failed(&self, sequence: u64, error: &Error) {
        let mut queued = self.queued.lock();
        if sequence > queued.done {
            queued.done = sequence;
            let mut answer = Answer::new();
            answer.fail(error);
            queued.failed(&answer);
        }
    }

    /// Returns whether operations may be queued.
    pub(crate) fn has_queue(&self) -> bool {
        self.translated.is_some()
    }
}

/// Returns the object that an operation created.
fn created(answer: &Answer) -> Option<Token> {
    (!answer.failed).then(|| wire::from_bytes(&answer.bytes).ok()).flatten()
}

/// Returns whether running an operation twice could do something twice.
fn is_once(code: Operation) -> bool {
    use Operation as O;
    code.changes() || matches!(code, O::commit | O::close | O::retain | O::release | O::optional)
}
