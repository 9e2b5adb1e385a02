//! Operations that run while their caller continues.
//!
//! A [`Task`] is one operation with its arguments; a [`Pipeline`] starts tasks. A connector whose storage is
//! remote offers one, so that an operation need not wait for the answer to the one before. The `async` layer uses it, or
//! threads where there is none, and is a pipeline itself.

use std::any::Any;
use std::sync::Arc;

use model::{Error, Kind, Result, Token};
use system::sync::Mutex;

use crate::{Call, Container, Observed, Observer};

/// One operation of a container with its arguments.
pub trait Task: Send {
    /// Runs the operation and stores its answer.
    ///
    /// It calls one method of the container, each time with the same arguments: a connector that sends operations calls
    /// it once on a container that encodes the request, and again on one that decodes the answer. The answer of the last
    /// run counts.
    ///
    /// # Errors
    /// Returns the error of the operation.
    fn run(&mut self, container: &dyn Container) -> Result<()>;

    /// Receives the outcome. It is called once, on any thread, whether the operation was run or not.
    fn end(self: Box<Self>, outcome: Result<()>);
}

/// Starts operations and does not wait for them.
pub trait Pipeline: Send + Sync {
    /// Starts an operation. It runs after all that were started before it, and sees what they did.
    ///
    /// Returns the token of the object that it creates, which later operations may name at once. If the creation fails,
    /// operations on this token fail with `NotFound`.
    fn start(&self, task: Box<dyn Task>) -> Option<Token>;

    /// Returns the pipeline as a value of its own type.
    fn as_any(&self) -> &dyn Any;
}

/// A container that notes the operation and refuses it.
#[derive(Default)]
struct Probe(Mutex<Option<Call>>);

impl Observer for Probe {
    type Begun = ();

    fn begin(&self, call: &Call) -> Result<()> {
        *self.0.lock() = Some(*call);
        Err(Error::new(Kind::Cancelled, "describe operation"))
    }

    fn end(&self, _call: &Call, (): (), _error: Option<&Error>) -> Result<()> {
        Ok(())
    }
}

/// A container without operations.
struct Nothing;

impl Container for Nothing {}

/// Returns which operation a task is, its object and its bytes; `None` if it calls no method of its container.
pub fn describe(task: &mut dyn Task) -> Option<Call> {
    let observed = Observed::new(Arc::new(Nothing), Probe::default());
    // The probe refuses every operation.
    let _ = task.run(&observed);
    *observed.observer().0.lock()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpGroupCreate, Operation};

    struct Create(Token);

    impl Task for Create {
        fn run(&mut self, container: &dyn Container) -> Result<()> {
            let place = Some(crate::LinkLocation::new(self.0, "x"));
            container.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() }).map(drop)
        }

        fn end(self: Box<Self>, _outcome: Result<()>) {}
    }

    #[test]
    fn a_task_is_described_without_being_run() {
        let group = Token::from_u64(7);
        let call = describe(&mut Create(group)).unwrap();
        assert_eq!((call.operation, call.object, call.bytes), (Operation::group_create, Some(group), 0));
    }
}
