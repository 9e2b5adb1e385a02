//! Locks of clients that use elements in the file itself.

use std::time::Duration;

use model::Result;
use protocol::frame::FrameKind;
use protocol::wire::{self, Answer};
use protocol::{Granted, Lock, Renew, Unlock};
use vol::Operation;

use super::{Session, persist};
use crate::connection::{AnswerHeader, Connection, Failure};

impl Session {
    /// Asks for shared locks on datasets, and where their elements lie.
    pub(crate) fn lock_datasets(&self, wanted: &Lock) -> Result<Granted> {
        let (bytes, write) = (wire::to_bytes(wanted)?, wanted.write);
        let mut answer = Answer::new();
        let ask = |connection: &mut Connection, answer: &mut Answer| -> Result<AnswerHeader, Failure> {
            if write {
                self.check_lost(Operation::dataset_write).map_err(Failure::Refused)?;
            }
            connection.exchange(FrameKind::Lock, 0, &bytes, answer)
        };
        let mut queue = self.queue.lock();
        if queue.is_empty() {
            drop(queue);
            persist(self.options.deadline, |deadline| self.attempt(deadline, |c| ask(c, &mut answer)))?;
        } else {
            // What is queued may make the datasets.
            let attempt = |deadline| queue.attempt(self, deadline, |c| ask(c, &mut answer));
            persist(self.options.deadline, attempt)?;
        }
        answer.check()?;
        if write {
            self.note(Operation::dataset_write, false);
        }
        wire::from_bytes(&answer.bytes)
    }

    /// Asks for more time for a lock.
    pub(crate) fn renew_lock(&self, number: u64) -> Result<()> {
        let bytes = wire::to_bytes(&Renew { lock: number })?;
        let mut answer = Answer::new();
        persist(self.options.deadline, |deadline| {
            self.attempt(deadline, |connection| connection.exchange(FrameKind::Renew, 0, &bytes, &mut answer))
        })?;
        answer.check()
    }

    /// Gives a lock back, and does not wait for it. Never behind what is queued: that may wait for the lock.
    pub(crate) fn unlock(&self, number: u64, patience: Duration) -> Result<()> {
        let bytes = wire::to_bytes(&Unlock { lock: number })?;
        persist(patience.min(self.options.deadline), |deadline| {
            self.attempt(deadline, |connection| connection.tell(FrameKind::Unlock, &bytes))
        })
    }
}
