//! Reading elements: what the index finds, as few large reads as can be, and what still waits over it.

use files::File;
use model::properties::FillValue;
use model::selection::Runs;
use model::{Dataspace, Error, Result, Selection, Token};
use vol::{OpRead, workers};

use crate::container::LogContainer;
use crate::flat;
use crate::pieces::{FILE, Piece};
use crate::state::{Logged, Shared, State, decode_entry};
use crate::write::unknown;

/// Bytes between two pieces that are read all the same: a call costs more.
const GAP_BYTES_MAX: u64 = 4 << 10;
/// Pieces read together span at most so many bytes, which a core's cache holds.
const SPAN_BYTES_MAX: u64 = 512 << 10;
/// Room that is filled by one thread at a time.
const WINDOW_BYTES: u64 = 2 << 20;
/// Spans that a part may belong to, at most: the last ones.
const SPANS_TRIED_MAX: usize = 64;
/// Pieces of this size are read straight to where they belong.
const DIRECT_BYTES_MIN: usize = 64 << 10;
/// Reads of this size are worth more than one thread.
const THREADS_BYTES_MIN: u64 = 1 << 20;

/// Bytes of a source, and the room they go to.
struct Part<'r> {
    source: u32,
    at: u64,
    into: &'r mut [u8],
}

impl Part<'_> {
    fn end(&self) -> u64 {
        self.at + self.into.len() as u64
    }
}

/// Repeats the fill value.
pub(crate) fn fill(value: &FillValue, into: &mut [u8]) {
    match value {
        FillValue::Value(value) if !value.is_empty() && value.iter().any(|&byte| byte != 0) => {
            into.chunks_mut(value.len()).for_each(|room| room.copy_from_slice(&value[..room.len()]));
        }
        _ => into.fill(0),
    }
}

/// The parts of a selection that a list of pieces has, some at a time: what is read for them, and where it goes, stays in a
/// core's cache. The rest of the room is filled where `unwritten` says with what.
struct Windows<'l, 'r> {
    runs: Runs,
    /// What is left of the run at hand.
    run: (u64, u64),
    list: &'l [Piece],
    /// The first piece that does not end before the run at hand.
    next: usize,
    room: &'r mut [u8],
    size: u64,
    unwritten: Option<&'l FillValue>,
}

impl<'l, 'r> Windows<'l, 'r> {
    fn new(
        logged: &'l Logged,
        list: &'l [Piece],
        selection: &Selection,
        room: &'r mut [u8],
        unwritten: Option<&'l FillValue>,
    ) -> Result<Self> {
        let runs = flat::runs(selection, logged.info.space.dims(), &logged.shape)?;
        Ok(Windows { runs, run: (0, 0), list, next: 0, room, size: logged.size, unwritten })
    }

    /// Room for so many elements of the run at hand.
    fn take(&mut self, elements: u64) -> &'r mut [u8] {
        self.run.0 += elements;
        let (room, rest) = std::mem::take(&mut self.room).split_at_mut((elements * self.size) as usize);
        self.room = rest;
        room
    }

    /// Goes on to the next run; `false` after the last.
    fn next_run(&mut self) -> bool {
        let Some(run) = self.runs.next() else { return false };
        self.run = (run.offset, run.offset + run.len);
        self.next = self.list.partition_point(|piece| piece.end() <= run.offset);
        true
    }
}

impl<'r> Iterator for Windows<'_, 'r> {
    type Item = Result<Vec<Part<'r>>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut parts, mut left) = (Vec::new(), (WINDOW_BYTES / self.size).max(1));
        while left > 0 && (self.run.0 < self.run.1 || self.next_run()) {
            let (at, stop) = (self.run.0, self.run.1.min(self.run.0 + left));
            let elements = match self.list.get(self.next).filter(|piece| piece.start < stop) {
                Some(piece) if piece.start <= at => {
                    let part = piece.cut(at, stop, self.size);
                    self.next += usize::from(part.end() == piece.end());
                    let into = self.take(part.len);
                    parts.push(Part { source: part.source, at: part.at, into });
                    part.len
                }
                piece => {
                    let elements = piece.map_or(stop, |piece| piece.start) - at;
                    let room = self.take(elements);
                    self.unwritten.into_iter().for_each(|value| fill(value, room));
                    elements
                }
            };
            left -= elements;
        }
        if left == (WINDOW_BYTES / self.size).max(1) { None } else { Some(Ok(parts)) }
    }
}

/// Bytes of a source that are read together.
struct Span {
    source: u32,
    start: u64,
    end: u64,
    /// Parts in it.
    count: usize,
}

impl Span {
    fn takes(&self, part: &Part<'_>) -> bool {
        self.source == part.source
            && (self.source != FILE
                || (part.at >= self.start
                    && part.at.saturating_sub(self.end) <= GAP_BYTES_MAX
                    && part.end() - self.start <= SPAN_BYTES_MAX
                    && part.into.len() < DIRECT_BYTES_MIN))
    }
}

/// The spans of some parts, and the span of each.
///
/// Parts of different flushes alternate, each flush's in the order of their bytes: a part belongs to the span after that of the
/// part before it, or to one of the next. So they need not be sorted.
fn spans(parts: &[Part<'_>]) -> (Vec<Span>, Vec<usize>) {
    let (mut spans, mut of, mut last): (Vec<Span>, _, usize) =
        (Vec::new(), Vec::with_capacity(parts.len()), 0);
    for part in parts {
        let first = spans.len().saturating_sub(SPANS_TRIED_MAX);
        let guess = (last + 1).max(first);
        let mut tried = (guess..spans.len()).chain(first..guess.min(spans.len()));
        let found = tried.find(|n| spans[*n].takes(part));
        last = found.unwrap_or(spans.len());
        match spans.get_mut(last) {
            Some(span) => {
                span.end = span.end.max(part.end());
                span.count += 1;
            }
            None => spans.push(Span { source: part.source, start: part.at, end: part.end(), count: 1 }),
        }
        of.push(last);
    }
    (spans, of)
}

/// Reads parts whose room lies side by side.
fn read_window(
    shared: &Shared,
    state: &State,
    logged: &Logged,
    mut parts: Vec<Part<'_>>,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let (spans, of) = spans(&parts);
    let mut ends: Vec<usize> =
        spans.iter().scan(0, |at, span| Some(std::mem::replace(at, *at + span.count))).collect();
    let mut order = vec![0u32; parts.len()];
    for (n, span) in of.into_iter().enumerate() {
        order[ends[span]] = n as u32;
        ends[span] += 1;
    }
    for (span, end) in spans.iter().zip(ends) {
        let own = &order[end - span.count..end];
        let failed = |e: std::io::Error| Error::io("read log", &e).at(span.start);
        if span.source != FILE {
            let bytes = decode_entry(shared, &state.logs, logged, span.source)?;
            copy_out(&mut parts, own, 0, &bytes)?;
        } else if let [one] = own {
            shared.file.read_at(span.start, parts[*one as usize].into).map_err(failed)?;
        } else {
            let bytes = (span.end - span.start) as usize;
            if buffer.len() < bytes {
                buffer.resize(bytes, 0);
            }
            shared.file.read_at(span.start, &mut buffer[..bytes]).map_err(failed)?;
            copy_out(&mut parts, own, span.start, &buffer[..bytes])?;
        }
    }
    Ok(())
}

fn copy_out(parts: &mut [Part<'_>], own: &[u32], start: u64, bytes: &[u8]) -> Result<()> {
    for part in own {
        let part = &mut parts[*part as usize];
        let from = (part.at - start) as usize;
        let found = bytes.get(from..from + part.into.len());
        part.into.copy_from_slice(found.ok_or_else(|| Error::corrupt("read log entry").at(part.at))?);
    }
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
                Some(logged) => vol::demands::transfer(&logged.info, read.selection, read.into.len())?,
                None if state.known.contains_key(&read.dataset) => {}
                None => return Err(unknown(read.dataset)),
            }
        }
        for read in reads {
            match state.logged(read.dataset) {
                Some(logged) => read_one(shared, &state, logged, read)?,
                None => {
                    let OpRead { dataset, selection, into } = read;
                    self.beneath().dataset_read(&mut [OpRead { dataset: *dataset, selection, into }])?;
                }
            }
        }
        Ok(())
    }
}

/// The bytes of pieces that are in the file, one after another.
pub(crate) fn read_pieces(
    shared: &Shared,
    state: &State,
    dataset: Token,
    pieces: &[Piece],
    into: &mut [u8],
) -> Result<()> {
    let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
    let (mut parts, mut room) = (Vec::with_capacity(pieces.len()), into);
    for piece in pieces {
        let (into, rest) = room.split_at_mut((piece.len * logged.size) as usize);
        parts.push(Part { source: piece.source, at: piece.at, into });
        room = rest;
    }
    read_window(shared, state, logged, parts, &mut Vec::new())
}

fn read_one(shared: &Shared, state: &State, logged: &Logged, read: &mut OpRead<'_>) -> Result<()> {
    if read.into.is_empty() || logged.info.space == Dataspace::Null {
        return Ok(());
    }
    let list = logged.index.lists().next().unwrap_or(&[]);
    let threads = workers::threads(read.into.len() as u64, THREADS_BYTES_MIN);
    let windows =
        Windows::new(logged, list, read.selection, read.into, Some(&logged.info.create.fill.value))?;
    workers::each(windows, threads, |window, buffer| read_window(shared, state, logged, window, buffer))?;
    let blocks = state.arena.blocks();
    for list in logged.recent.lists() {
        for window in Windows::new(logged, list, read.selection, read.into, None)? {
            window?.iter_mut().try_for_each(|part| copy_waiting(&blocks, part))?;
        }
    }
    Ok(())
}

/// Bytes that wait in memory.
fn copy_waiting(blocks: &[&[u8]], part: &mut Part<'_>) -> Result<()> {
    let at = part.at as usize;
    let found = blocks.get(part.source as usize).and_then(|block| block.get(at..at + part.into.len()));
    let lost = || Error::invalid("read elements").with("problem", "a request lost its bytes");
    part.into.copy_from_slice(found.ok_or_else(lost)?);
    Ok(())
}
