//! Several nodes: a session has one of them, and goes on at the next one when that dies.
//!
//! The number of the session stays the same. The next node makes again what is kept ([`KeptChanges`]), in its order, before anything
//! else goes there; operations without an answer are sent again by those who wait for them, under the same numbers, and the
//! node finds out what became of them.

use std::io;

use model::{Error, Kind, Result};
use protocol::frame::{FrameKind, Header};
use protocol::wire::{self, Answer, OpenRequest, Request};
use protocol::{Attach, Begin, Id, is_kept, stores};
use system::clock::Instant;
use vol::{Durability, Operation};

use crate::connection::{Connection, Failure};
use crate::kept::{KeptChange, KeptChanges};
use crate::session::{Session, is_cut, persist};

/// The node that a session has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    /// Its place in the location.
    pub(crate) node: usize,
    /// How often the session went on at another one, or at another life of this one.
    pub(crate) generation: u64,
}

/// Why a node is left.
enum Gone {
    /// No one answers there.
    Dead(io::Error),
    /// It does not know the session: it is another life of the node, or the lease ran out.
    Forgot,
}

/// What became of an attempt at one node.
enum Attempt {
    Answered,
    Gone(Gone),
    Failed(Failure),
}

impl Attempt {
    /// Returns the outcome for a connection that could not be made.
    fn unconnected(failure: Failure) -> Self {
        match failure {
            // It gave the connection up: it may have too many at the moment.
            Failure::Lost(error) if !is_cut(&error) => Attempt::Gone(Gone::Dead(error)),
            failure => Attempt::Failed(failure),
        }
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

impl Session {
    fn begin_of(&self, session: Id, resumed: bool) -> Begin {
        Begin { session, queued: false, nodes: true, resumed }
    }

    /// Creates or opens the container at the first node that can. Where one node at a time writes to a container, others say
    /// that they are busy; if all do, the one that writes may have died.
    pub(crate) fn begin_at_any(&self, id: Id) -> Result<Connection> {
        persist(self.options.deadline, |deadline| {
            let first = self.route.read().node;
            let (mut last, mut held) = (None, None);
            for step in 0..self.nodes.len() {
                let node = (first + step) % self.nodes.len();
                let mut connection = match Connection::open(&self.nodes[node], &self.options, deadline) {
                    Ok(connection) => connection,
                    Err(Failure::Lost(error)) => {
                        last = Some(error);
                        continue;
                    }
                    Err(refused) => return Err(refused),
                };
                self.route.write().node = node;
                // The same number finds the session that a lost answer was about.
                let begin = (self.begin_of(id, false), self.request.clone());
                match connection.ask::<_, ()>(FrameKind::Open, 0, &begin) {
                    Ok(()) => return Ok(connection),
                    Err(Failure::Refused(error)) if error.kind() == Kind::Busy => held = Some(error),
                    Err(failure) => return Err(failure),
                }
            }
            if let Some(error) = held {
                return Err(Failure::Held(error));
            }
            let error = last.unwrap_or_else(|| io::ErrorKind::NotConnected.into());
            match is_cut(&error) {
                true => Err(Failure::Lost(error)),
                false => Err(Failure::Refused(Error::io("connect to servers", &error))),
            }
        })
    }

    /// Runs an operation at the node that the session has, or at the next ones.
    pub(crate) fn run_at_nodes(
        &self,
        kept: &KeptChanges,
        request: &mut Request<'_>,
        answer: &mut Answer,
    ) -> Result<()> {
        let code = request.code;
        if is_kept(code) && kept.is_full_for(request) {
            self.store_kept(kept)?;
        }
        let header = self.header(code);
        if is_kept(code) {
            kept.keep(header.sequence, request);
        }
        let done = self.attempt_at_nodes(kept, header, request, answer);
        self.answered(header.sequence);
        if is_kept(code) && done.is_err() {
            // No one knows whether it was done: its caller hears that, and it is not made again.
            kept.answered(header.sequence, true);
        }
        done?;
        self.note(code, answer.failed);
        Ok(())
    }

    fn attempt_at_nodes(
        &self,
        kept: &KeptChanges,
        header: Header,
        request: &mut Request<'_>,
        answer: &mut Answer,
    ) -> Result<()> {
        let sent = kept.now();
        // Each node may be silent until the deadline.
        let patience = self.options.deadline * (self.nodes.len() as u32 + 1);
        persist(patience, |_| {
            let deadline = Instant::now() + self.options.deadline;
            let route = self.route.read();
            let attempt = self.attempt_at(*route, header, request, answer, deadline);
            if matches!(attempt, Attempt::Answered) {
                note_answer(kept, header.sequence, sent, request, answer);
            }
            let left = *route;
            drop(route);
            match attempt {
                Attempt::Answered => Ok(()),
                Attempt::Failed(failure) => Err(failure),
                Attempt::Gone(gone) => {
                    self.go_on(kept, left, &gone)?;
                    // And now at the other one.
                    Err(Failure::Lost(io::ErrorKind::ConnectionAborted.into()))
                }
            }
        })
    }

    fn attempt_at(
        &self,
        route: Route,
        header: Header,
        request: &mut Request<'_>,
        answer: &mut Answer,
        deadline: Instant,
    ) -> Attempt {
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => match Connection::open(&self.nodes[route.node], &self.options, deadline) {
                Err(failure) => return Attempt::unconnected(failure),
                Ok(mut connection) => match self.attach(&mut connection) {
                    Ok(()) => connection,
                    Err(attempt) => return attempt,
                },
            },
        };
        match connection.call(header, request, answer) {
            Ok(_) => {
                self.keep(connection);
                Attempt::Answered
            }
            Err(failure) => {
                self.idle.lock().clear();
                match failure {
                    Failure::Lost(error) if is_silence(&error) => Attempt::Gone(Gone::Dead(error)),
                    failure => Attempt::Failed(failure),
                }
            }
        }
    }

    fn attach(&self, connection: &mut Connection) -> Result<(), Attempt> {
        let session = *self.id.lock();
        match connection.ask::<_, u64>(FrameKind::Attach, 0, &Attach { session }) {
            Ok(_) => Ok(()),
            Err(Failure::Refused(error)) if error.kind() == Kind::NotFound => {
                Err(Attempt::Gone(Gone::Forgot))
            }
            Err(failure) => Err(Attempt::Failed(failure)),
        }
    }

    /// Goes on at another node, unless someone did it already. No operation is under way meanwhile.
    fn go_on(&self, kept: &KeptChanges, left: Route, gone: &Gone) -> Result<(), Failure> {
        let mut route = self.route.write();
        if route.generation != left.generation {
            return Ok(());
        }
        self.idle.lock().clear();
        let count = self.nodes.len();
        // A node that forgot the session may have it again; one that is dead comes last.
        let first = usize::from(matches!(gone, Gone::Dead(_)));
        for node in (first..first + count).map(|step| (route.node + step) % count) {
            match self.take_over(kept, node) {
                Ok(connection) => {
                    *route = Route { node, generation: route.generation + 1 };
                    self.keep(connection);
                    return Ok(());
                }
                Err(Failure::Refused(error)) if error.kind() != Kind::Busy => {
                    return Err(Failure::Refused(error));
                }
                Err(_) => {}
            }
        }
        Err(Failure::Lost(match gone {
            // Silence ends the attempts; here it may end.
            Gone::Dead(error) if !is_silence(error) => error.kind().into(),
            _ => io::ErrorKind::NotConnected.into(),
        }))
    }

    /// Opens the container at another node and makes what is kept again.
    fn take_over(&self, kept: &KeptChanges, node: usize) -> Result<Connection, Failure> {
        let deadline = Instant::now() + self.options.deadline;
        let mut connection = Connection::open(&self.nodes[node], &self.options, deadline)?;
        let request = OpenRequest { create: None, truncate: false, ..self.request.clone() };
        let begin = (self.begin_of(*self.id.lock(), true), request);
        connection.ask::<_, ()>(FrameKind::Open, 0, &begin)?;
        for (object, count) in kept.retained() {
            (0..count).try_for_each(|_| self.hold(&mut connection, Operation::retain, &object))?;
        }
        kept.pins().iter().try_for_each(|pin| self.hold(&mut connection, Operation::blob_pin, pin))?;
        kept.each(|change| self.make_again(&mut connection, change))?;
        Ok(connection)
    }

    fn hold<T: wire::Wire>(
        &self,
        connection: &mut Connection,
        code: Operation,
        held: &T,
    ) -> Result<(), Failure> {
        let arguments = wire::to_bytes(held).map_err(Failure::Refused)?;
        self.again(connection, Request { code, arguments: &arguments, bulk: Vec::new(), into: Vec::new() })
    }

    fn make_again(&self, connection: &mut Connection, change: &KeptChange) -> Result<(), Failure> {
        let KeptChange { code, arguments, bulk, .. } = change;
        let bulk = bulk.iter().map(Vec::as_slice).collect();
        self.again(connection, Request { code: *code, arguments, bulk, into: Vec::new() })
    }

    /// Runs an operation at a node that the session is about to have.
    fn again(&self, connection: &mut Connection, mut request: Request<'_>) -> Result<(), Failure> {
        let code = request.code;
        let header =
            Header { code: code.number() as u16, ..Header::new(FrameKind::Call, self.queued_number()) };
        let mut answer = Answer::new();
        connection.call(header, &mut request, &mut answer)?;
        match answer.check() {
            // It was there: since then it was removed, and that is stored.
            Err(error) if error.kind() == Kind::NotFound => Ok(()),
            Err(error) => Err(Failure::Refused(error.during("make changes again at another node"))),
            Ok(()) => Ok(()),
        }
    }

    /// Commits, because there is no space for more changes that are not stored.
    fn store_kept(&self, kept: &KeptChanges) -> Result<()> {
        let arguments = wire::to_bytes(&Durability::Full)?;
        let code = Operation::commit;
        let mut request = Request { code, arguments: &arguments, bulk: Vec::new(), into: Vec::new() };
        let mut answer = Answer::new();
        let header = self.header(code);
        let done = self.attempt_at_nodes(kept, header, &mut request, &mut answer);
        self.answered(header.sequence);
        done.and_then(|()| answer.check())
    }
}

/// Notes what an answer means for what is kept, before the session can go on at another node.
fn note_answer(kept: &KeptChanges, number: u64, sent: u64, request: &Request<'_>, answer: &Answer) {
    let code = request.code;
    if is_kept(code) {
        kept.answered(number, answer.failed);
    }
    if answer.failed {
        return;
    }
    if stores(code) {
        kept.stored(sent);
    }
    kept.held(code, request.arguments);
}
