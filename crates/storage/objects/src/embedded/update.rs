//! One update: test, write the large bytes, note the rest.

use std::sync::PoisonError;

use super::far::{self, FarFile, NEAR_BYTES_MAX};
use super::key;
use super::rows::{Content, Held, value_of};
use super::shared::Shared;
use crate::check::{self, Before, Shape};
use crate::layout::value::Value;
use crate::layout::writer::{self, Writer};
use crate::{Change, Condition, ObjectId, Result, Update};

/// The akeys that an update names, as they are and then as they become.
struct Named<'a> {
    shared: &'a Shared,
    key: Vec<u8>,
    /// What the dkey holds, where nothing of it waits yet.
    base: Option<Content>,
    /// Sorted.
    akeys: Vec<Entry<'a>>,
}

struct Entry<'a> {
    akey: &'a [u8],
    value: Option<Value>,
    /// A small single value that takes the place of it: no copy is made before the row's own.
    near: Option<&'a [u8]>,
    changed: bool,
}

impl<'a> Entry<'a> {
    fn new(akey: &'a [u8]) -> Self {
        Entry { akey, value: None, near: None, changed: false }
    }

    fn held(&self) -> Option<Held<'_>> {
        self.near.map(Held::Single).or_else(|| self.value.as_ref().map(Held::from))
    }

    fn apply(&mut self, change: &Change<'a>, writer: &mut Writer<'_>) -> Result<()> {
        match change {
            Change::Single(_, bytes) if bytes.len() as u64 <= NEAR_BYTES_MAX => {
                self.value.take().iter().for_each(|old| writer.release(old));
                self.near = Some(bytes);
                self.changed = true;
            }
            change => {
                if let Some(bytes) = self.near.take() {
                    self.value = Some(Value::Single(bytes.into()));
                }
                self.changed |= writer.apply(&mut self.value, change)?;
            }
        }
        Ok(())
    }
}

impl<'a> Named<'a> {
    fn position(&self, akey: &[u8]) -> Option<usize> {
        self.akeys.binary_search_by(|entry| entry.akey.cmp(akey)).ok()
    }

    fn value(&self, akey: &[u8]) -> Option<&Value> {
        self.akeys[self.position(akey)?].value.as_ref()
    }

    fn apply(&mut self, change: &Change<'a>, writer: &mut Writer<'_>) -> Result<()> {
        match self.position(change.akey()) {
            Some(at) => self.akeys[at].apply(change, writer),
            None => Ok(()),
        }
    }
}

impl Before for Named<'_> {
    fn shape(&self, akey: &[u8]) -> Result<Option<Shape>> {
        Ok(self.value(akey).map(Value::shape))
    }

    fn equals(&self, akey: &[u8], value: &[u8]) -> Result<bool> {
        match self.value(akey) {
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
        if named.akeys.iter().any(|entry| entry.changed) {
            let changed = named.akeys.iter().filter(|entry| entry.changed);
            let changes = changed.map(|entry| (entry.akey, entry.held()));
            self.view_mut().put(&named.key, named.base, changes);
        }
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
        let names = update.changes.iter().map(Change::akey);
        let names = names.chain(update.conditions.iter().map(Condition::akey));
        let mut akeys: Vec<Entry<'a>> = names.map(Entry::new).collect();
        akeys.sort_unstable_by_key(|entry| entry.akey);
        akeys.dedup_by_key(|entry| entry.akey);
        let key = key(update.object, update.dkey);
        let view = self.view();
        let base = view.base(&key)?;
        let held = view.at(&key);
        for entry in &mut akeys {
            entry.value = match &base {
                Some(Content::Row(row)) => row.find(entry.akey).map(value_of),
                _ => held.value(entry.akey)?,
            };
        }
        Ok(Named { shared: self, key, base, akeys })
    }

    /// Removes all akeys of a dkey.
    pub(super) fn punch_dkey(&self, object: ObjectId, dkey: &[u8]) -> Result<()> {
        let epoch = self.epoch();
        let _dkey = self.stripe(object, dkey).write().unwrap_or_else(PoisonError::into_inner);
        let file = FarFile { data: &self.data, space: self.space_if_known() };
        let mut writer = Writer::new(&file, *epoch);
        let key = key(object, dkey);
        let (base, akeys) = {
            let view = self.view();
            let mut akeys: Vec<Vec<u8>> = Vec::new();
            view.akeys(&key, b"", |akey| {
                akeys.push(akey.to_vec());
                Ok(true)
            })?;
            for akey in &akeys {
                view.at(&key).value(akey)?.iter().for_each(|value| writer.release(value));
            }
            (view.base(&key)?, akeys)
        };
        if !akeys.is_empty() {
            let changes = akeys.iter().map(|akey| (&akey[..], None));
            self.view_mut().put(&key, base, changes);
        }
        self.finish(writer);
        Ok(())
    }

    /// Copies the records that are there.
    pub(super) fn fetch(&self, fetch: &mut crate::Fetch<'_>) -> Result<()> {
        check::fetch(fetch)?;
        let _dkey = self.stripe(fetch.object, fetch.dkey).read().unwrap_or_else(PoisonError::into_inner);
        let value = self.view().at(&key(fetch.object, fetch.dkey)).value(fetch.akey)?;
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
