//! Variable-length values and references: blobs that elements name.

use std::collections::HashSet;

use model::datatype::ReferenceKind;
use model::properties::FillValue;
use model::{Datatype, Error, Reference, Result};
use vol::Blobs;

use crate::descriptors::{COUNT_BYTES, add_descriptors, id_of};
use crate::mapping::Mapping;
use crate::{Dataset, Handle, references};

impl<M: Mapping> Handle<M> {
    /// Stores values, and returns their IDs one after another.
    ///
    /// # Errors
    /// Returns `Limit` if a value is larger than `Limits::blob_bytes_max`.
    pub(crate) fn put_blobs(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let limit = self.limits().blob_bytes_max;
        match values.iter().find(|value| value.len() as u64 > limit) {
            Some(value) => Err(Error::limit("store blob").with("bytes", value.len()).with("limit", limit)),
            None => self.mapping().put_blobs(values),
        }
    }

    /// Appends the values of blobs to `out`.
    pub(crate) fn get_blobs(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        self.mapping().get_blobs(ids, self.limits(), out)
    }

    /// Removes blobs.
    ///
    /// # Errors
    /// Returns `NotFound` if one of them is not stored; then none is removed.
    pub(crate) fn delete_blobs(&self, ids: &[&[u8]]) -> Result<()> {
        let find = |id: &&[u8]| self.mapping().find_blob(id, "delete blob");
        let ids = ids.iter().map(find).collect::<Result<Vec<_>>>()?;
        self.mapping().remove_blobs(&ids)
    }

    /// Releases blobs that no element uses any more. They are removed once no reader needs them.
    pub fn drop_blobs(&self, ids: &[M::BlobId]) -> Result<()> {
        self.mapping().remove_blobs(&self.shared.released.release(ids.to_vec()))
    }

    /// Returns the blobs that stored elements use, and those that elements inside of these use.
    pub(crate) fn blobs_in(&self, datatype: &Datatype, elements: &[u8]) -> Result<Vec<M::BlobId>> {
        let mut found = Vec::new();
        if datatype.has_descriptors() {
            self.add_blobs(datatype, elements, self.limits().depth_max, &mut found)?;
        }
        Ok(found)
    }

    fn add_blobs(
        &self,
        datatype: &Datatype,
        elements: &[u8],
        depth: u32,
        found: &mut Vec<M::BlobId>,
    ) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| Error::limit("look for blobs"))?;
        let mut sequences = Vec::new();
        for element in elements.chunks_exact(datatype.size().max(1) as usize) {
            add_descriptors(datatype, element, found, &mut sequences);
        }
        for (id, inner) in sequences {
            let mut blobs = Blobs::default();
            // A value that is gone has nothing inside.
            if self.get_blobs(&[id.as_ref()], &mut blobs).is_ok() {
                self.add_blobs(inner, blobs.bytes(), depth, found)?;
            }
        }
        Ok(())
    }

    /// Returns the blobs of a fill value.
    pub(crate) fn blobs_of_fill(&self, dataset: &Dataset) -> Result<Vec<M::BlobId>> {
        match &dataset.info.create.fill.value {
            FillValue::Value(value) => self.blobs_in(&dataset.info.datatype, value),
            _ => Ok(Vec::new()),
        }
    }

    /// Releases the blobs `old` of elements that were overwritten, but those that the elements `new` use.
    pub(crate) fn drop_replaced(
        &self,
        datatype: &Datatype,
        mut old: Vec<M::BlobId>,
        new: &[u8],
    ) -> Result<()> {
        if old.is_empty() {
            return Ok(());
        }
        let used: HashSet<M::BlobId> = self.blobs_in(datatype, new)?.into_iter().collect();
        old.retain(|id| !used.contains(id));
        self.drop_blobs(&old)
    }

    /// Stores references, and returns their descriptors. A null reference is zeros and has no blob.
    pub(crate) fn put_references(&self, kind: ReferenceKind, given: &[Reference]) -> Result<Vec<Vec<u8>>> {
        for reference in given {
            algorithms::checks::reference(kind, reference)?;
            if let (Some(token), None) = (reference.token(), &reference.file) {
                // The object may be gone, but it must be one of this container.
                M::id(token)?;
            }
        }
        let values = given.iter().filter(|reference| !reference.is_null()).map(references::encode);
        let values = values.collect::<Result<Vec<_>>>()?;
        let ids = self.put_blobs(&values.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let id_bytes = size_of::<M::BlobId>();
        let mut stored = values.iter().zip(ids.chunks_exact(id_bytes));
        let descriptor = |reference: &Reference| match reference.is_null() {
            true => Some(vec![0; COUNT_BYTES + id_bytes]),
            false => stored.next().map(|(value, id)| [&(value.len() as u32).to_le_bytes()[..], id].concat()),
        };
        let descriptors: Option<Vec<_>> = given.iter().map(descriptor).collect();
        descriptors.ok_or_else(|| Error::invalid("store references"))
    }

    /// Returns the references that descriptors stand for.
    pub(crate) fn get_references(&self, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let descriptor_bytes = COUNT_BYTES + size_of::<M::BlobId>();
        if let Some(descriptor) = descriptors.iter().find(|descriptor| descriptor.len() != descriptor_bytes) {
            return Err(Error::invalid("read reference").with("bytes", descriptor.len()));
        }
        let ids: Vec<Option<M::BlobId>> = descriptors.iter().map(|descriptor| id_of(descriptor)).collect();
        let used: Vec<&[u8]> = ids.iter().flatten().map(AsRef::as_ref).collect();
        let mut blobs = Blobs::default();
        if !used.is_empty() {
            self.get_blobs(&used, &mut blobs)?;
        }
        let mut values = blobs.iter();
        ids.iter()
            .map(|id| match id {
                None => Ok(Reference::null()),
                Some(_) => references::decode(values.next().unwrap_or_default(), self.limits()),
            })
            .collect()
    }
}
