//! Reading many small pieces: spans of the log go through a buffer, from which each piece is copied.
//!
//! A model that writes single elements leaves millions of pieces. What is done for each is what reading takes, so that it is little:
//! where its bytes are, which span has them, and the copy.

use files::File;
use model::properties::FillValue;
use model::{Error, Result};

use crate::logged::Logged;
use crate::pieces::{ElementRun, file_of};
use crate::read::{BUFFER_BYTES_MAX, GAP_BYTES_MAX, SPAN_BYTES_MAX, SPANS_TRIED_MAX, fill};
use crate::state::Shared;

/// Fewer pieces are read one by one.
const PIECES_MIN: usize = 16;
/// Pieces of so many bytes on average are large: there are other ways to read those.
const AVERAGE_BYTES_MAX: usize = 512;

/// Bytes of a file that are read together.
struct Span {
    source: u32,
    start: u64,
    end: u64,
}

impl Span {
    fn takes(&self, source: u32, at: u64, end: u64) -> bool {
        self.source == source
            && at >= self.start
            && at.saturating_sub(self.end) <= GAP_BYTES_MAX
            && end - self.start <= SPAN_BYTES_MAX
    }
}

/// The pieces that some elements are in, and the span of each.
struct Plan<'l> {
    pieces: &'l [ElementRun],
    spans: Vec<Span>,
    of: Vec<u32>,
}

impl<'l> Plan<'l> {
    /// Returns how elements `from..to` are read, or `None` where not all of their pieces are small ones in files, near each other.
    fn new(logged: &Logged, list: &'l [ElementRun], (from, to): (u64, u64)) -> Option<Plan<'l>> {
        let list = &list[list.partition_point(|piece| piece.end() <= from)..];
        let pieces = &list[..list.partition_point(|piece| piece.start < to)];
        let bytes = usize::try_from((to - from) * logged.size).ok()?;
        if pieces.len() < PIECES_MIN || bytes / pieces.len() >= AVERAGE_BYTES_MAX {
            return None;
        }
        let mut plan = Plan { pieces, spans: Vec::new(), of: Vec::with_capacity(pieces.len()) };
        let mut last = 0;
        for piece in pieces {
            let piece = piece.cut(from, to, logged.size);
            let (source, at) = logged.place_of(&piece);
            last = plan.span_of(source, at, at.checked_add(piece.len * logged.size)?, last)?;
            plan.of.push(last as u32);
        }
        Some(plan)
    }

    /// Returns the span that has some bytes. Pieces of different flushes alternate, each flush's in the order of their bytes: the
    /// span after that of the piece before is the most likely one.
    fn span_of(&mut self, source: u32, at: u64, end: u64, last: usize) -> Option<usize> {
        let first = self.spans.len().saturating_sub(SPANS_TRIED_MAX);
        let guess = (last + 1).max(first);
        let number = match self.spans.get(guess).is_some_and(|span| span.takes(source, at, end)) {
            true => guess,
            false => {
                let mut tried = (first..guess.min(self.spans.len())).chain(guess..self.spans.len());
                tried.find(|n| self.spans[*n].takes(source, at, end)).unwrap_or(self.spans.len())
            }
        };
        match self.spans.get_mut(number) {
            Some(span) => span.end = span.end.max(end),
            None => {
                file_of(source)?;
                self.spans.push(Span { source, start: at, end });
            }
        }
        Some(number)
    }

    /// Reads all spans, one after another. Returns where each begins in the buffer, less where it begins in its file.
    fn read_spans(&self, shared: &Shared, buffer: &mut [u8]) -> Result<Vec<u64>> {
        let mut done = 0;
        let mut places = Vec::with_capacity(self.spans.len());
        for span in &self.spans {
            let len = (span.end - span.start) as usize;
            let file = shared.file_of(file_of(span.source).unwrap_or(0))?;
            let read = file.read_at(span.start, &mut buffer[done..done + len]);
            read.map_err(|e| Error::io("read log", &e).at(span.start))?;
            places.push((done as u64).wrapping_sub(span.start));
            done += len;
        }
        Ok(places)
    }
}

/// Reads elements `from..to` if they are in many small pieces, and fills those that are in none. Returns `false`, and reads nothing,
/// if they are better read otherwise.
pub(crate) fn read(
    shared: &Shared,
    logged: &Logged,
    list: &[ElementRun],
    (from, to): (u64, u64),
    into: &mut [u8],
    buffer: &mut Vec<u8>,
) -> Result<bool> {
    let Some(plan) = Plan::new(logged, list, (from, to)) else { return Ok(false) };
    let bytes: u64 = plan.spans.iter().map(|span| span.end - span.start).sum();
    if bytes > BUFFER_BYTES_MAX as u64 {
        return Ok(false);
    }
    if buffer.len() < bytes as usize {
        buffer.resize(bytes as usize, 0);
    }
    let places = plan.read_spans(shared, buffer)?;
    let (size, value) = (logged.size, &logged.info.create.fill.value);
    let range = |start: u64, end: u64| ((start - from) * size) as usize..((end - from) * size) as usize;
    let mut done = from;
    for (piece, span) in plan.pieces.iter().zip(&plan.of) {
        let piece = piece.cut(from, to, size);
        if piece.start > done {
            fill_gap(value, &mut into[range(done, piece.start)]);
        }
        let at = logged.place_of(&piece).1.wrapping_add(places[*span as usize]) as usize;
        copy(&mut into[range(piece.start, piece.end())], &buffer[at..at + (piece.len * size) as usize]);
        done = piece.end();
    }
    fill_gap(value, &mut into[range(done, to)]);
    Ok(true)
}

#[cold]
fn fill_gap(value: &FillValue, into: &mut [u8]) {
    fill(value, into);
}

/// Copies bytes of the same number; single elements without a call.
#[inline]
fn copy(into: &mut [u8], from: &[u8]) {
    match (into.as_chunks_mut::<4>(), from.as_chunks::<4>()) {
        (([into], []), ([from], [])) => *into = *from,
        (([a, b], []), ([c, d], [])) => (*a, *b) = (*c, *d),
        _ => into.copy_from_slice(from),
    }
}
