//! One connection as bytes: TCP, a socket of this machine, or either under TLS.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use system::clock::Instant;

use socket2::{SockRef, TcpKeepalive};
use system::socket::UnixStream;

/// A connection is asked after so much silence, then so often, and is at its end after so many questions: a minute.
const ALIVE_AFTER: Duration = Duration::from_secs(30);
const ALIVE_EVERY: Duration = Duration::from_secs(10);
const ALIVE_COUNT: u32 = 3;

/// The socket below.
#[derive(Debug)]
pub enum Socket {
    /// To another machine, or to this one.
    Tcp(TcpStream),
    /// On this machine.
    Unix(UnixStream),
}

macro_rules! either {
    ($self:expr, $socket:ident => $result:expr) => {
        match $self {
            Socket::Tcp($socket) => $result,
            Socket::Unix($socket) => $result,
        }
    };
}

impl Socket {
    /// No read and no write waits longer than this.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        either!(self, socket => {
            socket.set_read_timeout(Some(patience))?;
            socket.set_write_timeout(Some(patience))
        })
    }

    /// The system asks a silent other side whether it is still there: a machine that is gone says nothing by itself.
    pub fn keep_alive(&self) -> io::Result<()> {
        let Socket::Tcp(socket) = self else { return Ok(()) };
        let alive = TcpKeepalive::new().with_time(ALIVE_AFTER).with_interval(ALIVE_EVERY);
        SockRef::from(socket).set_tcp_keepalive(&alive.with_retries(ALIVE_COUNT))
    }

    /// Returns a second handle of the same socket.
    pub fn again(&self) -> io::Result<Socket> {
        Ok(match self {
            Socket::Tcp(socket) => Socket::Tcp(socket.try_clone()?),
            Socket::Unix(socket) => Socket::Unix(socket.try_clone()?),
        })
    }

    /// Ends reading, writing or both, for every handle.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        either!(self, socket => socket.shutdown(how))
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        either!(self, socket => socket.read(bytes))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, socket => socket.write(bytes))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        either!(self, socket => socket.write_vectored(slices))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes in both directions.
pub trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

/// Slowest other side that is waited for while it sends or takes a frame.
const BYTES_PER_SECOND_MIN: u64 = 256 << 10;

/// A connection that gives up on another side that is silent or slow.
///
/// The socket itself gives up after `patience` without a byte; here a frame that began must also go on at a rate.
pub struct Stream {
    inner: Box<dyn Duplex>,
    patience: Duration,
    /// Since when a frame is under way, and its bytes so far.
    began: Option<(Instant, u64)>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Stream {
    /// Over a socket whose patience is set, or what encrypts one.
    pub fn new(inner: Box<dyn Duplex>, patience: Duration) -> Self {
        Stream { inner, patience, began: None }
    }

    /// Between two frames: the next one has its time from its first byte.
    pub fn rest(&mut self) {
        self.began = None;
    }

    /// Returns whether no byte went since [`Stream::rest`].
    pub fn is_resting(&self) -> bool {
        self.began.is_none()
    }

    fn count(&mut self, bytes: usize) -> io::Result<usize> {
        match &mut self.began {
            None if bytes == 0 => {}
            None => self.began = Some((Instant::now(), bytes as u64)),
            Some((since, so_far)) => {
                *so_far += bytes as u64;
                let allowed = self.patience + Duration::from_secs(*so_far / BYTES_PER_SECOND_MIN);
                if bytes > 0 && since.elapsed() > allowed {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
        }
        Ok(bytes)
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.count(count)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.count(count)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let count = self.inner.write_vectored(slices)?;
        self.count(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
