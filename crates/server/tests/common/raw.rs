//! A client that says whatever a test wants, frame by frame.
#![allow(dead_code, reason = "every test uses some of it")]

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use model::{Error, Result};
use protocol::frame::{self, Frame, FrameKind, FrameLimits, Header, Outgoing};
use protocol::wire::{self, OpenRequest, Wire};
use protocol::{Begin, Hello, Id, VERSION};
use vol::{ContainerOpen, FileAccess, Operation};

/// Answers may be as large as the server likes.
const LIMITS: FrameLimits =
    FrameLimits { arguments_max: u32::MAX, parts_max: u32::MAX, bulk_bytes_max: u64::MAX };

pub(crate) struct Raw {
    pub(crate) socket: TcpStream,
    sequence: u64,
}

/// What is sent with an operation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Call<'a> {
    pub(crate) arguments: &'a [u8],
    pub(crate) bulk: &'a [&'a [u8]],
    pub(crate) buffers: &'a [u64],
}

impl Raw {
    pub(crate) fn connect(address: SocketAddr) -> std::io::Result<Raw> {
        let socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(Duration::from_secs(60)))?;
        socket.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(Raw { socket, sequence: 0 })
    }

    pub(crate) fn hello(&mut self, token: Option<&str>) -> Result<()> {
        let token = token.map(str::to_owned);
        let hello = Hello { version: VERSION, wire_version: wire::VERSION, token };
        self.ask(FrameKind::Hello, &hello).map(drop)
    }

    /// Opens a container and begins a session.
    pub(crate) fn open(&mut self, name: &str, access: &FileAccess, queued: bool) -> Result<Id> {
        let opening = OpenRequest::open(&ContainerOpen::new(name, access));
        let session = Id::random();
        self.ask(FrameKind::Open, &(Begin::at_one(session, queued), opening)).map(|_| session)
    }

    /// A message, and the bytes that answer it.
    pub(crate) fn ask(&mut self, kind: FrameKind, message: &impl Wire) -> Result<Vec<u8>> {
        let arguments = wire::to_bytes(message)?;
        self.send(Header::new(kind, 0), Call { arguments: &arguments, ..Call::default() })?;
        self.receive()
    }

    /// An operation, and the bytes of values that answer it; bulk and elements are passed over.
    pub(crate) fn call(&mut self, code: Operation, call: Call<'_>) -> Result<Vec<u8>> {
        self.post(code, call)?;
        self.receive()
    }

    /// An operation whose answer is not read yet.
    pub(crate) fn post(&mut self, code: Operation, call: Call<'_>) -> Result<()> {
        self.sequence += 1;
        self.send(Header { code: code.number() as u16, ..Header::new(FrameKind::Call, self.sequence) }, call)
    }

    /// An operation that no one answers.
    pub(crate) fn queue(&mut self, code: Operation, sequence: u64, call: Call<'_>) -> Result<()> {
        self.send(Header { code: code.number() as u16, ..Header::new(FrameKind::Queued, sequence) }, call)
    }

    /// Ends the session, and waits until it did.
    pub(crate) fn bye(mut self) {
        let _ = self.send(Header::new(FrameKind::Bye, 0), Call::default());
        let _ = std::io::copy(&mut self.socket, &mut std::io::sink());
    }

    pub(crate) fn send(&mut self, header: Header, call: Call<'_>) -> Result<()> {
        let Call { arguments, bulk, buffers } = call;
        let outgoing = Outgoing { header, arguments, bulk, buffers, elements: &[] };
        outgoing.send(&mut self.socket, &mut Vec::new()).map_err(lost)
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.socket.write_all(bytes).map_err(lost)
    }

    pub(crate) fn receive(&mut self) -> Result<Vec<u8>> {
        let mut frame = Frame::default();
        if !frame.receive(&mut self.socket, &LIMITS).map_err(lost)? {
            return Err(lost(std::io::ErrorKind::UnexpectedEof.into()));
        }
        let bulk = frame::total(&frame.lengths).map_err(lost)?;
        frame::skip_bytes(&mut self.socket, bulk).map_err(lost)?;
        match frame.header.kind {
            FrameKind::Failed => Err(wire::from_bytes(&frame.arguments)?),
            _ => Ok(frame.arguments),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn lost(error: std::io::Error) -> Error {
    Error::io("talk to server", &error)
}
