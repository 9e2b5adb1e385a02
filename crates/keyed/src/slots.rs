//! Slots of variable-length values and references: a length, and the identity of a blob.

use model::datatype::{SlotSizes, VarLenKind};
use model::{Datatype, Error, Limits, Result, encode};

/// Bytes before the identity: elements of the value, or bytes of the reference.
pub const COUNT_BYTES: usize = 4;

/// Every slot has the same form: a length and an identity of so many bytes.
pub const fn slot_sizes(id_bytes: u32) -> SlotSizes {
    let bytes = COUNT_BYTES as u32 + id_bytes;
    SlotSizes {
        varlen: bytes,
        object_old: bytes,
        region_old: bytes,
        reference: bytes,
        reference_in_sequence: bytes,
    }
}

/// A stored type. Its slots have our sizes, or it is not ours.
pub fn decode_type(bytes: &[u8], slots: &SlotSizes, limits: &Limits) -> Result<Datatype> {
    let datatype = encode::decode_datatype(bytes, limits)?;
    match !datatype.has_slots() || datatype.with_slots(slots) == datatype {
        true => Ok(datatype),
        false => Err(Error::corrupt("read datatype").with("problem", "slots of another size")),
    }
}

/// A type as it is stored.
pub fn file_type(given: &Datatype, slots: &SlotSizes, limits: &Limits) -> Result<Datatype> {
    given.validate(limits)?;
    let file_type = given.with_slots(slots);
    if given.has_slots() {
        // With other slots members move, and a size that fitted may not fit any more.
        file_type.validate(limits)?;
    }
    Ok(file_type)
}

/// The identity in a slot, where it is not that of nothing.
pub fn id_of<const N: usize>(slot: &[u8]) -> Option<[u8; N]> {
    let id: [u8; N] = slot.get(COUNT_BYTES..)?.try_into().ok()?;
    (id != [0; N]).then_some(id)
}

/// Adds the blobs that an element uses, and the sequences among them whose elements may use others.
pub(crate) fn add_slots<'t, const N: usize>(
    datatype: &'t Datatype,
    element: &[u8],
    found: &mut Vec<[u8; N]>,
    sequences: &mut Vec<([u8; N], &'t Datatype)>,
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
