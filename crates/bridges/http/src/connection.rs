//! Connections, counted by who has them.

use std::net::SocketAddr;
use std::sync::Arc;

use hyperslab::{Error, Result};
use server::Admission;
use system::socket::{IpAddr, Socket};
use tokio::net::TcpStream;

/// A connection, which is counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    admission: Arc<Admission>,
    number: u64,
    /// The address of the client.
    pub(crate) peer: SocketAddr,
}

impl Connection {
    /// Counts a connection that was just made. One that sends no request for too long is shut down where others want to connect.
    ///
    /// # Errors
    /// Returns an error if there are too many connections.
    pub(crate) fn arrive(admission: &Arc<Admission>, socket: Socket, peer: SocketAddr) -> Result<Self> {
        let number = admission.number();
        admission.arrive(number, address(peer), socket)?;
        Ok(Connection { admission: admission.clone(), number, peer })
    }

    /// Counts the connection for the caller of its request.
    ///
    /// # Errors
    /// Returns `Busy` if this is one connection too many: of all, of its address, or of this caller.
    pub(crate) fn know(&self, who: &str) -> Result<()> {
        self.admission.know(self.number, who)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.admission.leave(self.number);
    }
}

/// Returns the address that a connection is counted for. All clients of this machine have the same: it says nothing about them.
fn address(peer: SocketAddr) -> Option<IpAddr> {
    let address = peer.ip().to_canonical();
    Some(address).filter(|address| !address.is_loopback())
}

/// Returns a second handle of a socket, which shuts it down.
pub(crate) fn with_handle(stream: TcpStream) -> Result<(TcpStream, Socket)> {
    let failed = |e: std::io::Error| Error::io("set up connection", &e);
    let stream = stream.into_std().map_err(failed)?;
    let handle = stream.try_clone().map_err(failed)?;
    Ok((TcpStream::from_std(stream).map_err(failed)?, handle.into()))
}

#[cfg(test)]
mod tests {
    use server::ServerLimits;
    use system::socket::{TcpListener, TcpStream};

    use super::*;

    fn socket() -> Socket {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap().into()
    }

    fn admission(limits: &ServerLimits) -> impl Fn(&str) -> Result<Connection> + use<> {
        let admission = Arc::new(Admission::new(limits));
        move |peer| Connection::arrive(&admission, socket(), peer.parse().unwrap())
    }

    #[test]
    fn an_address_has_its_share_of_connections() {
        let connect = admission(&ServerLimits { connections_per_address_max: 2, ..ServerLimits::default() });
        let [one, two, three] = [1, 2, 3].map(|port| connect(&format!("10.0.0.1:{port}")).unwrap());
        one.know("ann").unwrap();
        two.know("bob").unwrap();
        assert!(three.know("cid").is_err());
        connect("10.0.0.2:1").unwrap().know("cid").unwrap();
        drop(one);
        three.know("cid").unwrap();
        // The same address in its two forms.
        assert!(connect("[::ffff:10.0.0.1]:4").unwrap().know("ann").is_err());
    }

    #[test]
    fn clients_of_this_machine_are_told_apart_by_their_tokens_only() {
        let limits = ServerLimits { connections_per_token_max: 2, ..ServerLimits::default() };
        let connect = admission(&ServerLimits { connections_per_address_max: 1, ..limits });
        let all: Vec<Connection> =
            (1..5).map(|port| connect(&format!("127.0.0.1:{port}")).unwrap()).collect();
        all[..2].iter().for_each(|connection| connection.know("ann").unwrap());
        assert!(all[2].know("ann").is_err());
        all[2..].iter().for_each(|connection| connection.know("bob").unwrap());
    }

    #[test]
    fn an_address_connects_at_a_rate() {
        let connect = admission(&ServerLimits { connects_per_second_max: 5, ..ServerLimits::default() });
        let count = (0..50).filter(|_| connect("10.0.0.1:1").is_ok()).count();
        assert!((10..30).contains(&count), "{count}");
        connect("10.0.0.2:1").unwrap();
    }
}
