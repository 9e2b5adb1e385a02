//! A proxy with latency: what comes from one side goes to the other after a while, and round trips are counted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyperslab_server::Listen;

/// A distant server.
pub(crate) struct Distance {
    address: SocketAddr,
    trips: Arc<AtomicU64>,
}

impl Distance {
    /// Puts `delay` between clients and a server: half of it each way.
    pub(crate) fn start(server: &Listen, delay: Duration) -> std::io::Result<Distance> {
        let Listen::Tcp(server) = *server else { panic!("not TCP") };
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let distance = Distance { address: listener.local_addr()?, trips: Arc::default() };
        let trips = distance.trips.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { return };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                connect(&client, &server, delay / 2, &trips);
            }
        });
        Ok(distance)
    }

    pub(crate) fn location(&self, name: &str) -> String {
        format!("h5s://{}/{name}", self.address)
    }

    /// How often a client sent something after it had received something: it waited once for each.
    pub(crate) fn trips(&self) -> u64 {
        self.trips.load(Ordering::SeqCst)
    }
}

fn connect(client: &TcpStream, server: &TcpStream, delay: Duration, trips: &Arc<AtomicU64>) {
    // Whether the client has something to go on with.
    let has_answer = Arc::new(Mutex::new(true));
    let (answered, trips) = (has_answer.clone(), trips.clone());
    let asks = move || {
        if std::mem::take(&mut *has_answer.lock().unwrap()) {
            trips.fetch_add(1, Ordering::SeqCst);
        }
    };
    carry(client, server, delay, asks, || {});
    carry(server, client, delay, || {}, move || *answered.lock().unwrap() = true);
}

/// Carries bytes from one side to the other, `delay` later.
fn carry(
    from: &TcpStream,
    to: &TcpStream,
    delay: Duration,
    received: impl Fn() + Send + 'static,
    sends: impl Fn() + Send + 'static,
) {
    let (Ok(mut from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
    let (sender, carried) = channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            received();
            if sender.send((Instant::now() + delay, buffer[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || deliver(&carried, to, sends));
}

fn deliver(carried: &Receiver<(Instant, Vec<u8>)>, mut to: TcpStream, sends: impl Fn()) {
    while let Ok((due, bytes)) = carried.recv() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        sends();
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
