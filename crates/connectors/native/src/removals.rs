//! What left the caches of a file that is open for writing: a caller that read something before must not keep it after.

use std::sync::atomic::{AtomicU64, Ordering};

/// Keys that share a counter do so by chance.
const COUNTERS: usize = 64;

/// Counts removals by key, where there is anything to count.
#[derive(Debug)]
pub(crate) struct Removals(Option<Box<[AtomicU64; COUNTERS]>>);

/// How often something was removed, before it was read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Removals {
    /// Counts nothing unless the file is `writable`.
    pub(crate) fn new(writable: bool) -> Self {
        Removals(writable.then(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0)))))
    }

    fn of(&self, key: u64) -> Option<&AtomicU64> {
        let spread = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.0.as_ref().map(|counters| &counters[spread as usize % COUNTERS])
    }

    /// To be asked for before something is read.
    pub(crate) fn stamp(&self, key: u64) -> Stamp {
        Stamp(self.of(key).map_or(0, |count| count.load(Ordering::SeqCst)))
    }

    /// Returns whether nothing under this key was removed since; to be asked whenever it is taken from a cache.
    pub(crate) fn is_current(&self, key: u64, stamp: Stamp) -> bool {
        self.stamp(key) == stamp
    }

    /// Something is about to be removed.
    pub(crate) fn note(&self, key: u64) {
        if let Some(count) = self.of(key) {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Everything is about to be removed.
    pub(crate) fn note_all(&self) {
        let counters = self.0.iter().flat_map(|counters| counters.iter());
        for count in counters {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_removal_is_not_current_after_it() {
        let removals = Removals::new(true);
        let (before, other) = (removals.stamp(96), removals.stamp(4096));
        removals.note(96);
        assert!(!removals.is_current(96, before) && removals.is_current(4096, other));
        removals.note_all();
        assert!(!removals.is_current(4096, other));
        let nothing = Removals::new(false);
        let stamp = nothing.stamp(1);
        nothing.note(1);
        assert!(nothing.is_current(1, stamp));
    }
}
