//! A pool whose requests are counted, for tests of what operations cost: [`Counted`] is an engine that passes everything on.

use std::ops::{Range, Sub};
use std::sync::Arc;

use system::sync::Mutex;

use crate::{
    Anchor, Change, ContainerId, ContainerLocation, Engine, Fetch, Mode, ObjectClass, ObjectId, Page, Phase,
    Pool, Result, Size, Store, Update,
};

/// Requests to the containers of a pool, by kind. A call for many keys is a request for each, as it is on DAOS and Ceph,
/// where engines send them without waiting for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    /// Containers that were created, opened or removed, and listings of them.
    pub containers: u64,
    /// Ranges of numbers that were taken.
    pub allocations: u64,
    /// Dkeys that were changed.
    pub updates: u64,
    /// Dkeys that were changed at once, with a condition on what others wrote.
    pub updates_now: u64,
    /// Akeys whose records were read.
    pub fetches: u64,
    /// Dkeys of which single values were read.
    pub gets: u64,
    /// Akeys whose size was asked for.
    pub sizes: u64,
    /// Dkeys and objects that were removed.
    pub punches: u64,
    /// Pages of keys or objects.
    pub listings: u64,
    /// Flushes.
    pub flushes: u64,
    /// Refreshes.
    pub refreshes: u64,
    /// Bytes of values and records that were stored.
    pub bytes_written: u64,
    /// Bytes of values and records that were read.
    pub bytes_read: u64,
}

impl Requests {
    /// Returns the number of requests, whatever they are for; a flush is none where updates are sent at once.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.containers
            + self.allocations
            + self.updates
            + self.updates_now
            + self.fetches
            + self.gets
            + self.sizes
            + self.punches
            + self.listings
    }
}

/// The requests since others were counted.
impl Sub for Requests {
    type Output = Requests;

    fn sub(self, before: Requests) -> Requests {
        Requests {
            containers: self.containers - before.containers,
            allocations: self.allocations - before.allocations,
            updates: self.updates - before.updates,
            updates_now: self.updates_now - before.updates_now,
            fetches: self.fetches - before.fetches,
            gets: self.gets - before.gets,
            sizes: self.sizes - before.sizes,
            punches: self.punches - before.punches,
            listings: self.listings - before.listings,
            flushes: self.flushes - before.flushes,
            refreshes: self.refreshes - before.refreshes,
            bytes_written: self.bytes_written - before.bytes_written,
            bytes_read: self.bytes_read - before.bytes_read,
        }
    }
}

/// The counts that all containers of a pool share.
#[derive(Debug, Clone, Default)]
struct Counts(Arc<Mutex<Requests>>);

impl Counts {
    fn add(&self, add: impl FnOnce(&mut Requests)) {
        add(&mut self.0.lock());
    }
}

/// An engine with one pool, whose paths are the names of containers. It stands for one process: what another one with the
/// same pool caches, it does not see.
#[derive(Debug)]
pub struct Counted {
    pool: Arc<dyn Pool>,
    counts: Counts,
}

impl Counted {
    /// Returns an engine that counts the requests to a pool.
    #[must_use]
    pub fn new(pool: Arc<dyn Pool>) -> Counted {
        let counts = Counts::default();
        Counted { pool: Arc::new(CountedPool { inner: pool, counts: counts.clone() }), counts }
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Requests {
        *self.counts.0.lock()
    }
}

impl Engine for Counted {
    fn location(&self, path: &str) -> Result<ContainerLocation> {
        Ok(ContainerLocation { pool: self.pool.clone(), name: path.to_owned(), key: path.to_owned() })
    }

    /// Other engines may have the same pool.
    fn is_concurrent(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct CountedPool {
    inner: Arc<dyn Pool>,
    counts: Counts,
}

impl CountedPool {
    fn store(&self, inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(CountedStore { inner, counts: self.counts.clone() })
    }
}

impl Pool for CountedPool {
    fn create(&self, id: ContainerId) -> Result<Arc<dyn Store>> {
        self.counts.add(|n| n.containers += 1);
        Ok(self.store(self.inner.create(id)?))
    }

    fn open(&self, id: ContainerId, mode: Mode) -> Result<Arc<dyn Store>> {
        self.counts.add(|n| n.containers += 1);
        Ok(self.store(self.inner.open(id, mode)?))
    }

    fn destroy(&self, id: ContainerId) -> Result<()> {
        self.counts.add(|n| n.containers += 1);
        self.inner.destroy(id)
    }

    fn list(&self) -> Result<Vec<ContainerId>> {
        self.counts.add(|n| n.containers += 1);
        self.inner.list()
    }
}

#[derive(Debug)]
struct CountedStore {
    inner: Arc<dyn Store>,
    counts: Counts,
}

/// Returns the bytes that an update stores.
fn bytes_of(update: &Update<'_>) -> u64 {
    let bytes = |change: &Change<'_>| match change {
        Change::Single(_, value) => value.len() as u64,
        Change::Records { bytes, .. } => bytes.len() as u64,
        Change::PunchRecords { .. } | Change::Punch(_) => 0,
    };
    update.changes.iter().map(bytes).sum()
}

fn bytes_found(values: &[Option<Vec<u8>>]) -> u64 {
    values.iter().flatten().map(|value| value.len() as u64).sum()
}

impl CountedStore {
    fn count_updates(&self, updates: &[Update<'_>]) {
        self.counts.add(|n| {
            n.updates += updates.len() as u64;
            n.bytes_written += updates.iter().map(bytes_of).sum::<u64>();
        });
    }

    fn count_found(&self, requests: u64, values: &[Option<Vec<u8>>]) {
        self.counts.add(|n| {
            n.gets += requests;
            n.bytes_read += bytes_found(values);
        });
    }

    fn count_listing(&self) {
        self.counts.add(|n| n.listings += 1);
    }
}

impl Store for CountedStore {
    fn allocate(&self, count: u64) -> Result<Range<u64>> {
        self.counts.add(|n| n.allocations += 1);
        self.inner.allocate(count)
    }

    fn class_bits(&self, class: Option<ObjectClass>) -> Result<u32> {
        self.inner.class_bits(class)
    }

    fn update(&self, update: &Update<'_>) -> Result<()> {
        self.count_updates(std::slice::from_ref(update));
        self.inner.update(update)
    }

    fn update_many(&self, updates: &[Update<'_>]) -> Result<()> {
        self.count_updates(updates);
        self.inner.update_many(updates)
    }

    fn update_together(&self, updates: &[Update<'_>]) -> Result<()> {
        self.count_updates(updates);
        self.inner.update_together(updates)
    }

    fn update_now(&self, update: &Update<'_>) -> Result<()> {
        self.counts.add(|n| {
            n.updates_now += 1;
            n.bytes_written += bytes_of(update);
        });
        self.inner.update_now(update)
    }

    fn fetch(&self, fetches: &mut [Fetch<'_>]) -> Result<()> {
        self.counts.add(|n| {
            n.fetches += fetches.len() as u64;
            n.bytes_read += fetches.iter().map(|fetch| fetch.into.len() as u64).sum::<u64>();
        });
        self.inner.fetch(fetches)
    }

    fn get(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let found = self.inner.get(object, dkey, akeys)?;
        self.count_found(1, &found);
        Ok(found)
    }

    fn get_many(&self, keys: &[(ObjectId, &[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        let found = self.inner.get_many(keys)?;
        self.count_found(keys.len() as u64, &found);
        Ok(found)
    }

    fn size(&self, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Size>> {
        self.counts.add(|n| n.sizes += 1);
        self.inner.size(object, dkey, akey)
    }

    fn punch_dkey(&self, object: ObjectId, dkey: &[u8], phase: Phase) -> Result<()> {
        self.counts.add(|n| n.punches += 1);
        self.inner.punch_dkey(object, dkey, phase)
    }

    fn punch_object(&self, object: ObjectId, phase: Phase) -> Result<()> {
        self.counts.add(|n| n.punches += 1);
        self.inner.punch_object(object, phase)
    }

    fn list_dkeys(
        &self,
        object: ObjectId,
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<Vec<u8>>> {
        self.count_listing();
        self.inner.list_dkeys(object, after, count_max)
    }

    fn list_akeys(
        &self,
        object: ObjectId,
        dkey: &[u8],
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<Vec<u8>>> {
        self.count_listing();
        self.inner.list_akeys(object, dkey, after, count_max)
    }

    fn list_objects(&self, after: Option<&Anchor>, count_max: usize) -> Result<Page<ObjectId>> {
        self.count_listing();
        self.inner.list_objects(after, count_max)
    }

    fn flush(&self) -> Result<()> {
        self.counts.add(|n| n.flushes += 1);
        self.inner.flush()
    }

    fn is_atomic(&self) -> bool {
        self.inner.is_atomic()
    }

    fn refresh(&self) -> Result<()> {
        self.counts.add(|n| n.refreshes += 1);
        self.inner.refresh()
    }

    fn orphans(&self, remove: bool) -> Result<u64> {
        self.inner.orphans(remove)
    }

    fn verify_index(&self) -> Result<()> {
        self.inner.verify_index()
    }
}
