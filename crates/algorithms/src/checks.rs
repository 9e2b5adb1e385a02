//! What connectors ask of arguments before they touch storage. Each was found to be the same in several of them.

use model::datatype::ReferenceKind;
use model::{Dataspace, Error, Limits, Reference, ReferenceTarget, Result, Selection, Within};
use vol::DatasetInfo;

/// An error unless the selection fits the extent and the buffer has room for exactly its elements.
pub fn transfer(info: &DatasetInfo, selection: &Selection, buffer_bytes: usize) -> Result<()> {
    let count = match &info.space {
        Dataspace::Null => 0,
        space => {
            selection.validate(space.dims())?;
            selection.element_count(space.dims())?
        }
    };
    match count.checked_mul(u64::from(info.datatype.size())) == Some(buffer_bytes as u64) {
        true => Ok(()),
        false => Err(Error::invalid("transfer elements").with("elements", count).with("bytes", buffer_bytes)),
    }
}

/// An error unless a slot of this kind can hold the reference: the old kinds say one thing, about their own container.
pub fn reference(kind: ReferenceKind, reference: &Reference) -> Result<()> {
    let is_fitting = match (kind, &reference.target) {
        (_, ReferenceTarget::Null) => true,
        (ReferenceKind::ObjectOld, target) => matches!(target, ReferenceTarget::Object(_)),
        (ReferenceKind::RegionOld, target) => matches!(target, ReferenceTarget::Region { .. }),
        _ => true,
    };
    let is_old = matches!(kind, ReferenceKind::ObjectOld | ReferenceKind::RegionOld);
    if !is_fitting || (is_old && reference.file.is_some()) {
        return Err(Error::invalid("store reference").with("kind", format!("{kind:?}")));
    }
    Ok(())
}

/// An error unless chunks of this shape can hold the elements of a dataset.
pub fn chunks(shape: &[u64], space: &Dataspace, element_bytes: u32, limits: &Limits) -> Result<()> {
    let invalid = |problem: &str| Error::invalid("make dataset").with("problem", problem);
    if shape.is_empty() || shape.len() != space.rank() {
        return Err(invalid("chunks differ in rank from the extent").with("rank", shape.len()));
    }
    if shape.contains(&0) {
        return Err(invalid("a chunk without elements"));
    }
    if shape.iter().zip(space.max_dims()).any(|(len, max)| len > max) {
        return Err(invalid("a chunk is larger than the extent may become"));
    }
    let bytes = shape.iter().try_fold(u64::from(element_bytes), |n, &len| n.checked_mul(len));
    bytes.unwrap_or(u64::MAX).within(limits.chunk_bytes_max, "chunk").map(|_| ())
}
