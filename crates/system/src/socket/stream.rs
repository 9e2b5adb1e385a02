//! A connected socket.

use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Shutdown, TcpStream, UnixStream};
use crate::clock::{self, Instant};

/// A connection to another process, on this machine or another one.
///
/// Its waits are on the clock of this crate: where tests put it forward, they end.
#[derive(Debug)]
pub struct Socket {
    family: Family,
    /// Nanoseconds that a read or a write waits at most, for all handles; 0 without a limit.
    patience: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Family {
    Tcp(TcpStream),
    Unix(UnixStream),
}

macro_rules! either {
    ($self:expr, $socket:ident => $result:expr) => {
        match &$self.family {
            Family::Tcp($socket) => $result,
            Family::Unix($socket) => $result,
        }
    };
}

impl From<TcpStream> for Socket {
    fn from(socket: TcpStream) -> Self {
        Socket { family: Family::Tcp(socket), patience: Arc::default() }
    }
}

impl From<UnixStream> for Socket {
    fn from(socket: UnixStream) -> Self {
        Socket { family: Family::Unix(socket), patience: Arc::default() }
    }
}

impl Socket {
    /// Connects to a port of a machine. Small messages do not wait for larger ones.
    ///
    /// # Errors
    /// Returns the error of the last address that the name stands for; `TimedOut` after `patience`.
    pub fn connect(host: &str, port: u16, patience: Duration) -> io::Result<Self> {
        let begun = Instant::now();
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("there is no server {host}"));
        for address in (host, port).to_socket_addrs()? {
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    return Ok(socket.into());
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to a Unix socket.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn connect_unix(path: impl AsRef<Path>) -> io::Result<Self> {
        UnixStream::connect(path).map(Socket::from)
    }

    /// Returns the address of the other side, if it is one of TCP.
    pub fn peer(&self) -> Option<SocketAddr> {
        match &self.family {
            Family::Tcp(socket) => socket.peer_addr().ok(),
            Family::Unix(_) => None,
        }
    }

    /// Sets how long a read or a write of any handle waits at most.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.patience.store(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        let wait = Some(clock::real_wait(patience));
        either!(self, socket => {
            socket.set_read_timeout(wait)?;
            socket.set_write_timeout(wait)
        })
    }

    /// Makes the system check whether a silent peer is still there, because a machine that failed sends nothing.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn keep_alive(&self) -> io::Result<()> {
        match &self.family {
            Family::Tcp(socket) => super::keep_alive::of(socket),
            Family::Unix(_) => Ok(()),
        }
    }

    /// Returns a second handle of the same socket.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn try_clone(&self) -> io::Result<Self> {
        let family = match &self.family {
            Family::Tcp(socket) => Family::Tcp(socket.try_clone()?),
            Family::Unix(socket) => Family::Unix(socket.try_clone()?),
        };
        Ok(Socket { family, patience: self.patience.clone() })
    }

    /// Ends reading, writing or both, for every handle.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        either!(self, socket => socket.shutdown(how))
    }

    /// Tries until something moves or patience ends: on virtual time the system waits a moment only.
    fn wait(&mut self, mut attempt: impl FnMut(&mut Family) -> io::Result<usize>) -> io::Result<usize> {
        let begun = Instant::now();
        loop {
            match attempt(&mut self.family) {
                Err(error) if is_timeout(&error) && !self.is_over(begun) => {}
                done => return done,
            }
        }
    }

    /// Returns whether a wait took as long as it may. On the real clock the system saw to it.
    fn is_over(&self, begun: Instant) -> bool {
        let patience = Duration::from_nanos(self.patience.load(Ordering::Relaxed));
        clock::real_wait(patience) == patience || begun.elapsed() >= patience
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait(|family| match family {
            Family::Tcp(socket) => socket.read(bytes),
            Family::Unix(socket) => socket.read(bytes),
        })
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.wait(|family| match family {
            Family::Tcp(socket) => socket.write_vectored(slices),
            Family::Unix(socket) => socket.write_vectored(slices),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn pair() -> (Socket, Socket) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let client = Socket::connect("127.0.0.1", port, HOUR).expect("a connection");
        (client, listener.accept().expect("a connection").0.into())
    }

    #[test]
    fn a_read_ends_when_the_clock_is_put_forward() {
        let time = clock::virtual_time();
        let (mut client, _server) = pair();
        client.set_patience(HOUR).expect("a limit");
        std::thread::scope(|scope| {
            let read = scope.spawn(|| client.read(&mut [0; 8]));
            std::thread::sleep(Duration::from_millis(5));
            time.advance(2 * HOUR);
            assert!(is_timeout(&read.join().expect("a thread").expect_err("no byte")));
        });
    }

    #[test]
    fn bytes_arrive_and_the_end_is_seen_by_every_handle() {
        let (mut client, mut server) = pair();
        client.write_all(b"hyperslab").expect("written");
        let mut bytes = [0; 9];
        server.try_clone().expect("a handle").read_exact(&mut bytes).expect("read");
        assert_eq!(&bytes, b"hyperslab");
        client.shutdown(Shutdown::Both).expect("shut");
        assert_eq!(server.read(&mut bytes).expect("the end"), 0);
        assert!(server.peer().is_some() && Socket::connect("127.0.0.1", 1, HOUR).is_err());
    }
}
