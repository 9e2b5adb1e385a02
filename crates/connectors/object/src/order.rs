//! Links in the order of their creation, under `/Link Creation Order`.
//!
//! The number of links at creation time would be given twice once a link was deleted: a new link gets the next of all
//! places that were ever given, which is the same while nothing is deleted.

use std::sync::Arc;

use model::{Error, Result};
use objects::{Change, Condition, ObjectId, Phase, Update};

use crate::error::During;
use crate::keys::{self, LINK_ORDER, ORDER, ORDER_COUNT, ORDER_NEXT};
use crate::listing::{View, each_akey};
use crate::opening::Opening;

/// A place from the number that a link shows.
pub(crate) fn place(created: i64) -> Result<u64> {
    u64::try_from(created).map_err(|_| Error::corrupt("read creation order").with("order", created))
}

impl Opening {
    /// The next place, and how many links there are.
    pub(crate) fn order_counts(&self, group: ObjectId) -> Result<(u64, u64)> {
        let found = self.store().get(group, ORDER, &[ORDER_NEXT, ORDER_COUNT]).during("read link order")?;
        let number = |at: usize| match found.get(at) {
            Some(Some(bytes)) => keys::number_of(bytes, "link order"),
            _ => Ok(0),
        };
        Ok((number(0)?, number(1)?))
    }

    /// Changes the order; where processes share it, only if it is still as it was seen.
    fn change_order(
        &self,
        group: ObjectId,
        (next, count): (u64, u64),
        phase: Phase,
        changes: &[Change<'_>],
    ) -> objects::Result<()> {
        let (next, count) = (keys::number(next), keys::number(count));
        let unchanged = [Condition::Equals(ORDER_NEXT, &next), Condition::Equals(ORDER_COUNT, &count)];
        let unused = [Condition::Absent(ORDER_NEXT)];
        let conditions: &[Condition<'_>] = if next == [0; 8] { &unused } else { &unchanged };
        let update = Update { object: group, dkey: ORDER, changes, conditions: &[], phase };
        match self.shared.is_concurrent {
            true => self.store().update_now(&Update { conditions, ..update }),
            false => self.store().update(&update),
        }
    }

    /// Gives a new link its place. It stands here before the link does: readers pass over what has no link.
    pub(crate) fn append_to_order(&self, group: ObjectId, name: &[u8], value: &[u8]) -> Result<u64> {
        self.retried("order links", &mut || {
            let (next, count) = self.order_counts(group)?;
            let after = next.checked_add(1).ok_or_else(|| Error::limit("order links"))?;
            let (new_next, new_count) = (keys::number(after), keys::number(count.saturating_add(1)));
            let (name_key, target_key) = (keys::order_name(next), keys::order_target(next));
            let changes = [
                Change::Single(ORDER_NEXT, &new_next),
                Change::Single(ORDER_COUNT, &new_count),
                Change::Single(&name_key, name),
                Change::Single(&target_key, value),
            ];
            Ok((self.change_order(group, (next, count), Phase::Description, &changes), next))
        })
    }

    /// The link at a place is gone.
    pub(crate) fn take_from_order(&self, group: ObjectId, place: u64) -> Result<()> {
        self.retried("order links", &mut || {
            let (next, count) = self.order_counts(group)?;
            let new_count = keys::number(count.saturating_sub(1));
            let (name_key, target_key) = (keys::order_name(place), keys::order_target(place));
            let changes = [
                Change::Single(ORDER_COUNT, &new_count),
                Change::Punch(&name_key),
                Change::Punch(&target_key),
            ];
            Ok((self.change_order(group, (next, count), Phase::Removal, &changes), ()))
        })
    }

    /// Places that were given, in increasing order, and the names at them.
    pub(crate) fn order_entries(&self, group: ObjectId) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut places = Vec::new();
        each_akey(self.store(), group, ORDER, b"", |akey| {
            places.extend(akey.try_into().map(u64::from_le_bytes).ok());
            Ok(true)
        })?;
        places.sort_unstable();
        let akeys: Vec<[u8; 8]> = places.iter().map(|place| keys::order_name(*place)).collect();
        let wanted: Vec<_> = akeys.iter().map(|akey| (group, ORDER, &akey[..])).collect();
        let names = self.store().get_many(&wanted).during("list links")?;
        Ok(places.into_iter().zip(names).filter_map(|(place, name)| Some((place, name?))).collect())
    }

    /// Names of a group's links in the order of their creation.
    pub(crate) fn names_by_creation(&self, group: ObjectId) -> Result<Arc<Vec<Vec<u8>>>> {
        self.shared.listings.snapshot(group, View::Creation, || {
            let entries = self.order_entries(group)?;
            let wanted: Vec<_> = entries.iter().map(|(_, name)| (group, &name[..], LINK_ORDER)).collect();
            let found = self.store().get_many(&wanted).during("list links")?;
            let is_there = |((place, _), found): &((u64, Vec<u8>), Option<Vec<u8>>)| {
                found.as_deref() == Some(&keys::number(*place)[..])
            };
            Ok(entries.into_iter().zip(found).filter(is_there).map(|((_, name), _)| name).collect())
        })
    }
}
