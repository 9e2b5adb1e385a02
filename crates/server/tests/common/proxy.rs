//! A proxy that makes trouble.
#![allow(dead_code, reason = "every test uses some of it")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hyperslab_server::Listen;

/// What it does to every connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// Ends it after so many bytes of the client, a few more each time so that something comes through.
    Cut { bytes: u64 },
    /// Ends it in the middle of what the server says.
    Truncate { bytes: u64 },
    /// Passes bytes on one at a time at first, later in odd pieces.
    Delay,
    /// Passes nothing on after so many bytes, and never ends.
    Silence { bytes: u64 },
    /// Flips a bit after so many bytes of requests or answers, of the first connections only.
    Flip { bytes: u64, of_answers: bool },
}

pub(crate) struct Proxy {
    address: SocketAddr,
    broken: Arc<AtomicU64>,
    gone: Arc<AtomicBool>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn start(server: &Listen, trouble: Trouble) -> std::io::Result<Proxy> {
        let Listen::Tcp(server) = *server else { panic!("not TCP") };
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let proxy = Proxy { address, broken: Arc::default(), gone: Arc::default(), sockets: Arc::default() };
        let (broken, gone, sockets) = (proxy.broken.clone(), proxy.gone.clone(), proxy.sockets.clone());
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { return };
                if gone.load(Ordering::SeqCst) {
                    return;
                }
                let pair = [client.try_clone(), server.try_clone()];
                sockets.lock().unwrap().extend(pair.into_iter().flatten());
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                pass(client, server, trouble, number as u64, &broken);
            }
        });
        Ok(proxy)
    }

    pub(crate) fn location(&self, name: &str) -> String {
        format!("h5s://{}/{name}", self.address)
    }

    /// How many connections it broke.
    pub(crate) fn broken(&self) -> u64 {
        self.broken.load(Ordering::SeqCst)
    }

    /// All connections end, and there are no new ones.
    pub(crate) fn vanish(&self) {
        self.gone.store(true, Ordering::SeqCst);
        self.sockets.lock().unwrap().iter().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
    }
}

fn pass(client: TcpStream, server: TcpStream, trouble: Trouble, number: u64, broken: &Arc<AtomicU64>) {
    let (up, down) = match trouble {
        // Each connection gets further than the last: the largest frame comes through in the end.
        Trouble::Cut { bytes } => (bytes << number.min(10), u64::MAX),
        Trouble::Truncate { bytes } => (u64::MAX, bytes << number.min(10)),
        Trouble::Silence { bytes } => (u64::MAX, bytes),
        Trouble::Delay | Trouble::Flip { .. } => (u64::MAX, u64::MAX),
    };
    let flip = |answers| match trouble {
        Trouble::Flip { bytes, of_answers } if number < FLIPPED && of_answers == answers => bytes,
        _ => u64::MAX,
    };
    let silent = matches!(trouble, Trouble::Silence { .. });
    let slow = matches!(trouble, Trouble::Delay);
    let (Ok(from_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else { return };
    let (first, second) = (broken.clone(), broken.clone());
    let up = Direction { bytes: up, flip: flip(false), silent, slow };
    let down = Direction { bytes: down, flip: flip(true), silent, slow };
    std::thread::spawn(move || copy(from_client, to_server, up, &first));
    std::thread::spawn(move || copy(server, client, down, &second));
}

/// Connections whose bits are flipped.
const FLIPPED: u64 = 4;

/// What happens to the bytes of one direction.
#[derive(Clone, Copy)]
struct Direction {
    bytes: u64,
    flip: u64,
    silent: bool,
    slow: bool,
}

fn copy(mut from: TcpStream, mut to: TcpStream, what: Direction, broken: &AtomicU64) {
    let Direction { bytes, flip, silent, slow } = what;
    let mut passed = 0;
    let (mut left, mut buffer, mut piece) = (bytes, vec![0; 8192], if slow { 1 } else { 8192 });
    loop {
        let most = piece.min(left.min(8192) as usize);
        if most == 0 {
            broken.fetch_add(1, Ordering::SeqCst);
            match silent {
                // Reads on, so that no one notices.
                true => while from.read(&mut buffer).is_ok_and(|count| count > 0) {},
                false => drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both))),
            }
            return;
        }
        let read = from.read(&mut buffer[..most]);
        let count = *read.as_ref().unwrap_or(&0) as u64;
        if (passed..passed + count).contains(&flip) {
            broken.fetch_add(1, Ordering::SeqCst);
            buffer[(flip - passed) as usize] ^= 1;
        }
        passed += count;
        match read {
            Ok(count) if count > 0 && to.write_all(&buffer[..count]).is_ok() => {
                left -= count as u64;
                piece = if slow { piece % 8191 + 3 } else { piece };
            }
            _ => {
                let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                return;
            }
        }
    }
}
