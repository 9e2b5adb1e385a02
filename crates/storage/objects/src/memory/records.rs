//! An array of records with holes.

use std::collections::BTreeMap;

/// Runs of records that are there: none touch, none overlap.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// Bytes of one record.
    pub(super) size: u32,
    /// Bytes by the offset of the first.
    runs: BTreeMap<u64, Vec<u8>>,
}

impl Records {
    pub(super) fn new(size: u32) -> Records {
        Records { size, runs: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns one past the last record.
    pub(super) fn end(&self) -> u64 {
        self.runs.last_key_value().map_or(0, |(at, run)| (at + run.len() as u64) / u64::from(self.size))
    }

    pub(super) fn write(&mut self, start: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let from = start * u64::from(self.size);
        let end = from + bytes.len() as u64;
        // Most writes repeat a range or go on after the last: no other run moves then.
        if let Some((at, run)) = self.runs.range_mut(..=from).next_back() {
            let inside = (from - at) as usize;
            if let Some(buffer) = run.get_mut(inside..).and_then(|rest| rest.get_mut(..bytes.len())) {
                return buffer.copy_from_slice(bytes);
            }
        }
        self.cut(from, end);
        let after = self.runs.remove(&end);
        let before =
            self.runs.range_mut(..from).next_back().filter(|(at, run)| **at + run.len() as u64 == from);
        let run = match before {
            Some((_, run)) => run,
            None => self.runs.entry(from).or_default(),
        };
        run.extend_from_slice(bytes);
        run.extend(after.into_iter().flatten());
    }

    pub(super) fn punch(&mut self, start: u64, end: u64) {
        let size = u64::from(self.size);
        self.cut(start.saturating_mul(size), end.saturating_mul(size));
    }

    /// Removes the bytes of a range.
    fn cut(&mut self, from: u64, end: u64) {
        if from >= end {
            return;
        }
        self.split(from);
        self.split(end);
        let inside: Vec<u64> = self.runs.range(from..end).map(|(at, _)| *at).collect();
        for at in inside {
            self.runs.remove(&at);
        }
    }

    /// Makes a run that goes over an offset into two.
    fn split(&mut self, offset: u64) {
        let Some((at, run)) = self.runs.range_mut(..offset).next_back() else { return };
        let inside = (offset - at) as usize;
        if inside < run.len() {
            let rest = run.split_off(inside);
            self.runs.insert(offset, rest);
        }
    }

    /// Copies what is there of a range; the rest of `into` stays.
    pub(super) fn read(&self, start: u64, into: &mut [u8]) {
        let from = start * u64::from(self.size);
        let end = from + into.len() as u64;
        let first = self.runs.range(..=from).next_back().map_or(from, |(at, _)| *at);
        for (&at, run) in self.runs.range(first..end) {
            let (low, high) = (at.max(from), (at + run.len() as u64).min(end));
            if low < high {
                let source = &run[(low - at) as usize..(high - at) as usize];
                into[(low - from) as usize..(high - from) as usize].copy_from_slice(source);
            }
        }
    }
}
