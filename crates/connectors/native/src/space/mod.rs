//! Where new bytes go: space that was free at the last commit, else the end of the file.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::Address;

/// New things start at a multiple of this. Lengths are kept exact: other writers leave no gaps, so what follows a
/// range may be in use from its very next byte.
const ALIGNMENT: u64 = 8;

/// The free space of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Space {
    /// First address that is not allocated.
    end: u64,
    /// Free ranges by start, with their length; they do not touch.
    free: BTreeMap<u64, u64>,
    /// The same ranges as length and start, to find the smallest that is large enough.
    by_len: BTreeSet<(u64, u64)>,
    /// Given up since the last commit: what was committed there must stay until the next one.
    pending: Vec<(u64, u64)>,
    /// Ranges that were free at the last commit, by start, with their length. All from `committed_end` on was.
    fresh: BTreeMap<u64, u64>,
    committed_end: u64,
}

impl Space {
    pub(crate) fn new(end: u64) -> Self {
        Space {
            end,
            free: BTreeMap::new(),
            by_len: BTreeSet::new(),
            pending: Vec::new(),
            fresh: BTreeMap::new(),
            committed_end: end,
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Room for `len` bytes: the smallest free range that holds them, else at the end.
    pub(crate) fn allocate(&mut self, len: u64) -> Address {
        let holds = |have: u64, start: u64| start.next_multiple_of(ALIGNMENT) + len <= start + have;
        let fit = self.by_len.range((len.max(1), 0)..).find(|&&(have, start)| holds(have, start)).copied();
        let (range_start, range_end) = match fit {
            Some((have, start)) => {
                self.remove(start, have);
                (start, start + have)
            }
            None => (self.end, self.end.next_multiple_of(ALIGNMENT) + len),
        };
        let start = range_start.next_multiple_of(ALIGNMENT);
        // What lies before and behind was never handed out.
        self.insert(range_start, start - range_start);
        self.insert(start + len, range_end - (start + len));
        self.end = self.end.max(range_end);
        Address(start)
    }

    /// Gives room back: to be used again at once where nothing was committed, else after the next commit.
    pub(crate) fn release(&mut self, at: Address, len: u64) {
        // A damaged file may name room that it does not have.
        let Some(stop) = at.0.checked_add(len).filter(|&stop| len > 0 && stop <= self.end) else { return };
        match self.is_fresh(at.0, stop) {
            true => self.insert(at.0, len),
            false => self.pending.push((at.0, len)),
        }
    }

    /// Whether a range was free at the last commit.
    pub(crate) fn is_fresh(&self, start: u64, stop: u64) -> bool {
        let before = self.fresh.range(..=start).next_back();
        start >= self.committed_end || before.is_some_and(|(s, len)| stop <= s + len)
    }

    /// What was given up becomes free, and the ranges that are free now.
    pub(crate) fn commit(&mut self) -> impl Iterator<Item = (u64, u64)> + '_ {
        for (start, len) in std::mem::take(&mut self.pending) {
            self.insert(start, len);
        }
        self.fresh.clone_from(&self.free);
        self.committed_end = self.end;
        self.free.iter().map(|(&start, &len)| (start, len))
    }

    fn insert(&mut self, mut start: u64, mut len: u64) {
        if len == 0 {
            return;
        }
        if let Some((&before, &have)) = self.free.range(..=start).next_back()
            && before + have >= start
        {
            len = (start + len).max(before + have) - before;
            start = before;
            self.remove(before, have);
        }
        while let Some((&after, &have)) = self.free.range(start..=start + len).next() {
            len = (after + have).max(start + len) - start;
            self.remove(after, have);
        }
        self.free.insert(start, len);
        self.by_len.insert((len, start));
    }

    fn remove(&mut self, start: u64, len: u64) {
        self.free.remove(&start);
        self.by_len.remove(&(len, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_given_up_is_used_again_after_a_commit_and_not_before() {
        let mut space = Space::new(100);
        let a = space.allocate(50);
        assert_eq!((a, space.end()), (Address(104), 154));
        assert_eq!(space.commit().count(), 1);
        space.release(a, 50);
        assert_eq!(space.allocate(8), Address(160));
        assert_eq!(space.commit().collect::<Vec<_>>(), [(100, 60)]);
        assert_eq!(space.allocate(20), Address(104));
        assert_eq!(space.allocate(30), Address(128));
    }

    #[test]
    fn space_taken_and_given_up_between_two_commits_is_used_again_at_once() {
        let mut space = Space::new(100);
        let a = space.allocate(50);
        space.release(a, 50);
        assert_eq!(space.allocate(40), a);
        assert_eq!(space.end(), 154);
    }

    #[test]
    fn neighbours_of_unaligned_ranges_stay_in_use() {
        let mut space = Space::new(1000);
        space.release(Address(101), 21);
        assert_eq!(space.commit().collect::<Vec<_>>(), [(101, 21)]);
        assert_eq!(space.allocate(19), Address(1000));
        assert_eq!(space.allocate(18), Address(104));
        assert_eq!(space.commit().collect::<Vec<_>>(), [(101, 3)]);
    }

    #[test]
    fn neighbours_join() {
        let mut space = Space::new(1000);
        for at in [0, 32, 16, 64] {
            space.release(Address(at), 16);
        }
        assert_eq!(space.commit().collect::<Vec<_>>(), [(0, 48), (64, 16)]);
    }
}
