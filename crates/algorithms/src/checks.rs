//! Checks of arguments that several connectors make before they touch storage.

use model::datatype::ReferenceKind;
use model::properties::Layout;
use model::{Dataspace, Error, Limits, Reference, ReferenceTarget, Result, Selection, Within};
use vol::{DatasetInfo, OpDatasetCreate};

/// Returns an error unless the selection fits the extent and the buffer has space for exactly its elements.
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

/// Returns an error unless a descriptor of this kind can hold the reference: the old kinds say one thing, about their own container.
pub fn reference(kind: ReferenceKind, reference: &Reference) -> Result<()> {
    let is_fitting = match (kind, &reference.target) {
        (_, ReferenceTarget::Null) => true,
        (ReferenceKind::Object1, target) => matches!(target, ReferenceTarget::Object(_)),
        (ReferenceKind::DatasetRegion1, target) => matches!(target, ReferenceTarget::Region { .. }),
        _ => true,
    };
    let is_old = matches!(kind, ReferenceKind::Object1 | ReferenceKind::DatasetRegion1);
    if !is_fitting || (is_old && reference.file.is_some()) {
        return Err(Error::invalid("store reference").with("kind", format!("{kind:?}")));
    }
    Ok(())
}

/// Checks whether chunks of this shape can hold the elements of a dataset.
///
/// # Errors
/// Returns `Error::Invalid` if the shape does not suit the extent, and `Error::Limit` if a chunk has more bytes than the limits
/// allow.
pub fn chunks(shape: &[u64], space: &Dataspace, element_bytes: u32, limits: &Limits) -> Result<()> {
    chunk_shape(shape, space)?;
    chunk_bytes(shape, element_bytes, limits.chunk_bytes_max).map(drop)
}

/// Returns an error unless a new dataset of this layout can have these filters, this extent and these elements. External and
/// virtual layouts have checks of their own.
///
/// # Errors
/// Returns `Error::Invalid`, and `Error::Limit` if a chunk has more bytes than the limits allow.
pub fn layout(op: &OpDatasetCreate, element_bytes: u32, limits: &Limits) -> Result<()> {
    let invalid = |problem: &str| Err(Error::invalid("create dataset").with("problem", problem));
    let is_chunked = matches!(op.create.layout, Layout::Chunked { .. });
    if !is_chunked && op.create.filters.iter().any(|filter| !filter.optional) {
        return invalid("filters without chunks");
    }
    match &op.create.layout {
        Layout::Chunked { shape, .. } => chunks(shape, &op.space, element_bytes, limits),
        Layout::Compact | Layout::Contiguous if op.space.is_resizable() => {
            invalid("an extent that changes needs chunks")
        }
        _ => Ok(()),
    }
}

/// Checks whether the shape of a chunk suits an extent, as libhdf5 does: a dimension without elements may have any.
///
/// # Errors
/// Returns `Error::Invalid` if it does not.
pub fn chunk_shape(shape: &[u64], space: &Dataspace) -> Result<()> {
    let invalid = |problem: &str| Error::invalid("create dataset").with("problem", problem);
    if shape.is_empty() || shape.len() != space.rank() {
        return Err(invalid("chunks differ in rank from the extent").with("rank", shape.len()));
    }
    if shape.contains(&0) {
        return Err(invalid("a chunk without elements"));
    }
    let beyond = |((len, dim), max): ((&u64, &u64), &u64)| *dim > 0 && len > max;
    if shape.iter().zip(space.dims()).zip(space.max_dims()).any(beyond) {
        return Err(invalid("a chunk is larger than the extent may become"));
    }
    Ok(())
}

/// Returns the bytes of a chunk.
///
/// # Errors
/// Returns `Error::Limit` if there are more than `bytes_max`.
pub fn chunk_bytes(shape: &[u64], element_bytes: u32, bytes_max: u64) -> Result<usize> {
    let bytes = shape.iter().try_fold(u64::from(element_bytes), |n, &len| n.checked_mul(len));
    bytes.unwrap_or(u64::MAX).within(bytes_max, "chunk")
}
