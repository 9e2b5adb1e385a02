//! Links in the order of their creation: in the metadata of their group, where the order is tracked.

use std::sync::Arc;

use iod_storage::Batch;
use keyed::View;
use model::{Error, Result};

use crate::described::Described;
use crate::error::During;
use crate::keys::{self, LINK_NEXT, LINK_PLACE};
use crate::opening::Opening;

/// A place from the number that a link shows.
pub(crate) fn place(created: i64) -> Result<u64> {
    u64::try_from(created).map_err(|_| Error::corrupt("read creation order").with("order", created))
}

impl Opening {
    /// A number of an object's metadata that counts up; none is 0.
    pub(crate) fn counter(&self, object: &Described, key: &[u8]) -> Result<u64> {
        let found = self.storage().get(object.metadata, &[key]).during("read order")?.pop().flatten();
        found.map_or(Ok(0), |bytes| keys::number_of(&bytes, "order of creation"))
    }

    /// The next place in the order of a group's links: of all that were ever given, so that none is given twice.
    pub(crate) fn next_place(&self, group: &Described) -> Result<u64> {
        self.counter(group, LINK_NEXT)
    }

    /// Gives a new link its place.
    pub(crate) fn append_to_order(
        &self,
        batch: &mut Batch<'_>,
        group: &Described,
        name: &[u8],
    ) -> Result<u64> {
        let place = self.next_place(group)?;
        let next = place.checked_add(1).ok_or_else(|| Error::limit("order links"))?;
        batch.put(group.metadata, LINK_NEXT, keys::number(next).to_vec()).put(
            group.metadata,
            keys::link_place(place),
            name.to_vec(),
        );
        Ok(place)
    }

    /// Names of a group's links in the order of their creation.
    pub(crate) fn names_by_creation(&self, group: &Described) -> Result<Arc<Vec<Vec<u8>>>> {
        self.shared.listings.snapshot(group.id, View::Creation, || {
            let mut from = LINK_PLACE.to_vec();
            let mut names = Vec::new();
            loop {
                let pairs = self.storage().pairs(group.metadata, &from, keyed::PAGE).during("list links")?;
                let Some((last, _)) = pairs.last() else { return Ok(names) };
                let is_place = |(key, _): &(Vec<u8>, Vec<u8>)| key.starts_with(LINK_PLACE);
                let (next, is_over) = (keyed::after(last), !last.starts_with(LINK_PLACE));
                names.extend(pairs.into_iter().filter(is_place).map(|(_, name)| name));
                if is_over {
                    return Ok(names);
                }
                from = next;
            }
        })
    }
}
