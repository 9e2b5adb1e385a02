//! Caches that cost nothing until something is in them, and little while it is not much: most files that are
//! opened need few of theirs, for few things.

use std::hash::Hash;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use system::sync::RwLock;

/// Things that a cache is made for, and with that among how many parts threads share it. It grows with what it holds.
const ITEMS: usize = 256;
/// So many are in a list, which is searched from end to end.
const FEW: usize = 12;

/// A cache of things that weigh `weight_max` together at most.
#[derive(Debug)]
pub(crate) struct LazyCache<K, V, W> {
    weight_max: AtomicU64,
    weighter: W,
    /// Things that it is made for.
    items: usize,
    /// The entries, until there is a cache.
    few: RwLock<Vec<(K, V)>>,
    cache: OnceLock<Cache<K, V, W>>,
}

impl<K: Eq + Hash, V: Clone, W: Weighter<K, V> + Clone> LazyCache<K, V, W> {
    pub(crate) fn new(weight_max: u64, weighter: W) -> Self {
        let weight_max = AtomicU64::new(weight_max);
        LazyCache { weight_max, weighter, items: ITEMS, few: RwLock::default(), cache: OnceLock::new() }
    }

    /// For a few large things: parts of a cache would be too small for them.
    pub(crate) fn of_large(weight_max: u64, weighter: W) -> Self {
        LazyCache { items: 1, ..Self::new(weight_max, weighter) }
    }

    /// Returns the weight of everything in the cache.
    pub(crate) fn weight(&self) -> u64 {
        match self.cache.get() {
            Some(cache) => cache.weight(),
            None => self.weight_of(&self.few.read()),
        }
    }

    fn weight_of(&self, few: &[(K, V)]) -> u64 {
        few.iter().map(|(key, value)| self.weighter.weight(key, value)).sum()
    }

    fn weight_max(&self) -> u64 {
        self.weight_max.load(Ordering::Relaxed)
    }

    /// Caches no more than this from now on.
    pub(crate) fn set_weight_max(&self, weight_max: u64) {
        self.weight_max.store(weight_max, Ordering::Relaxed);
        match self.cache.get() {
            Some(cache) => cache.set_capacity(weight_max),
            None => {
                let mut few = self.few.write();
                if self.weight_of(&few) > weight_max {
                    few.clear();
                }
            }
        }
    }

    /// Returns how many things are cached.
    pub(crate) fn len(&self) -> usize {
        self.cache.get().map_or_else(|| self.few.read().len(), Cache::len)
    }

    /// Returns the keys of everything in the cache.
    pub(crate) fn keys(&self) -> Vec<K>
    where
        K: Clone,
    {
        match self.cache.get() {
            Some(cache) => cache.iter().map(|(key, _)| key).collect(),
            None => self.few.read().iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        if let Some(cache) = self.cache.get() {
            return cache.get(key);
        }
        let few = self.few.read();
        few.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone())
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        let (key, value) = match self.insert_few(key, value) {
            None => return,
            Some(pair) => pair,
        };
        if let Some(cache) = self.cache.get() {
            cache.insert(key, value);
        }
    }

    /// Puts a thing into the list; gives it back where there is a cache instead, which it makes of a full list.
    fn insert_few(&self, key: K, value: V) -> Option<(K, V)> {
        if self.cache.get().is_some() {
            return Some((key, value));
        }
        let mut few = self.few.write();
        few.retain(|(k, _)| *k != key);
        let weight = self.weight_of(&few).saturating_add(self.weighter.weight(&key, &value));
        if self.cache.get().is_none() && few.len() < FEW && weight <= self.weight_max() {
            few.push((key, value));
            return None;
        }
        self.cache.get_or_init(|| {
            let cache = Cache::with_weighter(self.items, self.weight_max(), self.weighter.clone());
            few.drain(..).for_each(|(key, value)| cache.insert(key, value));
            cache
        });
        Some((key, value))
    }

    pub(crate) fn remove(&self, key: &K) {
        // The list first: what it held a moment ago may be in the cache by now, never the other way round.
        if self.cache.get().is_none() {
            self.few.write().retain(|(k, _)| k != key);
        }
        if let Some(cache) = self.cache.get() {
            cache.remove(key);
        }
    }

    /// Returns whether nothing is cached, or was since there is a cache.
    pub(crate) fn is_empty(&self) -> bool {
        // The list first, here too: it is empty from the moment on when what it held is in the cache.
        self.few.read().is_empty() && self.cache.get().is_none()
    }

    pub(crate) fn clear(&self) {
        if self.cache.get().is_none() {
            self.few.write().clear();
        }
        if let Some(cache) = self.cache.get() {
            cache.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use quick_cache::UnitWeighter;

    use super::*;

    #[test]
    fn what_is_put_is_there_until_it_is_taken_away() {
        let cache = LazyCache::new(100, UnitWeighter);
        assert_eq!(cache.get(&1), None);
        cache.remove(&1);
        cache.clear();
        cache.insert(1, "one");
        assert_eq!((cache.get(&1), cache.get(&2)), (Some("one"), None));
        cache.remove(&1);
        assert_eq!(cache.get(&1), None);
    }

    #[test]
    fn what_moves_from_the_list_to_the_cache_is_never_missed() {
        for _ in 0..20_000 {
            let cache = LazyCache::new(100, UnitWeighter);
            (0..FEW).for_each(|n| cache.insert(n, n));
            let begin = std::sync::Barrier::new(2);
            let seen_empty = std::thread::scope(|scope| {
                scope.spawn(|| {
                    begin.wait();
                    cache.insert(FEW, FEW);
                });
                begin.wait();
                (0..50).any(|_| cache.is_empty())
            });
            assert!(!seen_empty);
        }
    }

    #[test]
    fn no_more_is_cached_than_may_be() {
        let cache = LazyCache::new(50, UnitWeighter);
        (0..1000).for_each(|n| cache.insert(n, n));
        // Each of its parts rounds up.
        assert!((0..1000).filter(|n| cache.get(n).is_some()).count() <= 60);
    }
}
