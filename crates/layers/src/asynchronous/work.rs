//! What is queued: element writes, which can be joined, and any other operation.

use model::{Result, Selection, Token};
use vol::{Container, OpWrite, Task};

/// One operation of a container, which may be run more than once.
pub(crate) type Call = Box<dyn FnMut(&dyn Container) -> Result<()> + Send>;

/// The work of a request.
pub(crate) enum Work {
    Write {
        dataset: Token,
        selection: Selection,
        data: Vec<u8>,
    },
    Call(Call),
    Task(Box<dyn Task>),
    /// It was cancelled, and only keeps its place.
    Nothing,
}

impl Work {
    pub(crate) fn run(&mut self, container: &dyn Container) -> Result<()> {
        match self {
            Work::Write { dataset, selection, data } => {
                container.dataset_write(&[OpWrite { dataset: *dataset, selection, from: data }])
            }
            Work::Call(call) => call(container),
            Work::Task(task) => task.run(container),
            Work::Nothing => Ok(()),
        }
    }

    /// Tells a task how it ended; the buffer of a write, to be used again.
    pub(crate) fn end(self, outcome: &Result<()>) -> Vec<u8> {
        match self {
            Work::Write { data, .. } => data,
            Work::Task(task) => {
                task.end(outcome.clone());
                Vec::new()
            }
            Work::Call(_) | Work::Nothing => Vec::new(),
        }
    }

    /// Returns the write, if this is one.
    pub(crate) fn as_write(&self) -> Option<OpWrite<'_>> {
        match self {
            Work::Write { dataset, selection, data } => {
                Some(OpWrite { dataset: *dataset, selection, from: data })
            }
            _ => None,
        }
    }
}
