//! One container in memory.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use system::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::records::Records;
use crate::check::{self, Before, Shape};
use crate::page::{last_object, list_in_order};
use crate::{Anchor, Change, Error, Fetch, Mode, ObjectId, Page, Phase, Result, Size, Store, Update};

/// The content of an akey.
#[derive(Debug)]
enum Value {
    Single(Vec<u8>),
    Records(Records),
}

type Akeys = BTreeMap<Vec<u8>, Value>;
type Objects = BTreeMap<ObjectId, BTreeMap<Vec<u8>, Akeys>>;

/// The state that all handles of a container share.
#[derive(Debug)]
pub(super) struct Container {
    objects: RwLock<Objects>,
    next: AtomicU64,
}

impl Default for Container {
    fn default() -> Container {
        // 0 and 1 are the caller's own.
        Container { objects: RwLock::default(), next: AtomicU64::new(2) }
    }
}

/// An open container: all of them see each change at once.
#[derive(Debug)]
pub(super) struct MemoryStore {
    container: Arc<Container>,
    mode: Mode,
}

impl MemoryStore {
    pub(super) fn new(container: Arc<Container>, mode: Mode) -> MemoryStore {
        MemoryStore { container, mode }
    }

    fn read(&self) -> RwLockReadGuard<'_, Objects> {
        self.container.objects.read()
    }

    fn write(&self) -> Result<RwLockWriteGuard<'_, Objects>> {
        self.writable()?;
        Ok(self.container.objects.write())
    }

    fn writable(&self) -> Result<()> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::Read => Err(Error::Refused("the container is open for reading only".into())),
        }
    }
}

impl Before for Akeys {
    fn shape(&self, akey: &[u8]) -> Result<Option<Shape>> {
        Ok(self.get(akey).map(|value| match value {
            Value::Single(_) => Shape::Single,
            Value::Records(records) => Shape::Records(records.size),
        }))
    }

    fn equals(&self, akey: &[u8], value: &[u8]) -> Result<bool> {
        Ok(matches!(self.get(akey), Some(Value::Single(held)) if held == value))
    }
}

fn akeys<'a>(objects: &'a Objects, object: ObjectId, dkey: &[u8]) -> Option<&'a Akeys> {
    objects.get(&object)?.get(dkey)
}

fn apply(akeys: &mut Akeys, change: &Change<'_>) {
    match *change {
        Change::Single(akey, value) => {
            akeys.insert(akey.to_vec(), Value::Single(value.to_vec()));
        }
        Change::Records { akey, record_size, start, bytes } if !bytes.is_empty() => {
            let value =
                akeys.entry(akey.to_vec()).or_insert_with(|| Value::Records(Records::new(record_size)));
            if let Value::Records(records) = value {
                records.write(start, bytes);
            }
        }
        Change::Records { .. } => {}
        Change::PunchRecords { akey, range } => {
            let Some(Value::Records(records)) = akeys.get_mut(akey) else { return };
            records.punch(range.start, range.end);
            if records.is_empty() {
                akeys.remove(akey);
            }
        }
        Change::Punch(akey) => {
            akeys.remove(akey);
        }
    }
}

fn update(objects: &mut Objects, update: &Update<'_>) -> Result<()> {
    let none = Akeys::new();
    check::update(update, akeys(objects, update.object, update.dkey).unwrap_or(&none))?;
    let dkeys = objects.entry(update.object).or_default();
    let akeys = dkeys.entry(update.dkey.to_vec()).or_default();
    update.changes.iter().for_each(|change| apply(akeys, change));
    if akeys.is_empty() {
        dkeys.remove(update.dkey);
    }
    Ok(())
}

fn fetch(objects: &Objects, fetch: &mut Fetch<'_>) -> Result<()> {
    check::fetch(fetch)?;
    match akeys(objects, fetch.object, fetch.dkey).and_then(|akeys| akeys.get(fetch.akey)) {
        None => Ok(()),
        Some(Value::Single(_)) => Err(check::unmet(fetch.akey, "holds a single value")),
        Some(Value::Records(records)) => {
            check::same(fetch.akey, Shape::Records(records.size), Shape::Records(fetch.record_size))?;
            records.read(fetch.start, fetch.into);
            Ok(())
        }
    }
}

fn get(objects: &Objects, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Vec<u8>>> {
    match akeys(objects, object, dkey).and_then(|akeys| akeys.get(akey)) {
        None => Ok(None),
        Some(Value::Single(value)) => Ok(Some(value.clone())),
        Some(Value::Records(_)) => Err(check::unmet(akey, "holds records")),
    }
}

fn page<V>(keys: &BTreeMap<Vec<u8>, V>, from: &[u8], count_max: usize) -> Vec<Vec<u8>> {
    let from = (Bound::Included(from), Bound::Unbounded);
    keys.range::<[u8], _>(from).take(count_max).map(|(key, _)| key.clone()).collect()
}

impl Store for MemoryStore {
    fn allocate(&self, count: u64) -> Result<Range<u64>> {
        self.writable()?;
        let next = &self.container.next;
        let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(count));
        let start = taken.map_err(|_| Error::TooLarge(format!("{count} numbers are not left")))?;
        Ok(start..start + count)
    }

    fn update(&self, op: &Update<'_>) -> Result<()> {
        update(&mut *self.write()?, op)
    }

    fn update_many(&self, updates: &[Update<'_>]) -> Result<()> {
        updates.iter().try_for_each(|op| self.update(op))
    }

    fn update_together(&self, updates: &[Update<'_>]) -> Result<()> {
        let mut objects = self.write()?;
        let none = Akeys::new();
        let held = |op: &Update<'_>| akeys(&objects, op.object, op.dkey).unwrap_or(&none);
        updates.iter().try_for_each(|op| check::update(op, held(op)))?;
        updates.iter().try_for_each(|op| update(&mut objects, op))
    }

    fn update_now(&self, op: &Update<'_>) -> Result<()> {
        self.update(op)
    }

    fn fetch(&self, fetches: &mut [Fetch<'_>]) -> Result<()> {
        let objects = self.read();
        fetches.iter_mut().try_for_each(|op| fetch(&objects, op))
    }

    fn get(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let objects = self.read();
        akeys.iter().map(|akey| get(&objects, object, dkey, akey)).collect()
    }

    fn get_many(&self, keys: &[(ObjectId, &[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        let objects = self.read();
        keys.iter().map(|(object, dkey, akey)| get(&objects, *object, dkey, akey)).collect()
    }

    fn size(&self, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Size>> {
        let objects = self.read();
        let value = akeys(&objects, object, dkey).and_then(|akeys| akeys.get(akey));
        Ok(value.map(|value| match value {
            Value::Single(value) => Size::Single(value.len() as u64),
            Value::Records(records) => Size::Records { record_size: records.size, end: records.end() },
        }))
    }

    fn punch_dkey(&self, object: ObjectId, dkey: &[u8], _: Phase) -> Result<()> {
        if let Some(dkeys) = self.write()?.get_mut(&object) {
            dkeys.remove(dkey);
        }
        Ok(())
    }

    fn punch_object(&self, object: ObjectId, _: Phase) -> Result<()> {
        self.write()?.remove(&object);
        Ok(())
    }

    fn dkeys(&self, object: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        Ok(self.read().get(&object).map_or_else(Vec::new, |dkeys| page(dkeys, from, count_max)))
    }

    fn akeys(&self, object: ObjectId, dkey: &[u8], from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        let objects = self.read();
        Ok(akeys(&objects, object, dkey).map_or_else(Vec::new, |akeys| page(akeys, from, count_max)))
    }

    list_in_order!();

    fn list_objects(&self, after: Option<&Anchor>, count_max: usize) -> Result<Page<ObjectId>> {
        let after = last_object(after)?;
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let objects = self.read();
        let held = objects.range((after, Bound::Unbounded)).filter(|(_, dkeys)| !dkeys.is_empty());
        let found = held.take(count_max).map(|(id, _)| *id).collect();
        Ok(Page::of_objects(found, count_max))
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn is_atomic(&self) -> bool {
        true
    }

    fn refresh(&self) -> Result<()> {
        Ok(())
    }
}
