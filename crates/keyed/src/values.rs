//! Values of variable length and references: blobs, each with an identity of `N` bytes.

use std::collections::HashSet;

use model::datatype::ReferenceKind;
use model::properties::FillValue;
use model::{Datatype, Error, Limits, Reference, Result, Token};
use vol::{Blobs, Released};

use crate::slots::{COUNT_BYTES, add_slots, id_of};
use crate::{Dataset, references};

/// Blobs of a container, and what follows from them.
pub trait Values<const N: usize> {
    /// Bounds of what is read.
    fn limits(&self) -> &Limits;
    /// Stores values; returns their identities one after another.
    fn put_blobs(&self, values: &[&[u8]]) -> Result<Vec<u8>>;
    /// Appends the values of blobs.
    fn get_blobs(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()>;
    /// Blobs that were released, and that readers may still need.
    fn released(&self) -> &Released<[u8; N]>;
    /// Removes blobs, as far as they are there.
    fn remove_blobs(&self, ids: &[[u8; N]]) -> Result<()>;
    /// An error for a token that cannot be one of an object of this container; the object itself may be gone.
    fn check_token(&self, token: Token) -> Result<()>;

    /// Takes blobs that no element uses any more; they go when no reader needs them.
    fn drop_blobs(&self, ids: &[[u8; N]]) -> Result<()> {
        self.remove_blobs(&self.released().release(ids.to_vec()))
    }

    /// An error for values that are too large to be stored.
    fn check_blobs(&self, values: &[&[u8]]) -> Result<()> {
        let limit = self.limits().blob_bytes_max;
        match values.iter().find(|value| value.len() as u64 > limit) {
            Some(value) => Err(Error::limit("store blob").with("bytes", value.len()).with("limit", limit)),
            None => Ok(()),
        }
    }

    /// The blobs that elements in file form use, and those inside of them.
    fn blobs_in(&self, datatype: &Datatype, elements: &[u8]) -> Result<Vec<[u8; N]>> {
        let mut found = Vec::new();
        if datatype.has_slots() {
            add_blobs(self, datatype, elements, self.limits().depth_max, &mut found)?;
        }
        Ok(found)
    }

    /// The blobs of a fill value.
    fn blobs_of_fill(&self, dataset: &Dataset) -> Result<Vec<[u8; N]>> {
        match &dataset.info.create.fill.value {
            FillValue::Value(value) => self.blobs_in(&dataset.info.datatype, value),
            _ => Ok(Vec::new()),
        }
    }

    /// Removes blobs of elements that were overwritten, but those that new elements use.
    fn drop_replaced(&self, datatype: &Datatype, mut old: Vec<[u8; N]>, new: &[u8]) -> Result<()> {
        if old.is_empty() {
            return Ok(());
        }
        let kept: HashSet<[u8; N]> = self.blobs_in(datatype, new)?.into_iter().collect();
        old.retain(|id| !kept.contains(id));
        self.drop_blobs(&old)
    }

    /// Slots for references; null ones are zeros and have no blob.
    fn put_references(&self, kind: ReferenceKind, given: &[Reference]) -> Result<Vec<Vec<u8>>> {
        for reference in given {
            algorithms::checks::reference(kind, reference)?;
            if let (Some(token), None) = (reference.token(), &reference.file) {
                self.check_token(token)?;
            }
        }
        let values = given.iter().filter(|reference| !reference.is_null()).map(references::encode);
        let values = values.collect::<Result<Vec<_>>>()?;
        let ids = self.put_blobs(&values.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let mut stored = values.iter().zip(ids.chunks_exact(N));
        let slot = |reference: &Reference| match reference.is_null() {
            true => Some(vec![0; COUNT_BYTES + N]),
            false => stored.next().map(|(value, id)| [&(value.len() as u32).to_le_bytes()[..], id].concat()),
        };
        let slots: Option<Vec<_>> = given.iter().map(slot).collect();
        slots.ok_or_else(|| Error::invalid("store references"))
    }

    /// What slots stand for.
    fn get_references(&self, slots: &[&[u8]]) -> Result<Vec<Reference>> {
        if let Some(slot) = slots.iter().find(|slot| slot.len() != COUNT_BYTES + N) {
            return Err(Error::invalid("read reference").with("bytes", slot.len()));
        }
        let ids: Vec<Option<[u8; N]>> = slots.iter().map(|slot| id_of(slot)).collect();
        let used: Vec<&[u8]> = ids.iter().flatten().map(|id| &id[..]).collect();
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

fn add_blobs<const N: usize, V: Values<N> + ?Sized>(
    values: &V,
    datatype: &Datatype,
    elements: &[u8],
    depth: u32,
    found: &mut Vec<[u8; N]>,
) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or_else(|| Error::limit("look for blobs"))?;
    let mut sequences = Vec::new();
    for element in elements.chunks_exact(datatype.size().max(1) as usize) {
        add_slots(datatype, element, found, &mut sequences);
    }
    for (id, inner) in sequences {
        let mut blobs = Blobs::default();
        // A value that is gone has nothing inside.
        if values.get_blobs(&[&id], &mut blobs).is_ok() {
            add_blobs(values, inner, blobs.bytes(), depth, found)?;
        }
    }
    Ok(())
}
