//! One open container of a server: numbers its operations, sends them, and sends them again where a connection broke.

mod locks;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use system::clock::Instant;

use model::{Error, Kind, Result};
use protocol::frame::{FrameKind, Header};
use protocol::wire::{self, Answer, OpenRequest, Request, Transport};
use protocol::{Attach, Begin, Id};
use system::sync::{Mutex, RwLock};
use vol::{Access, Durability, Operation};

use crate::address::{Address, Endpoint, Options};
use crate::connection::{AnswerHeader, Connection, Failure};
use crate::direct::Direct;
use crate::kept::KeptChanges;
use crate::nodes::Route;
use crate::queue::Queue;

/// Sends one operation on a connection, and waits for its answer.
type ConnectionCall<'c> = dyn FnMut(&mut Connection) -> std::result::Result<AnswerHeader, Failure> + 'c;

/// Pauses between attempts grow up to this.
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// Connections that stay open for the next operation.
const IDLE_MAX: usize = 16;

/// The numbers of operations.
#[derive(Debug, Default)]
struct Numbers {
    last: u64,
    /// Those that wait for an answer.
    open: BTreeSet<u64>,
}

/// A session with a server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) nodes: Vec<Endpoint>,
    /// The node in use.
    pub(crate) route: RwLock<Route>,
    /// What another node must have too, where there are several.
    pub(crate) kept: Option<KeptChanges>,
    pub(crate) options: Options,
    pub(crate) request: OpenRequest,
    /// The number of the session: another one after the only server began a new life.
    pub(crate) id: Mutex<Id>,
    pub(crate) idle: Mutex<Vec<Connection>>,
    numbers: Mutex<Numbers>,
    /// Something was changed since the last commit.
    changed: AtomicBool,
    /// Changes were lost, and no commit reported it yet.
    lost: AtomicBool,
    closed: AtomicBool,
    queue: Mutex<Queue>,
    /// The file, where we see it as the server does.
    pub(crate) direct: Option<Direct>,
}

/// Runs `attempt` until it comes through, is refused, or takes longer than `deadline`.
pub(crate) fn persist<T>(
    patience: Duration,
    mut attempt: impl FnMut(Instant) -> Result<T, Failure>,
) -> Result<T> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(5);
    loop {
        match attempt(deadline) {
            Ok(value) => return Ok(value),
            Err(failure) if may_pass(&failure) && Instant::now() + pause < deadline => {
                system::thread::sleep(pause);
                pause = (2 * pause).min(PAUSE_MAX);
            }
            Err(failure) => return Err(failure.into_error()),
        }
    }
}

/// Returns whether another attempt may succeed. A node that died has the right to write until its lease is over.
fn may_pass(failure: &Failure) -> bool {
    match failure {
        Failure::Lost(error) => !is_fatal(error),
        Failure::Held(_) => true,
        Failure::Refused(_) => false,
    }
}

/// Returns whether an error ends all attempts: a silent server has used up the time already.
pub(crate) fn is_fatal(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as K;
    matches!(error.kind(), K::TimedOut | K::WouldBlock | K::InvalidInput)
}

/// Asks one of the nodes a question that belongs to no session.
pub(crate) fn ask<V: wire::Wire>(address: &Address, kind: FrameKind, bytes: &[u8]) -> Result<V> {
    let connected = persist(address.options.deadline, |deadline| {
        let mut outcome = Err(Failure::Lost(std::io::ErrorKind::NotConnected.into()));
        for node in &address.nodes {
            outcome = Connection::open(node, &address.options, deadline).map_err(at_once(false));
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    });
    let asked = connected
        .and_then(|mut connection| connection.ask_bytes(kind, 1, bytes).map_err(Failure::into_error));
    asked.map_err(|error| error.with("server", shown(&address.nodes)))
}

/// Returns nodes as a location names them.
fn shown(nodes: &[Endpoint]) -> String {
    nodes.iter().map(Endpoint::to_string).collect::<Vec<_>>().join(",")
}

/// Returns whether the server was there and closed the connection, for example because it has too many at the moment.
pub(crate) fn is_cut(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as K;
    matches!(error.kind(), K::UnexpectedEof | K::ConnectionReset | K::ConnectionAborted | K::BrokenPipe)
}

/// Returns a function that refuses a failure to connect at once, unless the server was there before.
pub(crate) fn at_once(began: bool) -> impl Fn(Failure) -> Failure {
    move |failure| match failure {
        Failure::Lost(error) if !began && !is_cut(&error) => {
            Failure::Refused(Error::io("connect to server", &error))
        }
        failure => failure,
    }
}

impl Session {
    /// Returns whether the container is open to be changed.
    pub(crate) fn is_writable(&self) -> bool {
        self.request.create.is_some() || self.request.access.access == Access::Write
    }

    /// Creates or opens a container.
    pub(crate) fn open(address: Address, request: OpenRequest) -> Result<Self> {
        let writable = request.create.is_some() || request.access.access == Access::Write;
        let Options { direct, root, .. } = &address.options;
        let direct = direct.then(|| Direct::new(&address.name, root.clone(), writable));
        let id = Id::random();
        let route = Route { node: address.first_node(id.0), generation: 0 };
        let kept = (address.nodes.len() > 1).then(|| KeptChanges::new(address.options.kept_bytes_max));
        let session = Session {
            direct,
            nodes: address.nodes,
            route: RwLock::new(route),
            kept,
            options: address.options,
            request,
            id: Mutex::new(id),
            idle: Mutex::default(),
            numbers: Mutex::default(),
            changed: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            queue: Mutex::default(),
        };
        session.changed.store(session.request.create.is_some(), Ordering::Relaxed);
        let began = if session.kept.is_some() { session.begin_at_any(id) } else { session.begin_at_one(id) };
        let connection = began.map_err(|error| error.with("server", shown(&session.nodes)))?;
        session.keep(connection);
        Ok(session)
    }

    fn begin_at_one(&self, id: Id) -> Result<Connection> {
        let mut began = false;
        persist(self.options.deadline, |deadline| {
            let connection = Connection::open(&self.nodes[0], &self.options, deadline);
            let mut connection = connection.map_err(at_once(began))?;
            began = true;
            self.begin(&mut connection, id, &self.request)?;
            Ok(connection)
        })
    }

    fn begin(&self, connection: &mut Connection, session: Id, request: &OpenRequest) -> Result<(), Failure> {
        let begin = Begin::at_one(session, true);
        let begin = (begin, request.clone());
        connection.ask::<_, ()>(FrameKind::Open, 0, &begin)?;
        let Some(direct) = &self.direct else { return Ok(()) };
        let answer = connection.ask(FrameKind::Direct, 0, &());
        answer
            .and_then(|found| direct.see(&found).map_err(Failure::Refused))
            .inspect_err(|_| connection.bye())
    }

    /// Returns what closing promises.
    pub(crate) fn durability(&self) -> Durability {
        self.request.access.durability
    }

    pub(crate) fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }

    /// Returns a new connection of this session. The number of the last queued operation that was run comes with it.
    pub(crate) fn connect(&self, deadline: Instant) -> Result<(Connection, u64), Failure> {
        let mut connection = Connection::open(&self.nodes[0], &self.options, deadline)?;
        let mut id = self.id.lock();
        match connection.ask(FrameKind::Attach, 0, &Attach { session: *id }) {
            Ok(done) => Ok((connection, done)),
            Err(Failure::Refused(error)) if error.kind() == Kind::NotFound => {
                // The server began a new life, or our lease ran out: what was not committed is gone.
                let reopen = OpenRequest { create: None, truncate: false, ..self.request.clone() };
                let fresh = Id::random();
                self.begin(&mut connection, fresh, &reopen)?;
                *id = fresh;
                if self.changed.swap(false, Ordering::AcqRel) {
                    self.lost.store(true, Ordering::Release);
                }
                Ok((connection, u64::MAX))
            }
            Err(failure) => Err(failure),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        let mut numbers = self.numbers.lock();
        numbers.last += 1;
        let number = numbers.last;
        numbers.open.insert(number);
        number
    }

    /// Returns a number whose answer no one waits for.
    pub(crate) fn queued_number(&self) -> u64 {
        let mut numbers = self.numbers.lock();
        numbers.last += 1;
        numbers.last
    }

    /// Returns the number below which every operation was answered.
    pub(crate) fn acknowledged(&self) -> u64 {
        let numbers = self.numbers.lock();
        numbers.open.first().copied().unwrap_or(numbers.last + 1)
    }

    /// The answer to the operation of this number is there.
    pub(crate) fn answered(&self, number: u64) {
        self.numbers.lock().open.remove(&number);
    }

    pub(crate) fn header(&self, code: Operation) -> Header {
        let sequence = self.number();
        let acknowledged = self.numbers.lock().open.first().copied().unwrap_or(sequence);
        // Numbers of operations are below 128.
        Header { code: code.number() as u16, acknowledged, ..Header::new(FrameKind::Call, sequence) }
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(Error::invalid("use container").with("problem", "the container is closed")),
            false => Ok(()),
        }
    }

    /// A loss is an error of every operation that builds on it, and of the next commit.
    pub(crate) fn check_lost(&self, code: Operation) -> Result<()> {
        let is_end = matches!(code, Operation::commit | Operation::close);
        if !(code.changes() || is_end) || !self.lost.load(Ordering::Acquire) {
            return Ok(());
        }
        if is_end {
            self.lost.store(false, Ordering::Release);
        }
        Err(lost())
    }

    /// Does something on any connection.
    fn attempt<T>(
        &self,
        deadline: Instant,
        ask: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect(deadline)?.0,
        };
        match ask(&mut connection) {
            Ok(_) => {
                self.keep(connection);
                Ok(())
            }
            Err(failure) => {
                self.idle.lock().clear();
                Err(failure)
            }
        }
    }

    /// Waits for the answer of an operation on any connection.
    fn run(&self, request: &mut Request<'_>, answer: &mut Answer) -> Result<()> {
        if let Some(kept) = &self.kept {
            return self.run_at_nodes(kept, request, answer);
        }
        self.run_on(request, answer, |deadline, call| self.attempt(deadline, call).map(drop))
    }

    /// Waits for the answer of an operation on a connection that `attempt` finds, as often as the deadline allows.
    fn run_on(
        &self,
        request: &mut Request<'_>,
        answer: &mut Answer,
        mut attempt: impl FnMut(Instant, &mut ConnectionCall<'_>) -> std::result::Result<(), Failure>,
    ) -> Result<()> {
        let code = request.code;
        let header = self.header(code);
        let done = persist(self.options.deadline, |deadline| {
            attempt(deadline, &mut |connection| {
                self.check_lost(code).map_err(Failure::Refused)?;
                connection.call(header, request, answer)
            })
        });
        self.numbers.lock().open.remove(&header.sequence);
        done?;
        self.note(code, answer.failed);
        Ok(())
    }

    pub(crate) fn note(&self, code: Operation, failed: bool) {
        match code {
            Operation::commit if !failed => self.changed.store(false, Ordering::Release),
            Operation::close if !failed => {
                self.changed.store(false, Ordering::Release);
                self.closed.store(true, Ordering::Release);
            }
            code if code.changes() => self.changed.store(true, Ordering::Release),
            _ => {}
        }
    }

    /// Sends what is queued, then an operation, and waits for its answer.
    fn run_after_queue(
        &self,
        queue: &mut Queue,
        request: &mut Request<'_>,
        answer: &mut Answer,
    ) -> Result<()> {
        self.run_on(request, answer, |deadline, call| queue.attempt(self, deadline, call))
    }
}

fn lost() -> Error {
    let problem = "the server was restarted, or did not hear of us for too long: changes since the last commit are lost";
    Error::new(Kind::Io, "change remote container").with("problem", problem)
}

impl Transport for Session {
    fn call(&self, mut request: Request<'_>, answer: &mut Answer) -> Result<()> {
        self.check_open().map_err(|closed| closed.during(request.code.name()))?;
        if !self.options.pipeline {
            return self.run(&mut request, answer);
        }
        let mut queue = self.queue.lock();
        if Queue::takes(&request) {
            self.check_lost(request.code)?;
            return queue.put(self, &request, answer);
        }
        if queue.is_empty() {
            drop(queue);
            return self.run(&mut request, answer);
        }
        self.run_after_queue(&mut queue, &mut request, answer)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let idle = self.idle.lock().pop();
        let queue = self.queue.lock().connection.take();
        if let Some(mut connection) = idle.or(queue) {
            connection.bye();
        }
    }
}
