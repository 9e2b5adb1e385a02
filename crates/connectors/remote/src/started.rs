//! Operations that are started: sent in batches without waiting for each, and answered in their order.
//!
//! One thread sends a batch over a connection of its own, then receives its answers; what is started meanwhile is the next
//! batch. The server runs the operations of a connection one after another, so each sees what those before it did, and it
//! may name an object that one of them creates: both sides know the token from the number of the operation. Batches
//! that a broken connection interrupts are sent again from the first operation without an answer, under the same numbers.

mod batch;
mod encode;

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use model::{Error, Result, Token};
use protocol::{makes_object, queued_token};
use system::clock::Instant;
use system::sync::{Condvar, Mutex};
use system::thread::JoinHandle;
use vol::{Container, Durability, Layer, Operation, Pipeline, Task};

use crate::connection::{Connection, Failure};
use crate::container::RemoteContainer;
use crate::session::{Session, persist};
use encode::{Encoded, encode, receive};

/// An operation that was started and has not ended.
struct Started {
    task: Box<dyn Task>,
    number: u64,
    code: Operation,
    encoded: Encoded,
}

impl Started {
    fn end(self, session: &Session, outcome: Result<()>) {
        session.answered(self.number);
        // The callback is the caller's: a panic in it is none of the next operation's business.
        let _ = catch_unwind(AssertUnwindSafe(|| self.task.end(outcome)));
    }
}

#[derive(Default)]
struct StartedState {
    waiting: VecDeque<Started>,
    /// The thread is at work on a batch.
    is_busy: bool,
    is_stopped: bool,
    thread: Option<JoinHandle<()>>,
}

/// The state that the thread shares with callers that start operations.
#[derive(Default)]
struct Shared {
    state: Mutex<StartedState>,
    changed: Condvar,
}

impl Shared {
    /// Waits for operations; `None` at the end.
    fn next(&self) -> Option<VecDeque<Started>> {
        let mut state = self.state.lock();
        state.is_busy = false;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |state| state.waiting.is_empty() && !state.is_stopped);
        let batch = batch::take(&mut state.waiting);
        state.is_busy = !batch.is_empty();
        state.is_busy.then_some(batch)
    }

    /// Waits until everything that was started has ended.
    fn wait(&self) {
        let state = self.state.lock();
        drop(self.changed.wait_while(state, |state| state.is_busy || !state.waiting.is_empty()));
    }
}

/// A container behind a server, whose operations can be started.
pub(crate) struct StartingContainer {
    container: Arc<RemoteContainer>,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for StartingContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.container.fmt(f)
    }
}

impl StartingContainer {
    pub(crate) fn new(container: RemoteContainer) -> Self {
        StartingContainer { container: Arc::new(container), shared: Arc::default() }
    }

    fn session(&self) -> &Session {
        self.container.session()
    }

    /// Starts the thread with the first operation.
    fn start_thread(&self, state: &mut StartedState) -> Result<()> {
        if state.thread.is_some() {
            return Ok(());
        }
        let (shared, container) = (self.shared.clone(), self.container.clone());
        let run = move || {
            let mut connection = None;
            while let Some(batch) = shared.next() {
                run(&container, &mut connection, batch);
            }
        };
        let spawned = system::thread::Builder::named("hyperslab-remote").spawn(run);
        state.thread = Some(spawned.map_err(|e| Error::io("start thread", &e))?);
        Ok(())
    }

    /// Puts a task behind the others; the token of what it creates. A task that cannot be started comes back.
    fn put(&self, mut task: Box<dyn Task>) -> Result<Option<Token>, (Box<dyn Task>, Error)> {
        let mut state = self.shared.state.lock();
        let ready = self.session().check_open().and_then(|()| self.start_thread(&mut state));
        if let Err(error) = ready {
            return Err((task, error));
        }
        let number = self.session().number();
        let (code, encoded) = match encode(&mut *task, number) {
            Ok(encoded) => encoded,
            Err(error) => {
                self.session().answered(number);
                return Err((task, error));
            }
        };
        let is_sent = matches!(encoded, Encoded::Frame { .. });
        state.waiting.push_back(Started { task, number, code, encoded });
        drop(state);
        self.shared.changed.notify_all();
        Ok((is_sent && makes_object(code)).then(|| queued_token(number)))
    }
}

impl Pipeline for StartingContainer {
    fn start(&self, task: Box<dyn Task>) -> Option<Token> {
        self.put(task).unwrap_or_else(|(task, error)| {
            task.end(Err(error));
            None
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Layer for StartingContainer {
    fn inner(&self) -> &dyn Container {
        &*self.container
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        self.shared.wait();
        Layer::commit(&*self.container, durability)
    }

    fn close(&self) -> Result<()> {
        self.shared.wait();
        Layer::close(&*self.container)
    }

    fn pipeline(&self) -> Option<&dyn Pipeline> {
        Some(self)
    }
}

impl Drop for StartingContainer {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.is_stopped = true;
        let thread = state.thread.take();
        drop(state);
        self.shared.changed.notify_all();
        // The last owner may be a callback, on the thread itself.
        if let Some(thread) = thread
            && thread.thread().id() != system::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// Runs a batch and ends every operation of it.
fn run(container: &RemoteContainer, connection: &mut Option<Connection>, mut batch: VecDeque<Started>) {
    let session = container.session();
    if batch.front().is_some_and(|first| matches!(first.encoded, Encoded::Whole)) {
        for mut whole in batch {
            let outcome = guarded(|| whole.task.run(container));
            whole.end(session, outcome);
        }
        return;
    }
    let done = persist(session.options.deadline, |deadline| {
        attempt(session, connection, deadline, &mut batch).inspect_err(|_| *connection = None)
    });
    if let Err(error) = done {
        *connection = None;
        batch.into_iter().for_each(|left| left.end(session, Err(error.clone())));
    }
}

/// Sends what has no answer yet, and receives the answers.
fn attempt(
    session: &Session,
    connection: &mut Option<Connection>,
    deadline: Instant,
    batch: &mut VecDeque<Started>,
) -> Result<(), Failure> {
    let connection = match connection {
        Some(connection) => connection,
        none => none.insert(session.connect(deadline)?.0),
    };
    refuse_lost(session, batch);
    let acknowledged = session.acknowledged();
    let mut bytes = Vec::new();
    for Started { encoded, .. } in batch.iter() {
        encoded.put(acknowledged, &mut bytes);
    }
    connection.post(&bytes)?;
    while let Some(first) = batch.front_mut() {
        let outcome = receive(connection, first.number, &mut *first.task)?;
        let Some(first) = batch.pop_front() else { break };
        session.note(first.code, outcome.is_err());
        first.end(session, outcome);
    }
    Ok(())
}

/// Ends operations that build on changes that a server lost.
fn refuse_lost(session: &Session, batch: &mut VecDeque<Started>) {
    let all = std::mem::take(batch);
    for started in all {
        match session.check_lost(started.code) {
            Ok(()) => batch.push_back(started),
            Err(lost) => started.end(session, Err(lost)),
        }
    }
}

/// Runs something of the caller's; a panic is an error of its operation.
fn guarded(run: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(Error::invalid("run operation").with("problem", "it panicked")))
}
