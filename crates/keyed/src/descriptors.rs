//! Descriptors of variable-length values and references in elements: a length, and the ID of a blob.

use model::datatype::{DescriptorSizes, VarLenKind};
use model::{Datatype, Error, Limits, Result, encode};

use crate::mapping::BlobId;

/// Bytes before the ID: the number of the value's elements, or of the reference's bytes.
pub(crate) const COUNT_BYTES: usize = 4;

/// Returns the sizes of descriptors: each is a length, and the ID of a blob with `id_bytes` bytes.
pub(crate) const fn descriptor_sizes(id_bytes: u32) -> DescriptorSizes {
    let bytes = COUNT_BYTES as u32 + id_bytes;
    DescriptorSizes {
        varlen: bytes,
        object_old: bytes,
        region_old: bytes,
        reference: bytes,
        reference_in_sequence: bytes,
    }
}

/// Decodes a stored datatype.
///
/// # Errors
/// Returns `Corrupt` if the bytes are no datatype, or one with descriptors of other sizes.
pub(crate) fn decode_type(bytes: &[u8], descriptors: &DescriptorSizes, limits: &Limits) -> Result<Datatype> {
    let datatype = encode::decode_datatype(bytes, limits)?;
    match !datatype.has_descriptors() || datatype.with_descriptors(descriptors) == datatype {
        true => Ok(datatype),
        false => Err(Error::corrupt("read datatype").with("problem", "descriptors of another size")),
    }
}

/// Returns a datatype as it is stored: with descriptors of these sizes.
pub(crate) fn file_type(
    given: &Datatype,
    descriptors: &DescriptorSizes,
    limits: &Limits,
) -> Result<Datatype> {
    given.validate(limits)?;
    let file_type = given.with_descriptors(descriptors);
    if given.has_descriptors() {
        // With other descriptors members move, and a size that fitted may not fit any more.
        file_type.validate(limits)?;
    }
    Ok(file_type)
}

/// Returns the ID of the blob in a descriptor, or `None` if the descriptor is empty: then all bytes are 0.
pub(crate) fn id_of<B: BlobId>(descriptor: &[u8]) -> Option<B> {
    let bytes = descriptor.get(COUNT_BYTES..)?;
    let is_empty = bytes.iter().all(|byte| *byte == 0);
    if is_empty { None } else { bytes.try_into().ok() }
}

/// Adds the blobs that an element uses to `found`, and the sequences among them whose elements may use others to
/// `sequences`.
pub(crate) fn add_descriptors<'t, B: BlobId>(
    datatype: &'t Datatype,
    element: &[u8],
    found: &mut Vec<B>,
    sequences: &mut Vec<(B, &'t Datatype)>,
) {
    match datatype {
        Datatype::Reference(_) => found.extend(id_of::<B>(element)),
        Datatype::VarLen(value) => {
            let Some(id) = id_of(element) else { return };
            found.push(id);
            if let VarLenKind::Sequence(inner) = &value.kind
                && inner.has_descriptors()
            {
                sequences.push((id, &**inner));
            }
        }
        Datatype::Array(array) if array.base.has_descriptors() => {
            let each = array.base.size().max(1) as usize;
            element.chunks_exact(each).for_each(|part| add_descriptors(&array.base, part, found, sequences));
        }
        Datatype::Compound(compound) => {
            for member in compound.members.iter().filter(|member| member.datatype.has_descriptors()) {
                let at = member.offset as usize;
                let part = element.get(at..at + member.datatype.size() as usize).unwrap_or_default();
                add_descriptors(&member.datatype, part, found, sequences);
            }
        }
        _ => {}
    }
}
