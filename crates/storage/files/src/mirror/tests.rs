use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use super::protocol::{HEAD_BYTES, PATH_BYTES, REPLY, TEXT_BYTES};
use super::*;
use crate::Memory;

/// The receiving side: applies requests to a file in memory, which may grow no further than `end_max`.
struct Receiver {
    stream: TcpStream,
    file: Arc<Memory>,
    end: u64,
    end_max: u64,
    count: u32,
}

impl Receiver {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn reply(&mut self, head: &[u8; HEAD_BYTES], problem: Option<&str>) {
        let mut bytes = head[..9].to_vec();
        bytes.extend(self.count.to_be_bytes());
        bytes.push(REPLY);
        bytes.extend(u32::from(problem.is_some()).to_be_bytes());
        bytes.extend(problem.unwrap_or_default().as_bytes());
        bytes.resize(HEAD_BYTES + 4 + TEXT_BYTES, 0);
        self.stream.write_all(&bytes).unwrap();
        self.count += 1;
    }

    /// Serves one request. Returns whether another may follow.
    fn serve(&mut self) -> bool {
        let mut head = [0; HEAD_BYTES];
        if self.stream.read_exact(&mut head).is_err() {
            return false;
        }
        assert_eq!(head[..5], *b"\x87\xf8\x00\x5b\x01");
        assert_eq!(u32::from_be_bytes(*head[9..].first_chunk().unwrap()), self.count);
        self.count += 1;
        match head[13] {
            1 => {
                let rest: [u8; 20] = self.take();
                let path: [u8; PATH_BYTES] = self.take();
                assert!(path.starts_with(b"copy.h5\0") && rest[3] & 1 == 1);
            }
            3 => {
                let rest: [u8; 17] = self.take();
                let offset = u64::from_be_bytes(*rest[1..].first_chunk().unwrap());
                let bytes = u64::from_be_bytes(*rest[9..].first_chunk().unwrap());
                assert!(offset + bytes <= self.end, "writes lie before the end that was set");
                self.reply(&head, None);
                let mut data = vec![0; bytes as usize];
                self.stream.read_exact(&mut data).unwrap();
                self.file.write_at(offset, &data).unwrap();
            }
            4 => self.file.set_len(self.end).unwrap(),
            6 => {
                let rest: [u8; 9] = self.take();
                self.end = u64::from_be_bytes(*rest[1..].first_chunk().unwrap());
                if self.end > self.end_max {
                    self.reply(&head, Some("no space left"));
                    return true;
                }
            }
            7 => {
                self.take::<8>();
            }
            _ => {}
        }
        self.reply(&head, None);
        head[13] != 2
    }
}

/// Returns where a server waits that writes to `file`, and the server.
fn server(file: Arc<Memory>, end_max: u64) -> (MirrorOptions, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let mut receiver = Receiver { stream: listener.accept().unwrap().0, file, end: 0, end_max, count: 0 };
        while receiver.serve() {}
    });
    (MirrorOptions { host: "127.0.0.1".to_owned(), port, timeout: Duration::from_secs(5) }, serving)
}

#[test]
fn a_server_gets_every_change() {
    let file = Arc::new(Memory::new());
    let (options, serving) = server(file.clone(), u64::MAX);
    let mirror = Mirror::open(Path::new("copy.h5"), Mode::Create, &options).unwrap();
    mirror.set_len(0).unwrap();
    mirror.lock(Lock::Exclusive).unwrap();
    mirror.write_at(3, b"data").unwrap();
    mirror.write_at(0, &[1; 100_000]).unwrap();
    mirror.set_len(5).unwrap();
    mirror.sync(Sync::All).unwrap();
    mirror.lock(Lock::Unlock).unwrap();
    assert_eq!(mirror.read_at(0, &mut [0]).unwrap_err().kind(), io::ErrorKind::Unsupported);
    drop(mirror);
    serving.join().unwrap();
    assert_eq!(file.image().unwrap(), [1; 5]);
}

#[test]
fn what_the_server_refuses_is_an_error_from_then_on() {
    let (options, serving) = server(Arc::new(Memory::new()), 10);
    let mirror = Mirror::open(Path::new("copy.h5"), Mode::ReadWrite, &options).unwrap();
    let error = mirror.write_at(0, &[1; 11]).unwrap_err();
    assert!(error.to_string().contains("no space left"), "{error}");
    mirror.write_at(0, &[1; 2]).unwrap_err();
    mirror.sync(Sync::All).unwrap_err();
    drop(mirror);
    serving.join().unwrap();
}

#[test]
fn a_server_that_is_gone_or_silent_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let timeout = Duration::from_millis(50);
    let options = MirrorOptions { host: "127.0.0.1".to_owned(), port, timeout };
    Mirror::open(Path::new("copy.h5"), Mode::Create, &options).unwrap_err();
    drop(listener);
    Mirror::open(Path::new("copy.h5"), Mode::Create, &options).unwrap_err();
    let (options, serving) = server(Arc::new(Memory::new()), u64::MAX);
    let mirror = Mirror::open(Path::new("copy.h5"), Mode::Create, &options).unwrap();
    mirror.connection.lock().stream.shutdown(Shutdown::Both).unwrap();
    mirror.write_at(0, b"x").unwrap_err();
    serving.join().unwrap();
}

#[test]
fn replies_to_something_else_are_refused() {
    let mut session = super::protocol::Session::new(7);
    let mut bytes = [0; REPLY_BYTES];
    assert_eq!(session.check_reply(&bytes).unwrap_err().kind(), io::ErrorKind::InvalidData);
    bytes[..5].copy_from_slice(b"\x87\xf8\x00\x5b\x01");
    bytes[8] = 7;
    bytes[12] = 9;
    bytes[13] = REPLY;
    assert_eq!(session.check_reply(&bytes).unwrap_err().kind(), io::ErrorKind::InvalidData);
}
