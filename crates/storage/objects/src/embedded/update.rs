//! One update: test, write the large bytes, note the rest.

use std::sync::Arc;

use system::sync::Mutex;

use super::far::{self, FarFile, NEAR_BYTES_MAX};
use super::key;
use super::rows::{AkeyValue, Content, value_of};
use super::shared::Shared;
use super::space::Space;
use crate::check::{self, Before, Shape};
use crate::layout::blocks;
use crate::layout::reader::{self, LastBlock};
use crate::layout::sums::{self, Sum};
use crate::layout::value::{DataRange, Value};
use crate::layout::writer::{self, Writer};
use crate::{Change, Condition, Error, ObjectId, Result, Update};

/// The akeys that an update names, as they are and then as they become.
struct UpdatedAkeys<'a> {
    shared: &'a Shared,
    key: Vec<u8>,
    /// The content of the dkey, if no change of it waits yet.
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

    fn held(&self) -> Option<AkeyValue<'_>> {
        self.near.map(AkeyValue::Single).or_else(|| self.value.as_ref().map(AkeyValue::from))
    }

    fn apply(&mut self, group: &[Change<'a>], writer: &mut Writer<'_>) -> Result<()> {
        match group {
            [Change::Single(_, bytes)] if bytes.len() as u64 <= NEAR_BYTES_MAX => {
                self.value.take().iter().for_each(|old| writer.release(old));
                self.near = Some(bytes);
                self.changed = true;
            }
            group => {
                if let Some(bytes) = self.near.take() {
                    self.value = Some(Value::Single(bytes.into()));
                }
                self.changed |= writer.apply(&mut self.value, group)?;
            }
        }
        Ok(())
    }
}

impl<'a> UpdatedAkeys<'a> {
    fn position(&self, akey: &[u8]) -> Option<usize> {
        self.akeys.binary_search_by(|entry| entry.akey.cmp(akey)).ok()
    }

    fn value(&self, akey: &[u8]) -> Option<&Value> {
        self.akeys[self.position(akey)?].value.as_ref()
    }

    fn apply(&mut self, group: &[Change<'a>], writer: &mut Writer<'_>) -> Result<()> {
        match group.first().and_then(|change| self.position(change.akey())) {
            Some(at) => self.akeys[at].apply(group, writer),
            None => Ok(()),
        }
    }
}

impl Before for UpdatedAkeys<'_> {
    fn shape(&self, akey: &[u8]) -> Result<Option<Shape>> {
        Ok(self.value(akey).map(Value::shape))
    }

    fn equals(&self, akey: &[u8], value: &[u8]) -> Result<bool> {
        match self.value(akey) {
            Some(Value::Single(held)) => Ok(**held == *value),
            Some(Value::Far(place, sum)) if place.length == value.len() as u64 => {
                Ok(self.shared.far_value(*place, *sum)? == value)
            }
            _ => Ok(false),
        }
    }
}

impl Shared {
    /// Changes one dkey for this process. After an error nothing has changed, but of the records to write those that
    /// no flush has seen yet may be there.
    pub(super) fn update(&self, update: &Update<'_>) -> Result<()> {
        let space =
            if update.changes.iter().any(needs_space) { Some(self.space()?) } else { self.space_if_known() };
        let epoch = self.epoch();
        let _dkey = self.stripe(update.object, update.dkey).write();
        let file = FarFile { data: &self.data, space };
        let (named, writer) = self.prepare(update, &file, *epoch)?;
        self.publish(named, writer);
        Ok(())
    }

    /// Changes many dkeys, each at most once: all of them or, after an error, none.
    pub(super) fn update_together(&self, updates: &[Update<'_>]) -> Result<()> {
        let mut changes = updates.iter().flat_map(|update| update.changes);
        let space = if changes.any(needs_space) { Some(self.space()?) } else { self.space_if_known() };
        let epoch = self.epoch();
        let _dkeys = self.stripes_of(updates);
        let file = FarFile { data: &self.data, space };
        let mut prepared = Vec::with_capacity(updates.len());
        for update in updates {
            match self.prepare(update, &file, *epoch) {
                Ok(done) => prepared.push(done),
                Err(error) => {
                    prepared.into_iter().for_each(|(named, writer)| self.give_up(&named, writer, space));
                    return Err(error);
                }
            }
        }
        prepared.into_iter().for_each(|(named, writer)| self.publish(named, writer));
        Ok(())
    }

    /// Writes the large bytes of an update. The dkey is locked.
    fn prepare<'a>(
        &'a self,
        update: &Update<'a>,
        file: &'a FarFile<'a>,
        epoch: u64,
    ) -> Result<(UpdatedAkeys<'a>, Writer<'a>)> {
        let mut named = self.named(update)?;
        check::update(update, &named)?;
        let mut writer = Writer::new(file, epoch);
        match writer::groups(update.changes).try_for_each(|group| named.apply(group, &mut writer)) {
            Ok(()) => Ok((named, writer)),
            Err(error) => {
                self.give_up(&named, writer, file.space);
                Err(error)
            }
        }
    }

    /// Shows an update that was prepared.
    fn publish(&self, named: UpdatedAkeys<'_>, writer: Writer<'_>) {
        if named.akeys.iter().any(|entry| entry.changed) {
            let changed = named.akeys.iter().filter(|entry| entry.changed);
            let changes = changed.map(|entry| (entry.akey, entry.held()));
            self.view_mut().put(&named.key, named.base, changes);
        }
        self.finish(writer);
    }

    /// An update failed: where it wrote over records of this epoch, their checksums are made again.
    fn give_up(&self, named: &UpdatedAkeys<'_>, writer: Writer<'_>, space: Option<&Mutex<Space>>) {
        for entry in &named.akeys {
            let held = self.view().at(&named.key).value(entry.akey);
            let Ok(Some(Value::Array(mut array))) = held else { continue };
            // What cannot be read keeps a checksum that is wrong now, and is an error for a caller that reads it.
            if writer.resum(Arc::make_mut(&mut array)).unwrap_or(false) {
                let value = Value::Array(array);
                let changes = [(entry.akey, Some(AkeyValue::from(&value)))];
                self.view_mut().put(&named.key, named.base.clone(), changes.into_iter());
            }
        }
        far::give(space, &writer.undo());
    }

    /// Returns a large single value.
    pub(super) fn far_value(&self, place: DataRange, sum: Option<Sum>) -> Result<Vec<u8>> {
        // A damaged index must not ask for more memory than there are bytes.
        if place.at + place.length > self.data.len()? {
            return Err(Error::Corrupt("a value lies behind the end of the data file".into()));
        }
        let mut bytes = vec![0; place.length as usize];
        self.data.read(place.at, &mut bytes)?;
        match sum.is_none_or(|sum| sum == sums::of(&bytes)) {
            true => Ok(bytes),
            false => Err(blocks::damaged(place.at)),
        }
    }

    /// Frees what no commit has at once, and the rest after the next flush.
    fn finish(&self, writer: Writer<'_>) {
        let (now, later) = writer.done();
        far::give(self.space_if_known(), &now);
        self.release(later);
    }

    fn named<'a>(&'a self, update: &Update<'a>) -> Result<UpdatedAkeys<'a>> {
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
        Ok(UpdatedAkeys { shared: self, key, base, akeys })
    }

    /// Removes all akeys of a dkey.
    pub(super) fn punch_dkey(&self, object: ObjectId, dkey: &[u8]) -> Result<()> {
        let epoch = self.epoch();
        let _dkey = self.stripe(object, dkey).write();
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
    pub(super) fn fetch(&self, fetch: &mut crate::Fetch<'_>, last: &mut LastBlock) -> Result<()> {
        check::fetch(fetch)?;
        let _dkey = self.stripe(fetch.object, fetch.dkey).read();
        let value = self.view().at(&key(fetch.object, fetch.dkey)).value(fetch.akey)?;
        let Some(value) = value else { return Ok(()) };
        check::same(fetch.akey, value.shape(), Shape::Records(fetch.record_size))?;
        match value {
            Value::Array(array) => {
                let file = FarFile { data: &self.data, space: None };
                reader::read(&file, &array, fetch.start, fetch.into, last)
            }
            Value::Single(_) | Value::Far(..) => Ok(()),
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
