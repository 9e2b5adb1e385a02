//! Reading a list of small pieces that several datasets share: the place of each element is looked up once for all.
//!
//! The variables of a model are divided alike, into pieces of an element or two. To follow the pieces takes longer than
//! to copy the elements, so the first dataset that has the list of another one turns it into a list of elements.

use files::File;
use model::properties::FillValue;
use model::{Error, Result};

use crate::logged::Logged;
use crate::pieces::{ElementRun, file_of, within};
use crate::read::{WINDOW_BYTES, fill};
use crate::state::Shared;

/// Fewer pieces are read one by one.
const PIECES_MIN: usize = 16;
/// Elements for each piece, those between pieces included: of more, the list of elements takes more memory than that of
/// pieces.
const ELEMENTS_PER_PIECE_MAX: u64 = 8;
/// Entries that the pieces of a chunk lie in.
const ENTRIES_MAX: usize = 64;

/// Bytes of one entry that are read together.
#[derive(Debug, Clone, Copy)]
struct EntryRange {
    /// The entry, as the source of pieces.
    source: u32,
    start: u64,
    end: u64,
    /// Elements of the ranges before this one.
    before: u64,
}

/// Elements that are read together: those of one window of a read of the whole dataset.
#[derive(Debug)]
struct Chunk {
    number: u64,
    /// First element that has a piece, and the one after the last.
    start: u64,
    end: u64,
    ranges: Vec<EntryRange>,
    /// Elements of all ranges.
    count: u64,
    /// By element, which one of the ranges it is; `count` for one without a piece.
    places: Vec<u32>,
}

/// Where the elements of a list of pieces are, chunk by chunk. Chunks of large pieces are left out.
#[derive(Debug)]
pub(crate) struct ElementIndex {
    chunks: Vec<Chunk>,
    /// Bytes of an element.
    size: u64,
}

/// Returns the elements of a chunk: windows of a read of the whole dataset begin at multiples of them.
fn chunk_elements(size: u64) -> u64 {
    (WINDOW_BYTES / size).max(1)
}

impl Chunk {
    /// Returns the index, or `None` if the pieces are better read one by one.
    fn new(number: u64, pieces: &[ElementRun], size: u64) -> Option<Self> {
        let (start, end) = (pieces.first()?.start, pieces.last()?.end());
        if pieces.len() < PIECES_MIN || end - start > ELEMENTS_PER_PIECE_MAX * pieces.len() as u64 {
            return None;
        }
        let (ranges, count) = ranges(pieces, size, 2 * (end - start))?;
        let mut places = vec![count as u32; (end - start) as usize];
        let mut last = 0;
        for piece in pieces {
            last = range_of(&ranges, piece.source, last)?;
            let range = ranges[last];
            let first = (range.before + (piece.at - range.start) / size) as u32;
            let own = &mut places[(piece.start - start) as usize..][..piece.len as usize];
            own.iter_mut().zip(first..).for_each(|(place, at)| *place = at);
        }
        Some(Chunk { number, start, end, ranges, count, places })
    }

    /// Reads all ranges into the buffer, and puts the fill value behind them. Returns `false` where they are not in
    /// files.
    fn read_ranges(
        &self,
        shared: &Shared,
        logged: &Logged,
        value: &FillValue,
        buffer: &mut [u8],
    ) -> Result<bool> {
        let places = self.ranges.iter().map(|range| logged.places[range.source as usize]);
        let files: Option<Vec<_>> = places.map(|place| Some((file_of(place.source)?, place.at))).collect();
        let (Some(files), mut rest) = (files, buffer) else { return Ok(false) };
        for (range, (file, at)) in self.ranges.iter().zip(files) {
            let (own, others) = rest.split_at_mut((range.end - range.start) as usize);
            let at = at + range.start;
            let read = shared.file_of(file)?.read_at(at, own);
            read.map_err(|e| Error::io("read log", &e).at(at))?;
            rest = others;
        }
        fill(value, rest);
        Ok(true)
    }
}

/// Returns which range has an entry; `guess` is that of the piece before.
fn range_of(ranges: &[EntryRange], source: u32, guess: usize) -> Option<usize> {
    match ranges.get(guess).is_some_and(|range| range.source == source) {
        true => Some(guess),
        false => ranges.iter().position(|range| range.source == source),
    }
}

/// Returns what pieces have of each entry, and the number of elements, or `None` where these are too many.
fn ranges(pieces: &[ElementRun], size: u64, elements_max: u64) -> Option<(Vec<EntryRange>, u64)> {
    let mut ranges: Vec<EntryRange> = Vec::new();
    let mut last = 0;
    for piece in pieces {
        let (source, start, end) = (piece.source, piece.at, piece.at + piece.len * size);
        match range_of(&ranges, source, last) {
            Some(found) => {
                let range = &mut ranges[found];
                (range.start, range.end, last) = (range.start.min(start), range.end.max(end), found);
            }
            None if ranges.len() == ENTRIES_MAX => return None,
            None => {
                last = ranges.len();
                ranges.push(EntryRange { source, start, end, before: 0 });
            }
        }
    }
    let mut count = 0u64;
    for range in &mut ranges {
        range.before = count;
        count = count.checked_add((range.end - range.start) / size)?;
    }
    (count <= elements_max && count < u64::from(u32::MAX)).then_some((ranges, count))
}

impl ElementIndex {
    /// Returns where the elements of a list are; the list is in ascending order without overlap.
    pub(crate) fn new(list: &[ElementRun], size: u64) -> Self {
        let (mut chunks, mut next) = (Vec::new(), list.first().map(|piece| piece.start));
        while let Some(start) = next {
            let number = start / chunk_elements(size);
            let (from, to) = bounds(number, size);
            let pieces: Vec<ElementRun> = within(list, from, to, size).collect();
            chunks.extend(Chunk::new(number, &pieces, size));
            let rest = &list[list.partition_point(|piece| piece.end() <= to)..];
            next = rest.first().map(|piece| piece.start.max(to));
        }
        ElementIndex { chunks, size }
    }

    /// Returns the chunk of elements `from..to`, if they are in one and are much of it.
    fn chunk_of(&self, from: u64, to: u64) -> Option<&Chunk> {
        let number = from / chunk_elements(self.size);
        let found = self.chunks.binary_search_by_key(&number, |chunk| chunk.number).ok()?;
        let chunk = &self.chunks[found];
        let wanted = to.min(chunk.end).saturating_sub(from.max(chunk.start));
        (to <= bounds(number, self.size).1 && 2 * wanted >= chunk.end - chunk.start).then_some(chunk)
    }

    /// Reads elements `from..to`, and fills those that have no piece. Returns `false`, and reads nothing, if they are
    /// better read otherwise.
    pub(crate) fn read(
        &self,
        shared: &Shared,
        logged: &Logged,
        (from, to): (u64, u64),
        into: &mut [u8],
        buffer: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(chunk) = self.chunk_of(from, to) else { return Ok(false) };
        let (size, value) = (self.size as usize, &logged.info.create.fill.value);
        let bytes = (chunk.count as usize + 1) * size;
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        let buffer = &mut buffer[..bytes];
        if !chunk.read_ranges(shared, logged, value, buffer)? {
            return Ok(false);
        }
        let (first, end) = (from.max(chunk.start), to.min(chunk.end));
        let (before, rest) = into.split_at_mut((first - from) as usize * size);
        let (own, after) = rest.split_at_mut((end - first) as usize * size);
        fill(value, before);
        fill(value, after);
        let places = &chunk.places[(first - chunk.start) as usize..(end - chunk.start) as usize];
        match size {
            4 => take::<4>(own, buffer, places),
            8 => take::<8>(own, buffer, places),
            _ => take_any(own, buffer, places, size),
        }
        Ok(true)
    }
}

/// Returns the first element of a chunk, and the one after its last.
fn bounds(number: u64, size: u64) -> (u64, u64) {
    let start = number * chunk_elements(size);
    (start, start.saturating_add(chunk_elements(size)))
}

/// Copies elements of `N` bytes from their places.
fn take<const N: usize>(into: &mut [u8], from: &[u8], places: &[u32]) {
    let from = from.as_chunks::<N>().0;
    into.as_chunks_mut::<N>()
        .0
        .iter_mut()
        .zip(places)
        .for_each(|(into, place)| *into = from[*place as usize]);
}

fn take_any(into: &mut [u8], from: &[u8], places: &[u32], size: usize) {
    let copy =
        |(into, place): (&mut [u8], &u32)| into.copy_from_slice(&from[*place as usize * size..][..size]);
    into.chunks_exact_mut(size).zip(places).for_each(copy);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, len: u64, at: u64, source: u32) -> ElementRun {
        ElementRun { start, len, at, source }
    }

    #[test]
    fn each_element_is_found_in_its_entry_and_others_behind_all() {
        let alternating = (0..40).map(|n| piece(10 + 3 * n, 2, 100 + n / 2 * 8, n as u32 % 2));
        let index = ElementIndex::new(&alternating.collect::<Vec<_>>(), 4);
        let chunk = index.chunk_of(0, 200).unwrap();
        assert_eq!((chunk.start, chunk.end, chunk.count), (10, 129, 80));
        assert_eq!(chunk.places[..9], [0, 1, 80, 40, 41, 80, 2, 3, 80]);
        assert!(index.chunk_of(0, 20).is_none(), "a few elements are not worth all ranges");
    }

    #[test]
    fn large_or_distant_pieces_have_no_list_of_elements() {
        let large: Vec<_> = (0..40).map(|n| piece(9 * n, 9, 36 * n, 0)).collect();
        let far: Vec<_> = (0..40).map(|n| piece(2 * n, 1, n << 40, 0)).collect();
        let many: Vec<_> = (0..100).map(|n| piece(2 * n, 1, 0, n as u32)).collect();
        for list in [large, far, many] {
            assert!(ElementIndex::new(&list, 4).chunks.is_empty());
        }
    }

    #[test]
    fn chunks_are_those_of_windows() {
        let most = chunk_elements(4);
        let list: Vec<_> = (0..most).map(|n| piece(2 * n + 1, 2, 8 * n, 0)).collect();
        let index = ElementIndex::new(&list, 4);
        assert_eq!(index.chunks.iter().map(|chunk| chunk.number).collect::<Vec<_>>(), [0, 1]);
        let (first, second) = (&index.chunks[0], &index.chunks[1]);
        assert_eq!((first.start, first.end, second.start), (1, most, most));
        assert_eq!(second.end, 2 * most);
    }
}
