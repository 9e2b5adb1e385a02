//! A handle of an open container.

use std::collections::BTreeMap;
use std::ops::Range;

use super::core::Core;
use super::far::again;
use super::flush::PHASES;
use super::heads::AkeyPath;
use super::pending::{Akey, Dkey};
use super::update::Bases;
use crate::check::{self, Shape};
use crate::layout::value::Value;
use crate::layout::writer::{self, Far, ReadRange};
use crate::page::{last_object, list_in_order};
use crate::{
    Anchor, Change, Condition, Error, Fetch, Mode, ObjectId, Page, Phase, Result, Size, Store, Update,
};

/// A handle.
#[derive(Debug)]
pub(super) struct RadosStore {
    pub(super) core: Core,
    pub(super) mode: Mode,
}

impl RadosStore {
    fn writable(&self) -> Result<()> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::Read => Err(Error::Refused("the container is open for reading only".into())),
        }
    }

    fn epoch(&self) -> system::sync::RwLockReadGuard<'_, u64> {
        self.core.gate.read()
    }

    fn flush_phases(&self, phases: &[Phase]) -> Result<()> {
        let mut epoch = self.core.gate.write();
        // Whatever comes of it, what was sent is not written again in place.
        *epoch += 1;
        self.core.flush(phases, *epoch)
    }

    fn relieve(&self) -> Result<()> {
        if self.core.is_heavy() { self.flush_phases(&[Phase::Content]) } else { Ok(()) }
    }

    /// Returns the values of akeys, with what waits.
    fn values(&self, wanted: &[AkeyPath<'_>]) -> Result<Vec<Option<Value>>> {
        let mut values: Vec<Option<Value>> = vec![None; wanted.len()];
        let mut unknown = Vec::new();
        {
            let pending = self.core.pending();
            for (i, (object, dkey, akey)) in wanted.iter().enumerate() {
                let waiting = pending.get(&(*object, dkey.to_vec())).and_then(|dkey| dkey.akeys.get(*akey));
                match waiting.filter(|akey| akey.changed) {
                    Some(akey) => values[i] = akey.value.clone(),
                    None if self.core.is_fresh(*object) => {}
                    None => unknown.push(i),
                }
            }
        }
        let asked: Vec<AkeyPath<'_>> = unknown.iter().map(|i| wanted[*i]).collect();
        for (i, stored) in unknown.into_iter().zip(self.core.look_up(&asked)?) {
            values[i] = stored.as_deref().map(Value::decode).transpose()?;
            self.core.note_kind(wanted[i], values[i].as_ref());
        }
        Ok(values)
    }

    /// Reads single values; the stripes are held.
    fn singles(&self, wanted: &[AkeyPath<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        let values = self.values(wanted)?;
        let mut found: Vec<Option<Vec<u8>>> = Vec::with_capacity(values.len());
        for ((_, _, akey), value) in wanted.iter().zip(&values) {
            found.push(match value {
                None => None,
                Some(Value::Single(bytes)) => Some(bytes.to_vec()),
                Some(Value::Far(place, _)) => Some(vec![0; usize::try_from(place.length).unwrap_or(0)]),
                Some(Value::Array(_)) => return Err(check::unmet(akey, "holds records")),
            });
        }
        let far = values.iter().zip(&mut found).filter_map(|(value, into)| match (value, into) {
            (Some(Value::Far(place, _)), Some(into)) => Some(ReadRange { at: place.at, into }),
            _ => None,
        });
        self.core.read(far.collect())?;
        Ok(found)
    }

    /// Notes one update. What it is made on may be replaced by another process just then.
    fn update_one(&self, update: &Update<'_>, bases: &Bases<'_>, epoch: u64) -> Result<()> {
        match self.core.update(update, bases, epoch) {
            Err(Error::Corrupt(_)) => again(|| {
                self.core.rebase(&(update.object, update.dkey.to_vec()), epoch)?;
                self.core.update(update, &self.core.bases(std::slice::from_ref(update))?, epoch)
            }),
            done => done,
        }
    }

    fn get_wanted(&self, wanted: &[AkeyPath<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        let _dkeys = self.core.read_stripes(wanted.iter().map(|(object, dkey, _)| (*object, *dkey)));
        again(|| self.singles(wanted))
    }

    fn fetch_once(&self, fetches: &mut [Fetch<'_>]) -> Result<()> {
        let wanted: Vec<AkeyPath<'_>> =
            fetches.iter().map(|fetch| (fetch.object, fetch.dkey, fetch.akey)).collect();
        let values = self.values(&wanted)?;
        let mut pieces = Vec::new();
        for (fetch, value) in fetches.iter_mut().zip(&values) {
            let Some(value) = value else { continue };
            check::same(fetch.akey, value.shape(), Shape::Records(fetch.record_size))?;
            if let Value::Array(array) = value {
                pieces.extend(writer::pieces(array, fetch.start, fetch.into));
            }
        }
        self.core.read(pieces)
    }
}

impl Store for RadosStore {
    fn allocate(&self, count: u64) -> Result<Range<u64>> {
        self.writable()?;
        self.core.allocate(count)
    }

    fn update(&self, update: &Update<'_>) -> Result<()> {
        self.update_many(std::slice::from_ref(update))
    }

    fn update_many(&self, updates: &[Update<'_>]) -> Result<()> {
        self.writable()?;
        {
            let epoch = self.epoch();
            let bases = self.core.bases(updates)?;
            updates.iter().try_for_each(|update| self.update_one(update, &bases, *epoch))?;
        }
        self.relieve()
    }

    fn update_now(&self, update: &Update<'_>) -> Result<()> {
        self.writable()?;
        let epoch = self.epoch();
        let dkey = self.core.stripe(update.object, update.dkey).write();
        let _dkey = dkey;
        let id = (update.object, update.dkey.to_vec());
        // What waits of this dkey was done before, so it arrives before.
        self.core.flush_dkey(&id, *epoch)?;
        let mut names: Vec<&[u8]> = update.changes.iter().map(Change::akey).collect();
        names.extend(update.conditions.iter().map(Condition::akey));
        let wanted: Vec<AkeyPath<'_>> =
            names.iter().map(|akey| (update.object, update.dkey, *akey)).collect();
        let mut akeys = BTreeMap::new();
        for (name, base) in names.into_iter().zip(self.core.look_up(&wanted)?) {
            akeys.insert(name, Akey::known(base)?);
        }
        let mut dkey = Dkey { phase: update.phase, akeys: BTreeMap::new() };
        dkey.merge(update.phase, self.core.applied(update, akeys, *epoch)?);
        self.core.send_change(&id, &mut dkey, *epoch)
    }

    fn fetch(&self, fetches: &mut [Fetch<'_>]) -> Result<()> {
        fetches.iter().try_for_each(|fetch| check::fetch(fetch).map(drop))?;
        let _dkeys = self.core.read_stripes(fetches.iter().map(|fetch| (fetch.object, fetch.dkey)));
        again(|| self.fetch_once(fetches))
    }

    fn get(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let wanted: Vec<AkeyPath<'_>> = akeys.iter().map(|akey| (object, dkey, *akey)).collect();
        self.get_wanted(&wanted)
    }

    fn get_many(&self, keys: &[(ObjectId, &[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        self.get_wanted(keys)
    }

    fn size(&self, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Size>> {
        let value = self.values(&[(object, dkey, akey)])?.into_iter().next().flatten();
        Ok(value.map(|value| value.size()))
    }

    fn punch_dkey(&self, object: ObjectId, dkey: &[u8], phase: Phase) -> Result<()> {
        self.writable()?;
        self.core.punch_dkey(object, dkey, phase, *self.epoch())
    }

    fn punch_object(&self, object: ObjectId, phase: Phase) -> Result<()> {
        self.writable()?;
        self.core.punch_object(object, phase, *self.epoch())
    }

    fn dkeys(&self, object: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        self.core.dkeys(object, from, count_max)
    }

    fn akeys(&self, object: ObjectId, dkey: &[u8], from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        self.core.akeys(object, dkey, from, count_max)
    }

    list_in_order!();

    fn list_objects(&self, after: Option<&Anchor>, count_max: usize) -> Result<Page<ObjectId>> {
        let after = last_object(after)?;
        let found = self.core.objects(after, count_max)?;
        Ok(Page::of_objects(found, count_max))
    }

    fn flush(&self) -> Result<()> {
        match self.mode {
            Mode::Read => Ok(()),
            Mode::ReadWrite => self.flush_phases(&PHASES),
        }
    }

    fn refresh(&self) -> Result<()> {
        // Every read asks the cluster already.
        self.core.set_shared();
        Ok(())
    }

    fn orphans(&self, remove: bool) -> Result<u64> {
        if remove {
            self.writable()?;
        }
        self.core.orphans(remove)
    }
}
