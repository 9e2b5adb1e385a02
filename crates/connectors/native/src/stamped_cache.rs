//! A cache of what was read from a file that others change meanwhile.
//!
//! A reader may put something here after it was changed, because it read it before. To take it away again would be too
//! late for those who find it in between: every entry therefore says how often something under its key had been removed
//! when it was read, and is found only while that is still so.

use std::hash::Hash;

use quick_cache::Weighter;

use crate::lazy_cache::LazyCache;
use crate::removals::{Removals, Stamp};

/// A cache of things that weigh `weight_max` together at most.
#[derive(Debug)]
pub(crate) struct StampedCache<K, V, W> {
    cache: LazyCache<K, Stamped<V>, ByValue<W>>,
    removals: Removals,
}

#[derive(Debug, Clone)]
struct Stamped<V> {
    value: V,
    stamp: Stamp,
}

#[derive(Debug, Clone)]
struct ByValue<W>(W);

impl<K, V, W: Weighter<K, V>> Weighter<K, Stamped<V>> for ByValue<W> {
    fn weight(&self, key: &K, stamped: &Stamped<V>) -> u64 {
        self.0.weight(key, &stamped.value)
    }
}

impl<K: Copy + Eq + Hash + Into<u64>, V: Clone, W: Weighter<K, V> + Clone> StampedCache<K, V, W> {
    /// Returns an empty cache. Nothing is ever removed because it changed unless the file is `writable`.
    pub(crate) fn new(weight_max: u64, weighter: W, writable: bool) -> Self {
        StampedCache {
            cache: LazyCache::new(weight_max, ByValue(weighter)),
            removals: Removals::new(writable),
        }
    }

    /// Returns the stamp of what is read from now on.
    pub(crate) fn stamp(&self, key: K) -> Stamp {
        self.removals.stamp(key.into())
    }

    /// Returns what is kept, unless it was removed since it was read.
    pub(crate) fn get(&self, key: K) -> Option<V> {
        let Stamped { value, stamp } = self.cache.get(&key)?;
        self.removals.is_current(key.into(), stamp).then_some(value)
    }

    /// Keeps what was read after `stamp` was asked for.
    pub(crate) fn insert(&self, key: K, stamp: Stamp, value: V) {
        self.cache.insert(key, Stamped { value, stamp });
    }

    /// Removes what is kept, and what readers are about to keep.
    pub(crate) fn remove(&self, key: K) {
        self.removals.note(key.into());
        if !self.cache.is_empty() {
            self.cache.remove(&key);
        }
    }

    pub(crate) fn clear(&self) {
        self.removals.note_all();
        self.cache.clear();
    }

    /// Keeps no more than this from now on.
    pub(crate) fn set_weight_max(&self, weight_max: u64) {
        self.cache.set_weight_max(weight_max);
    }

    pub(crate) fn weight(&self) -> u64 {
        self.cache.weight()
    }

    pub(crate) fn len(&self) -> usize {
        self.cache.len()
    }

    pub(crate) fn keys(&self) -> Vec<K> {
        self.cache.keys()
    }
}

#[cfg(test)]
mod tests {
    use quick_cache::UnitWeighter;

    use super::*;

    #[test]
    fn what_was_read_before_a_removal_is_not_found_after_it() {
        let cache = StampedCache::new(100, UnitWeighter, true);
        let before = cache.stamp(1u64);
        cache.insert(1, before, "old");
        assert_eq!(cache.get(1), Some("old"));
        cache.remove(1);
        // A reader that is slow keeps what it read before.
        cache.insert(1, before, "old");
        assert_eq!(cache.get(1), None);
        cache.insert(1, cache.stamp(1), "new");
        assert_eq!(cache.get(1), Some("new"));
        cache.clear();
        assert_eq!(cache.get(1), None);
    }
}
