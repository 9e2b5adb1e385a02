//! Updates: tested against what is known, noted until a flush.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;

use super::core::{Core, lock};
use super::heads::AkeyPath;
use super::keys;
use super::pending::{Akey, Dkey, UpdatedAkeys};
use crate::bytes::Reader;
use crate::check;
use crate::layout::value::Value;
use crate::layout::writer::{self, Far, ReadRange, Writer};
use crate::{Change, Condition, ObjectId, Phase, Result, Update};

/// The memory of pending content before it is flushed early, roughly.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// The values of akeys in the cluster.
pub(super) type Bases<'a> = HashMap<AkeyPath<'a>, Option<Vec<u8>>>;

/// Returns the akeys that an update looks at: a value that is replaced whole, without a condition, need not be known.
fn looked_at<'a>(update: &Update<'a>) -> impl Iterator<Item = &'a [u8]> {
    let parts = |change: &&Change<'_>| matches!(change, Change::Records { .. } | Change::PunchRecords { .. });
    let changes = update.changes.iter().filter(parts).map(Change::akey);
    changes.chain(update.conditions.iter().map(Condition::akey))
}

/// An akey, and what the cluster has for it.
type Stored = (Vec<u8>, Option<Vec<u8>>);

fn named<'a>(update: &Update<'a>) -> impl Iterator<Item = &'a [u8]> {
    let changes = update.changes.iter().map(Change::akey);
    changes.chain(update.conditions.iter().map(Condition::akey))
}

/// Returns the akeys that must not be there.
fn must_be_absent<'a>(update: &Update<'a>) -> impl Iterator<Item = AkeyPath<'a>> {
    let (object, dkey) = (update.object, update.dkey);
    update.conditions.iter().filter_map(move |condition| match condition {
        Condition::Absent(akey) => Some((object, dkey, *akey)),
        _ => None,
    })
}

impl Core {
    /// Looks up what updates need to know.
    pub(super) fn bases<'a>(&self, updates: &[Update<'a>]) -> Result<Bases<'a>> {
        let mut wanted: Vec<AkeyPath<'a>> = Vec::new();
        {
            let pending = self.pending();
            for update in updates.iter().filter(|update| !self.is_likely_fresh(update.object)) {
                let waiting = pending.get(&(update.object, update.dkey.to_vec()));
                let known = |akey: &[u8]| waiting.is_some_and(|dkey| dkey.akeys.contains_key(akey));
                let array = |akey: &&[u8]| self.is_maybe_array((update.object, update.dkey, akey));
                let looked_at = looked_at(update).chain(named(update).filter(array));
                let unknown = looked_at.filter(|akey| !known(akey));
                wanted.extend(unknown.map(|akey| (update.object, update.dkey, akey)));
            }
        }
        let (mut bases, must_be_absent) =
            (Bases::new(), updates.iter().flat_map(must_be_absent).collect::<HashSet<_>>());
        let mut asked = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            match must_be_absent.contains(&wanted) && self.is_absent(wanted)? {
                true => drop(bases.insert(wanted, None)),
                false => asked.push(wanted),
            }
        }
        let found = self.look_up(&asked)?;
        bases.extend(asked.into_iter().zip(found));
        Ok(bases)
    }

    /// Changes one dkey for this handle; the gate is held.
    pub(super) fn update(&self, update: &Update<'_>, bases: &Bases<'_>, epoch: u64) -> Result<()> {
        let _dkey = self.stripe(update.object, update.dkey).write();
        let id = (update.object, update.dkey.to_vec());
        let mut akeys = BTreeMap::new();
        {
            let pending = self.pending();
            let waiting = pending.get(&id);
            for akey in named(update) {
                let known = waiting.and_then(|dkey| dkey.akeys.get(akey)).cloned();
                let base = || match bases.get(&(update.object, update.dkey, akey)) {
                    Some(base) => Akey::known(base.clone()),
                    None if self.is_likely_fresh(update.object) => Ok(Akey::default()),
                    None => Ok(Akey::unknown()),
                };
                akeys.insert(akey, known.map_or_else(base, Ok)?);
            }
        }
        let akeys = self.applied(update, akeys, epoch)?;
        for (name, akey) in &akeys {
            self.note_kind((update.object, update.dkey, name), akey.value.as_ref());
        }
        let mut pending = self.pending_mut();
        let dkey = pending.entry(id).or_insert_with(|| Dkey { phase: update.phase, akeys: BTreeMap::new() });
        self.weight.fetch_add(dkey.merge(update.phase, akeys), Ordering::Relaxed);
        Ok(())
    }

    /// Returns the akeys of an update after it.
    pub(super) fn applied<'a>(
        &self,
        update: &Update<'a>,
        akeys: BTreeMap<&'a [u8], Akey>,
        epoch: u64,
    ) -> Result<BTreeMap<&'a [u8], Akey>> {
        let far_equals = |far: &Value, value: &[u8]| self.far_equals(far, value);
        let mut named = UpdatedAkeys { akeys, far_equals: &far_equals };
        check::update(update, &named)?;
        for condition in update.conditions {
            named.akeys.get_mut(condition.akey()).into_iter().for_each(|akey| akey.guard(condition));
        }
        let mut writer = Writer::new(self, epoch);
        for group in writer::groups(update.changes) {
            let akey = group.first().and_then(|change| named.akeys.get_mut(change.akey()));
            let Some(akey) = akey else { continue };
            if let Err(error) = akey.apply(group, &mut writer) {
                let taken = writer.undo();
                let numbers = taken.iter().map(|place| place.at / super::STRIPE_BYTES);
                lock(&self.pending_free).extend(numbers);
                return Err(error);
            }
        }
        Ok(named.akeys)
    }

    fn far_equals(&self, far: &Value, value: &[u8]) -> Result<bool> {
        let Value::Far(place, _) = far else { return Ok(false) };
        if place.length != value.len() as u64 {
            return Ok(false);
        }
        let mut held = vec![0; value.len()];
        self.read(vec![ReadRange { at: place.at, into: &mut held }])?;
        Ok(held == value)
    }

    /// Notes that all akeys of a dkey go; the gate is held.
    pub(super) fn punch_dkey(&self, object: ObjectId, dkey: &[u8], phase: Phase, epoch: u64) -> Result<()> {
        let akeys = self.akeys(object, dkey, b"", usize::MAX)?;
        if akeys.is_empty() {
            return Ok(());
        }
        let changes: Vec<Change<'_>> = akeys.iter().map(|akey| Change::Punch(akey)).collect();
        let update = Update { object, dkey, changes: &changes, conditions: &[], phase };
        let bases = self.bases(&[update])?;
        self.update(&update, &bases, epoch)
    }

    /// Notes that all dkeys of an object go; the gate is held.
    pub(super) fn punch_object(&self, object: ObjectId, phase: Phase, epoch: u64) -> Result<()> {
        let (mut from, mut more) = (Vec::new(), true);
        while more {
            let page = self.page(object, None, &from)?;
            let mut dkeys: BTreeMap<Vec<u8>, Vec<Stored>> = BTreeMap::new();
            for (key, value) in &page.pairs {
                let pair = keys::split(key)
                    .and_then(|(dkey, akey)| Some((keys::unescape(dkey)?, keys::unescape(akey)?)));
                let (dkey, akey) = pair.ok_or_else(Reader::corrupt)?;
                dkeys.entry(dkey).or_default().push((akey, Some(value.clone())));
            }
            for (dkey, akeys) in &dkeys {
                self.punch_akeys((object, dkey), akeys, phase, epoch)?;
            }
            more = page.more;
            from = page.pairs.into_iter().next_back().map_or(from, |(last, _)| last);
        }
        self.punch_waiting(object, phase, epoch)
    }

    /// Notes that what only waits goes too.
    fn punch_waiting(&self, object: ObjectId, phase: Phase, epoch: u64) -> Result<()> {
        let waiting: Vec<(Vec<u8>, Vec<Stored>)> = {
            let pending = self.pending();
            let ours = pending.range((object, Vec::new())..).take_while(|((id, _), _)| *id == object);
            let puts = |dkey: &Dkey| -> Vec<Stored> {
                let akeys = dkey.akeys.iter().filter(|(_, akey)| akey.changed && akey.value.is_some());
                akeys.map(|(name, _)| (name.clone(), None)).collect()
            };
            ours.map(|((_, name), dkey)| (name.clone(), puts(dkey))).collect()
        };
        for (dkey, akeys) in waiting.iter().filter(|(_, akeys)| !akeys.is_empty()) {
            self.punch_akeys((object, dkey), akeys, phase, epoch)?;
        }
        Ok(())
    }

    fn punch_akeys(
        &self,
        (object, dkey): (ObjectId, &[u8]),
        akeys: &[Stored],
        phase: Phase,
        epoch: u64,
    ) -> Result<()> {
        let changes: Vec<Change<'_>> = akeys.iter().map(|(akey, _)| Change::Punch(akey)).collect();
        let bases =
            akeys.iter().map(|(akey, base)| ((object, dkey, akey.as_slice()), base.clone())).collect();
        self.update(&Update { object, dkey, changes: &changes, conditions: &[], phase }, &bases, epoch)
    }

    /// Returns whether content should be flushed early.
    pub(super) fn is_heavy(&self) -> bool {
        self.weight.load(Ordering::Relaxed) > WAITING_BYTES_MAX
    }
}
