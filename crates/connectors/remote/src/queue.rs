//! Operations that are sent without waiting for them.
//!
//! They go over one connection, in their order, and whatever is waited for follows them there: it sees what they did.
//! They are kept until the server says that it ran them, so that a broken connection loses none. What they make has a
//! token that both sides know beforehand.

use std::collections::VecDeque;
use system::clock::Instant;

use model::Result;
use protocol::frame::{FrameKind, Header, Outgoing};
use protocol::wire::{Answer, Request};
use protocol::{makes_object, may_be_queued, queued_token};

use crate::connection::{AnswerHeader, Connection, Failure};
use crate::session::{Session, persist};

/// Bulk of an operation that is queued; more is worth waiting for.
const BULK_BYTES_MAX: usize = 8 << 10;
/// Frames go in writes of about so many bytes.
const POST_BYTES: usize = 64 << 10;
/// Frames that the server did not say it ran; beyond this we wait until it does.
const UNACKNOWLEDGED_BYTES_MAX: usize = 4 << 20;

/// Operations on their way.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) connection: Option<Connection>,
    /// Frames that the server did not say it ran, one after another.
    bytes: Vec<u8>,
    /// Their numbers and lengths.
    frames: VecDeque<(u64, usize)>,
    /// How many of the bytes were sent on this connection.
    posted: usize,
}

impl Queue {
    /// Returns whether an operation is queued.
    pub(crate) fn takes(request: &Request<'_>) -> bool {
        let bulk_bytes: usize = request.bulk.iter().map(|bulk| bulk.len()).sum();
        may_be_queued(request.code) && bulk_bytes <= BULK_BYTES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Queues an operation, and answers it.
    pub(crate) fn put(
        &mut self,
        session: &Session,
        request: &Request<'_>,
        answer: &mut Answer,
    ) -> Result<()> {
        let sequence = session.queued_number();
        let code = request.code.number() as u16;
        let header = Header { code, ..Header::new(FrameKind::Queued, sequence) };
        let (arguments, bulk) = (request.arguments, &request.bulk[..]);
        let before = self.bytes.len();
        let outgoing = Outgoing { header, arguments, bulk, buffers: &[], elements: &[] };
        outgoing.encode(&mut self.bytes).map_err(|e| model::Error::io("queue operation", &e))?;
        self.frames.push_back((sequence, self.bytes.len() - before));
        if makes_object(request.code) {
            answer.bytes.extend_from_slice(&queued_token(sequence).0);
        }
        session.note(request.code, false);
        if self.bytes.len() >= UNACKNOWLEDGED_BYTES_MAX {
            return self.wait(session);
        }
        if self.bytes.len() - self.posted >= POST_BYTES {
            let deadline = session.options.deadline;
            return persist(deadline, |deadline| self.post(session, deadline));
        }
        Ok(())
    }

    fn disconnect(&mut self) {
        (self.connection, self.posted) = (None, 0);
    }

    /// Waits until everything was run.
    fn wait(&mut self, session: &Session) -> Result<()> {
        let sequence = session.queued_number();
        persist(session.options.deadline, |deadline| {
            self.attempt(session, deadline, |connection| connection.ping(sequence))
        })
    }

    /// Sends what was not sent, then does something that the server answers.
    pub(crate) fn attempt(
        &mut self,
        session: &Session,
        deadline: Instant,
        ask: impl FnOnce(&mut Connection) -> Result<AnswerHeader, Failure>,
    ) -> Result<(), Failure> {
        self.post(session, deadline)?;
        let answer = match &mut self.connection {
            Some(connection) => ask(connection),
            None => Err(Failure::Lost(std::io::ErrorKind::NotConnected.into())),
        };
        match answer {
            Ok(answer) => {
                self.acknowledge(answer.acknowledged);
                Ok(())
            }
            Err(failure) => {
                self.disconnect();
                Err(failure)
            }
        }
    }

    /// Sends what was not sent, on a new connection where there is none.
    fn post(&mut self, session: &Session, deadline: Instant) -> Result<(), Failure> {
        if self.connection.is_none() {
            let (connection, done) = session.connect(deadline)?;
            self.connection = Some(connection);
            self.acknowledge(done);
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match connection.post(&self.bytes[self.posted..]) {
            Ok(()) => {
                self.posted = self.bytes.len();
                Ok(())
            }
            Err(failure) => {
                self.disconnect();
                Err(failure)
            }
        }
    }

    /// The server ran everything up to this number.
    fn acknowledge(&mut self, done: u64) {
        let mut run = 0;
        while let Some((sequence, length)) = self.frames.front()
            && *sequence <= done
        {
            run += length;
            self.frames.pop_front();
        }
        self.bytes.drain(..run);
        self.posted = self.posted.saturating_sub(run);
    }
}
