//! Reading elements: what the index finds, as few large reads as can be, and what still waits over it.

use files::File;
use model::properties::FillValue;
use model::{Dataspace, Error, Result, Selection, Token};
use vol::{OpRead, workers};

use crate::container::LogContainer;
use crate::flat;
use crate::pieces::{FILE, Piece, within};
use crate::state::{Logged, Shared, State, decode_entry};
use crate::write::{check_transfer, unknown};

/// Bytes between two pieces that are read all the same: a call costs more.
const GAP_BYTES_MAX: u64 = 4 << 10;
/// Pieces read together span at most so many bytes, which a core's cache holds.
const SPAN_BYTES_MAX: u64 = 512 << 10;
/// Room that is filled by one thread at a time.
const WINDOW_BYTES: usize = 2 << 20;
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

/// The parts of a selection that a list of pieces has; the rest of the room is filled where `unwritten` says with what.
fn parts<'r>(
    logged: &Logged,
    list: &[Piece],
    selection: &Selection,
    into: &'r mut [u8],
    unwritten: Option<&FillValue>,
) -> Result<Vec<Part<'r>>> {
    let (mut parts, mut room, size) = (Vec::new(), into, logged.size);
    for run in flat::runs(selection, logged.info.space.dims(), &logged.shape)? {
        let (mut here, rest) = room.split_at_mut((run.len * size) as usize);
        let mut at = run.offset;
        for piece in within(list, run.offset, run.offset + run.len, size) {
            let (gap, from) = here.split_at_mut(((piece.start - at) * size) as usize);
            let (into, after) = from.split_at_mut((piece.len * size) as usize);
            unwritten.into_iter().for_each(|value| fill(value, gap));
            parts.push(Part { source: piece.source, at: piece.at, into });
            (here, at) = (after, piece.end());
        }
        unwritten.into_iter().for_each(|value| fill(value, here));
        room = rest;
    }
    Ok(parts)
}

/// Parts whose room lies side by side: what is read for them, and where it goes, stays in a core's cache.
fn windows(parts: Vec<Part<'_>>) -> Vec<Vec<Part<'_>>> {
    let (mut windows, mut window, mut bytes) = (Vec::new(), Vec::new(), 0);
    for mut part in parts {
        while part.source == FILE && part.into.len() > WINDOW_BYTES {
            let (into, rest) = std::mem::take(&mut part.into).split_at_mut(WINDOW_BYTES);
            windows.push(vec![Part { source: FILE, at: part.at, into }]);
            (part.at, part.into) = (part.at + WINDOW_BYTES as u64, rest);
        }
        bytes += part.into.len();
        window.push(part);
        if bytes >= WINDOW_BYTES {
            windows.push(std::mem::take(&mut window));
            bytes = 0;
        }
    }
    windows.push(window);
    windows
}

/// How many of the first parts are read together; they are in the order of their bytes.
fn span(parts: &[Part<'_>]) -> usize {
    let Some(first) = parts.first() else { return 0 };
    if first.source == FILE && first.into.len() >= DIRECT_BYTES_MIN {
        return 1;
    }
    let (mut end, mut count) = (first.end(), 1);
    for part in &parts[1..] {
        let is_near = part.into.len() < DIRECT_BYTES_MIN
            && part.at.saturating_sub(end) <= GAP_BYTES_MAX
            && part.end() - first.at <= SPAN_BYTES_MAX;
        if part.source != first.source || (first.source == FILE && !is_near) {
            break;
        }
        end = end.max(part.end());
        count += 1;
    }
    count
}

fn read_window(
    shared: &Shared,
    state: &State,
    logged: &Logged,
    mut parts: Vec<Part<'_>>,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    if !parts.is_sorted_by_key(|part| (part.source, part.at)) {
        parts.sort_unstable_by_key(|part| (part.source, part.at));
    }
    let mut rest = &mut parts[..];
    while !rest.is_empty() {
        let (now, later) = rest.split_at_mut(span(rest));
        read_span(shared, state, logged, now, buffer)?;
        rest = later;
    }
    Ok(())
}

fn read_span(
    shared: &Shared,
    state: &State,
    logged: &Logged,
    span: &mut [Part<'_>],
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let failed = |at: u64| move |e: std::io::Error| Error::io("read log", &e).at(at);
    match span {
        [] => Ok(()),
        [Part { source: FILE, at, into }] => shared.file.read_at(*at, into).map_err(failed(*at)),
        [Part { source: FILE, at, .. }, ..] => {
            let start = *at;
            let end = span.iter().map(Part::end).max().unwrap_or(start);
            let bytes = (end - start) as usize;
            if buffer.len() < bytes {
                buffer.resize(bytes, 0);
            }
            shared.file.read_at(start, &mut buffer[..bytes]).map_err(failed(start))?;
            copy_out(span, start, &buffer[..bytes])
        }
        [Part { source, .. }, ..] => {
            let bytes = decode_entry(shared, &state.logs, logged, *source)?;
            copy_out(span, 0, &bytes)
        }
    }
}

fn copy_out(span: &mut [Part<'_>], start: u64, bytes: &[u8]) -> Result<()> {
    for part in span {
        let from = (part.at - start) as usize;
        let found = bytes.get(from..from + part.into.len());
        let found = found.ok_or_else(|| Error::corrupt("read log entry").at(part.at))?;
        part.into.copy_from_slice(found);
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
                Some(logged) => check_transfer(&logged.info, read.selection, read.into.len())?,
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
    let parts_found = parts(logged, list, read.selection, read.into, Some(&logged.info.create.fill.value))?;
    let windows = windows(parts_found).into_iter().map(Ok);
    workers::each(windows, threads, |window, buffer| read_window(shared, state, logged, window, buffer))?;
    let blocks = state.arena.blocks();
    for list in logged.recent.lists() {
        for part in parts(logged, list, read.selection, read.into, None)? {
            let at = part.at as usize;
            let block =
                blocks.get(part.source as usize).and_then(|block| block.get(at..at + part.into.len()));
            let lost = || Error::invalid("read elements").with("problem", "a request lost its bytes");
            part.into.copy_from_slice(block.ok_or_else(lost)?);
        }
    }
    Ok(())
}
