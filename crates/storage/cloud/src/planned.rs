//! Elements that will be read, in the parts in which they are requested.

use std::collections::VecDeque;
use std::ops::Range;

/// Ranges nearer than this are fetched with one request: so much arrives in the time that one more request takes.
pub(crate) const GAP_BYTES: u64 = 64 << 10;

/// What is fetched with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) range: Range<u64>,
    /// It has one reader, from its start on: the bytes can go into the reader's buffer.
    pub(crate) is_direct: bool,
}

/// Parts that will be read, in the order in which they were announced.
#[derive(Debug, Default)]
pub(crate) struct Planned(VecDeque<Part>);

impl Planned {
    pub(crate) fn add(&mut self, parts: impl Iterator<Item = Part>) {
        self.0.extend(parts);
    }

    pub(crate) fn first(&self) -> Option<&Part> {
        self.0.front()
    }

    pub(crate) fn next(&mut self) -> Option<Part> {
        self.0.pop_front()
    }

    /// Returns whether one part that goes into its reader's buffer has all of `range`.
    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        let covers = |part: &Part| part.range.start <= range.start && range.end <= part.range.end;
        self.0.iter().any(|part| part.is_direct && covers(part))
    }

    /// Forgets what is read without waiting for its turn: it would be fetched twice.
    pub(crate) fn remove(&mut self, read: &Range<u64>) {
        if self.0.iter().any(|Part { range, .. }| range.start < read.end && read.start < range.end) {
            let rest = std::mem::take(&mut self.0).into_iter().flat_map(|part| around(part, read));
            self.0 = rest.filter(|part| part.range.start < part.range.end).collect();
        }
    }
}

/// Returns what of a part lies before a range, and what lies after it.
fn around(part: Part, read: &Range<u64>) -> [Part; 2] {
    let Part { range, is_direct } = part;
    let ranges = [range.start..range.end.min(read.start), range.start.max(read.end)..range.end];
    ranges.map(|range| Part { range, is_direct })
}

/// Returns ranges of `part_bytes` and a rest.
pub(crate) fn parts(range: Range<u64>, part_bytes: u64) -> impl Iterator<Item = Range<u64>> {
    let starts = range.clone().step_by(part_bytes as usize);
    starts.map(move |start| start..range.end.min(start + part_bytes))
}

/// Returns ranges of about the same size, of at most `part_bytes`: none is so small that it is not worth a request.
pub(crate) fn even_parts(range: Range<u64>, part_bytes: u64) -> impl Iterator<Item = Range<u64>> {
    let len = range.end - range.start;
    let count = len.div_ceil(part_bytes).max(1);
    parts(range, len.div_ceil(count).max(1))
}

/// Returns the ranges in order, within a file of `len` bytes. Those that lie near each other become one, except where
/// `is_direct` says that a range goes into its reader's buffer.
pub(crate) fn joined(ranges: &[Range<u64>], len: u64, is_direct: impl Fn(&Range<u64>) -> bool) -> Vec<Part> {
    let mut sorted: Vec<_> = ranges.iter().map(|range| range.start..range.end.min(len)).collect();
    sorted.retain(|range| range.start < range.end);
    sorted.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Part> = Vec::with_capacity(sorted.len());
    for range in sorted {
        let is_direct = is_direct(&range);
        match joined.last_mut().filter(|last| !last.is_direct && !is_direct) {
            Some(last) if range.start <= last.range.end.saturating_add(GAP_BYTES) => {
                last.range.end = last.range.end.max(range.end);
            }
            _ => joined.push(Part { range, is_direct }),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(range: Range<u64>) -> Part {
        Part { range, is_direct: false }
    }

    #[test]
    fn ranges_near_each_other_are_one_request() {
        let far = 10 * GAP_BYTES;
        let none = |_: &Range<u64>| false;
        assert_eq!(joined(&[far..far + 5, 0..10, 20..30], 1 << 40, none), [part(0..30), part(far..far + 5)]);
        assert_eq!(joined(&[0..10, 5..7, far..far], 8, none), [part(0..8)]);
    }

    #[test]
    fn ranges_with_a_buffer_of_their_own_stay_apart() {
        let large = |range: &Range<u64>| range.end - range.start >= 100;
        let parts = joined(&[0..100, 100..200, 200..210, 210..220], 1 << 40, large);
        let direct = |range| Part { range, is_direct: true };
        assert_eq!(parts, [direct(0..100), direct(100..200), part(200..220)]);
    }

    #[test]
    fn what_was_read_is_not_planned_any_more() {
        let bytes = 1000;
        let mut planned = Planned::default();
        planned.add([0..bytes, bytes..bytes + 10, 2 * bytes..2 * bytes + 30].into_iter().map(part));
        planned.remove(&(5..bytes + 10));
        planned.remove(&(2 * bytes + 10..2 * bytes + 20));
        let rest: Vec<_> = std::iter::from_fn(|| planned.next()).map(|part| part.range).collect();
        let last = 2 * bytes;
        assert_eq!(rest, [0..5, last..last + 10, last + 20..last + 30]);
    }

    #[test]
    fn even_parts_have_all_bytes_and_no_small_rest() {
        assert_eq!(even_parts(10..21, 10).collect::<Vec<_>>(), [10..16, 16..21]);
        assert_eq!(even_parts(10..20, 10).collect::<Vec<_>>(), std::slice::from_ref(&(10..20)));
        assert_eq!(even_parts(0..0, 10).count(), 0);
    }
}
