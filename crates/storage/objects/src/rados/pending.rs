//! Changes that wait for a flush.

use std::collections::{BTreeMap, BTreeSet};

use super::STRIPE_BYTES;
use super::ffi::Guard;
use crate::check::{Before, Shape};
use crate::layout::value::Value;
use crate::layout::writer::Writer;
use crate::runs::Runs;
use crate::{Change, Condition, ObjectId, Phase, Result};

/// A dkey's place in the order of everything that waits.
pub(super) type DkeyId = (ObjectId, Vec<u8>);

/// Pending changes, by object and dkey.
pub(super) type Pending = BTreeMap<DkeyId, Dkey>;

/// Changes of one dkey: they arrive together.
#[derive(Clone, Debug)]
pub(super) struct Dkey {
    /// The last of the phases of its changes.
    pub(super) phase: Phase,
    pub(super) akeys: BTreeMap<Vec<u8>, Akey>,
}

/// An akey that changes, or that a condition looks at.
#[derive(Clone, Debug, Default)]
pub(super) struct Akey {
    /// The new value.
    pub(super) value: Option<Value>,
    /// The value in the cluster when it was read.
    pub(super) base: Option<Vec<u8>>,
    /// The condition on the value in the cluster.
    pub(super) guard: Option<Guard>,
    pub(super) changed: bool,
    /// Whether the cluster was not asked yet: a value that is replaced whole can wait with that until the flush.
    pub(super) unknown: bool,
    /// Whether it was punched, so that it may be of another kind now.
    any_kind: bool,
    /// Whether the change does not depend on what was there: then it needs no comparison.
    whole: bool,
    /// Records that were written here.
    pub(super) own: Runs,
    /// Records that were punched here.
    pub(super) punched: Runs,
    /// Data objects that any value since the last flush had.
    taken: BTreeSet<u64>,
}

/// Returns the data objects of a value.
pub(super) fn numbers(value: Option<&Value>) -> BTreeSet<u64> {
    let places = value.map(Value::places).unwrap_or_default();
    let numbers = |at: u64, length: u64| at / STRIPE_BYTES..(at + length).div_ceil(STRIPE_BYTES);
    places.iter().flat_map(|place| numbers(place.at, place.length)).collect()
}

fn stored(value: Option<&Value>) -> Option<Vec<u8>> {
    value.map(|value| {
        let mut out = Vec::new();
        value.encode(&mut out);
        out
    })
}

impl Akey {
    /// Returns an akey as the cluster has it.
    pub(super) fn known(base: Option<Vec<u8>>) -> Result<Akey> {
        let value = base.as_deref().map(Value::decode).transpose()?;
        let taken = numbers(value.as_ref());
        Ok(Akey { value, base, taken, ..Akey::default() })
    }

    /// Returns an akey that the cluster was not asked for.
    pub(super) fn unknown() -> Akey {
        Akey { unknown: true, ..Akey::default() }
    }

    /// Notes what the cluster has, where it was not asked before.
    pub(super) fn learn(&mut self, name: &[u8], base: Option<Vec<u8>>) -> Result<()> {
        let stored = base.as_deref().map(Value::decode).transpose()?;
        if let (Some(stored), Some(value), false) = (stored, &self.value, self.any_kind) {
            crate::check::same(name, stored.shape(), value.shape())?;
        }
        self.unknown = false;
        self.rebased(self.value.clone(), base)
    }

    /// Returns the akey's value as it is stored.
    pub(super) fn stored(&self) -> Option<Vec<u8>> {
        stored(self.value.as_ref())
    }

    /// Notes a condition that holds: it must still hold when the change arrives.
    pub(super) fn guard(&mut self, condition: &Condition<'_>) {
        if self.changed {
            return;
        }
        self.guard = Some(match (condition, &self.base) {
            (Condition::Present(_), _) => Guard::Present,
            (Condition::Absent(_), _) => Guard::Equals(Vec::new()),
            (Condition::Equals(..), base) => Guard::Equals(base.clone().unwrap_or_default()),
        });
    }

    /// Returns whether an array changes in parts, so that it must be the one that was seen.
    pub(super) fn merges(&self) -> bool {
        self.changed && !self.whole
    }

    /// Returns what the cluster must hold for the change.
    pub(super) fn needed(&self) -> Option<Guard> {
        if self.merges() {
            Some(Guard::Equals(self.base.clone().unwrap_or_default()))
        } else {
            self.guard.clone()
        }
    }

    /// Does changes that belong together.
    pub(super) fn apply(&mut self, group: &[Change<'_>], writer: &mut Writer<'_>) -> Result<()> {
        let changes = writer.apply(&mut self.value, group)?;
        // What is not known may be there to be punched.
        let punches = matches!(group, [Change::Punch(_)]);
        if !(changes || self.unknown && punches) {
            return Ok(());
        }
        self.any_kind |= punches;
        self.changed = true;
        group.iter().for_each(|change| self.note(change));
        self.taken.append(&mut numbers(self.value.as_ref()));
        Ok(())
    }

    /// Notes which records are of this process.
    fn note(&mut self, change: &Change<'_>) {
        match *change {
            Change::Single(..) | Change::Punch(_) => {
                (self.whole, self.own, self.punched) = (true, Runs::default(), Runs::default());
            }
            Change::Records { record_size, start, bytes, .. } => {
                let end = start + bytes.len() as u64 / u64::from(record_size.max(1));
                self.own.insert(start, end);
                self.punched.remove(start, end);
            }
            Change::PunchRecords { range, .. } => {
                self.punched.insert(range.start, range.end);
                self.own.remove(range.start, range.end);
            }
        }
    }

    /// Returns the data objects that no one needs once the change arrived.
    pub(super) fn pending_free(&self) -> Vec<u64> {
        let kept = numbers(self.value.as_ref());
        self.taken.difference(&kept).copied().collect()
    }

    /// Returns the data objects that are in use while the change waits.
    pub(super) fn used(&self) -> impl Iterator<Item = u64> + '_ {
        self.taken.iter().copied()
    }

    /// Returns the data objects that no one needs if the change never arrives.
    pub(super) fn wasted(&self) -> Vec<u64> {
        let base = self.base.as_deref().and_then(|base| Value::decode(base).ok());
        let kept = numbers(base.as_ref());
        self.taken.difference(&kept).copied().collect()
    }

    /// Notes that an array was created anew on what another process had stored.
    pub(super) fn rebased(&mut self, value: Option<Value>, base: Option<Vec<u8>>) -> Result<()> {
        self.taken.append(&mut numbers(base.as_deref().map(Value::decode).transpose()?.as_ref()));
        self.taken.append(&mut numbers(value.as_ref()));
        (self.value, self.base) = (value, base);
        Ok(())
    }

    /// Returns about the bytes that it takes.
    pub(super) fn weight(&self) -> usize {
        128 + self.value.as_ref().map_or(0, Value::weight)
    }
}

/// The akeys that an update names.
pub(super) struct UpdatedAkeys<'a, 'b> {
    pub(super) akeys: BTreeMap<&'a [u8], Akey>,
    /// Compares a single value that is far.
    pub(super) far_equals: &'b dyn Fn(&Value, &[u8]) -> Result<bool>,
}

impl Before for UpdatedAkeys<'_, '_> {
    fn shape(&self, akey: &[u8]) -> Result<Option<Shape>> {
        Ok(self.akeys.get(akey).and_then(|akey| akey.value.as_ref()).map(Value::shape))
    }

    fn equals(&self, akey: &[u8], value: &[u8]) -> Result<bool> {
        match self.akeys.get(akey).and_then(|akey| akey.value.as_ref()) {
            Some(Value::Single(held)) => Ok(**held == *value),
            Some(far @ Value::Far(..)) => (self.far_equals)(far, value),
            _ => Ok(false),
        }
    }
}

impl Dkey {
    /// Adds an update's akeys.
    pub(super) fn merge(&mut self, phase: Phase, akeys: BTreeMap<&[u8], Akey>) -> usize {
        self.phase = self.phase.max(phase);
        let mut weight = 0;
        for (name, akey) in akeys.into_iter().filter(|(_, akey)| akey.changed || akey.guard.is_some()) {
            weight += name.len() + akey.weight();
            self.akeys.insert(name.to_vec(), akey);
        }
        weight
    }
}
