//! What became of operations: answers that are kept until the client has them, and failures of those that no one waits for.

use std::sync::Arc;

use model::{Budget, Charge, Error};
use protocol::wire::Answer;

/// Failures of queued operations that are kept with their reasons; more are counted.
const FAILURES_MAX: usize = 100;
/// Bytes of such a reason; a longer one is replaced.
const FAILURE_BYTES_MAX: usize = 4096;

/// The answer to an operation that must not be run twice.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Running,
    Done(Arc<StoredOutcome>),
}

#[derive(Debug)]
pub(crate) struct StoredOutcome {
    pub(crate) failed: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) bulk: Vec<Vec<u8>>,
    _charge: Option<Charge>,
}

impl StoredOutcome {
    /// Returns the answer, as far as the session has memory to keep it. Without, the operation that was run is still not run again.
    pub(crate) fn new(answer: &Answer, budget: &Budget) -> Self {
        let bytes = answer.bytes.len() + answer.bulk.iter().map(Vec::len).sum::<usize>();
        match budget.charge(bytes as u64, "answer that is kept") {
            Ok(charge) => {
                let Answer { failed, bytes, bulk, .. } = answer;
                StoredOutcome {
                    failed: *failed,
                    bytes: bytes.clone(),
                    bulk: bulk.clone(),
                    _charge: Some(charge),
                }
            }
            Err(refused) => {
                let mut lost = Answer::new();
                lost.fail(&refused.with("problem", "the operation was run, and its answer is lost"));
                StoredOutcome { failed: true, bytes: lost.bytes, bulk: Vec::new(), _charge: None }
            }
        }
    }
}

/// Queued operations that were run.
#[derive(Debug, Default)]
pub(crate) struct Queued {
    /// The last one.
    pub(crate) done: u64,
    pub(crate) failures: Vec<Error>,
    pub(crate) failures_count: u64,
}

impl Queued {
    pub(crate) fn failed(&mut self, answer: &Answer) {
        self.failures_count += 1;
        if self.failures.len() >= FAILURES_MAX {
            return;
        }
        match answer.check() {
            Err(error) if answer.bytes.len() <= FAILURE_BYTES_MAX => self.failures.push(error),
            Err(error) => {
                let short = Error::new(error.kind(), "run queued operation");
                self.failures.push(short.with("problem", "the reason is too long to be kept"));
            }
            Ok(()) => {}
        }
    }
}
