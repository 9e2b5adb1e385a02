//! One connection as bytes: a socket, or what encrypts one.

use std::io::{self, IoSlice, Read, Write};
use std::time::Duration;

use system::clock::Instant;

/// Bytes in both directions.
pub trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

/// Slowest other side that is waited for while it sends or takes a frame.
const BYTES_PER_SECOND_MIN: u64 = 256 << 10;

/// A connection that gives up on another side that is silent or slow.
///
/// The socket itself gives up after `patience` without a byte; here a frame that began must also go on at a rate.
pub struct Stream {
    inner: Box<dyn Duplex>,
    patience: Duration,
    /// Since when a frame is under way, and its bytes so far.
    began: Option<(Instant, u64)>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Stream {
    /// Returns a stream over a socket whose timeout is set, or over its encryption.
    pub fn new(inner: Box<dyn Duplex>, patience: Duration) -> Self {
        Stream { inner, patience, began: None }
    }

    /// Notes that a frame has ended: the time of the next one counts from its first byte.
    pub fn rest(&mut self) {
        self.began = None;
    }

    /// Returns whether no byte went since [`Stream::rest`].
    pub fn is_resting(&self) -> bool {
        self.began.is_none()
    }

    fn count(&mut self, bytes: usize) -> io::Result<usize> {
        match &mut self.began {
            None if bytes == 0 => {}
            None => self.began = Some((Instant::now(), bytes as u64)),
            Some((since, so_far)) => {
                *so_far += bytes as u64;
                let allowed = self.patience + Duration::from_secs(*so_far / BYTES_PER_SECOND_MIN);
                if bytes > 0 && since.elapsed() > allowed {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
        }
        Ok(bytes)
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.count(count)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.count(count)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let count = self.inner.write_vectored(slices)?;
        self.count(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
