//! Access of readers to objects of a file that is open for writing, while other objects are changed.
//!
//! Changes are made one at a time, by a caller that has the [writer](crate::write::Writer). Before it changes an object that the file
//! holds as it is, it waits for the readers of that object, and of no other; what removes objects, and with them others that only
//! they lead to, waits for all. An object that has changes in memory is [dirty](Gate::mark_dirty): its readers ask the writer.
//!
//! A reader may be on its way to bytes that were given up meanwhile: to the rest of a header that is shared, or to a value.
//! [`Readers`] tells when those that began before are gone, so that nothing else is put there earlier.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use model::spread::Spread;
use system::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::format::Address;

/// Objects that share a lock do so by chance.
const SHARDS: usize = 64;

/// The objects that a change may touch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'s> {
    /// Nothing that readers see.
    Nothing,
    /// These objects.
    Objects(&'s [Address]),
    /// Anything.
    All,
}

/// The readers of a file, by object.
#[derive(Debug)]
pub(crate) struct Gate {
    all: RwLock<()>,
    objects: [Shard; SHARDS],
    /// Variable-length values: collections hold those of many objects.
    values: RwLock<()>,
    /// Values were stored that the file does not hold yet.
    has_new_values: AtomicBool,
    pub(crate) readers: Readers,
}

#[derive(Debug)]
struct Shard {
    lock: RwLock<()>,
    dirty: Mutex<HashSet<Address, Spread>>,
}

/// A caller reads an object.
#[derive(Debug)]
pub(crate) struct Reading<'g> {
    _all: RwLockReadGuard<'g, ()>,
    _object: RwLockReadGuard<'g, ()>,
    _reader: Entered<'g>,
}

/// A caller changes objects.
#[derive(Debug)]
pub(crate) enum ChangeGuard<'g> {
    Nothing,
    Object { _lock: RwLockWriteGuard<'g, ()> },
    Objects { _locks: Vec<RwLockWriteGuard<'g, ()>> },
    All { _lock: RwLockWriteGuard<'g, ()> },
}

impl Default for Gate {
    fn default() -> Self {
        let spread = Spread::default();
        let dirty = || Mutex::new(HashSet::with_hasher(spread.clone()));
        Gate {
            all: RwLock::default(),
            objects: std::array::from_fn(|_| Shard { lock: RwLock::default(), dirty: dirty() }),
            values: RwLock::default(),
            has_new_values: AtomicBool::new(false),
            readers: Readers::default(),
        }
    }
}

fn shard_of(at: Address) -> usize {
    (at.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % SHARDS
}

fn shared(lock: &RwLock<()>) -> RwLockReadGuard<'_, ()> {
    lock.read()
}

fn exclusive(lock: &RwLock<()>) -> RwLockWriteGuard<'_, ()> {
    lock.write()
}

impl Gate {
    /// Keeps an object as it is while it is read; `None` if it is dirty.
    pub(crate) fn read(&self, at: Address) -> Option<Reading<'_>> {
        let shard = &self.objects[shard_of(at)];
        let reading =
            Reading { _all: shared(&self.all), _object: shared(&shard.lock), _reader: self.readers.enter() };
        (!self.is_dirty(at)).then_some(reading)
    }

    /// Waits for the readers of what will be changed. A caller that calls this has the writer, and reads nothing.
    pub(crate) fn change(&self, scope: Scope<'_>) -> ChangeGuard<'_> {
        match scope {
            Scope::Nothing => ChangeGuard::Nothing,
            Scope::All => ChangeGuard::All { _lock: exclusive(&self.all) },
            Scope::Objects([at]) => {
                ChangeGuard::Object { _lock: exclusive(&self.objects[shard_of(*at)].lock) }
            }
            Scope::Objects(objects) => {
                let mut shards: Vec<usize> = objects.iter().map(|at| shard_of(*at)).collect();
                shards.sort_unstable();
                shards.dedup();
                let lock = |n: usize| exclusive(&self.objects[n].lock);
                ChangeGuard::Objects { _locks: shards.into_iter().map(lock).collect() }
            }
        }
    }

    fn dirty(&self, at: Address) -> MutexGuard<'_, HashSet<Address, Spread>> {
        self.objects[shard_of(at)].dirty.lock()
    }

    /// Returns whether an object has changes that the file does not hold, or is gone.
    pub(crate) fn is_dirty(&self, at: Address) -> bool {
        self.dirty(at).contains(&at)
    }

    /// Marks an object that is about to change as dirty: from now on its readers ask the writer.
    pub(crate) fn mark_dirty(&self, at: Address) {
        debug_assert!(self.is_dirty(at) || self.has_no_readers(at), "{at:?} has readers");
        self.dirty(at).insert(at);
    }

    /// Marks an object that is about to be created, which no reader knows yet.
    pub(crate) fn mark_new(&self, at: Address) {
        self.dirty(at).insert(at);
    }

    /// Returns whether a change keeps readers of an object away.
    fn has_no_readers(&self, at: Address) -> bool {
        self.all.try_read().is_none() || self.objects[shard_of(at)].lock.try_read().is_none()
    }

    /// Marks an object as clean, because the file holds it as it is.
    pub(crate) fn mark_clean(&self, at: Address) {
        self.dirty(at).remove(&at);
    }

    /// Keeps values as they are while they are read; `None` if some are not in the file yet.
    pub(crate) fn read_values(&self) -> Option<RwLockReadGuard<'_, ()>> {
        let reading = shared(&self.values);
        (!self.has_new_values.load(Ordering::Acquire)).then_some(reading)
    }

    /// Waits for readers of values.
    pub(crate) fn change_values(&self) -> RwLockWriteGuard<'_, ()> {
        exclusive(&self.values)
    }

    pub(crate) fn set_new_values(&self, are_there: bool) {
        self.has_new_values.store(are_there, Ordering::Release);
    }
}

/// Counts readers, those of each of two epochs apart. An epoch ends when the readers of the one before are gone.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    epoch: AtomicU64,
    active: [AtomicUsize; 2],
}

/// A reader, until it is dropped.
#[derive(Debug)]
struct Entered<'r> {
    active: &'r AtomicUsize,
}

impl Readers {
    fn enter(&self) -> Entered<'_> {
        loop {
            let epoch = self.epoch.load(Ordering::SeqCst);
            let active = &self.active[(epoch % 2) as usize];
            active.fetch_add(1, Ordering::SeqCst);
            if self.epoch.load(Ordering::SeqCst) == epoch {
                return Entered { active };
            }
            active.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Returns whether no one reads.
    pub(crate) fn is_idle(&self) -> bool {
        self.active.iter().all(|active| active.load(Ordering::SeqCst) == 0)
    }

    /// Returns the epoch in which readers begin now. One thread at a time may ask.
    pub(crate) fn epoch(&self) -> u64 {
        let epoch = self.epoch.load(Ordering::SeqCst);
        let before = &self.active[((epoch + 1) % 2) as usize];
        if before.load(Ordering::SeqCst) > 0 {
            return epoch;
        }
        self.epoch.store(epoch + 1, Ordering::SeqCst);
        epoch + 1
    }

    /// Returns whether all readers are gone that began in an epoch, when `now` is the epoch.
    pub(crate) fn are_gone(epoch: u64, now: u64) -> bool {
        epoch + 2 <= now
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.active.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_of_other_objects_do_not_wait_for_a_change() {
        let gate = Gate::default();
        let (a, b) = (Address(96), Address(4096));
        assert_ne!(shard_of(a), shard_of(b));
        let _changing = gate.change(Scope::Objects(&[a, a]));
        assert!(gate.read(b).is_some());
        assert!(gate.objects[shard_of(a)].lock.try_read().is_none());
    }

    #[test]
    fn readers_of_a_dirty_object_ask_the_writer() {
        let gate = Gate::default();
        let at = Address(96);
        let changing = gate.change(Scope::All);
        gate.mark_dirty(at);
        drop(changing);
        assert!(gate.read(at).is_none());
        gate.mark_clean(at);
        assert!(gate.read(at).is_some());
    }

    #[test]
    fn an_epoch_passes_when_its_readers_are_gone_though_others_come() {
        let readers = Readers::default();
        let first = readers.enter();
        let released = readers.epoch();
        let second = readers.enter();
        assert!(!Readers::are_gone(released, readers.epoch()));
        drop(first);
        // The second one began in the epoch of the release.
        assert!(!Readers::are_gone(released, readers.epoch()));
        let third = readers.enter();
        drop(second);
        let (_, now) = (readers.epoch(), readers.epoch());
        assert!(Readers::are_gone(released, now));
        assert!(!readers.is_idle());
        drop(third);
        assert!(readers.is_idle());
    }
}
