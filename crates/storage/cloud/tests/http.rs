//! Files behind a small HTTP server that counts requests, is slow and fails as it is told.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use files::{Driver, DriverParameters, Drivers, File, Handle, Mode, Target};
use hyperslab_cloud::HttpDriver;

/// What the server does with each request.
#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Ranges,
    /// Answers without ranges.
    Whole,
    /// Refuses every second request.
    Refuses,
    /// Breaks off every second answer.
    BreaksOff,
    /// Serves one connection after the other, each for one request.
    OneAtATime,
}

struct Server {
    url: String,
    content: Mutex<(Vec<u8>, String)>,
    behaviour: Behaviour,
    requests: AtomicUsize,
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + n / 251) as u8).collect()
}

impl Server {
    fn start(bytes: Vec<u8>, behaviour: Behaviour) -> Arc<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file.h5?signature=secret", listener.local_addr().unwrap());
        let content = Mutex::new((bytes, "\"one\"".to_owned()));
        let server = Arc::new(Server { url, content, behaviour, requests: AtomicUsize::new(0) });
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = shared.clone();
                match behaviour {
                    Behaviour::OneAtATime => drop(server.answer(&stream)),
                    _ => drop(std::thread::spawn(move || while server.answer(&stream).is_some() {})),
                }
            }
        });
        server
    }

    fn replace(&self, bytes: Vec<u8>, tag: &str) {
        *self.content.lock().unwrap() = (bytes, tag.to_owned());
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        let (mut range, mut if_match) = (None, None);
        let mut lines = BufReader::new(stream).lines();
        loop {
            let line = lines.next()?.ok()?;
            let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
            match name.to_ascii_lowercase().as_str() {
                "range" => range = Some(value.strip_prefix("bytes=")?.to_owned()),
                "if-match" => if_match = Some(value.to_owned()),
                "" => break,
                _ => {}
            }
        }
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let (bytes, tag) = self.content.lock().unwrap().clone();
        let is_second = number % 2 == 1;
        if self.behaviour == Behaviour::Refuses && is_second {
            return stream.write_all(b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n").ok();
        }
        if if_match.is_some_and(|wanted| wanted != tag) {
            return stream.write_all(b"HTTP/1.1 412 Changed\r\nContent-Length: 0\r\n\r\n").ok();
        }
        let (first, last) = range.as_deref()?.split_once('-')?;
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let (status, body, placed) = match self.behaviour {
            Behaviour::Whole => ("200 OK", &bytes[..], String::new()),
            _ if first >= bytes.len() => {
                ("416 No", &[][..], format!("Content-Range: bytes */{}\r\n", bytes.len()))
            }
            _ => {
                let body = &bytes[first..bytes.len().min(last + 1)];
                let end = first + body.len() - 1;
                ("206 Part", body, format!("Content-Range: bytes {first}-{end}/{}\r\n", bytes.len()))
            }
        };
        let len = body.len();
        let head = format!("HTTP/1.1 {status}\r\nETag: {tag}\r\n{placed}Content-Length: {len}\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let breaks_off = self.behaviour == Behaviour::BreaksOff && is_second;
        stream.write_all(&body[..if breaks_off { len / 2 } else { len }]).ok()?;
        (!breaks_off).then_some(())
    }

    fn open(&self) -> std::io::Result<Handle> {
        self.open_with(&[])
    }

    fn open_with(&self, parameters: &[(&str, &str)]) -> std::io::Result<Handle> {
        let pairs = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let parameters: DriverParameters = pairs.collect();
        HttpDriver.open(
            &Target { path: Path::new(&self.url), parameters: &parameters, drivers: &Drivers::empty() },
            Mode::Read,
        )
    }
}

fn assert_reads(file: &dyn File, bytes: &[u8], range: Range<usize>) {
    let mut into = vec![0; range.len()];
    file.read_at(range.start as u64, &mut into).unwrap();
    assert!(into == bytes[range.clone()], "{range:?}");
}

#[test]
fn any_range_is_the_files_bytes() {
    let bytes = content(3_000_000);
    for behaviour in [Behaviour::Ranges, Behaviour::Whole, Behaviour::Refuses, Behaviour::BreaksOff] {
        let server = Server::start(bytes.clone(), behaviour);
        let file = server.open().unwrap();
        assert_eq!(file.len().unwrap(), 3_000_000);
        for range in [0..10, 2_999_990..3_000_000, 1_000_000..2_500_000, 300_000..300_001, 0..3_000_000] {
            assert_reads(&*file, &bytes, range);
        }
        assert_eq!(file.read_at(2_999_999, &mut [0; 2]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}

#[test]
fn opening_and_reading_what_lies_at_the_start_is_one_request() {
    let bytes = content(3_000_000);
    let server = Server::start(bytes.clone(), Behaviour::Ranges);
    let file = server.open().unwrap();
    (0..100_000).step_by(1000).for_each(|at| assert_reads(&*file, &bytes, at..at + 500));
    assert_eq!(server.requests(), 1);
}

#[test]
fn who_reads_on_gets_more_with_each_request() {
    let bytes = content(3_000_000);
    let server = Server::start(bytes.clone(), Behaviour::Ranges);
    let file = server.open().unwrap();
    (0..2_990_000).step_by(3000).for_each(|at| assert_reads(&*file, &bytes, at..at + 300));
    assert!(server.requests() <= 8, "{}", server.requests());
}

#[test]
fn what_is_announced_is_fetched_once_and_together() {
    let bytes = content(4_000_000);
    let server = Server::start(bytes.clone(), Behaviour::Ranges);
    let file = server.open().unwrap();
    let near = (0..50).map(|n| 1_000_000 + n * 10_000).map(|at| at..at + 4000);
    let ranges: Vec<Range<u64>> = near.chain([3_000_000..3_000_100, 3_500_000..3_500_100]).collect();
    file.prefetch(&ranges).unwrap();
    for range in &ranges {
        assert_reads(&*file, &bytes, range.start as usize..range.end as usize);
    }
    assert_eq!(server.requests(), 1 + 3);
}

#[test]
fn large_ranges_that_are_announced_are_read_in_any_order_and_in_part() {
    let bytes = content(20_000_000);
    for behaviour in [Behaviour::Ranges, Behaviour::Refuses, Behaviour::BreaksOff] {
        let server = Server::start(bytes.clone(), behaviour);
        let file = server.open().unwrap();
        let ranges: Vec<Range<u64>> = (0..18).map(|n| 1_000_000 * n..1_000_000 * (n + 1)).collect();
        file.prefetch(&ranges).unwrap();
        for n in (0..18).step_by(2).chain((1..18).step_by(2).rev()) {
            let (start, end) = (n * 1_000_000, (n + 1) * 1_000_000);
            match n % 3 {
                0 => assert_reads(&*file, &bytes, start..end),
                // Some of it first, something is left out, and the rest later.
                1 => {
                    assert_reads(&*file, &bytes, start..start + 200_000);
                    assert_reads(&*file, &bytes, start + 210_000..end);
                }
                _ => assert_reads(&*file, &bytes, start + 5..start + 900_000),
            }
        }
        // One read of several requests.
        assert_reads(&*file, &bytes, 100..19_999_999);
    }
}

#[test]
fn answers_that_wait_do_not_block_a_server_that_serves_one_connection_at_a_time() {
    let bytes = content(40_000_000);
    let server = Server::start(bytes.clone(), Behaviour::OneAtATime);
    let file = server.open().unwrap();
    file.prefetch(&[1_000_000..9_000_000, 10_000_000..18_000_000, 20_000_000..28_000_000]).unwrap();
    assert_reads(&*file, &bytes, 39_000_000..39_000_100);
    assert_reads(&*file, &bytes, 20_000_000..28_000_000);
    assert_reads(&*file, &bytes, 1_000_000..9_000_000);
}

#[test]
fn large_ranges_take_a_request_each_at_most() {
    let bytes = content(20_000_000);
    let server = Server::start(bytes.clone(), Behaviour::Ranges);
    let file = server.open().unwrap();
    let ranges: Vec<Range<u64>> = (1..19).map(|n| 1_000_000 * n..1_000_000 * (n + 1)).collect();
    // Who announces twice gets it once.
    file.prefetch(&ranges).unwrap();
    file.prefetch(&ranges).unwrap();
    for range in &ranges {
        assert_reads(&*file, &bytes, range.start as usize..range.end as usize);
    }
    assert!(server.requests() <= 1 + ranges.len(), "{}", server.requests());
    let counts = file.request_counts().unwrap();
    assert_eq!(counts.requests, server.requests() as u64);
    assert!(counts.bytes >= 18_000_000, "{counts:?}");
}

#[test]
fn without_memory_every_byte_is_still_read() {
    let bytes = content(6_000_000);
    let server = Server::start(bytes.clone(), Behaviour::Ranges);
    let file = server.open_with(&[("memory_bytes", "0")]).unwrap();
    file.prefetch(&[0..2_000_000, 2_500_000..2_500_100, 3_000_000..6_000_000]).unwrap();
    std::thread::scope(|scope| {
        for start in [0, 1_000_000, 2_400_000, 3_000_000] {
            let (file, bytes) = (&file, &bytes);
            scope.spawn(move || {
                (0..20)
                    .for_each(|n| assert_reads(&**file, bytes, start + n * 50_000..start + n * 50_000 + 70));
                assert_reads(&**file, bytes, start..start + 2_000_000);
            });
        }
    });
}

#[test]
fn a_file_that_is_replaced_is_an_error_and_no_mixture() {
    let server = Server::start(content(3_000_000), Behaviour::Ranges);
    for (start, len) in [(2_000_000, 10), (1_000_000, 2_000_000)] {
        server.replace(content(3_000_000), "\"one\"");
        let file = server.open().unwrap();
        server.replace(vec![1; 3_000_000], "\"two\"");
        let error = file.read_at(start, &mut vec![0; len]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains("replaced"), "{error}");
    }
}

#[test]
fn errors_do_not_show_the_address() {
    let server = Server::start(Vec::new(), Behaviour::Ranges);
    assert!(server.open().unwrap().is_empty().unwrap());
    let refused = "http://127.0.0.1:9/file.h5?signature=secret";
    let (parameters, drivers) = (&DriverParameters::default(), &Drivers::empty());
    let target = Target { path: Path::new(refused), parameters, drivers };
    let error = HttpDriver.open(&target, Mode::Read).unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    assert_eq!(HttpDriver.create(&target, true).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_cache_on_disk_answers_the_next_process() {
    let bytes = content(3_000_000);
    let server = Server::start(bytes.clone(), Behaviour::Ranges);
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache").to_str().unwrap().to_owned();
    for requests in [2, 3] {
        let file = server.open_with(&[("cache", &cache)]).unwrap();
        assert_reads(&*file, &bytes, 1_000_000..1_200_000);
        assert_eq!(server.requests(), requests);
    }
}

#[test]
fn many_threads_share_what_is_fetched() {
    let bytes = content(20_000_000);
    let server = Server::start(bytes.clone(), Behaviour::Ranges);
    let file = server.open().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (file, bytes) = (&file, &bytes);
            scope.spawn(move || {
                for n in 0..200 {
                    let at = (thread * 977 + n * 99_991) % 19_990_000;
                    assert_reads(&**file, bytes, at..at + 5000);
                }
            });
        }
    });
    std::thread::sleep(Duration::from_millis(1));
    assert!(server.requests() <= 20_000_000 / 65_536 + 8, "{}", server.requests());
}
