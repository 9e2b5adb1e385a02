//! `/healthz` and `/metrics`: as much HTTP/1.1 as these two need.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Error, Result};
use remote::stream::Socket;

use crate::listener::tcp_closer;
use crate::shared::Shared;

/// Bytes of a request that are looked at.
const REQUEST_BYTES_MAX: usize = 4096;
/// One client at a time is served, for this long at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// What answers, and how to end it.
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
    pub(crate) thread: JoinHandle<()>,
    pub(crate) closer: Socket,
}

pub(crate) fn start(address: SocketAddr, shared: Arc<Shared>) -> Result<Http> {
    let failed = |e: std::io::Error| Error::io("listen", &e).with("at", address);
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let closer = tcp_closer(&listener).map_err(failed)?;
    let thread = std::thread::Builder::new().name("serve-http".to_owned());
    let thread = thread.spawn(move || {
        for stream in listener.incoming() {
            if shared.stopping.load(Ordering::Acquire) {
                return;
            }
            // Whoever asks badly gets no answer, or half of one.
            let _ = stream.and_then(|stream| answer(stream, &shared));
        }
    });
    Ok(Http { address, thread: thread.map_err(|e| Error::io("start thread", &e))?, closer })
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; REQUEST_BYTES_MAX];
    let mut have = 0;
    while have < request.len() && !request[..have].windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut request[have..])? {
            0 => break,
            count => have += count,
        }
    }
    let line = request[..have].split(|b| *b == b'\r').next().unwrap_or_default();
    let (status, body) = match line {
        line if line.starts_with(b"GET /healthz ") => ("200 OK", "ok\n".to_owned()),
        line if line.starts_with(b"GET /metrics ") => ("200 OK", shared.metrics_text()),
        line if line.starts_with(b"GET ") => ("404 Not Found", "try /healthz or /metrics\n".to_owned()),
        _ => ("400 Bad Request", "GET only\n".to_owned()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
