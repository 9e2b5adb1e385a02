//! Files behind HTTP, for reading.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use files::{Created, Driver, DriverInfo, Handle, Mode, Target};
use reqwest::header::{self, HeaderMap, HeaderName};
use reqwest::{Client, Response, StatusCode};
use system::clock::Instant;
use system::socket::SocketAddr;
use url::{Position, Url};

use crate::direct::DirectTarget;
use crate::failure::Failure;
use crate::options::{Options, PARAMETERS};
use crate::remote::RemoteFile;
use crate::source::{Fetched, Pending, Source};
use crate::{latency, runtime};

/// Bytes of a file that is taken whole from a server that does not answer ranges.
const WHOLE_BYTES_MAX: u64 = 32 << 20;

/// A file behind HTTP: `https://host/run.h5`. It can only be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpDriver;

impl Driver for HttpDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "http",
            aliases: &["https"],
            about: "a file behind HTTP, read by ranges",
            parameters: PARAMETERS,
        }
    }

    fn check_create(&self, _: &Target<'_>) -> io::Result<()> {
        Err(cannot_write())
    }

    fn create(&self, _: &Target<'_>, _: bool) -> io::Result<Created> {
        Err(cannot_write())
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        target.parameters.only(&self.info())?;
        let options = Options::of(target.parameters)?;
        let source = Arc::new(HttpSource::new(target)?);
        // Whether there is a file comes first: who wants to create one asks like this.
        let file = RemoteFile::open(source, &options)?;
        if mode.is_writable() { Err(cannot_write()) } else { Ok(Arc::new(file)) }
    }

    fn delete(&self, _: &Target<'_>) -> io::Result<()> {
        Err(cannot_write())
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["http", "https"]
    }
}

fn cannot_write() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "files behind HTTP can only be read")
}

#[derive(Debug)]
struct HttpSource {
    client: Client,
    url: Url,
    server: String,
    /// The address that the first answer came from, without a redirect.
    peer: OnceLock<Option<SocketAddr>>,
}

impl HttpSource {
    fn new(target: &Target<'_>) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "no address of a file behind HTTP");
        let url = Url::parse(target.path.to_str().ok_or_else(wrong)?).map_err(|_| wrong())?;
        let host = url.host_str().ok_or_else(wrong)?;
        let server = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
        Ok(HttpSource { client: runtime::client()?, url, server, peer: OnceLock::new() })
    }

    async fn request(&self, range: Range<u64>, version: Option<String>) -> Result<Fetched, Failure> {
        let last = range.end.saturating_sub(1);
        let mut request = self.client.get(self.url.clone());
        request = request.header(header::RANGE, format!("bytes={}-{last}", range.start));
        request = request.header(header::ACCEPT_ENCODING, "identity");
        if let Some((name, value)) = version.as_deref().and_then(condition) {
            request = request.header(name, value);
        }
        let begun = Instant::now();
        let response = request.send().await?;
        latency::note(&self.server, begun.elapsed());
        self.peer.get_or_init(|| response.remote_addr().filter(|_| *response.url() == self.url));
        match response.status() {
            StatusCode::PARTIAL_CONTENT => partial(response, &range).await,
            StatusCode::OK => whole(response, &range, version.is_none()).await,
            StatusCode::RANGE_NOT_SATISFIABLE if range.start == 0 => {
                Ok(Fetched { pieces: Vec::new(), file_bytes: 0, version: version_of(response.headers()) })
            }
            // It is shorter than it was.
            StatusCode::RANGE_NOT_SATISFIABLE => Err(Failure::changed()),
            status => Err(Failure::of_status(status.as_u16())),
        }
    }
}

impl Source for HttpSource {
    fn get(&self, range: Range<u64>, version: Option<String>) -> Pending<'_, Fetched> {
        Box::pin(self.request(range, version))
    }

    fn server(&self) -> &str {
        &self.server
    }

    fn name(&self) -> &str {
        self.url.as_str()
    }

    /// Returns where the file is, unless there is a proxy between, or something that the client alone can do.
    fn direct(&self) -> Option<DirectTarget> {
        let url = &self.url;
        let is_plain = url.scheme() == "http" && url.username().is_empty() && url.password().is_none();
        let address = self.peer.get().copied().flatten().filter(|_| is_plain)?;
        url.socket_addrs(|| None).ok()?.contains(&address).then(|| DirectTarget {
            address,
            path: url[Position::BeforePath..Position::AfterQuery].to_owned(),
            host: url[Position::BeforeHost..Position::AfterPort].to_owned(),
        })
    }
}

/// Returns the header that makes a server refuse to answer from another version. Weak tags have none: the answer is compared.
pub(crate) fn condition(version: &str) -> Option<(HeaderName, &str)> {
    match version.split_once(' ') {
        Some(("tag", tag)) if !tag.starts_with("W/") => Some((header::IF_MATCH, tag)),
        Some(("time", time)) => Some((header::IF_UNMODIFIED_SINCE, time)),
        _ => None,
    }
}

/// Returns what names the content of an answer.
pub(crate) fn version_of(headers: &HeaderMap) -> Option<String> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    let tag = text(header::ETAG).map(|tag| format!("tag {tag}"));
    tag.or_else(|| text(header::LAST_MODIFIED).map(|time| format!("time {time}")))
}

async fn partial(response: Response, range: &Range<u64>) -> Result<Fetched, Failure> {
    let wrong = || Failure::lasting(io::ErrorKind::InvalidData, "the server answers another range");
    let (start, file_bytes) = content_range(response.headers()).ok_or_else(wrong)?;
    if start != range.start {
        return Err(wrong());
    }
    let version = version_of(response.headers());
    let pieces = collect(response, range.end - range.start).await?;
    let fetched = Fetched { pieces, file_bytes, version };
    crate::source::check_complete(&fetched, range)?;
    Ok(fetched)
}

/// Returns where the bytes of an answer start, and how many the whole file has: `bytes 0-99/1234`.
pub(crate) fn content_range(headers: &HeaderMap) -> Option<(u64, u64)> {
    let text = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, file_bytes) = text.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, file_bytes.parse().ok()?))
}

/// Takes a file from a server that does not answer ranges: all of it when the file is opened.
async fn whole(response: Response, range: &Range<u64>, is_first: bool) -> Result<Fetched, Failure> {
    if response.content_length().is_some_and(|bytes| bytes > WHOLE_BYTES_MAX) {
        let problem = "the server does not answer ranges, and the file is too large to be read whole";
        return Err(Failure::lasting(io::ErrorKind::Unsupported, problem));
    }
    let version = version_of(response.headers());
    let pieces = collect(response, WHOLE_BYTES_MAX).await?;
    let file_bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
    let pieces = if is_first { pieces } else { cut(pieces, range) };
    Ok(Fetched { pieces, file_bytes, version })
}

/// Returns the body of an answer of at most `bytes_max` bytes, in the pieces in which it came.
async fn collect(mut response: Response, bytes_max: u64) -> Result<Vec<Bytes>, Failure> {
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    while let Some(piece) = response.chunk().await? {
        bytes += piece.len() as u64;
        if bytes > bytes_max {
            let problem = "the answer has more bytes than were asked for";
            return Err(Failure::lasting(io::ErrorKind::InvalidData, problem));
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Returns the part of a whole file that lies in `range`.
fn cut(pieces: Vec<Bytes>, range: &Range<u64>) -> Vec<Bytes> {
    let mut at = 0;
    let within = |piece: Bytes| {
        let (start, end) = (at, at + piece.len() as u64);
        at = end;
        let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end));
        (from < to).then(|| piece.slice((from - start) as usize..(to - start) as usize))
    };
    pieces.into_iter().filter_map(within).collect()
}
