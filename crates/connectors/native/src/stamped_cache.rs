//! A cache of what was read from a file that others change meanwhile.
//!
//! A reader may be about to cache what it read before it was changed. It therefore asks for a [`Stamp`] before it reads, and
//! what it read is cached only if nothing under that key was removed since. Nobody finds it in between.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use system::sync::Mutex;

use crate::lazy_cache::LazyCache;

/// Keys that share a counter do so by chance.
const COUNTERS: usize = 64;

/// How often something was removed, before it was read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

/// How often something was removed.
#[derive(Debug, Default)]
struct Removals {
    count: AtomicU64,
    /// Held while something is cached or removed.
    changing: Mutex<()>,
}

impl Removals {
    fn stamp(&self) -> Stamp {
        Stamp(self.count.load(Ordering::SeqCst))
    }

    fn note(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

/// A cache of things that weigh `weight_max` together at most.
#[derive(Debug)]
pub(crate) struct StampedCache<K, V, W> {
    cache: LazyCache<K, V, W>,
    /// By key, where anything is ever removed because it changed.
    removals: Option<Box<[Removals; COUNTERS]>>,
}

impl<K: Copy + Eq + Hash + Into<u64>, V: Clone, W: Weighter<K, V> + Clone> StampedCache<K, V, W> {
    /// Returns an empty cache. Nothing is ever removed because it changed unless the file is `writable`.
    pub(crate) fn new(weight_max: u64, weighter: W, writable: bool) -> Self {
        let removals = || Box::new(std::array::from_fn(|_| Removals::default()));
        StampedCache { cache: LazyCache::new(weight_max, weighter), removals: writable.then(removals) }
    }

    fn removals(&self, key: K) -> Option<&Removals> {
        let spread = key.into().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.removals.as_ref().map(|removals| &removals[spread as usize % COUNTERS])
    }

    /// Returns the stamp of what is read from now on.
    pub(crate) fn stamp(&self, key: K) -> Stamp {
        self.removals(key).map_or(Stamp(0), Removals::stamp)
    }

    pub(crate) fn get(&self, key: K) -> Option<V> {
        self.cache.get(&key)
    }

    /// Caches what was read after `stamp` was asked for, unless something under its key was removed since.
    pub(crate) fn insert(&self, key: K, stamp: Stamp, value: V) {
        let Some(removals) = self.removals(key) else { return self.cache.insert(key, value) };
        let _changing = removals.changing.lock();
        if removals.stamp() == stamp {
            self.cache.insert(key, value);
        }
    }

    /// Removes what is cached, and what readers are about to cache.
    pub(crate) fn remove(&self, key: K) {
        let Some(removals) = self.removals(key) else { return self.cache.remove(&key) };
        let _changing = removals.changing.lock();
        removals.note();
        if !self.cache.is_empty() {
            self.cache.remove(&key);
        }
    }

    pub(crate) fn clear(&self) {
        for removals in self.removals.iter().flat_map(|removals| removals.iter()) {
            let _changing = removals.changing.lock();
            removals.note();
        }
        self.cache.clear();
    }

    /// Caches no more than this from now on.
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
    fn what_was_read_before_a_removal_is_not_cached_after_it() {
        let cache = StampedCache::new(100, UnitWeighter, true);
        let before = cache.stamp(1u64);
        cache.insert(1, before, "old");
        assert_eq!(cache.get(1), Some("old"));
        cache.remove(1);
        // A reader that is slow has what it read before.
        cache.insert(1, before, "old");
        assert_eq!(cache.get(1), None);
        cache.insert(1, cache.stamp(1), "new");
        assert_eq!(cache.get(1), Some("new"));
        cache.clear();
        cache.insert(1, before, "old");
        assert_eq!(cache.get(1), None);
    }

    #[test]
    fn a_removal_leaves_other_entries_alone() {
        let cache = StampedCache::new(10_000, UnitWeighter, true);
        (0..1000u64).for_each(|key| cache.insert(key, cache.stamp(key), key));
        cache.remove(7);
        assert!((0..1000).all(|key| cache.get(key).is_some() == (key != 7)));
    }
}
