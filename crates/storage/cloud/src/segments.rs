//! Ranges of a remote file that were fetched or are being fetched.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use system::sync::{Condvar, Mutex};

use crate::failure::Failure;

/// What a segment is fetched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Read again and again: it stays as long as there is space.
    Metadata,
    /// Usually read once: it goes when all of it was read.
    Elements,
}

/// A range that is fetched with one request.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) range: Range<u64>,
    pub(crate) purpose: Purpose,
    content: Mutex<Content>,
    arrived: Condvar,
    unread: AtomicU64,
}

#[derive(Debug)]
enum Content {
    Pending,
    Arrived(Vec<Bytes>),
    Failed(Failure),
}

impl Segment {
    pub(crate) fn new(range: Range<u64>, purpose: Purpose) -> Self {
        Segment {
            purpose,
            content: Mutex::new(Content::Pending),
            arrived: Condvar::new(),
            unread: AtomicU64::new(range.end - range.start),
            range,
        }
    }

    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Returns whether elements wait of which none was read. Bytes between those that are wanted are never read.
    fn is_unread(&self) -> bool {
        self.purpose == Purpose::Elements && self.unread.load(Ordering::Relaxed) == self.len()
    }

    /// Takes the answer of the request, and wakes the threads that wait for it.
    pub(crate) fn finish(&self, answer: Result<Vec<Bytes>, Failure>) {
        *self.content.lock() = match answer {
            Ok(pieces) => Content::Arrived(pieces),
            Err(failure) => Content::Failed(failure),
        };
        self.arrived.notify_all();
    }

    fn is_pending(&self) -> bool {
        matches!(*self.content.lock(), Content::Pending)
    }

    /// Copies bytes from `offset` on, as many as there are and as `into` takes, once they have arrived.
    ///
    /// # Errors
    /// Returns the failure of the request.
    fn copy(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let content = self.arrived.wait_while(self.content.lock(), |c| matches!(c, Content::Pending));
        let pieces = match &*content {
            // The bytes are counted references: those who read do not wait for each other.
            Content::Arrived(pieces) => pieces.clone(),
            Content::Failed(failure) => return Err(failure.clone().into()),
            Content::Pending => return Err(io::ErrorKind::Interrupted.into()),
        };
        drop(content);
        let wanted = into.len().min(usize::try_from(self.range.end - offset).unwrap_or(usize::MAX));
        copy_pieces(&pieces, offset - self.range.start, &mut into[..wanted]);
        let unread = self.unread.load(Ordering::Relaxed).saturating_sub(wanted as u64);
        self.unread.store(unread, Ordering::Relaxed);
        Ok(wanted)
    }

    fn is_used_up(&self) -> bool {
        self.purpose == Purpose::Elements && self.unread.load(Ordering::Relaxed) == 0
    }
}

fn copy_pieces(pieces: &[Bytes], offset: u64, into: &mut [u8]) {
    let (mut skip, mut rest) = (usize::try_from(offset).unwrap_or(usize::MAX), into);
    for piece in pieces {
        if rest.is_empty() {
            return;
        }
        let Some(here) = piece.get(skip..).filter(|here| !here.is_empty()) else {
            skip -= piece.len();
            continue;
        };
        let len = here.len().min(rest.len());
        rest[..len].copy_from_slice(&here[..len]);
        (skip, rest) = (0, &mut rest[len..]);
    }
}

/// Segments by where they start. They do not overlap.
#[derive(Debug)]
pub(crate) struct Segments {
    by_start: BTreeMap<u64, Entry>,
    bytes: u64,
    bytes_max: u64,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    segment: Arc<Segment>,
    used: u64,
}

impl Segments {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Segments { by_start: BTreeMap::new(), bytes: 0, bytes_max, clock: 0 }
    }

    /// Returns the segment that has the byte at `offset`.
    pub(crate) fn covering(&mut self, offset: u64) -> Option<Arc<Segment>> {
        self.clock += 1;
        let (_, entry) = self.by_start.range_mut(..=offset).next_back()?;
        if entry.segment.range.end <= offset {
            return None;
        }
        entry.used = self.clock;
        Some(entry.segment.clone())
    }

    /// Returns the segment that ends where `offset` is.
    pub(crate) fn ending_at(&self, offset: u64) -> Option<&Segment> {
        let (_, entry) = self.by_start.range(..offset).next_back()?;
        (entry.segment.range.end == offset).then_some(&*entry.segment)
    }

    /// Returns the parts of `range` that no segment has.
    pub(crate) fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let before = self.by_start.range(..=range.start).next_back();
        let mut at = before.map_or(range.start, |(_, entry)| entry.segment.range.end.max(range.start));
        for (&start, entry) in self.by_start.range(range.start..range.end) {
            if start > at {
                gaps.push(at..start);
            }
            at = at.max(entry.segment.range.end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// Adds a segment for a gap, and forgets others where there are too many bytes.
    pub(crate) fn add(&mut self, range: Range<u64>, purpose: Purpose) -> Arc<Segment> {
        let segment = Arc::new(Segment::new(range, purpose));
        self.clock += 1;
        self.bytes += segment.len();
        self.by_start.insert(segment.range.start, Entry { segment: segment.clone(), used: self.clock });
        self.evict();
        segment
    }

    /// Returns the bytes of elements that wait to be read.
    pub(crate) fn elements_bytes(&self) -> u64 {
        let elements = self.by_start.values().filter(|entry| entry.segment.is_unread());
        elements.map(|entry| entry.segment.len()).sum()
    }

    pub(crate) fn remove(&mut self, segment: &Arc<Segment>) {
        let is_same = |entry: &Entry| Arc::ptr_eq(&entry.segment, segment);
        if self.by_start.get(&segment.range.start).is_some_and(is_same) {
            self.by_start.remove(&segment.range.start);
            self.bytes -= segment.len();
        }
    }

    /// Forgets what was not used for the longest time, elements first. What is under way stays.
    fn evict(&mut self) {
        while self.bytes > self.bytes_max {
            let oldest = |purpose: Purpose| {
                let entries = self.by_start.values().filter(move |entry| entry.segment.purpose == purpose);
                let arrived = entries.filter(|entry| !entry.segment.is_pending());
                arrived.min_by_key(|entry| entry.used).map(|entry| entry.segment.clone())
            };
            match oldest(Purpose::Elements).or_else(|| oldest(Purpose::Metadata)) {
                Some(segment) => self.remove(&segment),
                None => return,
            }
        }
    }
}

/// Copies from the segment that has the byte at `offset`, and returns how many bytes. `None` if no segment has it.
pub(crate) fn copy(segments: &Mutex<Segments>, offset: u64, into: &mut [u8]) -> Option<io::Result<usize>> {
    let segment = segments.lock().covering(offset)?;
    let copied = segment.copy(offset, into);
    if copied.is_err() || segment.is_used_up() {
        // After a failure the next caller asks again.
        segments.lock().remove(&segment);
    }
    Some(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(range: Range<u64>) -> Vec<Bytes> {
        let all: Vec<u8> = range.map(|n| n as u8).collect();
        all.chunks(7).map(Bytes::copy_from_slice).collect()
    }

    #[test]
    fn gaps_are_what_no_segment_has() {
        let mut segments = Segments::new(1 << 20);
        for range in [10..20, 30..40] {
            segments.add(range, Purpose::Metadata);
        }
        assert_eq!(segments.gaps(0..50), [0..10, 20..30, 40..50]);
        assert_eq!(segments.gaps(12..18), []);
        assert_eq!(segments.gaps(15..35), std::slice::from_ref(&(20..30)));
        assert_eq!(segments.gaps(20..30), std::slice::from_ref(&(20..30)));
        assert_eq!(segments.gaps(45..46), std::slice::from_ref(&(45..46)));
    }

    #[test]
    fn pieces_are_copied_from_any_offset() {
        let segments = Mutex::new(Segments::new(1 << 20));
        let segment = segments.lock().add(100..200, Purpose::Metadata);
        segment.finish(Ok(bytes(100..200)));
        for offset in 100..200 {
            let mut into = [0; 30];
            let len = copy(&segments, offset, &mut into).unwrap().unwrap();
            assert_eq!(len as u64, 30.min(200 - offset));
            assert!(into[..len].iter().zip(offset..).all(|(byte, n)| *byte == n as u8));
        }
        assert!(copy(&segments, 200, &mut [0]).is_none());
    }

    #[test]
    fn elements_go_when_they_were_read_and_metadata_stays() {
        let segments = Mutex::new(Segments::new(1 << 20));
        for (range, purpose) in [(0..10, Purpose::Elements), (10..20, Purpose::Metadata)] {
            let segment = segments.lock().add(range.clone(), purpose);
            segment.finish(Ok(bytes(range)));
        }
        for offset in [0, 5, 10, 15] {
            assert_eq!(copy(&segments, offset, &mut [0; 5]).unwrap().unwrap(), 5);
        }
        assert_eq!(segments.lock().gaps(0..20), std::slice::from_ref(&(0..10)));
    }

    #[test]
    fn a_failure_reaches_who_waits_and_the_next_caller_asks_again() {
        let segments = Mutex::new(Segments::new(1 << 20));
        let segment = segments.lock().add(0..10, Purpose::Metadata);
        segment.finish(Err(Failure::of_status(403)));
        let error = copy(&segments, 0, &mut [0]).unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(copy(&segments, 0, &mut [0]).is_none());
    }

    #[test]
    fn no_more_bytes_are_cached_than_allowed() {
        let mut segments = Segments::new(100);
        for n in 0..50 {
            let purpose = if n % 2 == 0 { Purpose::Elements } else { Purpose::Metadata };
            segments.add(n * 10..n * 10 + 10, purpose).finish(Ok(bytes(0..10)));
        }
        assert!(segments.bytes <= 100, "{}", segments.bytes);
        // Metadata outlives elements.
        assert!(segments.by_start.values().filter(|e| e.segment.purpose == Purpose::Metadata).count() >= 8);
    }
}
