//! The state that the methods of an open container on a cluster share.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use system::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::ffi::{Answer, Ask, CANCELED, Guard, Names, Write};
use super::flight::Flight;
use super::heads::AkeyPath;
use super::known::Known;
use super::pending::Pending;
use super::{AT_ONCE, CONTAINER, failed};
use crate::layout::value::Value;
use crate::{Error, ObjectId, Result};

/// Locks of dkeys: readers of one share it, a writer has it alone.
const STRIPES: usize = 512;
/// Numbers that are taken at once: each time costs a round trip.
const NUMBERS_AT_ONCE: u64 = 1 << 12;

/// Objects that the cluster does not have yet: nothing needs to be asked about them.
#[derive(Debug, Default)]
pub(super) struct NewObjects {
    /// Numbers that this handle took.
    ranges: Vec<Range<u64>>,
    /// Whether the container was created by this handle, and nothing of it was flushed.
    pub(super) created: bool,
    /// Objects that were flushed.
    pub(super) stored: HashSet<ObjectId>,
}

/// An open container.
///
/// Locks are taken in this order: `gate`, stripes (in their own order), then any one of the others.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) names: Arc<Names>,
    pub(super) flight: Flight,
    pub(super) pending: RwLock<Pending>,
    /// About the bytes that `pending` takes.
    pub(super) weight: AtomicUsize,
    /// The epoch. Updates hold it shared, a flush alone.
    pub(super) gate: RwLock<u64>,
    stripes: Vec<RwLock<()>>,
    numbers: Mutex<Range<u64>>,
    data_numbers: Mutex<Range<u64>>,
    fresh: Mutex<NewObjects>,
    sharded: RwLock<HashSet<ObjectId>>,
    /// Data objects that no one needs after the next flush.
    pub(super) pending_free: Mutex<Vec<u64>>,
    /// Keys that were put into heads since they were counted.
    pub(super) puts: Mutex<HashMap<ObjectId, usize>>,
    /// Hashes of akeys that were seen as arrays: a single value must not replace them unasked.
    arrays: Mutex<HashSet<u64>>,
    /// The objects of a listing, for its later pages.
    pub(super) listed: Mutex<Arc<BTreeSet<ObjectId>>>,
    pub(super) known: Mutex<Known>,
    pub(super) head_keys_max: usize,
}

/// Returns a lock, whatever another thread's panic left.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

fn hash(key: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

impl Core {
    pub(super) fn new(names: Arc<Names>, created: bool, head_keys_max: usize) -> Core {
        Core {
            names,
            flight: Flight::default(),
            pending: RwLock::default(),
            weight: AtomicUsize::new(0),
            gate: RwLock::new(1),
            stripes: (0..STRIPES).map(|_| RwLock::new(())).collect(),
            numbers: Mutex::new(0..0),
            data_numbers: Mutex::new(0..0),
            fresh: Mutex::new(NewObjects { created, ..NewObjects::default() }),
            sharded: RwLock::default(),
            pending_free: Mutex::default(),
            puts: Mutex::default(),
            arrays: Mutex::default(),
            listed: Mutex::default(),
            known: Mutex::default(),
            head_keys_max,
        }
    }

    pub(super) fn pending(&self) -> RwLockReadGuard<'_, Pending> {
        self.pending.read()
    }

    pub(super) fn pending_mut(&self) -> RwLockWriteGuard<'_, Pending> {
        self.pending.write()
    }

    fn stripe_number(object: ObjectId, dkey: &[u8]) -> usize {
        hash((object, dkey)) as usize % STRIPES
    }

    /// Notes an akey that was seen as an array.
    pub(super) fn note_kind(&self, akey: AkeyPath<'_>, value: Option<&Value>) {
        if matches!(value, Some(Value::Array(_))) {
            lock(&self.arrays).insert(hash(akey));
        }
    }

    /// Returns whether an akey may have been seen as an array.
    pub(super) fn is_maybe_array(&self, akey: AkeyPath<'_>) -> bool {
        lock(&self.arrays).contains(&hash(akey))
    }

    /// Returns the lock of a dkey.
    pub(super) fn stripe(&self, object: ObjectId, dkey: &[u8]) -> &RwLock<()> {
        // There are STRIPES of them.
        &self.stripes[Core::stripe_number(object, dkey)]
    }

    /// Locks many dkeys for reading, each stripe once and in order.
    pub(super) fn read_stripes<'a>(
        &self,
        dkeys: impl Iterator<Item = (ObjectId, &'a [u8])>,
    ) -> Vec<RwLockReadGuard<'_, ()>> {
        let numbers: BTreeSet<usize> =
            dkeys.map(|(object, dkey)| Core::stripe_number(object, dkey)).collect();
        let stripes = numbers.into_iter().filter_map(|number| self.stripes.get(number));
        stripes.map(|stripe| stripe.read()).collect()
    }

    /// Asks for keys.
    pub(super) fn ask(&self, asks: &[Ask]) -> Result<Vec<Answer>> {
        self.names.ask(asks, AT_ONCE).map_err(failed("read keys from the cluster"))
    }

    /// Returns whether a head has shards, as far as is known.
    pub(super) fn is_sharded(&self, object: ObjectId) -> bool {
        self.sharded.read().contains(&object)
    }

    pub(super) fn set_sharded(&self, object: ObjectId) {
        if !self.is_sharded(object) {
            self.sharded.write().insert(object);
        }
    }

    /// Returns whether the cluster has nothing of an object: no other caller knows its number.
    pub(super) fn is_fresh(&self, object: ObjectId) -> bool {
        let fresh = lock(&self.fresh);
        fresh.ranges.iter().any(|range| range.contains(&object.low)) && !fresh.stored.contains(&object)
    }

    /// Returns whether the cluster need not be asked before a change, since it probably has nothing of an object. Where it
    /// has, the flush finds out.
    pub(super) fn is_likely_fresh(&self, object: ObjectId) -> bool {
        let created = lock(&self.fresh).created;
        created || self.is_fresh(object)
    }

    /// Notes that others may have changed the container.
    pub(super) fn set_shared(&self) {
        lock(&self.fresh).created = false;
        *lock(&self.listed) = Arc::default();
        lock(&self.known).clear();
    }

    /// Notes that objects are on the cluster now.
    pub(super) fn set_stored(&self, objects: impl Iterator<Item = ObjectId>) {
        let mut fresh = lock(&self.fresh);
        fresh.stored.extend(objects);
        // Others can open the container and make objects of their own.
        fresh.created = false;
    }

    /// Takes numbers for objects.
    pub(super) fn allocate(&self, count: u64) -> Result<Range<u64>> {
        let mut numbers = lock(&self.numbers);
        if numbers.end - numbers.start < count {
            *numbers = counter(&self.names, b"next", count.max(NUMBERS_AT_ONCE), 2)?;
            lock(&self.fresh).ranges.push(numbers.clone());
        }
        let start = numbers.start;
        numbers.start += count;
        Ok(start..start + count)
    }

    /// Takes consecutive numbers for data objects.
    pub(super) fn take_data(&self, count: u64) -> Result<u64> {
        let mut numbers = lock(&self.data_numbers);
        if numbers.end - numbers.start < count {
            *numbers = counter(&self.names, b"data", count.max(NUMBERS_AT_ONCE), 1)?;
        }
        let start = numbers.start;
        numbers.start += count;
        Ok(start)
    }
}

/// Moves a counter of the container on, however many others do.
fn counter(names: &Arc<Names>, key: &[u8], count: u64, first: u64) -> Result<Range<u64>> {
    let what = "count on the cluster";
    loop {
        let ask = Ask { name: CONTAINER.into(), keys: vec![key.to_vec()], after: None };
        let answer = names.ask(&[ask], 1).map_err(failed(what))?;
        let old = answer.into_iter().next().and_then(|answer| answer.pairs.into_iter().next());
        let (stored, start) = match old {
            None => (Vec::new(), first),
            Some((_, stored)) => {
                let number = stored.as_slice().try_into().map(u64::from_le_bytes);
                let number =
                    number.map_err(|_| Error::Corrupt("a counter of the container is damaged".into()))?;
                (stored, number)
            }
        };
        let end = start.checked_add(count);
        let end = end.ok_or_else(|| Error::TooLarge(format!("{count} numbers are not left")))?;
        let write = Write {
            guards: vec![(key.to_vec(), Guard::Equals(stored))],
            set: vec![(key.to_vec(), end.to_le_bytes().to_vec())],
            ..Write::default()
        };
        match names.write(CONTAINER, &write) {
            Ok(()) => return Ok(start..end),
            Err(CANCELED) => {}
            Err(code) => return Err(failed(what)(code)),
        }
    }
}
