//! One connection: frames come, are run, and are answered.

mod calls;
mod control;

use std::io::{self, BufReader};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use system::clock::Instant;

use model::{Budget, Error, Kind, Result};
use protocol::frame::{self, Frame, FrameKind, FrameLimits, Header, Outgoing};
use protocol::stream::Stream;
use protocol::wire::Answer;
use system::socket::Socket;

use crate::memory::{KEPT_BYTES_MAX, OperationMemory, SMALL_BYTES};
use crate::party::Party;
use crate::rights::Principal;
use crate::session::Session;
use crate::shared::Shared;
use crate::turns::Turn;

/// Bytes that are read ahead: many small frames come in one read; bulk passes by.
const AHEAD_BYTES: usize = 64 << 10;

/// The limits of a frame before its sender is known.
const STRANGER_LIMITS: FrameLimits = FrameLimits { arguments_max: 4096, parts_max: 0, bulk_bytes_max: 0 };

/// Memory of values is several times that of their form: what is charged for a byte of arguments, and for each byte string.
const ARGUMENT_FACTOR: u64 = 4;
const PART_BYTES: u64 = 64;

/// A connection and what it is used for.
pub(crate) struct Connection<'a> {
    shared: &'a Shared,
    peer: String,
    /// Its number among those that are let in, and its socket; a test has none.
    number: Option<(u64, Socket)>,
    stream: BufReader<Stream>,
    out: Vec<u8>,
    frame: Frame,
    /// Byte strings of the last request and elements of the last answer: memory that is used again.
    bulk: Vec<u8>,
    elements: Vec<u8>,
    kept: Option<OperationMemory<'a>>,
    limits: FrameLimits,
    who: Option<Principal>,
    /// The party that its processor time and its refusals are counted for.
    party: Party,
    /// The account of its memory.
    account: Budget,
    session: Option<Arc<Session>>,
    /// When the last queued operation ended, where the next one was there already: a look at the clock costs more than a
    /// frame.
    ended: Option<Instant>,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(shared: &'a Shared, stream: Stream, peer: String) -> Self {
        Connection {
            shared,
            peer,
            number: None,
            stream: BufReader::with_capacity(AHEAD_BYTES, stream),
            out: Vec::new(),
            frame: Frame::default(),
            bulk: Vec::new(),
            elements: Vec::new(),
            kept: None,
            limits: STRANGER_LIMITS,
            who: None,
            party: Party::Stranger(None),
            account: shared.memory.server().clone(),
            session: None,
            ended: None,
        }
    }

    /// Returns the connection of this number, over this socket.
    pub(crate) fn of(mut self, number: u64, socket: Socket, party: Party) -> Self {
        self.number = Some((number, socket));
        self.party = party;
        self
    }

    /// Serves until the other side ends, breaks the rules, or the server stops.
    pub(crate) fn serve(mut self) {
        let ended = loop {
            match self.next() {
                Ok(true) => {}
                ended => break ended,
            }
        };
        if let Some(session) = self.session.take() {
            if self.shared.stopping.load(Relaxed) {
                session.store_for_others();
            }
            session.leave();
        }
        match ended {
            Ok(_) => tracing::debug!(peer = self.peer, "connection ended"),
            Err(error) => self.log_end(&error),
        }
        self.shared.turns.charge(&self.party);
    }

    fn log_end(&mut self, error: &io::Error) {
        let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
        match error.kind() {
            io::ErrorKind::InvalidData => {
                self.shared.metrics.refusals_total.fetch_add(1, Relaxed);
                tracing::warn!(peer = self.peer, who, why = %error, "refused a frame");
                self.offend();
            }
            io::ErrorKind::ConnectionAborted => {
                self.shared.metrics.checksums_wrong.fetch_add(1, Relaxed);
                tracing::warn!(peer = self.peer, who, why = %error, "ended a connection");
            }
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                self.shared.metrics.refusals_total.fetch_add(1, Relaxed);
                tracing::warn!(peer = self.peer, who, why = "too slow", "ended a connection");
                self.offend();
            }
            _ => tracing::info!(peer = self.peer, who, why = %error, "lost a connection"),
        }
    }

    /// The client did what is refused: where that happens often, it waits. Meanwhile it has no memory.
    fn offend(&mut self) {
        (self.bulk, self.elements, self.kept) = (Vec::new(), Vec::new(), None);
        self.frame.shrink(SMALL_BYTES as usize);
        self.delay(self.shared.offences.count(&self.party));
    }

    /// Lets a client wait that is, or was, refused often.
    fn delay(&self, length: Duration) {
        if !length.is_zero() {
            self.shared.metrics.delays_total.fetch_add(1, Relaxed);
            system::thread::sleep(length);
        }
    }

    /// Waits for a frame and answers it; `false` at the end.
    fn next(&mut self) -> io::Result<bool> {
        if !self.wait()? {
            return Ok(false);
        }
        let header = self.frame.header;
        if self.who.is_none() && header.kind != FrameKind::Hello {
            return Err(frame::broken("a frame before the first one"));
        }
        let ended = self.ended.take();
        let mut memory = self.shared.memory.memory(&self.account);
        if let Err(refused) = self.rest(&mut memory)? {
            return self.refuse(header, &refused);
        }
        let goes_on = match header.kind {
            FrameKind::Call | FrameKind::Started => self.call(header, &mut memory).map(|()| true),
            FrameKind::Queued => self.queued(header, ended, &mut memory).map(|()| true),
            FrameKind::Bye => {
                self.bye();
                Ok(false)
            }
            FrameKind::Unlock => self.unlock().map(|()| true),
            FrameKind::Answer | FrameKind::Failed => Err(frame::broken("an answer to nothing")),
            _ => self.request(header, &mut memory),
        };
        self.tidy();
        goes_on
    }

    fn bye(&mut self) {
        if let Some(session) = self.session.take() {
            session.leave();
            self.shared.end(&session, true);
        }
    }

    /// Between frames a connection has little memory of its own, and what it keeps is charged.
    fn tidy(&mut self) {
        self.frame.shrink(SMALL_BYTES as usize);
        self.out.shrink_to(SMALL_BYTES as usize);
        for buffer in [&mut self.bulk, &mut self.elements] {
            if buffer.capacity() > KEPT_BYTES_MAX {
                *buffer = Vec::new();
            }
        }
        let bytes = (self.bulk.capacity() + self.elements.capacity()) as u64;
        if bytes == 0 {
            self.kept = None;
            return;
        }
        let mut kept = self.kept.take().unwrap_or_else(|| self.shared.memory.memory(&self.account));
        self.kept = kept.set(bytes, "buffers").ok().map(|()| kept);
        if self.kept.is_none() {
            (self.bulk, self.elements) = (Vec::new(), Vec::new());
        }
    }

    /// Returns the fixed part of the next frame. Between frames a client may be silent for long, in a frame it may not.
    fn wait(&mut self) -> io::Result<bool> {
        let mut since = None;
        loop {
            self.stream.get_mut().rest();
            match self.frame.receive_header(&mut self.stream, &self.limits) {
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                        && self.stream.get_ref().is_resting()
                        && self.who.is_some()
                        && since.get_or_insert_with(Instant::now).elapsed() < self.shared.limits.idle => {}
                received => return received,
            }
        }
    }

    /// Returns the rest of a frame up to its bulk, where there is memory for it; what is refused is passed over.
    fn rest(&mut self, memory: &mut OperationMemory<'a>) -> io::Result<Result<()>> {
        let Header { arguments, .. } = self.frame.header;
        let parts = u64::from(self.frame.header.parts()) * PART_BYTES;
        let bytes = u64::from(arguments) * ARGUMENT_FACTOR + parts;
        if bytes > SMALL_BYTES
            && let Err(refused) = memory.grow(bytes, "arguments")
        {
            // What is not read yet waits at the client.
            self.offend();
            self.frame.skip_rest(&mut self.stream, &self.limits)?;
            return Ok(Err(refused));
        }
        self.frame.receive_rest(&mut self.stream, &self.limits).map(Ok)
    }

    /// Answers a frame that there was no memory for.
    fn refuse(&mut self, header: Header, refused: &Error) -> io::Result<bool> {
        self.refused(header.kind, refused);
        match header.kind {
            FrameKind::Queued => self.operation(header)?.0.queue_failed(header.sequence, refused),
            FrameKind::Unlock | FrameKind::Bye => {
                return Err(frame::broken("a frame larger than is allowed"));
            }
            _ => {
                let mut answer = Answer::new();
                answer.fail(refused);
                self.answer(header, &answer, &[], &[])?;
            }
        }
        Ok(true)
    }

    /// Logs what is refused; whether it is an offence.
    fn refused(&self, kind: FrameKind, error: &Error) -> bool {
        // Elements that cannot be used directly now are shipped: no one is refused anything.
        if kind == FrameKind::Lock && matches!(error.kind(), Kind::Busy | Kind::Limit) {
            return false;
        }
        let is_offence = matches!(error.kind(), Kind::Denied | Kind::Limit | Kind::Busy | Kind::Corrupt);
        if is_offence {
            self.shared.metrics.refusals_total.fetch_add(1, Relaxed);
            let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
            tracing::warn!(peer = self.peer, who, asked = ?kind, why = %error, "refused a request");
        }
        is_offence
    }

    /// Waits until it is this client's turn to compute.
    fn turn(&self) -> Turn<'_> {
        self.shared.turns.take(&self.party)
    }

    fn answer(&mut self, to: Header, answer: &Answer, buffers: &[u64], elements: &[&[u8]]) -> io::Result<()> {
        let kind = if answer.failed { FrameKind::Failed } else { FrameKind::Answer };
        let header = Header { acknowledged: to.acknowledged, ..Header::new(kind, to.sequence) };
        let bulk: Vec<&[u8]> = answer.bulk.iter().map(Vec::as_slice).collect();
        let outgoing = Outgoing { header, arguments: &answer.bytes, bulk: &bulk, buffers, elements };
        self.stream.get_mut().rest();
        outgoing.send(self.stream.get_mut(), &mut self.out)?;
        let parts = bulk.iter().chain(elements).map(|part| part.len());
        let sent = parts.sum::<usize>() + answer.bytes.len() + frame::HEADER_BYTES;
        self.shared.metrics.bytes_sent.fetch_add(sent as u64, Relaxed);
        Ok(())
    }
}
