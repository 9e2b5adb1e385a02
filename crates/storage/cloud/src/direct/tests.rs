//! Answers of a small server.

use system::socket::TcpListener;

use super::*;

fn direct() -> Direct {
    let address = ([127, 0, 0, 1], 1).into();
    let target = DirectTarget { address, path: "/run.h5".into(), host: "localhost".into() };
    Direct::new(target, Some("tag \"one\"".into()), 1000)
}

fn is_answer(head: &str) -> bool {
    let head = format!("HTTP/1.1 {}\r\n\r\n", head.replace('|', "\r\n"));
    let (status, headers) = read_head(&mut head.as_bytes()).unwrap();
    direct().is_answer(&(100..200), status, &headers)
}

#[test]
fn an_answer_is_taken_if_it_has_the_range_of_the_same_version() {
    let right = "206 Part|Content-Length: 100|Content-Range: bytes 100-199/1000|ETag: \"one\"";
    assert!(is_answer(right));
    for (from, to) in [
        ("206", "200"),
        ("206", "412"),
        ("Length: 100", "Length: 99"),
        ("bytes 100", "bytes 101"),
        ("/1000", "/1001"),
        ("\"one\"", "\"two\""),
        ("ETag: \"one\"", "Server: x"),
        ("\"one\"", "\"one\"|Transfer-Encoding: chunked"),
        ("\"one\"", "\"one\"|Content-Encoding: gzip"),
    ] {
        assert!(!is_answer(&right.replace(from, to)), "{to}");
    }
}

/// Answers one connection after the other: each request with the bytes of its range, of the version `tag`.
fn serve(tag: &'static str) -> Direct {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || while answer(&stream, tag).is_some() {});
        }
    });
    let target = DirectTarget { address, path: "/run.h5".into(), host: "localhost".into() };
    Direct::new(target, Some("tag \"one\"".into()), 1_000_000)
}

fn answer(mut stream: &TcpStream, tag: &str) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let range = lines.find_map(|line| Some(line.strip_prefix("range: bytes=")?.to_owned()))?;
    lines.for_each(drop);
    let (first, last) = range.split_once('-')?;
    let bytes: Vec<u8> = (first.parse().ok()?..=last.parse::<u32>().ok()?).map(byte).collect();
    let head = format!(
        "HTTP/1.1 206 Part\r\nETag: \"{tag}\"\r\nContent-Range: bytes {range}/1000000\r\nContent-Length: {}\r\n\r\n",
        bytes.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&bytes).ok()
}

fn byte(at: u32) -> u8 {
    (at % 251) as u8
}

/// Reads from the answer that waits, and checks what came.
fn read(direct: &Direct, at: u32, len: usize) -> usize {
    let Some(answer) = direct.take(at.into()) else { return 0 };
    let mut into = vec![0; len];
    let came = direct.read(answer, at.into(), &mut into);
    assert!(into[..came].iter().zip(at..).all(|(found, at)| *found == byte(at)));
    came
}

#[test]
fn answers_are_read_in_any_order_and_connections_are_used_again() {
    let direct = serve("one");
    for turn in 0..3 {
        assert!(direct.request(0..1000) && direct.request(5000..905_000));
        assert_eq!(read(&direct, 5000, 10), 10);
        assert_eq!(read(&direct, 0, 2000), 1000);
        // What lies between is thrown away, unless it is much.
        assert_eq!(read(&direct, 5020, 100_000), 100_000);
        assert_eq!(read(&direct, 300_000, 10), 0);
        assert_eq!(read(&direct, 105_020, 1_000_000), 799_980);
        assert_eq!(direct.idle.lock().len(), 2, "turn {turn}");
    }
    assert!(direct.is_usable());
}

#[test]
fn another_version_is_not_read() {
    let direct = serve("two");
    assert!(direct.request(0..1000));
    assert_eq!(read(&direct, 0, 1000), 0);
    assert!(!direct.is_usable());
}

#[test]
fn answers_that_nobody_reads_are_given_up() {
    let direct = serve("one");
    (0..50).for_each(|n| assert!(direct.request(n * 1000..n * 1000 + 1000)));
    assert_eq!(direct.waiting.lock().len(), 2 * ANSWERS_MAX);
    assert_eq!(read(&direct, 49_000, 1000), 1000);
}

#[test]
fn a_server_that_is_gone_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let target = DirectTarget { address, path: "/".into(), host: "localhost".into() };
    let direct = Direct::new(target, None, 1000);
    assert!(!direct.request(0..1000) && !direct.is_usable());
}

#[test]
fn a_head_that_does_not_end_is_refused() {
    let long = format!("HTTP/1.1 206 Part\r\nX: {}", "x".repeat(2 * HEAD_BYTES_MAX));
    assert!(read_head(&mut long.as_bytes()).is_err());
    let many = format!("HTTP/1.1 206 Part\r\n{}\r\n", "X: y\r\n".repeat(2 * HEADERS_MAX));
    assert!(read_head(&mut many.as_bytes()).is_err());
    assert!(read_head(&mut &b"HTTP/1.1 206 Part\r\nX"[..]).is_err());
}

#[test]
fn a_request_names_range_and_version() {
    let request = direct().head_of_request(&(100..200));
    assert!(request.starts_with("GET /run.h5 HTTP/1.1\r\nhost: localhost\r\n"));
    assert!(
        request.contains("\r\nrange: bytes=100-199\r\n") && request.contains("\r\nif-match: \"one\"\r\n")
    );
    assert!(request.ends_with("\r\n\r\n"));
}

#[test]
fn a_read_that_takes_too_long_in_all_is_given_up() {
    let direct = serve("one");
    assert!(direct.request(0..1000));
    let mut answer = direct.take(0).unwrap();
    answer.connection.get_mut().until = Instant::now();
    assert!(!direct.has_head(&mut answer) && !direct.is_usable());
}
