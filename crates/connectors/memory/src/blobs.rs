//! Blobs and references by number: what the descriptors of elements stand for.

use std::collections::BTreeMap;

use algorithms::replaced_blobs;
use model::datatype::ReferenceKind;
use model::{Datatype, Error, Limits, Reference, Result, Token};
use vol::Released;

use crate::objects::ContainerState;

/// Values by number, counted from one: a descriptor of zeros stands for nothing.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    values: BTreeMap<u64, Vec<u8>>,
    value_next: u64,
    /// Values that were released, and that readers may still need.
    pub(crate) released: Released<u64>,
    references: Vec<Reference>,
}

fn number(id: &[u8], operation: &str) -> Result<u64> {
    let bytes: Result<[u8; 8], _> = id.try_into();
    bytes.map(u64::from_le_bytes).map_err(|_| Error::invalid(operation).with("bytes", id.len()))
}

impl Blobs {
    pub(crate) fn put(&mut self, value: &[u8]) -> [u8; 8] {
        self.value_next += 1;
        self.values.insert(self.value_next, value.to_vec());
        self.value_next.to_le_bytes()
    }

    pub(crate) fn get(&self, id: &[u8]) -> Result<&[u8]> {
        let found = self.values.get(&number(id, "read blob")?);
        found
            .map(Vec::as_slice)
            .ok_or_else(|| Error::not_found("read blob").with("identity", format!("{id:02x?}")))
    }

    fn delete(&mut self, id: &[u8]) -> Result<()> {
        let gone = self.values.remove(&number(id, "delete blob")?);
        gone.map(|_| ()).ok_or_else(|| Error::not_found("delete blob").with("identity", format!("{id:02x?}")))
    }

    /// Releases the values that only the old elements had.
    pub(crate) fn release_replaced(
        &mut self,
        datatype: &Datatype,
        old: &[u8],
        new: &[u8],
        fill: Option<&[u8]>,
    ) -> Result<()> {
        let mut get =
            |ids: &[&[u8]], out: &mut vol::Blobs| ids.iter().try_for_each(|id| out.push(self.get(id)?));
        let ids = replaced_blobs(datatype, old, new, fill, &mut get)?;
        let ids = ids.as_chunks::<8>().0.iter().map(|id| u64::from_le_bytes(*id)).collect();
        for id in self.released.release(ids) {
            self.values.remove(&id);
        }
        Ok(())
    }

    fn put_reference(&mut self, reference: &Reference) -> [u8; 8] {
        self.references.push(reference.clone());
        (self.references.len() as u64).to_le_bytes()
    }

    fn reference(&self, descriptor: &[u8]) -> Result<Reference> {
        let Some(at) = number(descriptor, "read reference")?.checked_sub(1) else {
            return Ok(Reference::null());
        };
        let found = usize::try_from(at).ok().and_then(|at| self.references.get(at));
        found.cloned().ok_or_else(|| Error::not_found("read reference").with("number", at + 1))
    }
}

impl ContainerState {
    pub(crate) fn blob_put(&mut self, values: &[&[u8]], limits: &Limits) -> Result<Vec<u8>> {
        if let Some(value) = values.iter().find(|value| value.len() as u64 > limits.blob_bytes_max) {
            return Err(Error::limit("store blob")
                .with("bytes", value.len())
                .with("limit", limits.blob_bytes_max));
        }
        Ok(values.iter().flat_map(|value| self.blobs.put(value)).collect())
    }

    pub(crate) fn blob_get(&self, ids: &[&[u8]], out: &mut vol::Blobs) -> Result<()> {
        ids.iter().try_for_each(|id| out.push(self.blobs.get(id)?))
    }

    pub(crate) fn blob_delete(&mut self, ids: &[&[u8]]) -> Result<()> {
        ids.iter().try_for_each(|id| self.blobs.get(id).map(|_| ()))?;
        ids.iter().try_for_each(|id| self.blobs.delete(id))
    }

    pub(crate) fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        descriptors.iter().map(|descriptor| self.reference(kind, descriptor)).collect()
    }

    pub(crate) fn reference(&self, kind: ReferenceKind, descriptor: &[u8]) -> Result<Reference> {
        if kind != ReferenceKind::Object1 {
            return self.blobs.reference(descriptor);
        }
        let token = descriptor.try_into().map(Token);
        let token = token.map_err(|_| Error::invalid("read reference").with("bytes", descriptor.len()))?;
        Ok(if token == Token::default() { Reference::null() } else { Reference::object(token) })
    }

    pub(crate) fn reference_put(
        &mut self,
        kind: ReferenceKind,
        references: &[Reference],
    ) -> Result<Vec<Vec<u8>>> {
        references.iter().try_for_each(|reference| self.check_reference(kind, reference))?;
        Ok(references.iter().map(|reference| self.reference_descriptor(kind, reference)).collect())
    }

    /// Returns the descriptor of a reference that was checked.
    pub(crate) fn reference_descriptor(&mut self, kind: ReferenceKind, reference: &Reference) -> Vec<u8> {
        match (kind, reference.token()) {
            (ReferenceKind::Object1, token) => token.unwrap_or_default().0.to_vec(),
            (_, None) => vec![0; 8],
            _ => self.blobs.put_reference(reference).to_vec(),
        }
    }

    /// The old kinds say one thing about this container. The target may be gone: then the reference dangles.
    fn check_reference(&self, kind: ReferenceKind, reference: &Reference) -> Result<()> {
        algorithms::checks::reference(kind, reference)?;
        match reference.token() {
            Some(token) if reference.file.is_none() && !self.is_own(token) => {
                Err(Error::not_found("store reference").with("token", token))
            }
            _ => Ok(()),
        }
    }
}
