//! Lives of objects: counts of links, handles, and what goes with the last of them.

use std::collections::{HashMap, HashSet};

use iod_storage::{Batch, Id};
use keyed::Values;
use model::{Error, Kind, Result};

use crate::blobs::ID_BYTES;
use crate::described::Described;
use crate::error::During;
use crate::keys::{self, LINK_COUNT};
use crate::opening::Opening;

/// What is known about lives of objects, besides the counts in the storage.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    /// Open handles, of all openings.
    pub(crate) handles: HashMap<Id, u32>,
    /// Objects without a reference: they go with their last handle, or when the container closes.
    pub(crate) unlinked: HashSet<Id>,
}

/// Changes that are made together.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) batch: Batch<'a>,
    /// Counts of links as they will be.
    counts: HashMap<Id, (Id, u64)>,
    /// Objects and attributes that go.
    pub(crate) gone: HashSet<Id>,
    /// Blobs that nothing uses once the batch was applied: before that a reader may still find its way to them.
    pub(crate) unused: Vec<[u8; ID_BYTES]>,
    /// Objects that lose their last link and stay for a handle.
    unlinked: Vec<Id>,
    /// Objects that get a link again.
    linked: Vec<Id>,
}

impl Opening {
    /// Makes changes, all or nothing.
    pub(crate) fn commit_changes(
        &self,
        structure: &mut Structure,
        mut changes: Changes<'_>,
        operation: &str,
    ) -> Result<()> {
        for (id, (metadata, count)) in &changes.counts {
            if !changes.gone.contains(id) {
                changes.batch.put(*metadata, LINK_COUNT, keys::number(*count).to_vec());
            }
        }
        self.shared.apply(&changes.batch, operation)?;
        for id in &changes.gone {
            structure.unlinked.remove(id);
            self.shared.forget(*id);
        }
        for id in &changes.linked {
            structure.unlinked.remove(id);
        }
        structure.unlinked.extend(changes.unlinked);
        self.drop_blobs(&changes.unused)
    }

    /// Links to an object, as the storage has them.
    pub(crate) fn references(&self, described: &Described) -> Result<u64> {
        let found = self.storage().get(described.metadata, &[LINK_COUNT]).during("count links")?;
        let bytes = found.into_iter().next().flatten();
        keys::number_of(&bytes.unwrap_or_default(), "link count")
    }

    /// Changes the count of an object's links and returns it; below zero it does not go.
    fn count(&self, changes: &mut Changes<'_>, described: &Described, by: i64) -> Result<u64> {
        let old = match changes.counts.get(&described.id) {
            Some((_, count)) => *count,
            None => self.references(described)?,
        };
        let new = old.checked_add_signed(by).filter(|&new| new <= u64::from(u32::MAX));
        let new = new.ok_or_else(|| Error::invalid("change link count").with("links", old).with("by", by))?;
        changes.counts.insert(described.id, (described.metadata, new));
        Ok(new)
    }

    /// Counts one more link to an object.
    pub(crate) fn add_reference(&self, changes: &mut Changes<'_>, id: Id) -> Result<()> {
        let described = self.shared.describe(id, self.limits())?;
        self.count(changes, &described, 1)?;
        changes.linked.push(id);
        Ok(())
    }

    /// Takes one link away; with the last link and handle the object goes, and what it held may follow.
    pub(crate) fn drop_reference(
        &self,
        structure: &Structure,
        changes: &mut Changes<'_>,
        id: Id,
    ) -> Result<()> {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let described = match self.shared.describe(id, self.limits()) {
                // Whatever is gone has no count to change.
                Err(error) if error.kind() == Kind::NotFound => continue,
                described => described?,
            };
            // A count that is too low already is a mistake that nothing here can mend.
            let left = match changes.counts.get(&id) {
                Some((_, count)) => *count,
                None => self.references(&described)?,
            };
            if left > 0 && self.count(changes, &described, -1)? > 0 {
                continue;
            }
            pending.extend(self.let_die(structure, changes, &described)?);
        }
        Ok(())
    }

    /// An object without links goes, unless somebody has it open; returns what it held.
    fn let_die(
        &self,
        structure: &Structure,
        changes: &mut Changes<'_>,
        described: &Described,
    ) -> Result<Vec<Id>> {
        if changes.gone.contains(&described.id) {
            return Ok(Vec::new());
        }
        if structure.handles.contains_key(&described.id) {
            changes.unlinked.push(described.id);
            return Ok(Vec::new());
        }
        self.remove(changes, described)
    }

    /// Gives up handles of an object.
    pub(crate) fn release_handles(&self, structure: &mut Structure, id: Id, times: u32) -> Result<()> {
        if let Some(count) = structure.handles.get_mut(&id) {
            *count = count.saturating_sub(times);
            if *count == 0 {
                structure.handles.remove(&id);
            }
        }
        match structure.handles.contains_key(&id) || !structure.unlinked.contains(&id) {
            true => Ok(()),
            false => self.remove_now(structure, &[id]),
        }
    }

    /// Removes what has no link: nobody can reach it once all have closed.
    pub(crate) fn remove_unlinked(&self, structure: &mut Structure) -> Result<()> {
        let unlinked: Vec<Id> = structure.unlinked.iter().copied().collect();
        let unused: Vec<Id> = unlinked.into_iter().filter(|id| !structure.handles.contains_key(id)).collect();
        self.remove_now(structure, &unused)
    }

    fn remove_now(&self, structure: &mut Structure, ids: &[Id]) -> Result<()> {
        let mut changes = Changes::default();
        for id in ids {
            let described = match self.shared.describe(*id, self.limits()) {
                Err(error) if error.kind() == Kind::NotFound => continue,
                described => described?,
            };
            for held in self.let_die(structure, &mut changes, &described)? {
                self.drop_reference(structure, &mut changes, held)?;
            }
        }
        self.commit_changes(structure, changes, "remove objects")
    }

    pub(crate) fn adjust_references(&self, described: &Described, by: i32) -> Result<u32> {
        let mut structure = self.shared.structure();
        let old = self.references(described)?;
        let new = old.checked_add_signed(by.into()).filter(|&new| new > 0 || described.id != keys::ROOT);
        let new = new.and_then(|new| u32::try_from(new).ok());
        let new =
            new.ok_or_else(|| Error::invalid("adjust references").with("references", old).with("by", by))?;
        let mut changes = Changes::default();
        self.count(&mut changes, described, by.into())?;
        if new == 0 {
            for held in self.let_die(&structure, &mut changes, described)? {
                self.drop_reference(&structure, &mut changes, held)?;
            }
        } else {
            changes.linked.push(described.id);
        }
        self.commit_changes(&mut structure, changes, "adjust references")?;
        Ok(new)
    }
}
