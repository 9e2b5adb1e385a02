//! One connection: frames come, are run, and are answered.

use std::io::{self, BufReader};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use model::{Error, Kind, Result};
use remote::frame::{self, Frame, FrameKind, FrameLimits, Header, Outgoing};
use remote::stream::Stream;
use remote::{Attach, Begin, Hello, Lock, Renew, Unlock, VERSION, Welcome};
use vol::Operation;
use vol::wire::{self, Answer, Opening, Request};

use crate::buffers::Buffers;
use crate::rights::Principal;
use crate::session::Session;
use crate::shared::Shared;

/// Bytes that are read ahead: many small frames come in one read; bulk passes by.
const AHEAD_BYTES: usize = 64 << 10;

/// What a frame may have before we know who sends it.
const STRANGER_LIMITS: FrameLimits = FrameLimits { arguments_max: 4096, parts_max: 0, bulk_bytes_max: 0 };

/// Datasets that are locked at once.
const LOCKED_MAX: usize = 1024;

/// A connection and what it is used for.
pub(crate) struct Connection<'a> {
    shared: &'a Shared,
    peer: String,
    stream: BufReader<Stream>,
    out: Vec<u8>,
    frame: Frame,
    buffers: Buffers,
    limits: FrameLimits,
    who: Option<Principal>,
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
            stream: BufReader::with_capacity(AHEAD_BYTES, stream),
            out: Vec::new(),
            frame: Frame::default(),
            buffers: Buffers::default(),
            limits: STRANGER_LIMITS,
            who: None,
            session: None,
            ended: None,
        }
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
            session.leave();
        }
        match ended {
            Ok(_) => tracing::debug!(peer = self.peer, "connection ended"),
            Err(error) => self.log_end(&error),
        }
    }

    fn log_end(&self, error: &io::Error) {
        let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
        match error.kind() {
            io::ErrorKind::InvalidData => {
                self.shared.metrics.refusals_total.fetch_add(1, Relaxed);
                tracing::warn!(peer = self.peer, who, why = %error, "refused a frame");
            }
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                self.shared.metrics.refusals_total.fetch_add(1, Relaxed);
                tracing::warn!(peer = self.peer, who, why = "too slow", "ended a connection");
            }
            _ => tracing::info!(peer = self.peer, who, why = %error, "lost a connection"),
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
        match header.kind {
            FrameKind::Call => self.call(header)?,
            FrameKind::Queued => self.queued(header, ended)?,
            FrameKind::Bye => {
                if let Some(session) = self.session.take() {
                    session.leave();
                    self.shared.end(&session, true);
                }
                return Ok(false);
            }
            FrameKind::Unlock => self.unlock()?,
            FrameKind::Answer | FrameKind::Failed => return Err(frame::broken("an answer to nothing")),
            kind => {
                if !self.frame.lengths.is_empty() {
                    return Err(frame::broken("bulk where none belongs"));
                }
                let arguments = std::mem::take(&mut self.frame.arguments);
                let answered = self.control(kind, &arguments);
                self.frame.arguments = arguments;
                return self.reply(header, answered);
            }
        }
        Ok(true)
    }

    /// The next frame. Between frames a client may be silent for long, in a frame it may not.
    fn wait(&mut self) -> io::Result<bool> {
        let mut since = None;
        loop {
            self.stream.get_mut().rest();
            match self.frame.receive(&mut self.stream, &self.limits) {
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                        && self.stream.get_ref().is_resting()
                        && self.who.is_some()
                        && since.get_or_insert_with(Instant::now).elapsed() < self.shared.limits.idle => {}
                received => return received,
            }
        }
    }

    fn control(&mut self, kind: FrameKind, arguments: &[u8]) -> Result<Vec<u8>> {
        match kind {
            FrameKind::Hello => self.hello(&wire::from_bytes(arguments)?),
            FrameKind::Open => {
                let (begin, opening) = wire::from_bytes::<(Begin, Opening)>(arguments)?;
                self.open(&begin, &opening)
            }
            FrameKind::Attach => self.attach(&wire::from_bytes(arguments)?),
            FrameKind::Delete => {
                let name: String = wire::from_bytes(arguments)?;
                let who = self.who()?;
                self.shared.containers.delete(who, &name)?;
                tracing::info!(peer = self.peer, who = who.name, name, "removed a container");
                Ok(Vec::new())
            }
            FrameKind::Accessible => {
                let name: String = wire::from_bytes(arguments)?;
                wire::to_bytes(&self.shared.containers.is_accessible(self.who()?, &name)?)
            }
            FrameKind::Direct => wire::to_bytes(&self.shared.containers.whereabouts(self.session()?)?),
            FrameKind::Lock => self.lock(&wire::from_bytes(arguments)?),
            FrameKind::Renew => {
                let renew: Renew = wire::from_bytes(arguments)?;
                self.session()?.renew(renew.lock).map(|()| Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn session(&self) -> Result<&Arc<Session>> {
        self.session.as_ref().ok_or_else(|| Error::invalid("use container").with("problem", "none is open"))
    }

    fn lock(&self, asked: &Lock) -> Result<Vec<u8>> {
        if asked.ops.len() > LOCKED_MAX {
            return Err(Error::limit("lock datasets").with("count", asked.ops.len()));
        }
        let granted = self.session()?.lock(asked)?;
        self.shared.metrics.locks_total.fetch_add(1, Relaxed);
        wire::to_bytes(&granted)
    }

    fn unlock(&mut self) -> io::Result<()> {
        if !self.frame.lengths.is_empty() {
            return Err(frame::broken("bulk where none belongs"));
        }
        let unlock: Unlock =
            wire::from_bytes(&self.frame.arguments).map_err(|_| frame::broken("a lock without a number"))?;
        let session = self.session().map_err(|_| frame::broken("a lock without a session"))?;
        session.unlock(unlock.lock);
        Ok(())
    }

    fn who(&self) -> Result<&Principal> {
        self.who.as_ref().ok_or_else(|| Error::denied("serve").with("problem", "nobody said hello"))
    }

    fn hello(&mut self, hello: &Hello) -> Result<Vec<u8>> {
        if hello.version != VERSION || hello.wire_version != wire::VERSION {
            let error = Error::unsupported("talk to client").with("version", hello.version);
            return Err(error.with("server", VERSION).with("wire", wire::VERSION));
        }
        let who = self.shared.who(hello.token.as_deref())?;
        self.who = Some(who);
        let limits = &self.shared.limits;
        self.limits = FrameLimits {
            arguments_max: limits.arguments_bytes_max,
            parts_max: 1 << 20,
            bulk_bytes_max: limits.bulk_bytes_max,
        };
        let lease_seconds = u32::try_from(limits.lease.as_secs()).unwrap_or(u32::MAX);
        let bulk_bytes_max = limits.bulk_bytes_max;
        wire::to_bytes(&Welcome { life: self.shared.life, bulk_bytes_max, lease_seconds })
    }

    fn open(&mut self, begin: &Begin, opening: &Opening) -> Result<Vec<u8>> {
        let session = self.shared.open(self.who()?, begin, opening)?;
        tracing::info!(
            peer = self.peer,
            who = session.owner,
            name = session.name,
            writes = session.writable,
            "opened a container"
        );
        self.enter(session);
        Ok(Vec::new())
    }

    fn attach(&mut self, attach: &Attach) -> Result<Vec<u8>> {
        let session = self.shared.session(self.who()?, attach.session)?;
        let done = session.queue_done();
        self.enter(session);
        wire::to_bytes(&done)
    }

    fn enter(&mut self, session: Arc<Session>) {
        session.join();
        if let Some(before) = self.session.replace(session) {
            before.leave();
        }
    }

    /// Answers what is not an operation; a client that nobody knows is sent away.
    fn reply(&mut self, header: Header, answered: Result<Vec<u8>>) -> io::Result<bool> {
        let mut answer = Answer::new();
        match answered {
            Ok(bytes) => answer.bytes.extend_from_slice(&bytes),
            Err(error) => {
                self.refused(header.kind, &error);
                answer.fail(&error);
            }
        }
        self.answer(header, &answer, &[], &[])?;
        Ok(self.who.is_some())
    }

    fn refused(&self, kind: FrameKind, error: &Error) {
        // Elements that cannot be used directly now are shipped: nobody is refused anything.
        if kind == FrameKind::Lock && matches!(error.kind(), Kind::Busy | Kind::Limit) {
            return;
        }
        if matches!(error.kind(), Kind::Denied | Kind::Limit | Kind::Busy | Kind::Corrupt) {
            self.shared.metrics.refusals_total.fetch_add(1, Relaxed);
            let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
            tracing::warn!(peer = self.peer, who, asked = ?kind, why = %error, "refused a request");
        }
    }

    fn call(&mut self, header: Header) -> io::Result<()> {
        let (session, code) = self.operation(header)?;
        let rooms = self.frame.room_lengths().to_vec();
        let wanted = frame::total(&self.frame.lengths)?;
        let shared = self.shared;
        let Some(_share) = shared.budget.share(wanted, shared.limits.patience) else {
            return Err(frame::broken("no memory for the operation"));
        };
        let bulk = self.receive_bulk()?;
        let mut room_buffers: Vec<Vec<u8>> =
            rooms.iter().map(|&room| self.buffers.take(room as usize)).collect();
        let began = Instant::now();
        let mut answer = Answer::new();
        let into = room_buffers.iter_mut().zip(&rooms).filter_map(|(b, &n)| b.get_mut(..n as usize));
        let request =
            Request { code, arguments: &self.frame.arguments, bulk: slices(&bulk), into: into.collect() };
        session.call(header.sequence, header.acknowledged, request, &mut answer);
        self.ran(code, &answer, began.elapsed());
        if code == Operation::close && !answer.failed {
            shared.containers.ended(&session);
        }
        let header = Header { acknowledged: session.queue_done(), ..header };
        let elements: Vec<&[u8]> =
            room_buffers.iter().zip(&rooms).filter_map(|(buffer, &n)| buffer.get(..n as usize)).collect();
        match answer.failed {
            true => self.answer(header, &answer, &[], &[])?,
            false => self.answer(header, &answer, &rooms, &elements)?,
        }
        answer.recycle();
        bulk.into_iter().map(|(buffer, _)| buffer).chain(room_buffers).for_each(|b| self.buffers.give(b));
        Ok(())
    }

    fn queued(&mut self, header: Header, before: Option<Instant>) -> io::Result<()> {
        let (session, code) = self.operation(header)?;
        if !session.has_queue() || !remote::may_be_queued(code) || header.rooms > 0 {
            return Err(frame::broken("an operation that cannot be queued"));
        }
        let bulk = self.receive_bulk()?;
        let began = before.unwrap_or_else(Instant::now);
        let request =
            Request { code, arguments: &self.frame.arguments, bulk: slices(&bulk), into: Vec::new() };
        session.queue(header.sequence, request);
        let now = Instant::now();
        self.shared.metrics.ran(code, false, now.duration_since(began));
        self.ended = (!self.stream.buffer().is_empty()).then_some(now);
        bulk.into_iter().for_each(|(buffer, _)| self.buffers.give(buffer));
        Ok(())
    }

    fn operation(&self, header: Header) -> io::Result<(Arc<Session>, Operation)> {
        let session = self.session.clone().ok_or_else(|| frame::broken("an operation without a session"))?;
        let code = Operation::of(u32::from(header.code)).ok_or_else(|| frame::broken("unknown operation"))?;
        Ok((session, code))
    }

    fn receive_bulk(&mut self) -> io::Result<Vec<(Vec<u8>, usize)>> {
        let mut bulk = Vec::new();
        for &length in self.frame.bulk_lengths() {
            let length =
                usize::try_from(length).map_err(|_| frame::broken("more bytes than there is memory"))?;
            bulk.push((self.buffers.receive(&mut self.stream, length)?, length));
        }
        let bytes: usize = bulk.iter().map(|(_, length)| length).sum();
        let received = bytes + self.frame.arguments.len() + frame::HEADER_BYTES;
        self.shared.metrics.bytes_received.fetch_add(received as u64, Relaxed);
        Ok(bulk)
    }

    fn ran(&self, code: Operation, answer: &Answer, took: Duration) {
        self.shared.metrics.ran(code, answer.failed, took);
        if let (true, Err(error)) = (answer.failed, answer.check())
            && matches!(error.kind(), Kind::Denied | Kind::Limit)
        {
            let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
            let name = self.session.as_ref().map_or("", |session| session.name.as_str());
            tracing::warn!(peer = self.peer, who, name, operation = code.name(), why = %error, "refused an operation");
        }
    }

    fn answer(&mut self, to: Header, answer: &Answer, rooms: &[u64], elements: &[&[u8]]) -> io::Result<()> {
        let kind = if answer.failed { FrameKind::Failed } else { FrameKind::Answer };
        let header = Header { acknowledged: to.acknowledged, ..Header::new(kind, to.sequence) };
        let bulk: Vec<&[u8]> = answer.bulk.iter().map(Vec::as_slice).collect();
        let outgoing = Outgoing { header, arguments: &answer.bytes, bulk: &bulk, rooms, elements };
        self.stream.get_mut().rest();
        outgoing.send(self.stream.get_mut(), &mut self.out)?;
        let parts = bulk.iter().chain(elements).map(|part| part.len());
        let sent = parts.sum::<usize>() + answer.bytes.len() + frame::HEADER_BYTES;
        self.shared.metrics.bytes_sent.fetch_add(sent as u64, Relaxed);
        Ok(())
    }
}

/// The bytes that came, without the room behind them.
fn slices(bulk: &[(Vec<u8>, usize)]) -> Vec<&[u8]> {
    bulk.iter().filter_map(|(buffer, length)| buffer.get(..*length)).collect()
}
