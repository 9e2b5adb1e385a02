//! Free ranges of one kind.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Free ranges that can be found by place and by length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pool {
    /// Ranges by start, with their length; they do not touch, unless something keeps them apart.
    by_start: BTreeMap<u64, u64>,
    /// The ranges as length and start, to find the smallest that is large enough.
    by_len: BTreeSet<(u64, u64)>,
}

/// Returns the next multiple, or the last address where there is none.
pub(super) fn round_up(n: u64, multiple: u64) -> u64 {
    n.checked_next_multiple_of(multiple).unwrap_or(u64::MAX)
}

impl Pool {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.by_start.iter().map(|(&start, &len)| (start, len))
    }

    /// Returns whether one range has all from `start` to `stop`.
    pub(super) fn contains(&self, start: u64, stop: u64) -> bool {
        let before = self.by_start.range(..=start).next_back();
        before.is_some_and(|(at, len)| stop <= at + len)
    }

    pub(super) fn clear(&mut self) {
        self.by_start.clear();
        self.by_len.clear();
    }

    /// Takes `len` bytes that start at a multiple of `align` from the smallest range that holds them.
    pub(super) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let holds =
            |have: u64, start: u64| round_up(start, align).saturating_add(len) <= start.saturating_add(have);
        let (have, start) =
            self.by_len.range((len.max(1), 0)..).find(|&&(have, start)| holds(have, start)).copied()?;
        self.remove(start, have);
        let at = round_up(start, align);
        // What lies before and behind was never handed out, and touches nothing that is free.
        self.put(start, at - start);
        self.put(at + len, start + have - (at + len));
        Some(at)
    }

    /// Returns where the range starts that ends at `end`.
    pub(super) fn start_of(&self, end: u64) -> Option<u64> {
        let (&start, &len) = self.by_start.range(..end).next_back()?;
        (start.saturating_add(len) == end).then_some(start)
    }

    /// Forgets what lies behind `end`.
    pub(super) fn cut(&mut self, end: u64) {
        while let Some((&start, &len)) = self.by_start.last_key_value() {
            if start.saturating_add(len) <= end {
                break;
            }
            self.remove(start, len);
            self.put(start, end.saturating_sub(start));
        }
    }

    /// Adds a range and joins it with its neighbours in `within`. What became of it.
    pub(super) fn insert(&mut self, mut start: u64, mut len: u64, within: Range<u64>) -> (u64, u64) {
        if len == 0 {
            return (start, len);
        }
        if let Some((&before, &have)) = self.by_start.range(within.start..=start).next_back()
            && before + have >= start
        {
            len = (start + len).max(before + have) - before;
            start = before;
            self.remove(before, have);
        }
        let last = start.saturating_add(len).min(within.end.saturating_sub(1)).max(start);
        while let Some((&after, &have)) = self.by_start.range(start..=last.min(start + len)).next() {
            len = (after + have).max(start + len) - start;
            self.remove(after, have);
        }
        self.put(start, len);
        (start, len)
    }

    fn put(&mut self, start: u64, len: u64) {
        if len > 0 {
            self.by_start.insert(start, len);
            self.by_len.insert((len, start));
        }
    }

    pub(super) fn remove(&mut self, start: u64, len: u64) {
        self.by_start.remove(&start);
        self.by_len.remove(&(len, start));
    }
}
