//! Objects that go: what they held is found before they do.

use iod_storage::Id;
use keyed::{Datasets, Values};
use model::{LinkTarget, Result};

use crate::blobs::ID_BYTES;
use crate::described::{Body, Described};
use crate::error::During;
use crate::identity;
use crate::keys;
use crate::lives::Changes;
use crate::opening::Opening;

impl Opening {
    /// Removes an object with all that belongs to it; returns the objects that it referred to, once for each reference.
    pub(crate) fn remove(&self, changes: &mut Changes<'_>, described: &Described) -> Result<Vec<Id>> {
        let id = described.id;
        let (mut held, mut blobs) = (Vec::new(), Vec::new());
        for (_, attribute) in self.all_attributes(described)? {
            held.extend(self.remove_attribute(changes, &attribute)?);
        }
        match &described.body {
            Body::Group(_) => held.extend(self.hard_links_of(id)?),
            Body::Dataset(dataset) => {
                held.extend(dataset.info.committed.map(identity::object).transpose()?);
                blobs.extend(self.blobs_of_fill(dataset)?);
                blobs.extend(self.blobs_of_chunks(id, dataset)?);
                if !dataset.filters().is_empty() {
                    self.shared.elements().settle(id)?;
                    let cells = self.shared.all_cells(id, dataset)?;
                    blobs.extend(cells.iter().map(|(_, cell)| cell.blob.to_bytes()));
                }
            }
            Body::Map { .. } => blobs.extend(self.blobs_of_map(described)?),
            Body::Datatype { .. } => {}
        }
        changes.unused.extend(blobs);
        changes.batch.delete(id).delete(described.metadata).delete(described.attributes);
        changes.gone.insert(id);
        Ok(held)
    }

    /// The objects that a group has hard links to.
    fn hard_links_of(&self, group: Id) -> Result<Vec<Id>> {
        let mut held = Vec::new();
        self.each_pair(group, |_, value| {
            if let LinkTarget::Hard(token) = keys::link_target(value)? {
                held.push(identity::object(token)?);
            }
            Ok(())
        })?;
        Ok(held)
    }

    /// The blobs that the values of a map use.
    pub(crate) fn blobs_of_map(&self, described: &Described) -> Result<Vec<[u8; ID_BYTES]>> {
        let (_, value_type) = described.map()?;
        let mut blobs = Vec::new();
        if value_type.has_slots() {
            self.each_pair(described.id, |_, value| {
                blobs.extend(self.blobs_in(value_type, value)?);
                Ok(())
            })?;
        }
        Ok(blobs)
    }

    /// Visits all pairs of a key-value store.
    pub(crate) fn each_pair(&self, kv: Id, mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let mut from = Vec::new();
        loop {
            let pairs = self.storage().pairs(kv, &from, keyed::PAGE).during("read values")?;
            let Some((last, _)) = pairs.last() else { return Ok(()) };
            from = keyed::after(last);
            pairs.iter().try_for_each(|(key, value)| visit(key, value))?;
        }
    }
}
