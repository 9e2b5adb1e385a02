//! Questions of the system to a silent other side.

use std::io;

use super::TcpStream;

#[cfg(any(unix, windows))]
pub(super) fn of(socket: &TcpStream) -> io::Result<()> {
    use std::time::Duration;

    use socket2::{SockRef, TcpKeepalive};

    /// A connection is asked after so much silence, then so often, and is at its end after so many questions: a minute.
    const ALIVE_AFTER: Duration = Duration::from_secs(30);
    const ALIVE_EVERY: Duration = Duration::from_secs(10);
    const ALIVE_COUNT: u32 = 3;

    let alive = TcpKeepalive::new().with_time(ALIVE_AFTER).with_interval(ALIVE_EVERY);
    SockRef::from(socket).set_tcp_keepalive(&alive.with_retries(ALIVE_COUNT))
}

#[cfg(not(any(unix, windows)))]
pub(super) fn of(_: &TcpStream) -> io::Result<()> {
    Ok(())
}
