//! Pieces: elements that lie one after another, and where their bytes are. A later piece hides what it overlaps.

use std::borrow::Cow;
use std::sync::Arc;

use crate::element_index::ElementIndex;
use crate::subfiles::SUBFILES_MAX;

/// The file itself as the source of a piece; its subfiles come before it.
pub(crate) const FILE: u32 = u32::MAX;

/// Returns a file as the source of a piece: 0 is the file itself.
pub(crate) fn file_source(file: u32) -> u32 {
    FILE - file
}

/// Returns which file a source is, if it is one.
pub(crate) fn file_of(source: u32) -> Option<u32> {
    Some(FILE - source).filter(|file| *file <= SUBFILES_MAX)
}

/// Elements `start..start + len`, whose bytes begin at `at` of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementRun {
    /// First element, counted in the flat extent.
    pub(crate) start: u64,
    /// Elements; never none.
    pub(crate) len: u64,
    /// First byte in the source.
    pub(crate) at: u64,
    /// Which source: a block of memory, an entry, or a file.
    pub(crate) source: u32,
}

/// Bytes that a run takes in memory while it waits.
pub(crate) const RUN_BYTES: u64 = size_of::<ElementRun>() as u64;

impl ElementRun {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.len
    }

    /// Returns what lies in `from..to`, which it meets.
    pub(crate) fn cut(&self, from: u64, to: u64, size: u64) -> ElementRun {
        let (start, end) = (self.start.max(from), self.end().min(to));
        ElementRun { start, len: end - start, at: self.at + (start - self.start) * size, source: self.source }
    }

    /// Returns whether `next` goes on where this ends, in the extent and in the source.
    fn is_followed_by(&self, next: &ElementRun, size: u64) -> bool {
        self.end() == next.start && self.source == next.source && self.at + self.len * size == next.at
    }
}

/// Adds a piece behind others; one that goes on where the last ends makes it longer.
pub(crate) fn push(pieces: &mut Vec<ElementRun>, piece: ElementRun, size: u64) {
    match pieces.last_mut() {
        Some(last) if last.is_followed_by(&piece, size) => last.len += piece.len,
        _ => pieces.push(piece),
    }
}

/// Two lists, each in ascending order without overlap, as one: newer pieces hide what they overlap.
fn overlay(older: &[ElementRun], newer: &[ElementRun], size: u64) -> Vec<ElementRun> {
    let mut merged = Vec::with_capacity(older.len() + newer.len());
    let mut rest = older.iter().copied();
    let mut old = rest.next();
    for new in newer {
        while let Some(piece) = old.filter(|piece| piece.start < new.end()) {
            if piece.start < new.start {
                merged.push(piece.cut(0, new.start, size));
            }
            if piece.end() > new.end() {
                old = Some(piece.cut(new.end(), u64::MAX, size));
                break;
            }
            old = rest.next();
        }
        merged.push(*new);
    }
    merged.extend(old.into_iter().chain(rest));
    merged
}

fn is_in_order(pieces: &[ElementRun]) -> bool {
    pieces.windows(2).all(|pair| pair[0].end() <= pair[1].start)
}

/// Pieces in the order of their writing become a list in ascending order without overlap.
pub(crate) fn without_overlaps(pieces: &[ElementRun], size: u64) -> Cow<'_, [ElementRun]> {
    if is_in_order(pieces) {
        return Cow::Borrowed(pieces);
    }
    let mut sorted = pieces.to_vec();
    // What several processes of a model had comes as so many ascending lists: this sort merges them.
    sorted.sort_by_key(|piece| piece.start);
    if is_in_order(&sorted) {
        return Cow::Owned(sorted);
    }
    let ascending = pieces.chunk_by(|a, b| a.end() <= b.start).map(|list| Arc::new(list.to_vec()));
    Cow::Owned(Arc::unwrap_or_clone(unite(ascending.collect(), size)))
}

/// Pieces in ascending order without overlap.
pub(crate) type PieceList = Arc<Vec<ElementRun>>;

/// Lists from old to new become one, two neighbours at a time.
fn unite(mut lists: Vec<PieceList>, size: u64) -> PieceList {
    while lists.len() > 1 {
        let pairs = lists.chunks(2).map(|pair| match pair {
            [older, newer] => Arc::new(overlay(older, newer, size)),
            rest => rest.first().cloned().unwrap_or_default(),
        });
        lists = pairs.collect();
    }
    lists.pop().unwrap_or_default()
}

/// The pieces of a dataset: a few lists, each newer and much shorter than the one before it.
#[derive(Debug, Default)]
pub(crate) struct Index {
    lists: Vec<PieceList>,
    /// Where the elements of the only list are, if other datasets have it too.
    elements: Option<Arc<ElementIndex>>,
}

impl Index {
    /// Adds a list that is newer than all others, in ascending order without overlap.
    pub(crate) fn push(&mut self, mut list: Vec<ElementRun>, size: u64) {
        self.elements = None;
        while let Some(last) = self.lists.pop_if(|last| last.len() <= 2 * list.len()) {
            list = overlay(&last, &list, size);
        }
        if !list.is_empty() {
            self.lists.push(Arc::new(list));
        }
    }

    /// Returns the only list, if there is one and no other.
    pub(crate) fn whole(&self) -> Option<&PieceList> {
        self.lists.first().filter(|_| self.lists.len() == 1)
    }

    /// Takes a list that was made for another dataset with the same entries.
    pub(crate) fn share(&mut self, list: PieceList, elements: Option<Arc<ElementIndex>>) {
        (self.lists, self.elements) = (vec![list], elements);
    }

    /// Returns where the elements are, if that was looked up.
    pub(crate) fn elements(&self) -> Option<&ElementIndex> {
        self.elements.as_deref()
    }

    /// Makes all lists one.
    pub(crate) fn merge(&mut self, size: u64) {
        if self.lists.len() > 1 {
            let lists = std::mem::take(&mut self.lists);
            self.lists = vec![unite(lists, size)];
        }
    }

    pub(crate) fn is_merged(&self) -> bool {
        self.lists.len() <= 1
    }

    pub(crate) fn clear(&mut self) {
        self.lists.clear();
        self.elements = None;
    }

    /// Returns the lists, oldest first.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &[ElementRun]> {
        self.lists.iter().map(|list| list.as_slice())
    }
}

/// Returns what of an ordered list lies in `from..to`.
pub(crate) fn within(list: &[ElementRun], from: u64, to: u64, size: u64) -> impl Iterator<Item = ElementRun> {
    let first = list.partition_point(|piece| piece.end() <= from);
    let meets = move |piece: &&ElementRun| piece.start < to;
    list[first..].iter().take_while(meets).map(move |piece| piece.cut(from, to, size))
}

/// Returns the pieces in groups of bounded size; one that is larger is cut.
pub(crate) fn batches(pieces: &[ElementRun], size: u64, bytes_max: u64) -> Vec<Vec<ElementRun>> {
    let most = (bytes_max / size).max(1);
    let (mut batches, mut batch, mut capacity) = (Vec::new(), Vec::new(), most);
    for piece in pieces {
        let mut from = piece.start;
        while from < piece.end() {
            let to = piece.end().min(from + capacity);
            batch.push(piece.cut(from, to, size));
            capacity -= to - from;
            from = to;
            if capacity == 0 {
                batches.push(std::mem::take(&mut batch));
                capacity = most;
            }
        }
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the piece that shows at every element, by trying them all.
    fn shown(pieces: &[ElementRun], element: u64) -> Option<(u32, u64)> {
        let newest = pieces.iter().rfind(|piece| (piece.start..piece.end()).contains(&element))?;
        Some((newest.source, newest.at + (element - newest.start) * 4))
    }

    #[test]
    fn newest_piece_shows_whatever_the_order() {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for round in 0..500u32 {
            let pieces: Vec<ElementRun> = (0..next(40))
                .map(|n| ElementRun {
                    start: next(60),
                    len: 1 + next(12),
                    at: n * 1000,
                    source: n as u32 % 3,
                })
                .collect();
            let disjoint = without_overlaps(&pieces, 4);
            assert!(is_in_order(&disjoint), "round {round}");
            let mut index = Index::default();
            pieces.iter().for_each(|piece| index.push(vec![*piece], 4));
            index.merge(4);
            for element in 0..80 {
                let wanted = shown(&pieces, element);
                assert_eq!(shown(&disjoint, element), wanted, "round {round}, element {element}");
                let found = index.lists().flat_map(|list| within(list, element, element + 1, 4)).last();
                assert_eq!(found.map(|piece| (piece.source, piece.at)), wanted, "round {round}");
            }
        }
    }

    #[test]
    fn pieces_that_go_on_become_one() {
        let mut pieces = Vec::new();
        for n in 0..1000u64 {
            push(&mut pieces, ElementRun { start: n * 3, len: 3, at: n * 12, source: 0 }, 4);
        }
        assert_eq!(pieces, [ElementRun { start: 0, len: 3000, at: 0, source: 0 }]);
    }
}
