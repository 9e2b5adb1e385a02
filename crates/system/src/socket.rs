//! Sockets: [connections](Socket) whose waits are on the clock of this crate, those that listen, and the end of waiting for
//! connections.

mod keep_alive;
mod stream;

use std::io;

pub use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
pub use std::os::unix::net::{UnixListener, UnixStream};

pub use stream::Socket;

#[cfg(not(unix))]
pub use absent::{UnixListener, UnixStream};

/// Ends the waiting of other threads for connections of a listener.
#[derive(Debug)]
pub struct Closer(of_system::Closer);

impl Closer {
    /// Returns a handle that ends the waiting at a TCP socket.
    pub fn tcp(listener: &TcpListener) -> io::Result<Closer> {
        of_system::Closer::tcp(listener).map(Closer)
    }

    /// Returns a handle that ends the waiting at a Unix socket.
    pub fn unix(listener: &UnixListener) -> io::Result<Closer> {
        of_system::Closer::unix(listener).map(Closer)
    }

    /// Wakes the thread that waits. It gets an error or a connection without a client.
    pub fn close(&self) {
        self.0.close();
    }
}

#[cfg(unix)]
mod of_system {
    use std::io;
    use std::net::{Shutdown, TcpListener};
    use std::os::fd::OwnedFd;

    use super::{UnixListener, UnixStream};

    /// Shutting a socket that listens wakes who waits at it. Its address may be out of reach from here.
    #[derive(Debug)]
    pub(super) struct Closer(UnixStream);

    impl Closer {
        pub(super) fn tcp(listener: &TcpListener) -> io::Result<Closer> {
            // `shutdown` is the same call for sockets of any family.
            Ok(Closer(UnixStream::from(OwnedFd::from(listener.try_clone()?))))
        }

        pub(super) fn unix(listener: &UnixListener) -> io::Result<Closer> {
            Ok(Closer(UnixStream::from(OwnedFd::from(listener.try_clone()?))))
        }

        pub(super) fn close(&self) {
            let _ = self.0.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(not(unix))]
mod of_system {
    use std::io;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
    use std::time::Duration;

    use super::UnixListener;

    /// The longest time that a connection to this machine takes.
    const CONNECT_WAIT: Duration = Duration::from_secs(1);

    /// A connection from this machine wakes who waits: a socket that listens cannot be shut here.
    #[derive(Debug)]
    pub(super) struct Closer(SocketAddr);

    impl Closer {
        pub(super) fn tcp(listener: &TcpListener) -> io::Result<Closer> {
            let mut address = listener.local_addr()?;
            match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
                _ => {}
            }
            Ok(Closer(address))
        }

        pub(super) fn unix(listener: &UnixListener) -> io::Result<Closer> {
            match *listener {}
        }

        pub(super) fn close(&self) {
            let _ = TcpStream::connect_timeout(&self.0, CONNECT_WAIT);
        }
    }
}

#[cfg(not(unix))]
mod absent {
    use std::io::{self, ErrorKind, Read, Write};
    use std::net::Shutdown;
    use std::path::Path;
    use std::time::Duration;

    fn unsupported() -> io::Error {
        io::Error::new(ErrorKind::Unsupported, "there are no Unix sockets on this system")
    }

    /// A Unix socket that listens. There is none on this system.
    #[derive(Debug)]
    pub enum UnixListener {}

    impl UnixListener {
        /// Returns `Unsupported`.
        pub fn bind(_: impl AsRef<Path>) -> io::Result<UnixListener> {
            Err(unsupported())
        }

        /// Never returns, because there are no values of this type.
        pub fn accept(&self) -> io::Result<(UnixStream, ())> {
            match *self {}
        }
    }

    /// A connected Unix socket. There is none on this system.
    #[derive(Debug)]
    pub enum UnixStream {}

    impl UnixStream {
        /// Returns `Unsupported`.
        pub fn connect(_: impl AsRef<Path>) -> io::Result<UnixStream> {
            Err(unsupported())
        }

        /// Never returns, because there are no values of this type.
        pub fn try_clone(&self) -> io::Result<UnixStream> {
            match *self {}
        }

        /// Never returns, because there are no values of this type.
        pub fn shutdown(&self, _: Shutdown) -> io::Result<()> {
            match *self {}
        }

        /// Never returns, because there are no values of this type.
        pub fn set_read_timeout(&self, _: Option<Duration>) -> io::Result<()> {
            match *self {}
        }

        /// Never returns, because there are no values of this type.
        pub fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
            match *self {}
        }
    }

    impl Read for UnixStream {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }
    }

    impl Write for UnixStream {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }

        fn flush(&mut self) -> io::Result<()> {
            match *self {}
        }
    }
}
