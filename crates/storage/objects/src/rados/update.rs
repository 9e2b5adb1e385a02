//! Updates: tested against what is known, noted until a flush.

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::core::{Core, lock};
use super::heads::Wanted;
use super::pending::{Akey, Dkey, Named};
use crate::check;
use crate::layout::value::Value;
use crate::layout::writer::{Far, Piece, Writer};
use crate::{Change, Condition, ObjectId, Phase, Result, Update};

/// What waits takes about so much memory before content is flushed early.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// What the cluster has for akeys.
pub(super) type Bases<'a> = HashMap<Wanted<'a>, Option<Vec<u8>>>;

fn named<'a>(update: &Update<'a>) -> impl Iterator<Item = &'a [u8]> {
    let changes = update.changes.iter().map(Change::akey);
    changes.chain(update.conditions.iter().map(Condition::akey))
}

impl Core {
    /// Looks up what updates need to know.
    pub(super) fn bases<'a>(&self, updates: &[Update<'a>]) -> Result<Bases<'a>> {
        let mut wanted: Vec<Wanted<'a>> = Vec::new();
        {
            let pending = self.pending();
            for update in updates.iter().filter(|update| !self.is_fresh(update.object)) {
                let waiting = pending.get(&(update.object, update.dkey.to_vec()));
                let known = |akey: &[u8]| waiting.is_some_and(|dkey| dkey.akeys.contains_key(akey));
                let unknown = named(update).filter(|akey| !known(akey));
                wanted.extend(unknown.map(|akey| (update.object, update.dkey, akey)));
            }
        }
        let found = self.look_up(&wanted)?;
        Ok(wanted.into_iter().zip(found).collect())
    }

    /// Changes one dkey for this handle; the gate is held.
    pub(super) fn update(&self, update: &Update<'_>, bases: &Bases<'_>, epoch: u64) -> Result<()> {
        let _dkey = self.stripe(update.object, update.dkey).write().unwrap_or_else(PoisonError::into_inner);
        let id = (update.object, update.dkey.to_vec());
        let mut akeys = BTreeMap::new();
        {
            let pending = self.pending();
            let waiting = pending.get(&id);
            for akey in named(update) {
                let known = waiting.and_then(|dkey| dkey.akeys.get(akey)).cloned();
                let base = || Akey::known(bases.get(&(update.object, update.dkey, akey)).cloned().flatten());
                akeys.insert(akey, known.map_or_else(base, Ok)?);
            }
        }
        let akeys = self.applied(update, akeys, epoch)?;
        let mut pending = self.pending_mut();
        let dkey = pending.entry(id).or_insert_with(|| Dkey { phase: update.phase, akeys: BTreeMap::new() });
        self.weight.fetch_add(dkey.merge(update.phase, akeys), Ordering::Relaxed);
        Ok(())
    }

    /// The akeys of an update after it.
    pub(super) fn applied<'a>(
        &self,
        update: &Update<'a>,
        akeys: BTreeMap<&'a [u8], Akey>,
        epoch: u64,
    ) -> Result<BTreeMap<&'a [u8], Akey>> {
        let far_equals = |far: &Value, value: &[u8]| self.far_equals(far, value);
        let mut named = Named { akeys, far_equals: &far_equals };
        check::update(update, &named)?;
        for condition in update.conditions {
            named.akeys.get_mut(condition.akey()).into_iter().for_each(|akey| akey.guard(condition));
        }
        let mut writer = Writer::new(self, epoch);
        for change in update.changes {
            let Some(akey) = named.akeys.get_mut(change.akey()) else { continue };
            if let Err(error) = akey.apply(change, &mut writer) {
                let taken = writer.undo();
                let numbers = taken.iter().map(|place| place.at / super::STRIPE_BYTES);
                lock(&self.doomed).extend(numbers);
                return Err(error);
            }
        }
        Ok(named.akeys)
    }

    fn far_equals(&self, far: &Value, value: &[u8]) -> Result<bool> {
        let Value::Far(place) = far else { return Ok(false) };
        if place.length != value.len() as u64 {
            return Ok(false);
        }
        let mut held = vec![0; value.len()];
        self.read(vec![Piece { at: place.at, into: &mut held }])?;
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

    /// Whether content should be flushed early.
    pub(super) fn is_heavy(&self) -> bool {
        self.weight.load(Ordering::Relaxed) > WAITING_BYTES_MAX
    }
}
