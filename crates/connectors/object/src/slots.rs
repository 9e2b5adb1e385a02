//! Slots of variable-length values and references: a length, and the UUID of a blob.

use model::datatype::{SlotSizes, VarLenKind};
use model::{Datatype, Error, Limits, Result, Token, encode};

use crate::opening::Opening;

/// Bytes of a blob's identity: a UUID.
pub(crate) const ID_BYTES: usize = 16;
/// Bytes before it: elements of the value, or bytes of the reference.
pub(crate) const COUNT_BYTES: usize = 4;

/// Every slot has the same form.
pub(crate) const SLOTS: SlotSizes =
    SlotSizes { varlen: 20, object_old: 20, region_old: 20, reference: 20, reference_in_sequence: 20 };

/// A blob's identity.
pub(crate) type BlobId = [u8; ID_BYTES];

/// A stored type. Its slots have our sizes, or it is not ours.
pub(crate) fn decode_type(bytes: &[u8], limits: &Limits) -> Result<Datatype> {
    let datatype = encode::decode_datatype(bytes, limits)?;
    match !datatype.has_slots() || datatype.with_slots(&SLOTS) == datatype {
        true => Ok(datatype),
        false => Err(Error::corrupt("read datatype").with("problem", "slots of another size")),
    }
}

impl Opening {
    /// A type as it is stored; where it is a committed one's, it must be that type.
    pub(crate) fn file_type(&self, given: &Datatype, committed: Option<Token>) -> Result<Datatype> {
        given.validate(self.limits())?;
        let file_type = given.with_slots(&SLOTS);
        if given.has_slots() {
            // With other slots members move, and a size that fitted may not fit any more.
            file_type.validate(self.limits())?;
        }
        match committed {
            Some(token) if *self.described(token)?.datatype()? != file_type => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
            _ => Ok(file_type),
        }
    }

    /// The blobs that elements in file form use, and those inside of them.
    pub(crate) fn blobs_in(&self, datatype: &Datatype, elements: &[u8]) -> Result<Vec<BlobId>> {
        let mut found = Vec::new();
        if datatype.has_slots() {
            self.add_blobs(datatype, elements, self.limits().depth_max, &mut found)?;
        }
        Ok(found)
    }

    fn add_blobs(
        &self,
        datatype: &Datatype,
        elements: &[u8],
        depth: u32,
        found: &mut Vec<BlobId>,
    ) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| Error::limit("look for blobs"))?;
        let mut sequences = Vec::new();
        for element in elements.chunks_exact(datatype.size().max(1) as usize) {
            add_slots(datatype, element, found, &mut sequences);
        }
        for (id, inner) in sequences {
            let mut values = vol::Blobs::default();
            // A value that is gone has nothing inside.
            if self.get_blobs(&[&id], &mut values).is_ok() {
                self.add_blobs(inner, values.bytes(), depth, found)?;
            }
        }
        Ok(())
    }
}

/// The identity in a slot, where it is not that of nothing.
pub(crate) fn id_of(slot: &[u8]) -> Option<BlobId> {
    let id: BlobId = slot.get(COUNT_BYTES..)?.try_into().ok()?;
    (id != [0; ID_BYTES]).then_some(id)
}

fn add_slots<'t>(
    datatype: &'t Datatype,
    element: &[u8],
    found: &mut Vec<BlobId>,
    sequences: &mut Vec<(BlobId, &'t Datatype)>,
) {
    match datatype {
        Datatype::Reference(_) => found.extend(id_of(element)),
        Datatype::VarLen(value) => {
            let Some(id) = id_of(element) else { return };
            found.push(id);
            if let VarLenKind::Sequence(inner) = &value.kind
                && inner.has_slots()
            {
                sequences.push((id, &**inner));
            }
        }
        Datatype::Array(array) if array.base.has_slots() => {
            let each = array.base.size().max(1) as usize;
            element.chunks_exact(each).for_each(|part| add_slots(&array.base, part, found, sequences));
        }
        Datatype::Compound(compound) => {
            for member in compound.members.iter().filter(|member| member.datatype.has_slots()) {
                let at = member.offset as usize;
                let part = element.get(at..at + member.datatype.size() as usize).unwrap_or_default();
                add_slots(&member.datatype, part, found, sequences);
            }
        }
        _ => {}
    }
}
