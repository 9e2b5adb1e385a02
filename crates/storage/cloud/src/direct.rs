//! Answers whose bodies go from the socket straight into the caller's buffer.
//!
//! The HTTP client returns bytes in buffers of its own, from which they are copied once more. Near a server that copy takes
//! as long as everything else. Large ranges are therefore requested on connections of this module: an answer waits in the
//! socket until its range is read. That is done over plain HTTP, without proxies, redirects and passwords.
//!
//! Nothing fails here: what an answer does not bring is fetched by the client, with its retries and its errors.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use system::clock::Instant;
use system::socket::{SocketAddr, TcpStream};
use system::sync::Mutex;

use crate::http;
use crate::planned::GAP_BYTES;

/// Answers that wait to be read.
pub(crate) const ANSWERS_MAX: usize = 8;
/// Bytes of one request at most.
pub(crate) const PART_BYTES: u64 = 4 << 20;
/// Fewer bytes than this are not worth a request of their own.
pub(crate) const BYTES_MIN: u64 = 512 << 10;
/// Bytes of the head of an answer at most.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Headers of an answer at most.
const HEADERS_MAX: usize = 64;
/// Bytes that are read with the head. The rest of the body passes this buffer by.
const BUFFER_BYTES: usize = 4 << 10;
/// How long a near server may take to accept a connection, or to go on with an answer. One that takes longer may serve one
/// connection at a time, and wait until an answer is read that waits here.
pub(crate) const STALLED: Duration = Duration::from_secs(2);
/// How long one read may take in all, though something of it comes all the time: it is a part at most.
const READ_TIME_MAX: Duration = Duration::from_secs(20);

/// A file on a server that is asked without the HTTP client.
#[derive(Debug, Clone)]
pub(crate) struct DirectTarget {
    pub(crate) address: SocketAddr,
    /// Path and query.
    pub(crate) path: String,
    /// Name and port of the server, as the client sends them.
    pub(crate) host: String,
}

type Connection = BufReader<BoundedStream>;

/// A stream whose reads fail from some time on.
#[derive(Debug)]
struct BoundedStream {
    stream: TcpStream,
    until: Instant,
}

impl Read for BoundedStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match Instant::now() >= self.until {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => self.stream.read(into),
        }
    }
}

/// An answer that was requested. Its bytes up to `at` were read.
#[derive(Debug)]
pub(crate) struct Answer {
    connection: Connection,
    range: Range<u64>,
    at: u64,
    has_head: bool,
}

/// The connections of one remote file, and the answers that wait on them.
#[derive(Debug)]
pub(crate) struct Direct {
    target: DirectTarget,
    version: Option<String>,
    file_bytes: u64,
    /// The process that the connections belong to: one that was forked from it must not read from them.
    process: u32,
    waiting: Mutex<Vec<Answer>>,
    idle: Mutex<Vec<Connection>>,
    /// The server did not accept a connection, or answered something else: the client knows what to do.
    is_given_up: AtomicBool,
}

impl Direct {
    /// Returns a way to read the version of a file that the client found.
    pub(crate) fn new(target: DirectTarget, version: Option<String>, file_bytes: u64) -> Self {
        Direct {
            target,
            version,
            file_bytes,
            process: std::process::id(),
            waiting: Mutex::default(),
            idle: Mutex::default(),
            is_given_up: AtomicBool::new(false),
        }
    }

    fn head_of_request(&self, range: &Range<u64>) -> String {
        let condition = self.version.as_deref().and_then(http::condition);
        let condition = condition.map_or(String::new(), |(name, value)| format!("{name}: {value}\r\n"));
        let DirectTarget { path, host, .. } = &self.target;
        let (first, last) = (range.start, range.end - 1);
        format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\naccept: */*\r\naccept-encoding: identity\r\n\
             range: bytes={first}-{last}\r\n{condition}\r\n"
        )
    }

    /// Returns whether an answer has exactly the bytes of `range`, of the version that is read.
    fn is_answer(&self, range: &Range<u64>, status: u16, headers: &HeaderMap) -> bool {
        let len = headers.get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
        let encoding = headers.get(header::CONTENT_ENCODING);
        status == StatusCode::PARTIAL_CONTENT.as_u16()
            && len == Some(range.end - range.start)
            && http::content_range(headers) == Some((range.start, self.file_bytes))
            && http::version_of(headers) == self.version
            && !headers.contains_key(header::TRANSFER_ENCODING)
            && encoding.is_none_or(|encoding| encoding.as_bytes() == b"identity")
    }

    /// Returns whether this process may use the connections, and the server answers as it should.
    pub(crate) fn is_usable(&self) -> bool {
        !self.is_given_up.load(Ordering::Relaxed) && self.process == std::process::id()
    }

    /// Closes all connections: from now on the client fetches everything.
    pub(crate) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.waiting.lock().clear();
        self.idle.lock().clear();
    }

    /// Returns whether as many answers wait as may.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.lock().len() >= ANSWERS_MAX
    }

    /// Returns whether a read at `offset` finds an answer.
    pub(crate) fn has(&self, offset: u64) -> bool {
        self.waiting.lock().iter().any(|answer| answer.leads_to(offset))
    }

    /// Returns whether one answer will bring all of `range`.
    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        let covers = |answer: &Answer| answer.at <= range.start && range.end <= answer.range.end;
        self.waiting.lock().iter().any(covers)
    }

    /// Requests a range. Returns whether the request was sent; where too many answers wait, the oldest is given up.
    pub(crate) fn request(&self, range: Range<u64>) -> bool {
        let Ok(connection) = self.send(&range) else {
            self.give_up();
            return false;
        };
        let mut waiting = self.waiting.lock();
        if waiting.len() >= 2 * ANSWERS_MAX {
            waiting.remove(0);
        }
        waiting.push(Answer { connection, at: range.start, range, has_head: false });
        true
    }

    fn send(&self, range: &Range<u64>) -> io::Result<Connection> {
        let request = self.head_of_request(range);
        let send = |mut connection: Connection| {
            connection.get_mut().stream.write_all(request.as_bytes()).map(|()| connection)
        };
        // The server may have closed a connection that was idle.
        let idle = self.idle.lock().pop();
        match idle.map(send) {
            Some(Ok(connection)) => Ok(connection),
            _ => connect(self.target.address).and_then(send),
        }
    }

    /// Takes the answer that brings the byte at `offset`.
    pub(crate) fn take(&self, offset: u64) -> Option<Answer> {
        let mut waiting = self.waiting.lock();
        let found = waiting.iter().position(|answer| answer.leads_to(offset))?;
        Some(waiting.remove(found))
    }

    /// Reads what an answer has at `offset`, and returns how many bytes came. The rest of it waits for the next reader.
    pub(crate) fn read(&self, mut answer: Answer, offset: u64, into: &mut [u8]) -> usize {
        answer.connection.get_mut().until = Instant::now() + READ_TIME_MAX;
        if !self.has_head(&mut answer) || !answer.skip_to(offset) {
            return 0;
        }
        let left = usize::try_from(answer.range.end - answer.at).unwrap_or(usize::MAX);
        let wanted = into.len().min(left);
        let (came, is_failed) = read_up_to(&mut answer.connection, &mut into[..wanted]);
        answer.at += came as u64;
        if is_failed {
            self.give_up();
        }
        if answer.at == answer.range.end {
            self.idle.lock().push(answer.connection);
        } else if came == wanted {
            self.waiting.lock().push(answer);
        }
        came
    }

    /// Reads the head of an answer unless it was read before, and returns whether it is the answer to the request.
    fn has_head(&self, answer: &mut Answer) -> bool {
        if answer.has_head {
            return true;
        }
        let head = read_head(&mut answer.connection);
        // The server may have closed a connection that was idle.
        if head.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof) {
            return false;
        }
        let is_answer = |(status, headers): (u16, HeaderMap)| self.is_answer(&answer.range, status, &headers);
        answer.has_head = head.is_ok_and(is_answer);
        if !answer.has_head {
            self.give_up();
        }
        answer.has_head
    }
}

impl Answer {
    /// Returns whether reading on brings the byte at `offset`, without much that is thrown away.
    fn leads_to(&self, offset: u64) -> bool {
        self.at <= offset && offset < self.range.end && offset - self.at <= GAP_BYTES
    }

    /// Throws away what comes before `offset`.
    fn skip_to(&mut self, offset: u64) -> bool {
        let skipped = io::copy(&mut self.connection.by_ref().take(offset - self.at), &mut io::sink());
        let is_there = skipped.is_ok_and(|bytes| bytes == offset - self.at);
        self.at = offset;
        is_there
    }
}

fn connect(address: SocketAddr) -> io::Result<Connection> {
    let stream = TcpStream::connect_timeout(&address, STALLED)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STALLED))?;
    stream.set_write_timeout(Some(STALLED))?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, BoundedStream { stream, until: Instant::now() }))
}

/// Returns how many bytes came before the end, and whether it was a failure that ended them.
fn read_up_to(from: &mut impl Read, into: &mut [u8]) -> (usize, bool) {
    let mut came = 0;
    while came < into.len() {
        match from.read(&mut into[came..]) {
            Ok(0) => break,
            Ok(bytes) => came += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return (came, true),
        }
    }
    (came, false)
}

/// Reads status and headers of an answer, up to the empty line that ends them.
fn read_head(from: &mut impl BufRead) -> io::Result<(u16, HeaderMap)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let left = (HEAD_BYTES_MAX - head.len()) as u64;
        if from.by_ref().take(left).read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    parse_head(&head).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse_head(head: &[u8]) -> Option<(u16, HeaderMap)> {
    let mut found = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut found);
    response.parse(head).ok().filter(httparse::Status::is_complete)?;
    let mut headers = HeaderMap::new();
    for one in &*response.headers {
        let name = HeaderName::from_bytes(one.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(one.value).ok()?);
    }
    Some((response.code?, headers))
}

#[cfg(test)]
mod tests;
