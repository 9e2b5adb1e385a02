//! Containers in memory on an engine that offers what the contract promises and nothing beyond it, for tests of callers:
//! what works here needs no more than DAOS has.
//!
//! Keys and objects are enumerated in the order of a hash, by anchors that say nothing about keys. Empty keys and values
//! are refused, and so are conditions on akeys that an update does not change, and comparisons of values but in
//! [`Store::update_now`]. A flush is no commit of all that was done before, and several objects never change at once.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

use crate::{
    Anchor, Change, Condition, ContainerId, ContainerLocation, Engine, Error, Fetch, Mode, ObjectId, Page,
    Phase, Pool, Result, Size, Store, Update, memory,
};

/// Returns a pool of its own: no other caller sees its containers, and they go with its last handle.
#[must_use]
pub fn pool() -> Arc<dyn Pool> {
    Arc::new(StrictPool { inner: memory::pool(), order: RandomState::new() })
}

/// Returns an engine with one pool, whose paths are the names of containers.
#[must_use]
pub fn engine() -> Arc<dyn Engine> {
    Arc::new(StrictEngine(pool()))
}

#[derive(Debug)]
struct StrictEngine(Arc<dyn Pool>);

impl Engine for StrictEngine {
    fn location(&self, path: &str) -> Result<ContainerLocation> {
        Ok(ContainerLocation { pool: self.0.clone(), name: path.to_owned(), key: path.to_owned() })
    }

    /// Handles of one process are as good as several processes.
    fn is_concurrent(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct StrictPool {
    inner: Arc<dyn Pool>,
    order: RandomState,
}

impl StrictPool {
    fn store(&self, inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(StrictStore { inner, order: self.order.clone() })
    }
}

impl Pool for StrictPool {
    fn create(&self, id: ContainerId) -> Result<Arc<dyn Store>> {
        Ok(self.store(self.inner.create(id)?))
    }

    fn open(&self, id: ContainerId, mode: Mode) -> Result<Arc<dyn Store>> {
        Ok(self.store(self.inner.open(id, mode)?))
    }

    fn destroy(&self, id: ContainerId) -> Result<()> {
        self.inner.destroy(id)
    }

    fn list(&self) -> Result<Vec<ContainerId>> {
        self.inner.list()
    }
}

#[derive(Debug)]
struct StrictStore {
    inner: Arc<dyn Store>,
    order: RandomState,
}

fn refused(problem: &str) -> Error {
    Error::Refused(format!("the engine has no {problem}"))
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() { Err(refused("empty keys")) } else { Ok(()) }
}

fn check_change(change: &Change<'_>) -> Result<()> {
    check_key(change.akey())?;
    match change {
        Change::Single(_, []) => Err(refused("empty values")),
        _ => Ok(()),
    }
}

/// A condition belongs to an akey that the same update changes.
fn check_condition(update: &Update<'_>, condition: &Condition<'_>) -> Result<()> {
    match update.changes.iter().any(|change| change.akey() == condition.akey()) {
        true => Ok(()),
        false => Err(refused("conditions on akeys that stay")),
    }
}

fn check(update: &Update<'_>) -> Result<()> {
    check_key(update.dkey)?;
    update.changes.iter().try_for_each(check_change)?;
    let compares = update.conditions.iter().any(|condition| matches!(condition, Condition::Equals(..)));
    if compares {
        return Err(refused("comparisons of values outside of a transaction"));
    }
    update.conditions.iter().try_for_each(|condition| check_condition(update, condition))
}

impl StrictStore {
    /// Returns a page in the order of hashes, after the hash that the anchor stands for.
    fn page<T: Clone>(
        &self,
        all: Vec<T>,
        bytes: impl Fn(&T) -> Vec<u8>,
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<T>> {
        let after = after.map(|anchor| anchor.0.as_slice().try_into().map(u64::from_ne_bytes)).transpose();
        let after = after.map_err(|_| refused("such anchors"))?;
        let mut hashed: Vec<(u64, T)> =
            all.into_iter().map(|item| (self.order.hash_one(bytes(&item)), item)).collect();
        hashed.sort_by_key(|(hash, _)| *hash);
        hashed.retain(|(hash, _)| after.is_none_or(|after| *hash > after));
        let more = hashed.len() > count_max;
        hashed.truncate(count_max);
        let next = hashed.last().filter(|_| more).map(|(hash, _)| Anchor(hash.to_ne_bytes().to_vec()));
        Ok(Page { items: hashed.into_iter().map(|(_, item)| item).collect(), next })
    }
}

impl Store for StrictStore {
    fn allocate(&self, count: u64) -> Result<Range<u64>> {
        self.inner.allocate(count)
    }

    fn update(&self, update: &Update<'_>) -> Result<()> {
        check(update)?;
        self.inner.update(update)
    }

    fn update_many(&self, updates: &[Update<'_>]) -> Result<()> {
        updates.iter().try_for_each(|update| self.update(update))
    }

    fn update_now(&self, update: &Update<'_>) -> Result<()> {
        check_key(update.dkey)?;
        update.changes.iter().try_for_each(check_change)?;
        self.inner.update_now(update)
    }

    fn fetch(&self, fetches: &mut [Fetch<'_>]) -> Result<()> {
        self.inner.fetch(fetches)
    }

    fn get(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.inner.get(object, dkey, akeys)
    }

    fn get_many(&self, keys: &[(ObjectId, &[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        self.inner.get_many(keys)
    }

    fn size(&self, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Size>> {
        self.inner.size(object, dkey, akey)
    }

    fn punch_dkey(&self, object: ObjectId, dkey: &[u8], phase: Phase) -> Result<()> {
        self.inner.punch_dkey(object, dkey, phase)
    }

    fn punch_object(&self, object: ObjectId, phase: Phase) -> Result<()> {
        self.inner.punch_object(object, phase)
    }

    fn list_dkeys(
        &self,
        object: ObjectId,
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<Vec<u8>>> {
        self.page(self.inner.dkeys(object, b"", usize::MAX)?, Vec::clone, after, count_max)
    }

    fn list_akeys(
        &self,
        object: ObjectId,
        dkey: &[u8],
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<Vec<u8>>> {
        self.page(self.inner.akeys(object, dkey, b"", usize::MAX)?, Vec::clone, after, count_max)
    }

    fn list_objects(&self, after: Option<&Anchor>, count_max: usize) -> Result<Page<ObjectId>> {
        self.page(self.inner.all_objects()?, |id| id.to_bytes().to_vec(), after, count_max)
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    fn refresh(&self) -> Result<()> {
        self.inner.refresh()
    }
}
