//! The source of the bytes of a remote file: one object, which is read by ranges.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::direct::DirectTarget;
use crate::failure::Failure;

/// A request that is under way.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// Attempts of one request.
const ATTEMPTS_MAX: u32 = 6;
/// Wait before the second attempt. Each further one waits twice as long.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);

/// The answer to a request for a range.
#[derive(Debug, Clone)]
pub(crate) struct Fetched {
    /// The bytes as they came, in order. Fewer than asked for at the end of the file.
    pub(crate) pieces: Vec<Bytes>,
    /// Bytes of the whole file.
    pub(crate) file_bytes: u64,
    /// What names this content of the file: an entity tag or a time of change.
    pub(crate) version: Option<String>,
}

impl Fetched {
    pub(crate) fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

/// One object of a server.
pub(crate) trait Source: Send + Sync + std::fmt::Debug {
    /// Fetches a range. If `version` is given and the object has another one, the request fails.
    fn get(&self, range: Range<u64>, version: Option<String>) -> Pending<'_, Fetched>;

    /// Returns the server that the object is on, without credentials.
    fn server(&self) -> &str;

    /// Returns what names the object: no credentials, and the same in every process.
    fn name(&self) -> &str;

    /// Returns where the object can be read without the HTTP client, once it was requested. Most cannot.
    fn direct(&self) -> Option<DirectTarget> {
        None
    }
}

/// Requests and bytes of a remote file.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    requests: AtomicU64,
    retries: AtomicU64,
    bytes: AtomicU64,
}

impl Meter {
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
    pub(crate) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
    pub(crate) fn note_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }
    pub(crate) fn note_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Fetches a range, again after failures that may pass.
pub(crate) async fn fetch(
    source: Arc<dyn Source>,
    meter: Arc<Meter>,
    range: Range<u64>,
    version: Option<String>,
) -> Result<Fetched, Failure> {
    let mut attempt = 1;
    loop {
        meter.note_request();
        match source.get(range.clone(), version.clone()).await {
            Ok(fetched) => {
                meter.note_bytes(fetched.len());
                return Ok(fetched);
            }
            Err(failure) if failure.is_transient() && attempt < ATTEMPTS_MAX => {
                meter.retries.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(backoff(attempt)).await;
                attempt += 1;
            }
            Err(failure) => return Err(failure.after(attempt)),
        }
    }
}

/// Returns how long to wait after an attempt: half of it is random, so that clients that failed together do not come together.
pub(crate) fn backoff(attempt: u32) -> Duration {
    let longest = BACKOFF_FIRST * 2u32.pow(attempt.min(10) - 1);
    let mut byte = [0];
    system::random::fill(&mut byte).unwrap_or_default();
    longest / 2 + longest * u32::from(byte[0]) / 512
}

/// Checks that an answer has all the bytes of `range` that the file has.
pub(crate) fn check_complete(fetched: &Fetched, range: &Range<u64>) -> Result<(), Failure> {
    let wanted = range.end.min(fetched.file_bytes).saturating_sub(range.start);
    match fetched.len() == wanted {
        true => Ok(()),
        false => Err(Failure::transient(
            io::ErrorKind::UnexpectedEof,
            format!("the answer ended after {} of {wanted} bytes", fetched.len()),
        )),
    }
}
