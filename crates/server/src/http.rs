//! `/healthz` and `/metrics`: as much HTTP/1.1 as these two need.
//!
//! Each client has a thread for a moment, and the oldest goes where there are too many: a slow one keeps no one out.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use system::thread::JoinHandle;

use system::clock::Instant;

use model::{Error, Result};
use system::socket::{Closer, Shutdown, Socket, SocketAddr, TcpListener};
use system::sync::Mutex;

use crate::shared::Shared;

/// Bytes of a request that are looked at.
const REQUEST_BYTES_MAX: usize = 4096;
/// A client is served for this long at most.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clients at once.
const CLIENTS_MAX: usize = 32;
/// Bytes of stack of a client's thread: a request, and the text of the metrics.
const STACK_BYTES: usize = 256 << 10;

/// The threads that answer, and the means to end them.
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
    pub(crate) thread: JoinHandle<()>,
    pub(crate) closer: Closer,
}

/// Those that are being served, the oldest first.
type Clients = Arc<Mutex<VecDeque<(u64, Socket)>>>;

pub(crate) fn start(address: SocketAddr, shared: Arc<Shared>) -> Result<Http> {
    let failed = |e: std::io::Error| Error::io("listen", &e).with("at", address);
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let closer = Closer::tcp(&listener).map_err(failed)?;
    let thread = system::thread::Builder::named("serve-http");
    let thread = thread.spawn(move || accept(&listener, &shared));
    Ok(Http { address, thread: thread.map_err(|e| Error::io("start thread", &e))?, closer })
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let clients = Clients::default();
    for (number, stream) in (0..).zip(listener.incoming()) {
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        match stream {
            Ok(stream) => serve(number, stream.into(), shared, &clients),
            // No more descriptors: the next one may do better.
            Err(_) => system::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn serve(number: u64, stream: Socket, shared: &Arc<Shared>, clients: &Clients) {
    let Ok(again) = stream.try_clone() else { return };
    let mut all = clients.lock();
    if all.len() >= CLIENTS_MAX
        && let Some((_, oldest)) = all.pop_front()
    {
        let _ = oldest.shutdown(Shutdown::Both);
    }
    all.push_back((number, again));
    drop(all);
    let (shared, others) = (shared.clone(), clients.clone());
    let thread = system::thread::Builder::named("serve-http").stack_size(STACK_BYTES);
    let started = thread.spawn(move || {
        // A caller that asks badly gets no answer, or half of one.
        let _ = answer(stream, &shared);
        others.lock().retain(|(other, _)| *other != number);
    });
    if started.is_err() {
        clients.lock().retain(|(other, _)| *other != number);
    }
}

fn answer(mut stream: Socket, shared: &Shared) -> std::io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut request = [0; REQUEST_BYTES_MAX];
    let mut have = 0;
    while have < request.len() && !request[..have].windows(4).any(|end| end == b"\r\n\r\n") {
        // One byte at a time does not make it longer.
        let left = until.saturating_duration_since(Instant::now());
        stream.set_patience(left.max(Duration::from_millis(1)))?;
        match stream.read(&mut request[have..])? {
            0 => break,
            _ if left.is_zero() => return Err(std::io::ErrorKind::TimedOut.into()),
            count => have += count,
        }
    }
    stream.set_patience(PATIENCE)?;
    let line = request[..have].split(|b| *b == b'\r').next().unwrap_or_default();
    let (status, body) = match line {
        line if line.starts_with(b"GET /healthz ") => ("200 OK", "ok\n".to_owned()),
        line if line.starts_with(b"GET /metrics ") => ("200 OK", shared.metrics_text()),
        line if line.starts_with(b"GET ") => ("404 Not Found", "try /healthz or /metrics\n".to_owned()),
        _ => ("400 Bad Request", "GET only\n".to_owned()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n");
    stream.write_all(format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").as_bytes())
}
