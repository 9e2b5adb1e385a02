//! Reference counts: when objects are removed, and what is removed with them.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use model::{Error, Kind, Result};

use crate::links::hard_target;
use crate::mapping::Mapping;
use crate::{Body, Handle, ObjectHeader};

/// The references that keep objects, in addition to the stored counts.
#[derive(Debug)]
pub struct ReferenceCounts<Id> {
    /// How often objects are retained, by all handles of the container.
    retained: HashMap<Id, u32>,
    /// Objects without a reference: they are removed when they are released, or when the container is closed.
    unlinked: HashSet<Id>,
}

impl<Id> Default for ReferenceCounts<Id> {
    fn default() -> Self {
        ReferenceCounts { retained: HashMap::new(), unlinked: HashSet::new() }
    }
}

impl<Id: Copy + Eq + Hash> ReferenceCounts<Id> {
    pub(crate) fn retain(&mut self, id: Id) {
        *self.retained.entry(id).or_insert(0) += 1;
    }

    fn release(&mut self, id: Id, times: u32) {
        if let Some(count) = self.retained.get_mut(&id) {
            *count = count.saturating_sub(times);
            if *count == 0 {
                self.retained.remove(&id);
            }
        }
    }

    /// Returns whether an object may exist without a reference.
    pub fn holds(&self, id: &Id) -> bool {
        self.retained.contains_key(id) || self.unlinked.contains(id)
    }

    /// Returns whether any object exists without a reference.
    pub fn has_unlinked(&self) -> bool {
        !self.unlinked.is_empty()
    }
}

/// Returns a reference count changed by `by`.
///
/// # Errors
/// Returns `Invalid` if it would be negative or larger than `u32::MAX`.
pub fn changed_count(old: u64, by: i64) -> Result<u64> {
    let new = old.checked_add_signed(by).filter(|&new| new <= u64::from(u32::MAX));
    new.ok_or_else(|| Error::invalid("change reference count").with("references", old).with("by", by))
}

/// Changes that belong to one operation.
#[derive(Debug)]
pub(crate) struct Changes<M: Mapping> {
    /// Changes of what is stored.
    pub(crate) stored: M::Changes,
    /// Objects that are removed.
    removed: HashSet<M::Id>,
    /// Blobs that nothing uses once the changes are made: before that a reader may still find them.
    pub(crate) unused_blobs: Vec<M::BlobId>,
    /// Objects that have no reference, and stay because they are retained.
    pub(crate) unlinked: Vec<M::Id>,
    /// Objects that get a reference.
    linked: Vec<M::Id>,
}

impl<M: Mapping> Default for Changes<M> {
    fn default() -> Self {
        Changes {
            stored: M::Changes::default(),
            removed: HashSet::new(),
            unused_blobs: Vec::new(),
            unlinked: Vec::new(),
            linked: Vec::new(),
        }
    }
}

impl<M: Mapping> Handle<M> {
    /// Completes the changes of an operation.
    pub(crate) fn commit_changes(
        &self,
        counts: &mut ReferenceCounts<M::Id>,
        changes: Changes<M>,
        operation: &str,
    ) -> Result<()> {
        self.mapping().apply(changes.stored, operation)?;
        for id in &changes.removed {
            counts.unlinked.remove(id);
            self.shared.forget(*id);
        }
        for id in &changes.linked {
            counts.unlinked.remove(id);
        }
        counts.unlinked.extend(changes.unlinked);
        self.drop_blobs(&changes.unused_blobs)
    }

    /// Counts one more reference to an object.
    pub(crate) fn add_reference(&self, changes: &mut Changes<M>, id: M::Id) -> Result<()> {
        self.mapping().change_references(&mut changes.stored, id, 1)?;
        changes.linked.push(id);
        Ok(())
    }

    /// Counts one reference to an object less. If it was the last and the object is not retained, the object is removed,
    /// and its own references are dropped likewise.
    pub(crate) fn drop_reference(
        &self,
        counts: &ReferenceCounts<M::Id>,
        changes: &mut Changes<M>,
        id: M::Id,
    ) -> Result<()> {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let old = match self.mapping().references(&changes.stored, id) {
                // An object that is gone has no count.
                Err(error) if error.kind() == Kind::NotFound => continue,
                found => found?,
            };
            // The count of an object that is removed anyway is changed only where another process may look at it. A
            // count that is 0 already is wrong, and `storage_check` repairs it.
            let stays = old > 1 || counts.retained.contains_key(&id) || self.mapping().is_concurrent();
            if stays && old > 0 && self.mapping().change_references(&mut changes.stored, id, -1)? > 0 {
                continue;
            }
            pending.extend(self.remove_if_unused(counts, changes, id)?);
        }
        Ok(())
    }

    /// Removes an object without references unless it is retained. Returns the objects that it referred to, once for each
    /// reference.
    fn remove_if_unused(
        &self,
        counts: &ReferenceCounts<M::Id>,
        changes: &mut Changes<M>,
        id: M::Id,
    ) -> Result<Vec<M::Id>> {
        if changes.removed.contains(&id) {
            return Ok(Vec::new());
        }
        if counts.retained.contains_key(&id) {
            changes.unlinked.push(id);
            return Ok(Vec::new());
        }
        match self.header_of(id) {
            Err(error) if error.kind() == Kind::NotFound => Ok(Vec::new()),
            header => self.remove(changes, &*header?),
        }
    }

    /// Removes an object with its attributes and blobs. Returns the objects that it referred to, once for each reference.
    fn remove(&self, changes: &mut Changes<M>, header: &ObjectHeader<M>) -> Result<Vec<M::Id>> {
        let (id, mut held) = (header.id, Vec::new());
        let attributes = self.all_attributes(header)?;
        for (name, attribute) in &attributes {
            held.extend(attribute.committed.map(M::id).transpose()?);
            changes.unused_blobs.extend(self.blobs_of_attribute(header, name, attribute)?);
        }
        match &header.body {
            Body::Group(_) => self.each_link(id, |_, target| {
                held.extend(hard_target(&target?).map(M::id).transpose()?);
                Ok(())
            })?,
            Body::Dataset(dataset) => {
                held.extend(dataset.info.committed.map(M::id).transpose()?);
                changes.unused_blobs.extend(self.blobs_of_dataset(id, dataset)?);
                self.shared.forget_partial_chunks(id);
            }
            Body::Map { .. } => changes.unused_blobs.extend(self.blobs_of_map(header)?),
            Body::Datatype { .. } => {}
        }
        let attributes: Vec<_> = attributes.into_iter().map(|(_, attribute)| attribute).collect();
        self.mapping().remove_object(&mut changes.stored, header, &attributes)?;
        changes.removed.insert(id);
        Ok(held)
    }

    /// Releases an object `times` times. An object without references is removed when it is released for the last time.
    pub(crate) fn release_object(
        &self,
        counts: &mut ReferenceCounts<M::Id>,
        id: M::Id,
        times: u32,
    ) -> Result<()> {
        counts.release(id, times);
        match counts.retained.contains_key(&id) || !counts.unlinked.contains(&id) {
            true => Ok(()),
            false => self.remove_unused(counts, &[id]),
        }
    }

    /// Removes all objects that have no reference and are not retained.
    pub(crate) fn remove_unlinked(&self, counts: &mut ReferenceCounts<M::Id>) -> Result<()> {
        let unlinked: Vec<M::Id> = counts.unlinked.iter().copied().collect();
        self.remove_unused(counts, &unlinked)
    }

    /// Removes objects without references as far as they exist and are not retained.
    pub(crate) fn remove_unused(&self, counts: &mut ReferenceCounts<M::Id>, ids: &[M::Id]) -> Result<()> {
        let mut changes = Changes::default();
        for id in ids {
            for held in self.remove_if_unused(counts, &mut changes, *id)? {
                self.drop_reference(counts, &mut changes, held)?;
            }
        }
        self.commit_changes(counts, changes, "remove objects")
    }

    /// Adds `by` to the reference count of an object, and returns the new count.
    ///
    /// # Errors
    /// Returns `Invalid` if the count would be negative, or that of the root group 0.
    pub(crate) fn adjust_references(&self, header: &ObjectHeader<M>, by: i32) -> Result<u32> {
        let mut counts = self.shared.reference_counts();
        let (id, mut changes) = (header.id, Changes::default());
        let old = self.mapping().references(&changes.stored, id)?;
        let new = old.checked_add_signed(by.into()).filter(|&new| new > 0 || id != M::ROOT);
        let new = new.and_then(|new| u32::try_from(new).ok());
        let new =
            new.ok_or_else(|| Error::invalid("adjust references").with("references", old).with("by", by))?;
        self.mapping().change_references(&mut changes.stored, id, by.into())?;
        if new == 0 {
            for held in self.remove_if_unused(&counts, &mut changes, id)? {
                self.drop_reference(&counts, &mut changes, held)?;
            }
        } else {
            changes.linked.push(id);
        }
        self.commit_changes(&mut counts, changes, "adjust references")?;
        Ok(new)
    }
}
