//! Where new bytes go: space that was free at the last commit, else the end of the file.

use std::collections::BTreeMap;

use crate::format::Address;

/// Everything in a file starts at a multiple of this.
const ALIGNMENT: u64 = 8;

/// The free space of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Space {
    /// First address that is not allocated.
    end: u64,
    /// Free ranges by start, with their length; they do not touch.
    free: BTreeMap<u64, u64>,
    /// Given up since the last commit: what was committed there must stay until the next one.
    pending: Vec<(u64, u64)>,
}

impl Space {
    pub(crate) fn new(end: u64) -> Self {
        Space { end, free: BTreeMap::new(), pending: Vec::new() }
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Room for `len` bytes: the smallest free range that holds them, else at the end.
    pub(crate) fn allocate(&mut self, len: u64) -> Address {
        let len = len.next_multiple_of(ALIGNMENT);
        let fit = self.free.iter().filter(|(_, have)| **have >= len).min_by_key(|(_, have)| **have);
        if let Some((&start, &have)) = fit {
            self.free.remove(&start);
            if have > len {
                self.free.insert(start + len, have - len);
            }
            return Address(start);
        }
        let start = self.end.next_multiple_of(ALIGNMENT);
        self.end = start + len;
        Address(start)
    }

    /// Gives room back; it can be used again after the next commit.
    pub(crate) fn release(&mut self, at: Address, len: u64) {
        if len > 0 {
            self.pending.push((at.0, len.next_multiple_of(ALIGNMENT)));
        }
    }

    /// What was given up becomes free, and the ranges that are free now.
    pub(crate) fn commit(&mut self) -> impl Iterator<Item = (u64, u64)> + '_ {
        for (start, len) in std::mem::take(&mut self.pending) {
            self.insert(start, len);
        }
        self.free.iter().map(|(&start, &len)| (start, len))
    }

    fn insert(&mut self, mut start: u64, mut len: u64) {
        if let Some((&before, &have)) = self.free.range(..=start).next_back()
            && before + have >= start
        {
            len = (start + len).max(before + have) - before;
            start = before;
            self.free.remove(&before);
        }
        while let Some((&after, &have)) = self.free.range(start..=start + len).next() {
            len = (after + have).max(start + len) - start;
            self.free.remove(&after);
        }
        self.free.insert(start, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_given_up_is_used_again_after_a_commit_and_not_before() {
        let mut space = Space::new(100);
        let a = space.allocate(50);
        assert_eq!((a, space.end()), (Address(104), 160));
        space.release(a, 50);
        assert_eq!(space.allocate(8), Address(160));
        assert_eq!(space.commit().collect::<Vec<_>>(), [(104, 56)]);
        assert_eq!(space.allocate(20), Address(104));
        assert_eq!(space.allocate(30), Address(128));
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
