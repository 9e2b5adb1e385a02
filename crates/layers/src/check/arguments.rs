//! Checks of callers: their names, selections and buffers fit.

use model::link::check_name;
use model::properties::{FillValue, Layout};
use model::{Dataspace, Datatype, Kind, Result, Selection};
use vol::{ContainerInfo, DatasetInfo, MapInfo, OpDatasetCreate, Operation};

use crate::check::{broken, caller};

/// A link may have this name.
pub(crate) fn link_name(operation: Operation, name: &str) -> Result<()> {
    let rule = "a link's name is not empty, nor `.`, and has neither slash nor NUL";
    caller(operation, rule, check_name(name).is_ok(), format!("{name:?}"))
}

/// An attribute may have this name.
pub(crate) fn attribute_name(operation: Operation, name: &str) -> Result<()> {
    let kept = !name.is_empty() && !name.contains('\0');
    caller(operation, "an attribute's name is not empty and has no NUL", kept, format!("{name:?}"))
}

/// A buffer has exactly the bytes that are wanted.
pub(crate) fn length(operation: Operation, rule: &'static str, wanted: u64, have: usize) -> Result<()> {
    caller(operation, rule, wanted == have as u64, format!("{have} bytes instead of {wanted}"))
}

/// Returns the number of bytes of all elements of an extent.
pub(crate) fn space_bytes(operation: Operation, space: &Dataspace, datatype: &Datatype) -> Result<u64> {
    bytes(operation, space.element_count()?, datatype)
}

fn bytes(operation: Operation, count: u64, datatype: &Datatype) -> Result<u64> {
    let bytes = count.checked_mul(u64::from(datatype.size()));
    bytes.ok_or_else(|| broken(Kind::Limit, operation, "bytes can be counted").with("elements", count))
}

/// A selection lies in the extent, and the buffer holds exactly its elements.
pub(crate) fn transfer(
    operation: Operation,
    info: &DatasetInfo,
    selection: &Selection,
    buffer_bytes: usize,
) -> Result<()> {
    let count = match &info.space {
        Dataspace::Null => 0,
        space => {
            let beyond = broken(Kind::Invalid, operation, "the selection lies in the extent");
            let beyond = beyond.with("extent", format!("{:?}", space.dims()));
            selection.validate(space.dims()).map_err(|error| beyond.because(error))?;
            selection.element_count(space.dims())?
        }
    };
    let wanted = bytes(operation, count, &info.datatype)?;
    length(operation, "the buffer has space for exactly the selected elements", wanted, buffer_bytes)
}

/// A fill value is one element in the file datatype.
pub(crate) fn fill_value(op: &OpDatasetCreate, info: &ContainerInfo) -> Result<()> {
    let FillValue::Value(value) = &op.create.fill.value else { return Ok(()) };
    let wanted = op.datatype.with_descriptors(&info.descriptors).size();
    length(
        Operation::dataset_create,
        "a fill value is one element in the file datatype",
        wanted.into(),
        value.len(),
    )
}

/// An offset is the first element of a chunk in the extent.
pub(crate) fn chunk_offset(operation: Operation, info: &DatasetInfo, offset: &[u64]) -> Result<()> {
    // Whether raw chunks of another layout are an error or lacked is for the container to say.
    let Layout::Chunked { shape, .. } = &info.create.layout else { return Ok(()) };
    let dims = info.space.dims();
    let kept = offset.len() == dims.len()
        && offset.iter().zip(shape).all(|(at, len)| at.is_multiple_of((*len).max(1)))
        && offset.iter().zip(dims).all(|(at, dim)| at < dim);
    caller(operation, "the offset is a chunk's first element", kept, format!("{offset:?}"))
}

/// A key has the bytes of its type.
pub(crate) fn map_key(operation: Operation, info: &MapInfo, key: &[u8]) -> Result<()> {
    let unit = match &info.key {
        Datatype::VarLen(_) => info.key.children().first().map_or(1, |base| base.size()),
        fixed => fixed.size(),
    };
    let kept = match &info.key {
        Datatype::VarLen(_) => key.len().is_multiple_of(unit.max(1) as usize),
        _ => key.len() as u64 == u64::from(unit),
    };
    caller(operation, "a key has the bytes of its type", kept, format!("{} bytes", key.len()))
}

/// Identities have the promised size.
pub(crate) fn identities(operation: Operation, ids: &[&[u8]], info: &ContainerInfo) -> Result<()> {
    let wanted = blob_id_bytes(info);
    let wrong = ids.iter().find(|id| id.len() != wanted);
    let value = wrong.map_or(0, |id| id.len());
    let rule = "a blob's identity has the bytes that info() promises";
    caller(operation, rule, wrong.is_none(), format!("{value} bytes instead of {wanted}"))
}

/// Returns the number of bytes of a blob's identity.
pub(crate) fn blob_id_bytes(info: &ContainerInfo) -> usize {
    (info.descriptors.varlen as usize).saturating_sub(4)
}
