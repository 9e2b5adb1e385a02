//! Conversion of values with descriptors, without waiting for what the descriptors stand for.
//!
//! Conversion asks a container for values, or to store them, in the middle of its work. Here it asks a [`Replay`],
//! which answers what it knows and refuses the first question that it does not. That question is started and awaited,
//! and the conversion runs again: once for each level of nesting, as a rule.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use model::datatype::ReferenceKind;
use model::{Budget, Error, Kind, Reference, Result, Token};
use system::sync::Mutex;
use vol::{Blobs, Container, Operation};

use crate::asynchronous::background::submit;
use crate::asynchronous::graph::{Foreseen, reach_of};
use crate::asynchronous::queue::{Queue, Queueing};
use crate::asynchronous::start::{queue_of, start, start_needed};
use crate::asynchronous::work::{Call, Work};

/// What a conversion asks a container for.
enum Question {
    GetBlobs(Vec<Vec<u8>>),
    PutBlobs(Vec<Vec<u8>>),
    GetReferences(ReferenceKind, Vec<Vec<u8>>),
    PutReferences(ReferenceKind, Vec<Reference>),
}

/// What a container answered.
enum Known {
    Blobs(Blobs),
    Identities(Vec<u8>),
    References(Vec<Reference>),
    Descriptors(Vec<Vec<u8>>),
}

fn owned(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    parts.iter().map(|part| part.to_vec()).collect()
}

fn borrowed(parts: &[Vec<u8>]) -> Vec<&[u8]> {
    parts.iter().map(Vec::as_slice).collect()
}

impl Question {
    /// Returns the operation that asks the container.
    fn operation(self, budget: Budget) -> impl FnMut(&dyn Container) -> Result<Known> + Send + 'static {
        move |c| match &self {
            Question::GetBlobs(ids) => {
                let mut blobs = Blobs::new(&budget);
                c.blob_get(&borrowed(ids), &mut blobs).map(|()| Known::Blobs(blobs))
            }
            Question::PutBlobs(values) => c.blob_put(&borrowed(values)).map(Known::Identities),
            Question::GetReferences(kind, descriptors) => {
                c.reference_get(*kind, &borrowed(descriptors)).map(Known::References)
            }
            Question::PutReferences(kind, references) => {
                c.reference_put(*kind, references).map(Known::Descriptors)
            }
        }
    }
}

#[derive(Default)]
struct ReplayState {
    known: Vec<Known>,
    /// Questions that were answered in this run.
    at: usize,
    question: Option<Question>,
}

/// A container that answers what was asked before, in the same order.
struct Replay {
    budget: Budget,
    state: Mutex<ReplayState>,
}

impl Replay {
    fn answer<R>(
        &self,
        question: impl FnOnce() -> Question,
        answer: impl FnOnce(&Known) -> Option<Result<R>>,
    ) -> Result<R> {
        let mut state = self.state.lock();
        let at = state.at;
        state.at += 1;
        let Some(known) = state.known.get(at) else {
            state.question.get_or_insert_with(question);
            return Err(Error::new(Kind::Cancelled, "wait for answer"));
        };
        let changed = || Err(Error::invalid("convert values").with("problem", "it asked for something else"));
        answer(known).unwrap_or_else(changed)
    }

    /// Begins another run after an answer came.
    fn add(&self, known: Known) {
        let mut state = self.state.lock();
        state.known.push(known);
        state.at = 0;
    }

    fn question(&self) -> Option<Question> {
        self.state.lock().question.take()
    }
}

impl Container for Replay {
    fn budget(&self) -> Budget {
        self.budget.clone()
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        let give = |known: &Known| match known {
            Known::Blobs(blobs) => Some(blobs.iter().try_for_each(|blob| out.push(blob))),
            _ => None,
        };
        self.answer(|| Question::GetBlobs(owned(ids)), give)
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let give = |known: &Known| match known {
            Known::Identities(ids) => Some(Ok(ids.clone())),
            _ => None,
        };
        self.answer(|| Question::PutBlobs(owned(values)), give)
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let give = |known: &Known| match known {
            Known::References(references) => Some(Ok(references.clone())),
            _ => None,
        };
        self.answer(|| Question::GetReferences(kind, owned(descriptors)), give)
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let give = |known: &Known| match known {
            Known::Descriptors(descriptors) => Some(Ok(descriptors.clone())),
            _ => None,
        };
        self.answer(|| Question::PutReferences(kind, references.to_vec()), give)
    }
}

/// Returns what `convert` makes of a container, whose answers about values of descriptors are awaited. It may be
/// called more than once.
///
/// # Errors
/// Returns the error of `convert` or of the container.
pub async fn resolved<T>(
    container: &dyn Container,
    convert: impl Fn(&dyn Container) -> Result<T>,
) -> Result<T> {
    let replay = Replay { budget: container.budget(), state: Mutex::default() };
    loop {
        let outcome = convert(&replay);
        let Some(question) = replay.question() else { return outcome };
        replay.add(start(container, question.operation(container.budget())).await?);
    }
}

/// Makes an operation for a queue, which it does not keep: the last owner of a container must not be a callback of it.
async fn made(
    queue: Weak<Queue>,
    budget: Budget,
    make: impl Fn(&dyn Container) -> Result<Call>,
) -> Result<Call> {
    let replay = Replay { budget: budget.clone(), state: Mutex::default() };
    loop {
        let outcome = make(&replay);
        let Some(question) = replay.question() else { return outcome };
        let closed = || Error::invalid("use container").with("problem", "the container is closed");
        let answer = start_needed(&*queue.upgrade().ok_or_else(closed)?, question.operation(budget.clone()));
        replay.add(answer.await?);
    }
}

type Making = Pin<Box<dyn Future<Output = Result<Call>> + Send>>;

/// A queued operation that is being made; an answer goes on with it.
struct Preparing {
    queue: Weak<Queue>,
    ticket: u64,
    making: Mutex<Option<Making>>,
}

impl Preparing {
    fn go_on(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut making = self.making.lock();
        let Some(future) = &mut *making else { return };
        let poll = || future.as_mut().poll(&mut Context::from_waker(&waker));
        let panicked = || Err(Error::invalid("convert values").with("problem", "it panicked"));
        let polled = catch_unwind(AssertUnwindSafe(poll)).unwrap_or_else(|_| Poll::Ready(panicked()));
        let Poll::Ready(made) = polled else { return };
        *making = None;
        drop(making);
        let call: Call = made.unwrap_or_else(|error| Box::new(move |_| Err(error.clone())));
        if let Some(queue) = self.queue.upgrade() {
            queue.let_go(self.ticket, Work::Call(call));
        }
    }
}

impl Wake for Preparing {
    /// Goes on elsewhere: a thread that brings answers must not wait for space in the queue.
    fn wake(self: Arc<Self>) {
        submit(Box::new(move || self.go_on()));
    }
}

/// Queues a change of an object whose values have to be stored before it: `make` returns the change from a container
/// that answers what descriptors stand for, and may be called more than once. The change has its place now, and what
/// comes later on the object waits for it. Returns `false` where nothing is queued on this container.
pub fn queue_prepared(
    container: &dyn Container,
    operation: Operation,
    object: Token,
    bytes: usize,
    make: impl Fn(&dyn Container) -> Result<Call> + Send + 'static,
) -> bool {
    let Some(queue) = queue_of(container) else { return false };
    let (held, reach, foreseen) =
        (queue.reserve(bytes), reach_of(operation, Some(object)), Foreseen::Nothing);
    let (work, moved, path, is_shown) = (Work::Nothing, bytes as u64, None, true);
    let queueing = Queueing { operation, reach, foreseen, work, bytes: held, moved, path, is_shown };
    let ticket = queue.push_held(queueing).ticket();
    let making: Making = Box::pin(made(queue.weak(), container.budget(), make));
    let preparing = Preparing { queue: queue.weak(), ticket, making: Mutex::new(Some(making)) };
    Arc::new(preparing).go_on();
    true
}
