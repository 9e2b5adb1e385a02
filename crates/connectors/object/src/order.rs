//! Links in the order of their creation, under `/Link Creation Order`.
//!
//! The number of links at creation time would be given twice once a link was deleted: a new link gets the next of all
//! places that were ever given, which is the same while nothing is deleted. The connector for DAOS has no gaps instead: the
//! links after one that is deleted move down, and in containers that are spelled as that connector does, so they do here.

use keyed::During;
use model::{Error, Result};
use objects::{Change, Condition, ObjectId, Phase, Update};

use crate::ObjectMapping;
use crate::keys::{self, ORDER, ORDER_COUNT, ORDER_NEXT, Spelling};
use crate::listing;

/// Names and targets of links that get other places in the order.
#[derive(Default)]
struct MovedLinks {
    /// The akeys of the new places.
    keys: Vec<Vec<u8>>,
    values: Vec<Option<Vec<u8>>>,
}

impl MovedLinks {
    fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.keys.iter().zip(&self.values).map(|(key, value)| match value {
            Some(value) => Change::Single(key, value),
            None => Change::Punch(key),
        })
    }
}

impl ObjectMapping {
    /// Returns the next place in the order, and the number of links.
    pub(crate) fn order_counts(&self, group: ObjectId) -> Result<(u64, u64)> {
        let found = self.store.get(group, ORDER, &[ORDER_NEXT, ORDER_COUNT]).during("read link order")?;
        let number = |at: usize| match found.get(at) {
            Some(Some(bytes)) => keys::number_of(bytes, "link order"),
            _ => Ok(0),
        };
        Ok((number(0)?, number(1)?))
    }

    /// Changes the order. If other processes write too, it must be as it was read.
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
        self.update_counted(&Update { object: group, dkey: ORDER, changes, conditions, phase })
    }

    /// Adds a new link to the order, and returns its place. This comes before the link itself: readers skip names without a
    /// link.
    pub(crate) fn append_to_order(&self, group: ObjectId, name: &[u8], value: &[u8]) -> Result<u64> {
        self.retried("order links", &mut || {
            let (next, count) = self.order_counts(group)?;
            let after = next.checked_add(1).ok_or_else(|| Error::limit("order links"))?;
            let (new_next, new_count) = (keys::number(after), keys::number(count.saturating_add(1)));
            let place = match self.spelling {
                Spelling::Design => next,
                Spelling::Daos => count,
            };
            let (name_key, target_key) = (keys::order_name(place), keys::order_target(place));
            let changes = [
                Change::Single(ORDER_NEXT, &new_next),
                Change::Single(ORDER_COUNT, &new_count),
                Change::Single(&name_key, name),
                Change::Single(&target_key, value),
            ];
            Ok((self.change_order(group, (next, count), Phase::Description, &changes), place))
        })
    }

    /// Removes the link of a name, which was at a place, from the order.
    pub(crate) fn take_from_order(&self, group: ObjectId, name: &[u8], place: u64) -> Result<()> {
        self.retried("order links", &mut || {
            let (next, count) = self.order_counts(group)?;
            let place = match self.spelling {
                Spelling::Design => place,
                // Another link may have been removed since the place was read.
                Spelling::Daos => self.place_of(group, name)?.unwrap_or(place),
            };
            let new_count = keys::number(count.saturating_sub(1));
            let moved = match self.spelling {
                Spelling::Design => MovedLinks::default(),
                Spelling::Daos => self.links_after(group, place, count)?,
            };
            let last = place + moved.values.len() as u64 / 2;
            let (name_key, target_key) = (keys::order_name(last), keys::order_target(last));
            let mut changes = vec![Change::Single(ORDER_COUNT, &new_count)];
            changes.extend(moved.changes());
            changes.extend([Change::Punch(&name_key), Change::Punch(&target_key)]);
            Ok((self.change_order(group, (next, count), Phase::Removal, &changes), ()))
        })
    }

    /// Returns the place that a name has in the order, or `None` if it has none.
    fn place_of(&self, group: ObjectId, name: &[u8]) -> Result<Option<u64>> {
        let entries = self.order_entries(group)?;
        Ok(entries.into_iter().rev().find(|(_, entry)| entry == name).map(|(place, _)| place))
    }

    /// Returns the links after a place, to be moved down by one.
    fn links_after(&self, group: ObjectId, place: u64, count: u64) -> Result<MovedLinks> {
        let keys = |place| [keys::order_name(place).to_vec(), keys::order_target(place).to_vec()];
        let from: Vec<Vec<u8>> = (place + 1..count).flat_map(keys).collect();
        let wanted: Vec<_> = from.iter().map(|akey| (group, ORDER, &akey[..])).collect();
        let values = self.store.get_many(&wanted).during("order links")?;
        Ok(MovedLinks { keys: (place..).flat_map(keys).take(from.len()).collect(), values })
    }

    /// Returns the places in the order and the names at them, in increasing order.
    pub(crate) fn order_entries(&self, group: ObjectId) -> Result<Vec<(u64, Vec<u8>)>> {
        let akeys = listing::akeys(&*self.store, group, ORDER, b"")?;
        let place = |akey: &Vec<u8>| akey.as_slice().try_into().map(u64::from_le_bytes).ok();
        let mut places: Vec<u64> = akeys.iter().filter_map(place).collect();
        places.sort_unstable();
        let akeys: Vec<[u8; 8]> = places.iter().map(|place| keys::order_name(*place)).collect();
        let wanted: Vec<_> = akeys.iter().map(|akey| (group, ORDER, &akey[..])).collect();
        let names = self.store.get_many(&wanted).during("list links")?;
        Ok(places.into_iter().zip(names).filter_map(|(place, name)| Some((place, name?))).collect())
    }
}
