//! What is queued: element writes and reads, which can be joined, and any other operation.

use std::sync::Arc;

use model::{Result, Selection, Token};
use system::sync::Mutex;
use vol::{Container, OpRead, OpWrite, Task};

/// One operation of a container, which may be run more than once.
pub(crate) type Call = Box<dyn FnMut(&dyn Container) -> Result<()> + Send>;

/// Larger reads are calls of their own: they are worth a thread.
const JOINED_BYTES_MAX: usize = 64 << 10;

/// A read of elements.
pub(crate) struct Read {
    pub(crate) dataset: Token,
    pub(crate) selection: Selection,
    pub(crate) into: Vec<u8>,
    /// Gets the elements when it ended well.
    pub(crate) answer: Arc<Mutex<Option<Result<Vec<u8>>>>>,
}

impl Read {
    pub(crate) fn op(&mut self) -> OpRead<'_> {
        OpRead { dataset: self.dataset, selection: &self.selection, into: &mut self.into }
    }

    /// Returns whether it may be made in one call with others.
    pub(crate) fn is_joinable(&self) -> bool {
        self.into.len() <= JOINED_BYTES_MAX
    }
}

/// The work of a request.
pub(crate) enum Work {
    Write {
        dataset: Token,
        selection: Selection,
        data: Vec<u8>,
    },
    Read(Read),
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
            Work::Read(read) => container.dataset_read(&mut [read.op()]),
            Work::Call(call) => call(container),
            Work::Task(task) => task.run(container),
            Work::Nothing => Ok(()),
        }
    }

    /// Makes writes in one call, or reads; `None` where they are neither.
    pub(crate) fn run_joined(works: &mut [Work], container: &dyn Container) -> Option<Result<()>> {
        if works.iter().all(|work| work.as_write().is_some()) {
            let writes: Vec<_> = works.iter().filter_map(Work::as_write).collect();
            return Some(container.dataset_write(&writes));
        }
        let reads = works.iter_mut().map(|work| match work {
            Work::Read(read) => Some(read.op()),
            _ => None,
        });
        let mut reads: Vec<OpRead<'_>> = reads.collect::<Option<_>>()?;
        Some(container.dataset_read(&mut reads))
    }

    /// Gives a task or a read its outcome; the buffer of a write, to be used again.
    pub(crate) fn end(self, outcome: &Result<()>) -> Vec<u8> {
        match self {
            Work::Write { data, .. } => return data,
            Work::Task(task) => task.end(outcome.clone()),
            Work::Read(read) if outcome.is_ok() => *read.answer.lock() = Some(Ok(read.into)),
            Work::Read(_) | Work::Call(_) | Work::Nothing => {}
        }
        Vec::new()
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
