//! What descriptors of variable-length values and references stand for, asked for without waiting.
//!
//! Conversion asks a container for values in the middle of its work. Here it asks a [`Replay`], which answers what it knows
//! and refuses the first question that it does not. That question is started and awaited, and the conversion runs again: once
//! for each level of nesting, as a rule.

use layers::asynchronous::{Answer, start};
use model::datatype::ReferenceKind;
use model::{Budget, Datatype, Error, Kind, Reference, Result};
use system::sync::Mutex;
use vol::{Blobs, Container};

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
    fn ask(self, container: &dyn Container) -> Answer<Known> {
        let budget = container.budget();
        start(container, move |c| match &self {
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
        })
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

/// Returns what `convert` makes of a container, whose answers are awaited. It may run more than once.
///
/// # Errors
/// Returns the error of `convert` or of the container.
pub(super) async fn resolved<T>(
    container: &dyn Container,
    convert: impl Fn(&dyn Container) -> Result<T>,
) -> Result<T> {
    let replay = Replay { budget: container.budget(), state: Mutex::default() };
    loop {
        let outcome = convert(&replay);
        let Some(question) = replay.question() else { return outcome };
        replay.add(question.ask(container).await?);
    }
}

/// A pin that is awaited, as [`vol::Pin`] for calls that wait.
pub(super) struct Pinned<'c> {
    container: &'c dyn Container,
    number: u64,
}

impl<'c> Pinned<'c> {
    /// Pins the blobs of a container for a caller that reads values of this type, where they name any.
    pub(super) async fn of(container: &'c dyn Container, datatype: &Datatype) -> Result<Option<Self>> {
        if !datatype.has_descriptors() {
            return Ok(None);
        }
        let number = vol::Pin::number();
        match start(container, move |c| c.blob_pin(number)).await {
            Ok(()) => Ok(Some(Pinned { container, number })),
            // A connector without pins never removes a blob that was in use.
            Err(error) if error.kind() == Kind::Unsupported => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        let number = self.number;
        // A container that was closed has no pins.
        let unpin = move |c: &dyn Container| {
            let _ = c.blob_unpin(number);
            Ok(())
        };
        drop(start(self.container, unpin));
    }
}
