//! A file that is read by ranges from far away.

mod direct_reads;

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use files::{File, Lock, RequestCounts, Sync};
use system::sync::Mutex;
use tokio::sync::Semaphore;

use self::direct_reads::is_large;
use crate::cache::CachedObject;
use crate::direct::{self, Direct};
use crate::failure::Failure;
use crate::options::Options;
use crate::planned::{GAP_BYTES, Part, Planned, even_parts, joined, parts};
use crate::segments::{self, Purpose, Segment, Segments};
use crate::source::{Fetched, Meter, Source, check_complete, fetch};
use crate::{latency, runtime};

/// Bytes of one request for elements.
const PART_BYTES: u64 = 4 << 20;
/// Bytes of elements that are asked for ahead of what was read.
const AHEAD_BYTES: u64 = 48 << 20;
/// Both where answers come at once. What waits to be read then stays in the processor's cache, and in memory that the
/// process has already: with 128 MiB ahead, a GiB over loopback took twice the processor time.
const PART_BYTES_NEAR: u64 = 1 << 20;
const AHEAD_BYTES_NEAR: u64 = 8 << 20;
/// Requests under way at the same time.
const REQUESTS_MAX: usize = 16;
/// So few small ranges are fetched with what lies around them.
const FEW: usize = 4;
/// The most metadata that is fetched with one request for a caller that reads on.
const METADATA_BYTES_MAX: u64 = 1 << 20;
/// Answers that take longer than this come from far away.
const FAR: Duration = Duration::from_millis(30);
/// Answers that take less come from this machine or the next one.
const NEAR: Duration = Duration::from_millis(5);

/// A file behind a server, open for reading.
///
/// All bytes are those of one version of the file: if it is replaced, reads fail with `InvalidData`.
#[derive(Debug)]
pub struct RemoteFile {
    state: Arc<RemoteState>,
}

#[derive(Debug)]
struct RemoteState {
    source: Arc<dyn Source>,
    meter: Arc<Meter>,
    len: u64,
    version: Option<String>,
    segments: Mutex<Segments>,
    /// Elements that will be read, and that are asked for as others were read.
    planned: Mutex<Planned>,
    slots: Semaphore,
    memory_bytes: u64,
    cached: Option<CachedObject>,
    /// Connections of its own, where a near server allows them.
    direct: OnceLock<Option<Direct>>,
}

/// Returns the bytes of the first request: usually superblock, root group and what else was created first.
fn first_bytes(server: &str) -> u64 {
    match latency::of(server) {
        Some(usual) if usual < NEAR => 128 << 10,
        Some(usual) if usual >= FAR => 512 << 10,
        _ => 256 << 10,
    }
}

/// Returns the bytes that are fetched around metadata.
fn neighbourhood_bytes(server: &str) -> u64 {
    match latency::of(server) {
        Some(usual) if usual >= FAR => 128 << 10,
        _ => 64 << 10,
    }
}

impl RemoteFile {
    /// Opens a file with one request, which brings its start.
    pub(crate) fn open(source: Arc<dyn Source>, options: &Options) -> io::Result<Self> {
        let meter = Arc::new(Meter::default());
        let range = 0..first_bytes(source.server());
        let Fetched { pieces, file_bytes, version } =
            runtime::wait_for(fetch(source.clone(), meter.clone(), range.clone(), None))??;
        let mut segments = Segments::new(options.memory_bytes);
        if file_bytes > 0 {
            let came = pieces.iter().map(|piece| piece.len() as u64).sum();
            segments.add(0..came, Purpose::Metadata).finish(Ok(pieces));
        }
        let cached = match (&options.cache, &version) {
            (Some(cache), Some(version)) => Some(cache.object(source.name(), version)?),
            _ => None,
        };
        let state = RemoteState {
            source,
            meter,
            len: file_bytes,
            version,
            segments: Mutex::new(segments),
            planned: Mutex::default(),
            slots: Semaphore::new(REQUESTS_MAX),
            memory_bytes: options.memory_bytes,
            cached,
            direct: OnceLock::new(),
        };
        Ok(RemoteFile { state: Arc::new(state) })
    }

    /// Returns the requests and bytes so far.
    pub fn counts(&self) -> RequestCounts {
        let meter = &self.state.meter;
        RequestCounts { requests: meter.requests(), retries: meter.retries(), bytes: meter.bytes() }
    }

    /// Returns what names the content of the file: an entity tag, or a time of change.
    pub fn version(&self) -> Option<&str> {
        self.state.version.as_deref()
    }

    /// Fetches the neighbourhood of metadata that is not there: more of it where a caller reads on.
    fn request_metadata(&self, wanted: Range<u64>) -> io::Result<()> {
        let unit = neighbourhood_bytes(self.state.source.server());
        let mut segments = self.state.segments.lock();
        for gap in segments.gaps(wanted) {
            let start = gap.start / unit * unit;
            let block = start..gap.end.next_multiple_of(unit).min(self.state.len);
            // What was fetched already is not fetched again.
            let parts = segments.gaps(block);
            for part in parts.into_iter().filter(|part| part.start < gap.end && gap.start < part.end) {
                let before = segments.ending_at(part.start).filter(|s| s.purpose == Purpose::Metadata);
                let grown = before.map_or(0, |s| 2 * (s.range.end - s.range.start)).min(METADATA_BYTES_MAX);
                let end = part.end.max(part.start.saturating_add(grown)).min(self.state.len);
                let part = segments.gaps(part.start..end).into_iter().next().unwrap_or(part);
                let segment = segments.add(part, Purpose::Metadata);
                self.start(segment)?;
            }
        }
        Ok(())
    }

    /// Fetches elements that are not there.
    fn request_elements(&self, wanted: Range<u64>) -> io::Result<()> {
        self.state.planned.lock().remove(&wanted);
        let part_bytes = self.state.part_bytes();
        let mut segments = self.state.segments.lock();
        parts(wanted, part_bytes).try_for_each(|part| self.request_part(&mut segments, part))
    }

    /// Fetches elements that are planned, as many as may wait to be read.
    fn request_planned(&self) -> io::Result<()> {
        let bytes_max = self.state.ahead_bytes();
        let mut planned = self.state.planned.lock();
        let mut segments = self.state.segments.lock();
        while let Some(part) = planned.first() {
            let direct = self.state.direct_for(part, &segments);
            if direct.map_or_else(|| segments.elements_bytes() >= bytes_max, Direct::is_full) {
                break;
            }
            let Some(Part { range, .. }) = planned.next() else { break };
            if !direct.is_some_and(|direct| self.state.request_direct(direct, &range)) {
                self.request_part(&mut segments, range)?;
            }
        }
        Ok(())
    }

    fn request_part(&self, segments: &mut Segments, part: Range<u64>) -> io::Result<()> {
        let gaps = segments.gaps(part);
        gaps.into_iter().try_for_each(|gap| self.start(segments.add(gap, Purpose::Elements)))
    }

    fn start(&self, segment: Arc<Segment>) -> io::Result<()> {
        let state = self.state.clone();
        runtime::start(async move {
            segment.finish(state.fetch(&segment).await);
        })
    }

    /// Returns whether a read is so small that what lies around it is fetched too.
    fn is_small(bytes: u64) -> bool {
        bytes <= GAP_BYTES
    }
}

impl RemoteState {
    /// Returns the requests that bring a range that was announced.
    fn parts_of(&self, part: Part) -> Vec<Part> {
        let Part { range, is_direct } = part;
        let ranges: Vec<_> = match is_direct {
            true => even_parts(range, direct::PART_BYTES).collect(),
            false => parts(range, self.part_bytes()).collect(),
        };
        ranges.into_iter().map(|range| Part { range, is_direct }).collect()
    }

    fn is_near(&self) -> bool {
        latency::of(self.source.server()).is_some_and(|usual| usual < NEAR)
    }

    /// Returns how many bytes of elements may wait to be read.
    fn ahead_bytes(&self) -> u64 {
        // A caller that keeps nothing in memory still reads a part at a time.
        self.memory_bytes.max(PART_BYTES_NEAR).min(if self.is_near() {
            AHEAD_BYTES_NEAR
        } else {
            AHEAD_BYTES
        })
    }

    fn part_bytes(&self) -> u64 {
        if self.is_near() { PART_BYTES_NEAR } else { PART_BYTES }
    }

    async fn fetch(&self, segment: &Segment) -> Result<Vec<Bytes>, Failure> {
        let range = segment.range.clone();
        if let Some(bytes) = self.cached.as_ref().and_then(|cached| cached.get(&range)) {
            return Ok(vec![bytes]);
        }
        // Someone waits for metadata to know what else to ask for: it does not queue behind elements.
        let _slot = match segment.purpose {
            Purpose::Metadata => None,
            Purpose::Elements => self.slots.acquire().await.ok(),
        };
        let fetched = self.fetch_by_client(range.clone()).await?;
        if fetched.file_bytes != self.len || fetched.version != self.version {
            return Err(Failure::changed());
        }
        check_complete(&fetched, &range)?;
        if let Some(cached) = &self.cached {
            cached.put(&range, &fetched.pieces);
        }
        Ok(fetched.pieces)
    }
}

impl File for RemoteFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.len)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64).filter(|end| *end <= self.state.len);
        let end = match end {
            _ if buf.is_empty() => return Ok(()),
            Some(end) => end,
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        let is_small = Self::is_small(buf.len() as u64);
        let (mut at, mut rest) = (offset, buf);
        let ahead_bytes = self.state.ahead_bytes();
        let came = self.read_direct(at..end, rest)?;
        (at, rest) = (at + came as u64, &mut rest[came..]);
        while at < end {
            match is_small {
                true => self.request_metadata(at..end)?,
                false => self.request_elements(at..end.min(at + ahead_bytes))?,
            }
            // None if it was forgotten before it could be read: it is asked for again.
            let Some(copied) = segments::copy(&self.state.segments, at, rest) else { continue };
            let copied = copied?;
            (at, rest) = (at + copied as u64, &mut rest[copied..]);
        }
        self.request_planned()
    }

    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(files::read_only())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(files::read_only())
    }

    fn sync(&self, _: Sync) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing: nobody changes this version of the file.
    fn lock(&self, _: Lock) -> io::Result<()> {
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn request_counts(&self) -> Option<RequestCounts> {
        Some(self.counts())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        let state = &*self.state;
        let has_direct = state.direct().is_some();
        let new: Vec<_> = ranges.iter().filter(|range| !state.is_announced(range)).cloned().collect();
        let parts = joined(&new, state.len, |range| has_direct && is_large(range));
        if parts.len() <= FEW && parts.iter().all(|part| Self::is_small(part.range.end - part.range.start)) {
            // Who reads little at a time often goes on next to it.
            return parts.into_iter().try_for_each(|part| self.request_metadata(part.range));
        }
        state.planned.lock().add(parts.into_iter().flat_map(|part| state.parts_of(part)));
        self.request_planned()
    }

    fn read_many_at(&self, ranges: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        let wanted: Vec<_> =
            ranges.iter().map(|(at, buf)| *at..at.saturating_add(buf.len() as u64)).collect();
        self.prefetch(&wanted)?;
        ranges.iter_mut().try_for_each(|(offset, buf)| self.read_at(*offset, buf))
    }
}
