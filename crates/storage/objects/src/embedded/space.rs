//! The free bytes of the data file.
//!
//! Nothing of this is stored: what the index points to is taken, and the rest is free.

use std::collections::{BTreeMap, BTreeSet};

/// Extents begin at pages, so that a whole one is copied page by page.
const PAGE: u64 = 4096;
/// Candidates of a size that are tried: enough, since most extents are whole pages.
const TRIES: usize = 8;

/// Free ranges of the data file.
#[derive(Debug, Default)]
pub(super) struct Space {
    free: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    end: u64,
}

impl Space {
    /// Returns the space around extents that are taken, in any order.
    pub(super) fn around(mut taken: Vec<(u64, u64)>) -> Space {
        taken.sort_unstable();
        let mut space = Space::default();
        for (at, length) in taken {
            if at > space.end {
                space.insert(space.end, at - space.end);
            }
            space.end = space.end.max(at.saturating_add(length));
        }
        space
    }

    /// Takes bytes that no one has.
    pub(super) fn take(&mut self, length: u64) -> u64 {
        let fits = |&(free, at): &(u64, u64)| at.next_multiple_of(PAGE) + length <= at + free;
        let found = self.by_length.range((length, 0)..).take(TRIES).copied().find(fits);
        let Some((free, at)) = found else { return self.extend(length) };
        self.remove(at, free);
        let start = at.next_multiple_of(PAGE);
        self.insert(at, start - at);
        self.insert(start + length, at + free - start - length);
        start
    }

    fn extend(&mut self, length: u64) -> u64 {
        let start = self.end.next_multiple_of(PAGE);
        self.insert(self.end, start - self.end);
        self.end = start + length;
        start
    }

    /// Gives bytes back.
    pub(super) fn give(&mut self, at: u64, length: u64) {
        let (mut at, mut end) = (at, at + length);
        if let Some((&before, &free)) = self.free.range(..at).next_back().filter(|(a, b)| *a + *b == at) {
            self.remove(before, free);
            at = before;
        }
        if let Some(&free) = self.free.get(&end) {
            self.remove(end, free);
            end += free;
        }
        if end == self.end {
            self.end = at;
        } else {
            self.insert(at, end - at);
        }
    }

    fn insert(&mut self, at: u64, length: u64) {
        if length > 0 {
            self.free.insert(at, length);
            self.by_length.insert((length, at));
        }
    }

    fn remove(&mut self, at: u64, length: u64) {
        self.free.remove(&at);
        self.by_length.remove(&(length, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_never_overlap_and_freed_ones_are_used_again() {
        let mut space = Space::around(vec![(8192, 5000), (0, 100)]);
        let mut taken = vec![(0, 100), (8192, 5000)];
        let mut random = 7u64;
        for _ in 0..3_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = random >> 33;
            if number % 5 < 2 && !taken.is_empty() {
                let (at, length) = taken.swap_remove(number as usize / 5 % taken.len());
                // Half of it, or all.
                let given = if number.is_multiple_of(5) { length } else { length / 2 };
                space.give(at, given);
                if given < length {
                    taken.push((at + given, length - given));
                }
            } else {
                let length = 1 + number / 5 % 20_000;
                taken.push((space.take(length), length));
            }
            let mut sorted = taken.clone();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        }
        for (at, length) in taken {
            space.give(at, length);
        }
        assert_eq!(space.end, 0);
    }
}
