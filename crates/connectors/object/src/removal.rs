//! Objects that go: what they held is found before their keys are punched.

use keyed::{Datasets, Values};
use model::{Kind, LinkTarget, Result};
use objects::{ObjectId, Phase};

use crate::described::{Body, Described};
use crate::error::During;
use crate::identity;
use crate::keys::{self, LINK, MAP};
use crate::listing::{PAGE, after};
use crate::opening::Opening;
use crate::slots::BlobId;

impl Opening {
    /// Removes an object and its blobs; returns the objects that it referred to, once for each reference.
    pub(crate) fn remove(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        let described = match self.shared.describe(id, self.limits()) {
            // A second look at an object that is gone already.
            Err(error) if error.kind() == Kind::NotFound => return Ok(Vec::new()),
            described => described?,
        };
        let mut held = self.committed_in_attributes(&described)?;
        let mut blobs = self.blobs_in_attributes(&described)?;
        match &described.body {
            Body::Group(_) => held.extend(self.hard_links_of(id)?),
            Body::Dataset(dataset) => {
                held.extend(dataset.info.committed.map(identity::object).transpose()?);
                blobs.extend(self.blobs_of_fill(dataset)?);
                blobs.extend(self.blobs_of_chunks(id, dataset)?);
            }
            Body::Map { .. } => blobs.extend(self.blobs_of_map(&described)?),
            Body::Datatype { .. } => {}
        }
        self.store().punch_object(id, Phase::Removal).during("remove object")?;
        self.shared.forget(id);
        self.drop_blobs(&blobs)?;
        Ok(held)
    }

    /// The objects that a group has hard links to.
    pub(crate) fn hard_links_of(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        let mut held = Vec::new();
        self.each_value(id, LINK, |dkey, value| {
            if dkey.starts_with(b"/") {
                return Ok(());
            }
            if let LinkTarget::Hard(token) = keys::link_target(&value)? {
                held.push(identity::object(token)?);
            }
            Ok(())
        })?;
        Ok(held)
    }

    /// The blobs that the values of a map use.
    pub(crate) fn blobs_of_map(&self, described: &Described) -> Result<Vec<BlobId>> {
        let (_, value_type) = described.map()?;
        let mut blobs = Vec::new();
        if value_type.has_slots() {
            self.each_value(described.id, MAP, |_, value| {
                blobs.extend(self.blobs_in(value_type, &value)?);
                Ok(())
            })?;
        }
        Ok(blobs)
    }

    /// Visits the single value of one akey under every dkey of an object that has it.
    pub(crate) fn each_value(
        &self,
        id: ObjectId,
        akey: &[u8],
        mut visit: impl FnMut(&[u8], Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut from = Vec::new();
        loop {
            let dkeys = self.store().dkeys(id, &from, PAGE).during("list keys")?;
            let Some(last) = dkeys.last() else { return Ok(()) };
            from = after(last);
            let wanted: Vec<_> = dkeys.iter().map(|dkey| (id, &dkey[..], akey)).collect();
            let values = self.store().get_many(&wanted).during("read values")?;
            for (dkey, value) in dkeys.iter().zip(values) {
                if let Some(value) = value {
                    visit(dkey, value)?;
                }
            }
        }
    }
}
