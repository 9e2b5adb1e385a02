//! What was done since the last commit, over what was committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::index::Snapshot;
use crate::layout::value::Value;
use crate::{Phase, Result};

/// A change that waits.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// `None` removes the key.
    pub(super) value: Option<Value>,
    pub(super) phase: Phase,
}

/// Changes by their keys.
pub(super) type Changes = BTreeMap<Box<[u8]>, Slot>;

/// What readers see: the first of the three that knows a key.
#[derive(Debug)]
pub(super) struct View {
    /// Changes that wait for a flush.
    pub(super) waiting: Changes,
    /// Changes that are being committed.
    pub(super) flushing: Arc<Changes>,
    /// What was committed.
    pub(super) committed: Arc<Snapshot>,
    /// About the bytes that `waiting` takes.
    pub(super) weight: usize,
}

impl View {
    pub(super) fn new(committed: Snapshot) -> View {
        let flushing = Arc::new(Changes::new());
        View { waiting: Changes::new(), flushing, committed: Arc::new(committed), weight: 0 }
    }

    /// The change of a key that is not committed.
    fn change(&self, key: &[u8]) -> Option<&Slot> {
        self.waiting.get(key).or_else(|| self.flushing.get(key))
    }

    /// What a key holds.
    pub(super) fn value(&self, key: &[u8]) -> Result<Option<Value>> {
        match self.change(key) {
            Some(slot) => Ok(slot.value.clone()),
            None => self.committed.get(key, |stored| stored.map(Value::decode).transpose()),
        }
    }

    /// What a key holds, with its bytes copied once where they are near.
    pub(super) fn single(&self, key: &[u8]) -> Result<Single> {
        match self.change(key) {
            Some(slot) => Ok(slot.value.as_ref().map_or(Single::Absent, Single::of)),
            None => self.committed.get(key, |stored| match stored {
                None => Ok(Single::Absent),
                Some(stored) => match Value::single(stored) {
                    Some(bytes) => Ok(Single::Near(bytes.to_vec())),
                    None => Ok(Single::Other(Value::decode(stored)?)),
                },
            }),
        }
    }

    /// Notes a change.
    pub(super) fn put(&mut self, key: Box<[u8]>, value: Option<Value>, phase: Phase) {
        self.weight += key.len() + 64 + value.as_ref().map_or(0, Value::weight);
        match self.waiting.entry(key) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Slot { value, phase });
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let phase = phase.max(entry.get().phase);
                entry.insert(Slot { value, phase });
            }
        }
    }

    /// Calls `each` with the keys that are there, in order, from a key on, until it answers false.
    pub(super) fn keys(&self, from: &[u8], mut each: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let mut changes = Merge::new(self, from);
        let mut go_on = true;
        self.committed.scan(from, |key, _| {
            while go_on && changes.next.as_ref().is_some_and(|(next, _)| *next < key) {
                go_on = changes.step(&mut each)?;
            }
            if go_on {
                let same = changes.next.as_ref().is_some_and(|(next, _)| *next == key);
                go_on = if same { changes.step(&mut each)? } else { each(key)? };
            }
            Ok(go_on)
        })?;
        while go_on && changes.next.is_some() {
            go_on = changes.step(&mut each)?;
        }
        Ok(())
    }
}

/// A single value as it was found.
#[derive(Debug)]
pub(super) enum Single {
    Absent,
    Near(Vec<u8>),
    /// A far one, or an array.
    Other(Value),
}

impl Single {
    fn of(value: &Value) -> Single {
        match value {
            Value::Single(bytes) => Single::Near(bytes.to_vec()),
            other => Single::Other(other.clone()),
        }
    }
}

/// Changes that wait and those that are being committed, in order: the waiting ones win.
struct Merge<'a> {
    waiting: std::iter::Peekable<std::collections::btree_map::Range<'a, Box<[u8]>, Slot>>,
    flushing: std::iter::Peekable<std::collections::btree_map::Range<'a, Box<[u8]>, Slot>>,
    next: Option<(&'a [u8], bool)>,
}

impl<'a> Merge<'a> {
    fn new(view: &'a View, from: &[u8]) -> Merge<'a> {
        let range = || (std::ops::Bound::Included(from), std::ops::Bound::Unbounded);
        let waiting = view.waiting.range::<[u8], _>(range()).peekable();
        let flushing = view.flushing.range::<[u8], _>(range()).peekable();
        let mut merge = Merge { waiting, flushing, next: None };
        merge.advance();
        merge
    }

    fn advance(&mut self) {
        let (first, second) =
            (self.waiting.peek().map(|(key, _)| *key), self.flushing.peek().map(|(key, _)| *key));
        let from_waiting = match (first, second) {
            (Some(a), Some(b)) => {
                if a == b {
                    self.flushing.next();
                }
                a <= b
            }
            (first, _) => first.is_some(),
        };
        let entry = if from_waiting { self.waiting.next() } else { self.flushing.next() };
        self.next = entry.map(|(key, slot)| (&**key, slot.value.is_some()));
    }

    /// Shows the next key, if it is not one that was removed, and goes on.
    fn step(&mut self, each: &mut impl FnMut(&[u8]) -> Result<bool>) -> Result<bool> {
        let Some((key, present)) = self.next else { return Ok(true) };
        let go_on = if present { each(key)? } else { true };
        self.advance();
        Ok(go_on)
    }
}
