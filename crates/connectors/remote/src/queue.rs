//! Operations that are sent without waiting for them.
//!
//! They go over one connection, in their order, and whatever is waited for follows them there: it sees what they did.
//! They are kept until the server says that it ran them, so that a broken connection loses none. What they make has a
//! token that both sides know beforehand.

use std::collections::VecDeque;
use std::time::Instant;

use model::{Result, Token};
use vol::Operation;
use vol::wire::{Answer, Request};

use crate::connection::{Connection, Failure, Told};
use crate::frame::{FrameKind, Header, Outgoing};
use crate::session::{Session, persist};

/// Bulk of an operation that is queued; more is worth waiting for.
const BULK_BYTES_MAX: usize = 8 << 10;
/// Frames go in writes of about so many bytes.
const POST_BYTES: usize = 64 << 10;
/// Frames that the server did not say it ran; beyond this we wait until it does.
const UNACKNOWLEDGED_BYTES_MAX: usize = 4 << 20;

/// What tokens of queued operations begin with.
const MARK: [u8; 8] = *b"\xffqueued\xff";

/// The token of what the queued operation of this number makes.
pub fn queued_token(sequence: u64) -> Token {
    let mut token = [0; 16];
    token[..8].copy_from_slice(&MARK);
    token[8..].copy_from_slice(&sequence.to_le_bytes());
    Token(token)
}

/// The number that a token of [`queued_token`] stands for.
pub fn queued_sequence(token: Token) -> Option<u64> {
    let sequence = token.0.strip_prefix(&MARK)?;
    sequence.try_into().ok().map(u64::from_le_bytes)
}

/// Whether the token is one of [`queued_token`].
pub fn is_queued_token(token: Token) -> bool {
    queued_sequence(token).is_some()
}

/// Whether an operation answers with the token of what it made.
pub fn makes_object(code: Operation) -> bool {
    use Operation as O;
    matches!(code, O::group_create | O::dataset_create | O::datatype_commit | O::map_create | O::object_copy)
}

/// Whether an operation may be queued: its answer is nothing, or a new token.
pub fn may_be_queued(code: Operation) -> bool {
    use Operation as O;
    makes_object(code)
        || matches!(
            code,
            O::retain
                | O::release
                | O::object_set_comment
                | O::link_create
                | O::link_delete
                | O::link_move
                | O::attribute_create
                | O::attribute_write
                | O::attribute_delete
                | O::attribute_rename
                | O::dataset_write
                | O::dataset_resize
                | O::chunk_write
                | O::map_put
                | O::blob_delete
                | O::blob_pin
                | O::blob_unpin
        )
}

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
    /// Whether an operation is queued.
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
        let outgoing = Outgoing { header, arguments, bulk, rooms: &[], elements: &[] };
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
        ask: impl FnOnce(&mut Connection) -> Result<Told, Failure>,
    ) -> Result<(), Failure> {
        self.post(session, deadline)?;
        let told = match &mut self.connection {
            Some(connection) => ask(connection),
            None => Err(Failure::Lost(std::io::ErrorKind::NotConnected.into())),
        };
        match told {
            Ok(told) => {
                self.acknowledge(told.acknowledged);
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
