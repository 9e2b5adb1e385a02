//! Reading elements: what the index finds, as few large reads as can be, and what still waits over it.

use std::io::IoSliceMut;

use algorithms::workers;
use files::File;
use model::properties::FillValue;
use model::selection::Runs;
use model::{Dataspace, Error, Result, Selection, Token};
use vol::OpRead;

use crate::container::LogContainer;
use crate::flat;
use crate::logged::Logged;
use crate::pieces::{ElementRun, file_of, within};
use crate::small_pieces;
use crate::state::{LogState, Shared, decode_entry};
use crate::write::{together_only, unknown};

/// Bytes between two pieces that are read all the same: a call costs more.
pub(crate) const GAP_BYTES_MAX: u64 = 4 << 10;
/// Pieces read together span at most so many bytes, which a core's cache holds.
pub(crate) const SPAN_BYTES_MAX: u64 = 512 << 10;
/// Space that is filled by one thread at a time.
pub(crate) const WINDOW_BYTES: u64 = 1 << 20;
/// Bytes that go through the buffer at a time.
pub(crate) const BUFFER_BYTES_MAX: usize = 4 << 20;
/// Spans that a part may belong to, at most: the last ones.
pub(crate) const SPANS_TRIED_MAX: usize = 64;
/// Pieces of this size are read by themselves.
const ALONE_BYTES_MIN: usize = 64 << 10;
/// Pieces of this size, on average, are read straight to where they belong if nothing lies between them: a copy costs more.
const SCATTERED_BYTES_MIN: u64 = 512;
/// Reads of this size are worth more than one thread.
const THREADS_BYTES_MIN: u64 = 1 << 20;

/// Bytes of a source, and the space they go to.
struct ReadPart<'r> {
    source: u32,
    at: u64,
    into: &'r mut [u8],
}

impl ReadPart<'_> {
    fn end(&self) -> u64 {
        self.at + self.into.len() as u64
    }
}

/// Repeats the fill value.
pub(crate) fn fill(value: &FillValue, into: &mut [u8]) {
    match value {
        FillValue::Value(value) if !value.is_empty() && value.iter().any(|&byte| byte != 0) => {
            into.chunks_mut(value.len()).for_each(|buffer| buffer.copy_from_slice(&value[..buffer.len()]));
        }
        _ => into.fill(0),
    }
}

/// Some elements of a selection: what is read for them, and where it goes, stays in a core's cache.
struct Window<'r> {
    /// Flat indices, from and to.
    runs: Vec<(u64, u64)>,
    buffer: &'r mut [u8],
}

/// A selection in windows.
struct Windows<'r> {
    runs: Runs,
    /// The rest of the current run.
    run: (u64, u64),
    buffer: &'r mut [u8],
    size: u64,
}

impl<'r> Windows<'r> {
    fn new(logged: &Logged, selection: &Selection, buffer: &'r mut [u8]) -> Result<Self> {
        let runs = flat::runs(selection, logged.info.space.dims(), &logged.shape)?;
        Ok(Windows { runs, run: (0, 0), buffer, size: logged.size })
    }

    /// Goes on to the next run; `false` after the last.
    fn next_run(&mut self) -> bool {
        let Some(run) = self.runs.next() else { return false };
        self.run = (run.offset, run.offset + run.len);
        true
    }
}

impl<'r> Iterator for Windows<'r> {
    type Item = Result<Window<'r>>;

    fn next(&mut self) -> Option<Self::Item> {
        let most = (WINDOW_BYTES / self.size).max(1);
        let (mut runs, mut left) = (Vec::new(), most);
        while left > 0 && (self.run.0 < self.run.1 || self.next_run()) {
            let (from, to) = (self.run.0, self.run.1.min(self.run.0 + left));
            runs.push((from, to));
            left -= to - from;
            self.run.0 = to;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let (own, rest) = buffer.split_at_mut_checked(((most - left) * self.size) as usize)?;
        self.buffer = rest;
        (!runs.is_empty()).then_some(Ok(Window { runs, buffer: own }))
    }
}

impl<'r> Window<'r> {
    /// Returns what a list of pieces has of it; `place` says where the bytes of a piece are. The rest of the space is filled where
    /// `unwritten` says with what.
    fn parts(
        self,
        list: &[ElementRun],
        size: u64,
        place: impl Fn(&ElementRun) -> (u32, u64),
        unwritten: Option<&FillValue>,
    ) -> Vec<ReadPart<'r>> {
        let (mut parts, mut buffer) = (Vec::new(), self.buffer);
        let mut take = |elements: u64| {
            let (own, rest) = std::mem::take(&mut buffer).split_at_mut((elements * size) as usize);
            buffer = rest;
            own
        };
        for (from, to) in self.runs {
            let mut done = from;
            for piece in within(list, from, to, size) {
                if piece.start > done {
                    let gap = take(piece.start - done);
                    unwritten.into_iter().for_each(|value| fill(value, gap));
                }
                done = piece.end();
                let (source, at) = place(&piece);
                parts.push(ReadPart { source, at, into: take(piece.len) });
            }
            let gap = take(to - done);
            unwritten.into_iter().for_each(|value| fill(value, gap));
        }
        parts
    }
}

/// Bytes of a source that are read together.
struct Span {
    source: u32,
    start: u64,
    end: u64,
    /// Parts in it.
    count: usize,
    /// Each part begins where the one before it ends.
    is_dense: bool,
}

impl Span {
    /// Parts are read straight to where they belong.
    fn is_scattered(&self) -> bool {
        self.is_dense && self.end - self.start >= SCATTERED_BYTES_MIN * self.count as u64
    }

    fn takes(&self, part: &ReadPart<'_>) -> bool {
        self.source == part.source
            && (file_of(self.source).is_none()
                || (part.at >= self.start
                    && part.at.saturating_sub(self.end) <= GAP_BYTES_MAX
                    && part.end() - self.start <= SPAN_BYTES_MAX
                    && part.into.len() < ALONE_BYTES_MIN))
    }
}

/// Returns the spans of some parts, and the span of each.
///
/// Parts of different flushes alternate, each flush's in the order of their bytes: a part belongs to the span after that of the
/// part before it, or to one of the next. So they need not be sorted.
fn spans(parts: &[ReadPart<'_>]) -> (Vec<Span>, Vec<usize>) {
    let (mut spans, mut of, mut last): (Vec<Span>, _, usize) =
        (Vec::new(), Vec::with_capacity(parts.len()), 0);
    for part in parts {
        let first = spans.len().saturating_sub(SPANS_TRIED_MAX);
        let guess = (last + 1).max(first);
        last = match spans.get(guess).is_some_and(|span| span.takes(part)) {
            true => guess,
            false => {
                let mut tried = (guess..spans.len()).chain(first..guess.min(spans.len()));
                tried.find(|n| spans[*n].takes(part)).unwrap_or(spans.len())
            }
        };
        match spans.get_mut(last) {
            Some(span) => {
                span.is_dense &= span.end == part.at;
                span.end = span.end.max(part.end());
                span.count += 1;
            }
            None => {
                let (source, start, end) = (part.source, part.at, part.end());
                spans.push(Span { source, start, end, count: 1, is_dense: true });
            }
        }
        of.push(last);
    }
    (spans, of)
}

/// How the parts of a span get their bytes.
enum SpanSource<'r> {
    /// Through the buffer, where the span begins at this place.
    Copied(usize),
    /// Straight from the file.
    Straight(Vec<IoSliceMut<'r>>),
    /// From an entry that went through filters.
    Decoded(Vec<ReadPart<'r>>),
}

/// Returns how each span is read, and the bytes that go through the buffer.
fn ways<'r>(spans: &[Span]) -> (Vec<SpanSource<'r>>, usize) {
    let (mut ways, mut bytes) = (Vec::with_capacity(spans.len()), 0);
    for span in spans {
        ways.push(match file_of(span.source) {
            Some(_) if span.is_scattered() => SpanSource::Straight(Vec::with_capacity(span.count)),
            Some(_) => {
                bytes += (span.end - span.start) as usize;
                SpanSource::Copied(bytes - (span.end - span.start) as usize)
            }
            None => SpanSource::Decoded(Vec::with_capacity(span.count)),
        });
    }
    (ways, bytes)
}

/// Reads parts whose space lies side by side.
fn read_parts(
    shared: &Shared,
    state: &LogState,
    logged: &Logged,
    mut parts: Vec<ReadPart<'_>>,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let (spans, of) = spans(&parts);
    let (mut ways, bytes) = ways(&spans);
    if bytes > BUFFER_BYTES_MAX && parts.len() > 1 {
        // Far apart: some at a time.
        let rest = parts.split_off(parts.len() / 2);
        read_parts(shared, state, logged, parts, buffer)?;
        return read_parts(shared, state, logged, rest, buffer);
    }
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    let failed = |e: std::io::Error, span: &Span| Error::io("read log", &e).at(span.start);
    for (span, way) in spans.iter().zip(&ways) {
        if let SpanSource::Copied(at) = way {
            let buffer = &mut buffer[*at..*at + (span.end - span.start) as usize];
            let file = shared.file_of(file_of(span.source).unwrap_or(0))?;
            file.read_at(span.start, buffer).map_err(|e| failed(e, span))?;
        }
    }
    for (part, span) in parts.into_iter().zip(of) {
        match &mut ways[span] {
            SpanSource::Copied(at) => {
                let from = *at + (part.at - spans[span].start) as usize;
                part.into.copy_from_slice(&buffer[from..from + part.into.len()]);
            }
            SpanSource::Straight(slices) => slices.push(IoSliceMut::new(part.into)),
            SpanSource::Decoded(parts) => parts.push(part),
        }
    }
    for (span, way) in spans.iter().zip(ways) {
        match way {
            SpanSource::Copied(_) => {}
            SpanSource::Straight(mut slices) => {
                let file = shared.file_of(file_of(span.source).unwrap_or(0))?;
                file.read_slices_at(span.start, &mut slices).map_err(|e| failed(e, span))?;
            }
            SpanSource::Decoded(mut parts) => {
                let bytes = decode_entry(shared, &state.logs, logged, span.source)?;
                parts.iter_mut().try_for_each(|part| copy_out(part, &bytes))?;
            }
        }
    }
    Ok(())
}

fn copy_out(part: &mut ReadPart<'_>, bytes: &[u8]) -> Result<()> {
    let from = part.at as usize;
    let found = bytes.get(from..from + part.into.len());
    part.into.copy_from_slice(found.ok_or_else(|| Error::corrupt("read log entry").at(part.at))?);
    Ok(())
}

impl LogContainer {
    /// Reads of datasets that are known.
    pub(crate) fn read_all(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        let shared = self.shared();
        let datasets: Vec<_> = reads.iter().map(|read| read.dataset).collect();
        let state = shared.ready(&datasets)?;
        for read in reads.iter() {
            match state.logged(read.dataset) {
                Some(logged) => algorithms::checks::transfer(&logged.info, read.selection, read.into.len())?,
                None if !state.known.contains_key(&read.dataset) => return Err(unknown(read.dataset)),
                None if !shared.is_alone() => return Err(together_only()),
                None => {}
            }
        }
        for read in reads {
            match state.logged(read.dataset) {
                Some(logged) => read_one(shared, &state, logged, read)?,
                None => {
                    let OpRead { dataset, selection, into } = read;
                    self.inner().dataset_read(&mut [OpRead { dataset: *dataset, selection, into }])?;
                }
            }
        }
        Ok(())
    }
}

/// Reads the bytes of pieces that are in the file, one after another.
pub(crate) fn read_pieces(
    shared: &Shared,
    state: &LogState,
    dataset: Token,
    pieces: &[ElementRun],
    into: &mut [u8],
) -> Result<()> {
    let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
    let (mut parts, mut buffer) = (Vec::with_capacity(pieces.len()), into);
    for piece in pieces {
        let (into, rest) = buffer.split_at_mut((piece.len * logged.size) as usize);
        let (source, at) = logged.place_of(piece);
        parts.push(ReadPart { source, at, into });
        buffer = rest;
    }
    read_parts(shared, state, logged, parts, &mut Vec::new())
}

fn read_one(shared: &Shared, state: &LogState, logged: &Logged, read: &mut OpRead<'_>) -> Result<()> {
    if read.into.is_empty() || logged.info.space == Dataspace::Null {
        return Ok(());
    }
    let list = logged.index.lists().next().unwrap_or(&[]);
    let threads = match shared.settings.is_shared {
        true => 1,
        false => workers::threads(read.into.len() as u64, THREADS_BYTES_MIN),
    };
    let (unwritten, elements) = (Some(&logged.info.create.fill.value), logged.index.elements());
    let read_window = |window: Window<'_>, buffer: &mut Vec<u8>| {
        if let &[run] = window.runs.as_slice() {
            let is_read = match elements {
                Some(elements) => elements.read(shared, logged, run, window.buffer, buffer)?,
                None => false,
            };
            if is_read || small_pieces::read(shared, logged, list, run, window.buffer, buffer)? {
                return Ok(());
            }
        }
        let parts = window.parts(list, logged.size, |piece| logged.place_of(piece), unwritten);
        read_parts(shared, state, logged, parts, buffer)
    };
    let mut windows = Windows::new(logged, read.selection, read.into)?;
    match threads {
        1 => with_buffer(shared, |buffer| windows.try_for_each(|window| read_window(window?, buffer)))?,
        _ => workers::each(windows, threads, read_window)?,
    }
    let blocks = state.arena.blocks();
    for list in logged.recent.lists() {
        for window in Windows::new(logged, read.selection, read.into)? {
            let mut parts = window?.parts(list, logged.size, |piece| (piece.source, piece.at), None);
            parts.iter_mut().try_for_each(|part| copy_waiting(&blocks, part))?;
        }
    }
    Ok(())
}

/// Calls `read` with the buffer of the last read: memory that was never touched takes longer than what is read into it.
fn with_buffer(shared: &Shared, read: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let mut buffer = std::mem::take(&mut *shared.read_buffer.lock());
    let done = read(&mut buffer);
    if buffer.capacity() <= BUFFER_BYTES_MAX {
        *shared.read_buffer.lock() = buffer;
    }
    done
}

/// Copies bytes that wait in memory.
fn copy_waiting(blocks: &[&[u8]], part: &mut ReadPart<'_>) -> Result<()> {
    let lost = || Error::invalid("read elements").with("problem", "a request lost its bytes");
    copy_out(part, blocks.get(part.source as usize).ok_or_else(lost)?)
}
