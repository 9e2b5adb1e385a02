//! One connection: frames come, are run, and are answered.

use std::io::{self, BufReader};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use model::{Budget, Charge, Error, Kind, Result};
use remote::frame::{self, Frame, FrameKind, FrameLimits, Header, Outgoing};
use remote::stream::{Socket, Stream};
use remote::{Attach, Begin, Hello, Lock, Renew, Unlock, VERSION, Welcome};
use vol::wire::{self, Answer, Opening, Request};
use vol::{Access, Operation};

use crate::audit::Asked;
use crate::guard;
use crate::memory::{KEPT_BYTES_MAX, Room, SMALL_BYTES};
use crate::rights::Principal;
use crate::session::Session;
use crate::shared::Shared;

/// Bytes that are read ahead: many small frames come in one read; bulk passes by.
const AHEAD_BYTES: usize = 64 << 10;

/// What a frame may have before we know who sends it.
const STRANGER_LIMITS: FrameLimits = FrameLimits { arguments_max: 4096, parts_max: 0, bulk_bytes_max: 0 };

/// Memory of values is several times that of their form: what is charged for a byte of arguments, and for each byte string.
const ARGUMENT_FACTOR: u64 = 4;
const PART_BYTES: u64 = 64;

/// Bytes of a lock without its selections.
const LOCK_BYTES: u64 = 512;

/// Datasets that are locked at once.
const LOCKED_MAX: usize = 1024;

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
    kept: Option<Room<'a>>,
    limits: FrameLimits,
    who: Option<Principal>,
    /// What memory is charged to.
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
            account: shared.memory.server().clone(),
            session: None,
            ended: None,
        }
    }

    /// The connection of this number, over this socket.
    pub(crate) fn of(mut self, number: u64, socket: Socket) -> Self {
        self.number = Some((number, socket));
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
        let mut room = self.shared.memory.room(&self.account).map_err(|_| frame::broken("no memory"))?;
        if let Err(refused) = self.rest(&mut room)? {
            return self.refuse(header, &refused);
        }
        let goes_on = match header.kind {
            FrameKind::Call => self.call(header, &mut room).map(|()| true),
            FrameKind::Queued => self.queued(header, ended, &mut room).map(|()| true),
            FrameKind::Bye => {
                self.bye();
                Ok(false)
            }
            FrameKind::Unlock => self.unlock().map(|()| true),
            FrameKind::Answer | FrameKind::Failed => Err(frame::broken("an answer to nothing")),
            kind => {
                if !self.frame.lengths.is_empty() {
                    return Err(frame::broken("bulk where none belongs"));
                }
                let arguments = std::mem::take(&mut self.frame.arguments);
                let answered = self.control(kind, &arguments);
                self.frame.arguments = arguments;
                let answered = answered.and_then(|bytes| {
                    let copied = 2 * bytes.len() as u64;
                    let charged = if copied > SMALL_BYTES { room.grow_now(copied, "answer") } else { Ok(()) };
                    charged.map(|()| bytes)
                });
                self.reply(header, answered)
            }
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
            return;
        }
        let kept = self.kept.take().or_else(|| self.shared.memory.room(&self.account).ok());
        self.kept = kept.and_then(|mut kept| kept.set(bytes, "buffers").ok().map(|()| kept));
        if self.kept.is_none() {
            (self.bulk, self.elements) = (Vec::new(), Vec::new());
        }
    }

    /// The fixed part of the next frame. Between frames a client may be silent for long, in a frame it may not.
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

    /// The rest of a frame up to its bulk, where there is memory for it; what is refused is passed over.
    fn rest(&mut self, room: &mut Room<'a>) -> io::Result<Result<()>> {
        let Header { arguments, .. } = self.frame.header;
        let parts = u64::from(self.frame.header.parts()) * PART_BYTES;
        let bytes = u64::from(arguments) * ARGUMENT_FACTOR + parts;
        if bytes > SMALL_BYTES
            && let Err(refused) = room.grow(bytes, "arguments")
        {
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

    /// Runs what is not an operation, and writes down who asked for it.
    fn control(&mut self, kind: FrameKind, arguments: &[u8]) -> Result<Vec<u8>> {
        let answered = self.run_control(kind, arguments);
        if let Some((what, name)) = audited(kind, arguments) {
            self.note(what, &name, answered.as_ref().map(drop));
        }
        answered
    }

    fn note(&self, what: &str, name: &str, outcome: Result<(), &Error>) {
        let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
        self.shared.audit.note(Asked { who, from: &self.peer, what, name }, outcome);
    }

    fn run_control(&mut self, kind: FrameKind, arguments: &[u8]) -> Result<Vec<u8>> {
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
            FrameKind::Lock => self.lock(&wire::from_bytes(arguments)?, arguments.len()),
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

    fn lock(&self, asked: &Lock, bytes: usize) -> Result<Vec<u8>> {
        if asked.ops.len() > LOCKED_MAX {
            return Err(Error::limit("lock datasets").with("count", asked.ops.len()));
        }
        let remembered = LOCK_BYTES + bytes as u64 * ARGUMENT_FACTOR;
        let granted = self.session()?.lock(asked, remembered)?;
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
        if let Some((number, socket)) = &self.number {
            self.shared.admission.know(*number, &who.name)?;
            let patience = socket.set_patience(self.shared.limits.patience);
            patience.map_err(|e| Error::io("set up connection", &e))?;
        }
        self.account = self.shared.memory.token(&who.name);
        self.who = Some(who);
        let limits = &self.shared.limits;
        let bulk_bytes_max = limits.frame_bytes_max();
        self.limits =
            FrameLimits { arguments_max: limits.arguments_bytes_max, parts_max: 1 << 20, bulk_bytes_max };
        let lease_seconds = u32::try_from(limits.lease.as_secs()).unwrap_or(u32::MAX);
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
        self.account = session.budget.clone();
        self.kept = None;
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
                let error = self.shared.containers.hidden.hide(error);
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

    fn call(&mut self, header: Header, room: &mut Room<'a>) -> io::Result<()> {
        let (session, code) = self.operation(header)?;
        let mut answer = Answer::new();
        let received = self.receive_bulk(room)?;
        let began = Instant::now();
        match received {
            Err(refused) => answer.fail(&refused),
            Ok(()) => self.run(&session, code, room, &mut answer),
        }
        self.ran(code, &answer, began.elapsed());
        if code == Operation::close && !answer.failed {
            self.shared.containers.ended(&session);
        }
        let header = Header { acknowledged: session.queue_done(), ..header };
        let rooms = if answer.failed { Vec::new() } else { self.frame.room_lengths().to_vec() };
        let elements = std::mem::take(&mut self.elements);
        let sent = self.answer(header, &answer, &rooms, &slices(&elements, &rooms));
        self.elements = elements;
        answer.recycle();
        sent
    }

    /// Runs an operation whose byte strings are there, with memory for the elements that it reads and for its answer.
    fn run(&mut self, session: &Session, code: Operation, room: &mut Room<'a>, answer: &mut Answer) {
        let Header { sequence, acknowledged, .. } = self.frame.header;
        let wanted = frame::total(self.frame.room_lengths()).unwrap_or(u64::MAX);
        if let Err(refused) = room.extend(&mut self.elements, wanted, "elements") {
            return answer.fail(&refused);
        }
        let bulk = slices(&self.bulk, self.frame.bulk_lengths());
        let into = slices_mut(&mut self.elements, self.frame.room_lengths());
        let request = Request { code, arguments: &self.frame.arguments, bulk, into };
        session.call(sequence, acknowledged, request, answer);
        // Some of it is charged already.
        answer.charge = answer.charge.take().or(guard::answered());
        let charged = answer.charge.as_ref().map_or(0, Charge::bytes);
        let bytes = answer.bytes.len() + answer.bulk.iter().map(Vec::len).sum::<usize>();
        let more = (bytes as u64).saturating_sub(charged);
        if more > SMALL_BYTES
            && let Err(refused) = room.grow_now(more, "answer")
        {
            answer.fail(&refused);
        }
    }

    fn queued(&mut self, header: Header, before: Option<Instant>, room: &mut Room<'a>) -> io::Result<()> {
        let (session, code) = self.operation(header)?;
        if !session.has_queue() || !remote::may_be_queued(code) || header.rooms > 0 {
            return Err(frame::broken("an operation that cannot be queued"));
        }
        let received = self.receive_bulk(room)?;
        let began = before.unwrap_or_else(Instant::now);
        match received {
            Err(refused) => session.queue_failed(header.sequence, &refused),
            Ok(()) => {
                let bulk = slices(&self.bulk, self.frame.bulk_lengths());
                let request = Request { code, arguments: &self.frame.arguments, bulk, into: Vec::new() };
                session.queue(header.sequence, request);
            }
        }
        let now = Instant::now();
        self.shared.metrics.ran(code, false, now.duration_since(began));
        self.ended = (!self.stream.buffer().is_empty()).then_some(now);
        Ok(())
    }

    fn operation(&self, header: Header) -> io::Result<(Arc<Session>, Operation)> {
        let session = self.session.clone().ok_or_else(|| frame::broken("an operation without a session"))?;
        let code = Operation::of(u32::from(header.code)).ok_or_else(|| frame::broken("unknown operation"))?;
        Ok((session, code))
    }

    /// The byte strings of the frame, one after another.
    fn receive_bulk(&mut self, room: &mut Room<'a>) -> io::Result<Result<()>> {
        let bytes = frame::total(self.frame.bulk_lengths())?;
        let received = room.receive(&mut self.stream, &mut self.bulk, bytes)?;
        let sum = bytes + (self.frame.arguments.len() + frame::HEADER_BYTES) as u64;
        self.shared.metrics.bytes_received.fetch_add(sum, Relaxed);
        Ok(received)
    }

    fn ran(&self, code: Operation, answer: &Answer, took: Duration) {
        self.shared.metrics.ran(code, answer.failed, took);
        if let (true, Err(error)) = (answer.failed, answer.check())
            && matches!(error.kind(), Kind::Denied | Kind::Limit)
        {
            let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
            let name = self.session.as_ref().map_or("", |session| session.name.as_str());
            tracing::warn!(peer = self.peer, who, name, operation = code.name(), why = %error, "refused an operation");
            self.note(code.name(), name, Err(&error));
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

/// What of a request is written down: what is wanted, and the container.
fn audited(kind: FrameKind, arguments: &[u8]) -> Option<(&'static str, String)> {
    let name = || wire::from_bytes::<String>(arguments).unwrap_or_default();
    Some(match kind {
        FrameKind::Hello => ("hello", String::new()),
        FrameKind::Attach => ("attach", String::new()),
        FrameKind::Direct => ("direct", String::new()),
        FrameKind::Delete => ("delete", name()),
        FrameKind::Accessible => ("accessible", name()),
        FrameKind::Open => match wire::from_bytes::<(Begin, Opening)>(arguments) {
            Ok((_, opening)) if opening.create.is_some() => ("create", opening.path),
            Ok((_, opening)) if opening.access.access == Access::Write => ("open to write", opening.path),
            Ok((_, opening)) => ("open to read", opening.path),
            Err(_) => ("open", String::new()),
        },
        _ => return None,
    })
}

/// What `bytes` hold one after another.
fn slices<'b>(bytes: &'b [u8], lengths: &[u64]) -> Vec<&'b [u8]> {
    let mut rest = bytes;
    let next = |length: &u64| {
        let (slice, after) = rest.split_at_checked(*length as usize)?;
        rest = after;
        Some(slice)
    };
    lengths.iter().map_while(next).collect()
}

fn slices_mut<'b>(bytes: &'b mut [u8], lengths: &[u64]) -> Vec<&'b mut [u8]> {
    let mut rest = bytes;
    let next = |length: &u64| {
        let (slice, after) = std::mem::take(&mut rest).split_at_mut_checked(*length as usize)?;
        rest = after;
        Some(slice)
    };
    lengths.iter().map_while(next).collect()
}
