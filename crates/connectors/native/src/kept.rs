//! Caches that cost nothing until something is kept in them: most files that are opened need few of theirs.

use std::hash::Hash;
use std::sync::OnceLock;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Things that a cache is made for, and with that among how many parts threads share it. It grows with what it holds.
const ITEMS: usize = 256;

/// A cache of things that weigh `weight_max` together at most.
#[derive(Debug)]
pub(crate) struct Kept<K, V, W> {
    weight_max: u64,
    weighter: W,
    /// Things that it is made for.
    items: usize,
    cache: OnceLock<Cache<K, V, W>>,
}

impl<K: Eq + Hash, V: Clone, W: Weighter<K, V> + Clone> Kept<K, V, W> {
    pub(crate) fn new(weight_max: u64, weighter: W) -> Self {
        Kept { weight_max, weighter, items: ITEMS, cache: OnceLock::new() }
    }

    /// For a few large things: parts of a cache would be too small for them.
    pub(crate) fn of_large(weight_max: u64, weighter: W) -> Self {
        Kept { items: 1, ..Self::new(weight_max, weighter) }
    }

    /// What is kept, all together.
    pub(crate) fn weight(&self) -> u64 {
        self.cache.get().map_or(0, Cache::weight)
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.cache.get()?.get(key)
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        let make = || Cache::with_weighter(self.items, self.weight_max, self.weighter.clone());
        self.cache.get_or_init(make).insert(key, value);
    }

    /// What is kept, or what `make` gives: two threads may make it at the same time.
    pub(crate) fn get_or_insert_with<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        if let Some(value) = self.get(&key) {
            return Ok(value);
        }
        let value = make()?;
        self.insert(key, value.clone());
        Ok(value)
    }

    pub(crate) fn remove(&self, key: &K) {
        if let Some(cache) = self.cache.get() {
            cache.remove(key);
        }
    }

    /// Whether nothing was ever kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.cache.get().is_none()
    }

    pub(crate) fn clear(&self) {
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
        let kept = Kept::new(100, UnitWeighter);
        assert_eq!(kept.get(&1), None);
        kept.remove(&1);
        kept.clear();
        kept.insert(1, "one");
        assert_eq!(kept.get_or_insert_with(1, || Err("not asked")), Ok("one"));
        assert_eq!(kept.get_or_insert_with(2, || Err("asked")), Err("asked"));
        kept.remove(&1);
        assert_eq!(kept.get(&1), None);
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let kept = Kept::new(50, UnitWeighter);
        (0..1000).for_each(|n| kept.insert(n, n));
        // Each of its parts rounds up.
        assert!((0..1000).filter(|n| kept.get(n).is_some()).count() <= 60);
    }
}
