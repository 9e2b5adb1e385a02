//! Bytes that wait for a commit.

use std::collections::BTreeMap;

use model::{Error, Result};

/// Bytes by offset; they do not overlap.
#[derive(Debug, Default)]
pub(super) struct Staged(BTreeMap<u64, Vec<u8>>);

impl Staged {
    /// Keeps bytes. What was there before is replaced; its rest stays.
    pub(super) fn put(&mut self, at: u64, data: &[u8]) -> Result<()> {
        let end = at
            .checked_add(data.len() as u64)
            .ok_or_else(|| Error::limit("write to file").with("offset", at))?;
        let overlapping: Vec<u64> = self.range(at, end).map(|(start, _)| start).collect();
        for start in overlapping {
            let old = self.0.remove(&start).unwrap_or_default();
            let old_end = start + old.len() as u64;
            if start < at {
                self.0.insert(start, old[..(at - start) as usize].to_vec());
            }
            if old_end > end {
                self.0.insert(end, old[(end - start) as usize..].to_vec());
            }
        }
        self.0.insert(at, data.to_vec());
        Ok(())
    }

    /// As `put`, for bytes that as a rule follow or replace others.
    pub(super) fn put_near(&mut self, at: u64, data: &[u8]) -> Result<()> {
        let room = self.0.range(at.saturating_add(1)..).next().map_or(u64::MAX, |(&next, _)| next - at);
        if let Some((&start, piece)) = self.0.range_mut(..=at).next_back() {
            let offset = usize::try_from(at - start).unwrap_or(usize::MAX);
            if let Some(there) = piece.get_mut(offset..offset.saturating_add(data.len())) {
                there.copy_from_slice(data);
                return Ok(());
            }
            if offset == piece.len() && data.len() as u64 <= room {
                piece.extend_from_slice(data);
                return Ok(());
            }
        }
        self.put(at, data)
    }

    /// Puts what is kept over what was read from the file at `at`.
    pub(super) fn overlay(&self, at: u64, into: &mut [u8]) {
        let end = at.saturating_add(into.len() as u64);
        self.range(at, end).for_each(|piece| overlay(piece, at, into));
    }

    /// What lies at least in part between `at` and `end`.
    fn range(&self, at: u64, end: u64) -> impl Iterator<Item = (u64, &[u8])> {
        let before = self.0.range(..at).next_back().filter(|(s, d)| *s + d.len() as u64 > at);
        before.into_iter().chain(self.0.range(at..end.max(at))).map(|(&start, data)| (start, data.as_slice()))
    }

    /// Whether anything lies at least in part between `at` and `end`.
    pub(super) fn holds_some_of(&self, at: u64, end: u64) -> bool {
        self.range(at, end).next().is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0.iter().map(|(&at, data)| (at, data.as_slice()))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.values().map(|d| d.len() as u64).sum()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Puts a piece over what was read from the file at `at`, as far as they overlap.
pub(super) fn overlay((start, data): (u64, &[u8]), at: u64, into: &mut [u8]) {
    let end = at.saturating_add(into.len() as u64);
    let (from, to) = (start.max(at), (start + data.len() as u64).min(end));
    if from < to {
        let source = &data[(from - start) as usize..(to - start) as usize];
        into[(from - at) as usize..(to - at) as usize].copy_from_slice(source);
    }
}
