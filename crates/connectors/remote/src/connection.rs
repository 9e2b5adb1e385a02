//! One connection of a client: frames there and back.

use std::io::{self, BufReader};
use system::clock::Instant;

use model::{Error, Result};
use protocol::frame::{self, Frame, FrameKind, FrameLimits, Header, Outgoing};
use protocol::stream::{Duplex, Stream};
use protocol::tokens::{self, TokenPlace};
use protocol::wire::{self, Answer, Request};
use protocol::{Hello, VERSION, Welcome};
use system::socket::Socket;

use crate::address::{Endpoint, Options};

/// Bytes that are read ahead: small frames come in one read; bulk passes by.
const AHEAD_BYTES: usize = 16 << 10;

/// Answers may be larger than requests: what a caller asked for is bounded by the caller.
const ANSWER_LIMITS: FrameLimits =
    FrameLimits { arguments_max: 1 << 30, parts_max: 1 << 26, bulk_bytes_max: 1 << 40 };

/// Why a call did not come through.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection is of no use any more; what was asked may or may not have been done.
    Lost(io::Error),
    /// The server said no, or does not keep to the protocol.
    Refused(Error),
    /// No node could open the container, because one that is not reached writes to it.
    Held(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Failure::Refused(Error::io("talk to server", &error)),
            _ => Failure::Lost(error),
        }
    }
}

impl Failure {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Failure::Lost(error) => Error::io("talk to server", &error),
            Failure::Refused(error) | Failure::Held(error) => error,
        }
    }
}

/// A connection that said hello.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufReader<Stream>,
    out: Vec<u8>,
    frame: Frame,
    pub(crate) welcome: Welcome,
}

/// The header of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerHeader {
    pub(crate) acknowledged: u64,
}

impl Connection {
    /// Connects and says hello, until `deadline` at most.
    pub(crate) fn open(endpoint: &Endpoint, options: &Options, deadline: Instant) -> Result<Self, Failure> {
        let socket = connect(endpoint, deadline)?;
        socket.set_patience(options.deadline)?;
        socket.keep_alive()?;
        let token = options.token.clone().or_else(|| local_token(&socket, endpoint));
        let inner: Box<dyn Duplex> = secured(socket, endpoint, options)?;
        let stream = BufReader::with_capacity(AHEAD_BYTES, Stream::new(inner, options.deadline));
        let welcome = Welcome { life: protocol::Id([0; 16]), bulk_bytes_max: 0, lease_seconds: 0 };
        let mut connection = Connection { stream, out: Vec::new(), frame: Frame::default(), welcome };
        let hello = Hello { version: VERSION, wire_version: wire::VERSION, token };
        connection.welcome = connection.ask(FrameKind::Hello, 0, &hello)?;
        Ok(connection)
    }

    /// Sends a message and reads the value that answers it.
    pub(crate) fn ask<A: wire::Wire, V: wire::Wire>(
        &mut self,
        kind: FrameKind,
        sequence: u64,
        message: &A,
    ) -> Result<V, Failure> {
        let bytes = wire::to_bytes(message).map_err(Failure::Refused)?;
        self.ask_bytes(kind, sequence, &bytes)
    }

    pub(crate) fn ask_bytes<V: wire::Wire>(
        &mut self,
        kind: FrameKind,
        sequence: u64,
        bytes: &[u8],
    ) -> Result<V, Failure> {
        let mut answer = Answer::new();
        self.exchange(kind, sequence, bytes, &mut answer)?;
        answer.check().map_err(Failure::Refused)?;
        wire::from_bytes(&answer.bytes).map_err(Failure::Refused)
    }

    /// Sends a message and receives what answers it.
    pub(crate) fn exchange(
        &mut self,
        kind: FrameKind,
        sequence: u64,
        bytes: &[u8],
        answer: &mut Answer,
    ) -> Result<AnswerHeader, Failure> {
        let header = Header::new(kind, sequence);
        self.send(&Outgoing { header, arguments: bytes, bulk: &[], buffers: &[], elements: &[] })?;
        self.receive(sequence, &mut [], answer)
    }

    /// Says that the session ends; a server that does not hear it waits until the lease ends.
    pub(crate) fn bye(&mut self) {
        let _ = self.tell(FrameKind::Bye, &[]);
    }

    /// Sends a message that no one answers.
    pub(crate) fn tell(&mut self, kind: FrameKind, bytes: &[u8]) -> Result<(), Failure> {
        let header = Header::new(kind, 0);
        self.send(&Outgoing { header, arguments: bytes, bulk: &[], buffers: &[], elements: &[] })
    }

    /// Runs an operation.
    pub(crate) fn call(
        &mut self,
        header: Header,
        request: &mut Request<'_>,
        answer: &mut Answer,
    ) -> Result<AnswerHeader, Failure> {
        let buffers: Vec<u64> = request.into.iter().map(|buffer| buffer.len() as u64).collect();
        let (arguments, bulk) = (request.arguments, &request.bulk);
        let bulk_bytes = bulk.iter().map(|bulk| bulk.len() as u64).sum::<u64>().max(buffers.iter().sum());
        if bulk_bytes > self.welcome.bulk_bytes_max {
            let error = Error::limit("ask server").with("bytes", bulk_bytes);
            return Err(Failure::Refused(error.with("limit", self.welcome.bulk_bytes_max)));
        }
        self.send(&Outgoing { header, arguments, bulk, buffers: &buffers, elements: &[] })?;
        self.receive(header.sequence, &mut request.into, answer)
    }

    fn send(&mut self, outgoing: &Outgoing<'_>) -> Result<(), Failure> {
        self.stream.get_mut().rest();
        self.out.clear();
        Ok(outgoing.send(self.stream.get_mut(), &mut self.out)?)
    }

    /// Sends frames that no one answers.
    pub(crate) fn post(&mut self, frames: &[u8]) -> Result<(), Failure> {
        self.stream.get_mut().rest();
        Ok(io::Write::write_all(self.stream.get_mut(), frames)?)
    }

    /// Receives the answer to the operation of this number.
    pub(crate) fn receive(
        &mut self,
        sequence: u64,
        into: &mut [&mut [u8]],
        answer: &mut Answer,
    ) -> Result<AnswerHeader, Failure> {
        self.stream.get_mut().rest();
        if !self.frame.receive(&mut self.stream, &ANSWER_LIMITS)? {
            return Err(Failure::Lost(io::ErrorKind::UnexpectedEof.into()));
        }
        let header = self.frame.header;
        answer.failed = match header.kind {
            FrameKind::Answer => false,
            FrameKind::Failed => true,
            _ => return Err(frame::broken("not an answer").into()),
        };
        if header.sequence != sequence {
            return Err(frame::broken("the answer to something else").into());
        }
        std::mem::swap(&mut answer.bytes, &mut self.frame.arguments);
        answer.bulk.clear();
        for &length in self.frame.bulk_lengths() {
            let mut bytes = Vec::new();
            frame::receive_bytes(&mut self.stream, length, &mut bytes)?;
            answer.bulk.push(bytes);
        }
        self.receive_buffers(into, answer.failed)?;
        let is_empty = self.frame.header.buffers == 0;
        let elements = into.iter().filter(|_| !is_empty).map(|buffer| &buffer[..]);
        let bulk = answer.bulk.iter().map(Vec::as_slice);
        self.frame.verify_parts(std::iter::once(&answer.bytes[..]).chain(bulk).chain(elements))?;
        Ok(AnswerHeader { acknowledged: header.acknowledged })
    }

    /// Elements go from the socket to where the caller wants them.
    fn receive_buffers(&mut self, into: &mut [&mut [u8]], failed: bool) -> Result<(), Failure> {
        let lengths = self.frame.buffer_lengths();
        let fit = lengths.iter().copied().eq(into.iter().map(|buffer| buffer.len() as u64));
        if !(fit || failed && lengths.is_empty()) {
            return Err(frame::broken("elements that were not asked for").into());
        }
        for buffer in into.iter_mut().take(lengths.len()) {
            io::Read::read_exact(&mut self.stream, buffer)?;
        }
        Ok(())
    }
}

fn connect(endpoint: &Endpoint, deadline: Instant) -> Result<Socket, Failure> {
    match endpoint {
        Endpoint::Unix(path) => Ok(Socket::connect_unix(path)?),
        Endpoint::Tcp(host, port) => {
            let left = deadline.saturating_duration_since(Instant::now());
            Ok(Socket::connect(host, *port, left)?)
        }
    }
}

/// Returns the token of a server of this machine that belongs to us.
fn local_token(socket: &Socket, endpoint: &Endpoint) -> Option<String> {
    let place = match (socket.peer(), endpoint) {
        (Some(peer), _) => TokenPlace::tcp(peer),
        (None, Endpoint::Unix(path)) => TokenPlace::unix(path),
        (None, Endpoint::Tcp(..)) => None,
    };
    tokens::find(&place?)
}

#[cfg(feature = "tls")]
fn secured(socket: Socket, endpoint: &Endpoint, options: &Options) -> Result<Box<dyn Duplex>, Failure> {
    match &options.ca {
        None => Ok(Box::new(socket)),
        Some(ca) => crate::tls::client(socket, ca, endpoint, options).map_err(Failure::Refused),
    }
}

#[cfg(not(feature = "tls"))]
fn secured(socket: Socket, _: &Endpoint, options: &Options) -> Result<Box<dyn Duplex>, Failure> {
    match &options.ca {
        None => Ok(Box::new(socket)),
        Some(_) => {
            let error = Error::unsupported("encrypt connection");
            Err(Failure::Refused(error.with("problem", "this build has no TLS; it is the feature `tls`")))
        }
    }
}

impl Connection {
    /// Waits until everything that was sent before was run.
    pub(crate) fn ping(&mut self, sequence: u64) -> Result<AnswerHeader, Failure> {
        self.exchange(FrameKind::Ping, sequence, &[], &mut Answer::new())
    }
}
