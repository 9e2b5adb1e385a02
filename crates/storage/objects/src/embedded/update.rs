//! One update: test, write the large bytes, note the rest.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::far::{self, FarFile, NEAR_BYTES_MAX};
use super::key;
use super::shared::Shared;
use crate::check::{self, Before, Shape};
use crate::layout::value::Value;
use crate::layout::writer::{self, Writer};
use crate::{Change, Condition, ObjectId, Phase, Result, Update};

/// The akeys that an update names, as they are and then as they become.
struct Named<'a> {
    shared: &'a Shared,
    akeys: BTreeMap<&'a [u8], Entry>,
}

struct Entry {
    key: Box<[u8]>,
    value: Option<Value>,
    changed: bool,
}

impl Before for Named<'_> {
    fn shape(&self, akey: &[u8]) -> Result<Option<Shape>> {
        Ok(self.akeys.get(akey).and_then(|entry| entry.value.as_ref()).map(Value::shape))
    }

    fn equals(&self, akey: &[u8], value: &[u8]) -> Result<bool> {
        match self.akeys.get(akey).and_then(|entry| entry.value.as_ref()) {
            Some(Value::Single(held)) => Ok(**held == *value),
            Some(Value::Far(place)) if place.length == value.len() as u64 => {
                let mut held = vec![0; value.len()];
                self.shared.data.read(place.at, &mut held)?;
                Ok(held == value)
            }
            _ => Ok(false),
        }
    }
}

impl Shared {
    /// Changes one dkey for this process.
    pub(super) fn update(&self, update: &Update<'_>) -> Result<()> {
        let space =
            if update.changes.iter().any(needs_space) { Some(self.space()?) } else { self.space_if_known() };
        let epoch = self.epoch();
        let _dkey = self.stripe(update.object, update.dkey).write().unwrap_or_else(PoisonError::into_inner);
        let mut named = self.named(update)?;
        check::update(update, &named)?;
        let file = FarFile { data: &self.data, space };
        let mut writer = Writer::new(&file, *epoch);
        if let Err(error) = update.changes.iter().try_for_each(|change| named.apply(change, &mut writer)) {
            far::give(space, &writer.undo());
            return Err(error);
        }
        let mut view = self.view_mut();
        for entry in named.akeys.into_values().filter(|entry| entry.changed) {
            view.put(entry.key, entry.value, update.phase);
        }
        drop(view);
        self.finish(writer);
        Ok(())
    }

    /// What no commit knows of is free at once, the rest after the next flush.
    fn finish(&self, writer: Writer<'_>) {
        let (now, later) = writer.done();
        far::give(self.space_if_known(), &now);
        self.release(later);
    }

    fn named<'a>(&'a self, update: &Update<'a>) -> Result<Named<'a>> {
        let changes = update.changes.iter().map(Change::akey);
        let conditions = update.conditions.iter().map(Condition::akey);
        let view = self.view();
        let mut akeys = BTreeMap::new();
        for akey in changes.chain(conditions) {
            if let std::collections::btree_map::Entry::Vacant(entry) = akeys.entry(akey) {
                let key = key(update.object, update.dkey, akey);
                let value = view.value(&key)?;
                entry.insert(Entry { key, value, changed: false });
            }
        }
        Ok(Named { shared: self, akeys })
    }

    /// Removes all akeys of a dkey.
    pub(super) fn punch_dkey(&self, object: ObjectId, dkey: &[u8], phase: Phase) -> Result<()> {
        let epoch = self.epoch();
        let _dkey = self.stripe(object, dkey).write().unwrap_or_else(PoisonError::into_inner);
        let file = FarFile { data: &self.data, space: self.space_if_known() };
        let mut writer = Writer::new(&file, *epoch);
        let keys = {
            let view = self.view();
            let keys = super::listing::keys_of(&view, object, dkey)?;
            for key in &keys {
                view.value(key)?.iter().for_each(|value| writer.release(value));
            }
            keys
        };
        let mut view = self.view_mut();
        keys.into_iter().for_each(|key| view.put(key, None, phase));
        drop(view);
        self.finish(writer);
        Ok(())
    }

    /// Copies the records that are there.
    pub(super) fn fetch(&self, fetch: &mut crate::Fetch<'_>) -> Result<()> {
        check::fetch(fetch)?;
        let _dkey = self.stripe(fetch.object, fetch.dkey).read().unwrap_or_else(PoisonError::into_inner);
        let value = self.view().value(&key(fetch.object, fetch.dkey, fetch.akey))?;
        let Some(value) = value else { return Ok(()) };
        check::same(fetch.akey, value.shape(), Shape::Records(fetch.record_size))?;
        match value {
            Value::Array(array) => {
                writer::read(&FarFile { data: &self.data, space: None }, &array, fetch.start, fetch.into)
            }
            Value::Single(_) | Value::Far(_) => Ok(()),
        }
    }
}

fn needs_space(change: &Change<'_>) -> bool {
    match change {
        Change::Single(_, value) => value.len() as u64 > NEAR_BYTES_MAX,
        Change::Records { .. } => true,
        Change::PunchRecords { .. } | Change::Punch(_) => false,
    }
}

impl Named<'_> {
    fn apply(&mut self, change: &Change<'_>, writer: &mut Writer<'_>) -> Result<()> {
        let Some(entry) = self.akeys.get_mut(change.akey()) else { return Ok(()) };
        entry.changed |= writer.apply(&mut entry.value, change)?;
        Ok(())
    }
}
