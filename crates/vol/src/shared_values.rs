//! Which values the slots of many elements stand for: each once, though many elements may share it.

use std::collections::HashMap;

use model::{Datatype, Result};

use crate::Blobs;
use crate::slot_bytes::check_value;

/// Values from this size on are looked for among those that were seen: a file of a few bytes may have many elements that share
/// one large value. Smaller ones cost more to compare than to copy.
const SHARED_BYTES_MIN: u64 = 256;

/// The values of some slots, in the order in which they are first met.
pub(crate) struct Values<'a> {
    /// Their identities.
    pub(crate) ids: Vec<&'a [u8]>,
    /// Bytes that the values have together, as the slots say.
    pub(crate) claimed: u64,
    /// The same, counted for every slot.
    expanded: u64,
    /// For each value, the slot that was the first to name it; for each slot with a value, which value that is. `None`: every
    /// slot has a value of its own.
    shared: Option<(Vec<usize>, Vec<usize>)>,
}

impl<'a> Values<'a> {
    /// The values of `slots`, whose elements are of this type.
    pub(crate) fn of(slots: &[(u64, &'a [u8])], element: Option<&Datatype>) -> Self {
        let each = element.map_or(1, |element| u64::from(element.size()));
        let claimed = slots.iter().fold(0u64, |sum, slot| sum.saturating_add(slot.0.saturating_mul(each)));
        let is_nested = element.is_some_and(Datatype::has_slots);
        match is_nested || claimed / SHARED_BYTES_MIN >= slots.len() as u64 {
            true => Values { expanded: claimed, ..Values::without_repetition(slots, each) },
            false => {
                let ids = slots.iter().filter(|slot| slot.0 > 0).map(|slot| slot.1).collect();
                Values { ids, claimed, expanded: claimed, shared: None }
            }
        }
    }

    fn without_repetition(slots: &[(u64, &'a [u8])], each: u64) -> Self {
        let (mut ids, mut firsts, mut which) = (Vec::new(), Vec::new(), Vec::new());
        let (mut seen, mut claimed) = (HashMap::new(), 0u64);
        for (at, &(count, id)) in slots.iter().enumerate().filter(|(_, slot)| slot.0 > 0) {
            let value = *seen.entry((count, id)).or_insert_with(|| {
                claimed = claimed.saturating_add(count.saturating_mul(each));
                ids.push(id);
                firsts.push(at);
                ids.len() - 1
            });
            which.push(value);
        }
        Values { ids, claimed, expanded: claimed, shared: Some((firsts, which)) }
    }

    /// Whether some slots share a value.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.as_ref().is_some_and(|(firsts, which)| firsts.len() < which.len())
    }

    /// What a heap would hold without sharing, if these values took it from `before` to `after` bytes: each was fetched once,
    /// with what its own elements share, and stands for as many as there are slots to a value.
    pub(crate) fn expanded(&self, before: u64, after: u64) -> u64 {
        let fetched = u128::from(after.saturating_sub(before));
        let all = fetched * u128::from(self.expanded) / u128::from(self.claimed.max(1));
        before.saturating_add(u64::try_from(all).unwrap_or(u64::MAX))
    }

    /// The value of the next slot that has one; `nth` counts them.
    #[inline]
    pub(crate) fn value(&self, nth: &mut usize) -> usize {
        let at = *nth;
        *nth += 1;
        self.shared.as_ref().map_or(at, |(_, which)| which.get(at).copied().unwrap_or(0))
    }

    /// Elements of each value.
    pub(crate) fn counts<'s>(&'s self, slots: &'s [(u64, &[u8])]) -> Box<dyn Iterator<Item = u64> + 's> {
        match &self.shared {
            None => Box::new(slots.iter().map(|slot| slot.0).filter(|&count| count > 0)),
            Some((firsts, _)) => Box::new(firsts.iter().map(|&at| slots[at].0)),
        }
    }

    /// Where each value starts, if they lie one after another from `base` on.
    pub(crate) fn starts(&self, slots: &[(u64, &[u8])], base: u64, value_bytes: u64) -> Vec<u64> {
        let next = |at: &mut u64, count: u64| {
            let start = *at;
            *at += count * value_bytes;
            Some(start)
        };
        self.counts(slots).scan(base, next).collect()
    }

    /// An error unless every blob holds as many elements as its slots say.
    pub(crate) fn check(&self, slots: &[(u64, &[u8])], value_bytes: u64, blobs: &Blobs) -> Result<()> {
        let lengths = blobs.lengths().chain(std::iter::repeat(0));
        self.counts(slots).zip(lengths).try_for_each(|(count, len)| {
            check_value(count, value_bytes, len as u64)?;
            Ok(())
        })
    }
}

/// Where values start in a heap.
pub(crate) enum Starts<'a> {
    /// Blobs as they were fetched, from an offset on. A value may be shorter than its blob.
    Blobs(u64, &'a Blobs),
    /// Each for itself; what has no value is at the offset, which is not that of no value at all.
    Joined(u64, Vec<u64>),
}

impl Starts<'_> {
    #[inline]
    pub(crate) fn of(&self, value: usize) -> u64 {
        match self {
            Starts::Blobs(base, blobs) => base + blobs.range(value).start as u64,
            Starts::Joined(base, starts) => starts.get(value).copied().unwrap_or(*base),
        }
    }
}
