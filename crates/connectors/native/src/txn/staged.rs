//! Bytes that wait for a commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Error, Result};

/// Bytes that readers may hold while they are staged.
pub(crate) type SharedBytes = Arc<Vec<u8>>;

/// Bytes by offset; they do not overlap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Staged(BTreeMap<u64, SharedBytes>);

/// Less is not worth a place in the journal.
const SPILLED_BYTES_MIN: usize = 512;

impl Staged {
    /// Keeps bytes. What was there before is replaced; its rest stays.
    pub(crate) fn put(&mut self, at: u64, data: &[u8]) -> Result<()> {
        let end = at
            .checked_add(data.len() as u64)
            .ok_or_else(|| Error::limit("write to file").with("offset", at))?;
        self.cut(at, end);
        self.insert(at, data);
        Ok(())
    }

    fn insert(&mut self, at: u64, data: &[u8]) {
        self.0.insert(at, Arc::new(data.to_vec()));
    }

    /// Takes others' pieces, which lie where this one has none.
    pub(super) fn append(&mut self, mut others: Staged) {
        self.0.append(&mut others.0);
    }

    /// Forgets what lies between `at` and `end`.
    pub(super) fn cut(&mut self, at: u64, end: u64) {
        let overlapping: Vec<u64> = self.shared(at, end).map(|(start, _)| start).collect();
        for start in overlapping {
            let old = self.0.remove(&start).unwrap_or_default();
            let old_end = start + old.len() as u64;
            if start < at {
                self.insert(start, &old[..(at - start) as usize]);
            }
            if old_end > end {
                self.insert(end, &old[(end - start) as usize..]);
            }
        }
    }

    /// As `put`, for bytes that as a rule follow or replace others, or lie where nothing is.
    pub(crate) fn put_near(&mut self, at: u64, data: &[u8]) -> Result<()> {
        let next = self.0.range(at.saturating_add(1)..).next().map_or(u64::MAX, |(&next, _)| next);
        let mut is_clear = data.len() as u64 <= next - at;
        if let Some((&start, piece)) = self.0.range_mut(..=at).next_back() {
            let offset = usize::try_from(at - start).unwrap_or(usize::MAX);
            let len = piece.len();
            if offset.saturating_add(data.len()) <= len {
                Arc::make_mut(piece)[offset..offset + data.len()].copy_from_slice(data);
                return Ok(());
            }
            if offset == len && is_clear {
                Arc::make_mut(piece).extend_from_slice(data);
                return Ok(());
            }
            is_clear &= offset > len;
        }
        if !is_clear {
            return self.put(at, data);
        }
        self.insert(at, data);
        Ok(())
    }

    /// Returns what lies at least in part between `at` and `end`.
    pub(crate) fn shared(&self, at: u64, end: u64) -> impl Iterator<Item = (u64, &SharedBytes)> {
        let before = self.0.range(..at).next_back().filter(|(s, d)| *s + d.len() as u64 > at);
        before.into_iter().chain(self.0.range(at..end.max(at))).map(|(&start, data)| (start, data))
    }

    /// Returns whether anything lies at least in part between `at` and `end`.
    pub(crate) fn holds_some_of(&self, at: u64, end: u64) -> bool {
        self.shared(at, end).next().is_some()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0.iter().map(|(&at, data)| (at, data.as_slice()))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.values().map(|d| d.len() as u64).sum()
    }

    /// Returns what is large enough for the journal.
    pub(super) fn large(&self) -> impl Iterator<Item = (u64, &SharedBytes)> {
        let all = self.0.iter().map(|(&at, data)| (at, data));
        all.filter(|(_, data)| data.len() >= SPILLED_BYTES_MIN)
    }

    /// Takes out what begins at `at`.
    pub(super) fn take(&mut self, at: u64) {
        self.0.remove(&at);
    }

    /// Returns the number of bytes that are large enough for the journal.
    pub(super) fn large_bytes(&self) -> u64 {
        self.large().map(|(_, data)| data.len() as u64).sum()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Puts a piece over what was read from the file at `at`, as far as they overlap.
pub(crate) fn overlay((start, data): (u64, &[u8]), at: u64, into: &mut [u8]) {
    let end = at.saturating_add(into.len() as u64);
    let (from, to) = (start.max(at), (start + data.len() as u64).min(end));
    if from < to {
        let source = &data[(from - start) as usize..(to - start) as usize];
        into[(from - at) as usize..(to - at) as usize].copy_from_slice(source);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_come_to_the_same_places_both_ways(puts in prop::collection::vec((0u64..60, 1usize..20), 0..30)) {
            let (mut plain, mut near) = (Staged::default(), Staged::default());
            for (n, &(at, len)) in puts.iter().enumerate() {
                let data = vec![n as u8 + 1; len];
                plain.put(at, &data).unwrap();
                near.put_near(at, &data).unwrap();
                let (mut a, mut b) = ([0; 80], [0; 80]);
                plain.iter().for_each(|piece| overlay(piece, 0, &mut a));
                near.iter().for_each(|piece| overlay(piece, 0, &mut b));
                prop_assert_eq!(a, b);
                prop_assert_eq!(plain.bytes(), near.bytes());
            }
        }
    }
}
