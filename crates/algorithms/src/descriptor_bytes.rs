//! The bytes of descriptors and of the values they stand for.

use model::heap::VarLenDescriptor;
use model::{Error, Result};
use vol::{Blobs, Container};

/// Returns whether the identity of a blob is that of none.
pub(crate) fn is_null(id: &[u8]) -> bool {
    id.iter().all(|&b| b == 0)
}

/// Size in bytes of a variable-length descriptor's own length field.
pub(crate) const COUNT_BYTES: usize = 4;

pub(crate) fn split_descriptor(descriptor: &[u8]) -> Result<(u64, &[u8])> {
    let (count, id) = descriptor
        .split_first_chunk::<COUNT_BYTES>()
        .ok_or_else(|| Error::corrupt("read variable-length descriptor"))?;
    // A null identity means an empty value whatever the count says, as libhdf5 reads it.
    let count = if is_null(id) { 0 } else { u64::from(u32::from_le_bytes(*count)) };
    Ok((count, id))
}

pub(crate) fn put_blobs(container: &dyn Container, values: &[&[u8]]) -> Result<Vec<u8>> {
    if values.is_empty() { Ok(Vec::new()) } else { container.blob_put(values) }
}

pub(crate) fn wrong_identities() -> Error {
    Error::invalid("store blob").with("problem", "identity has the wrong size")
}

pub(crate) fn join_descriptor(out: &mut [u8], descriptor: VarLenDescriptor, id: Option<&[u8]>) -> Result<()> {
    let count = u32::try_from(descriptor.count)
        .map_err(|_| Error::limit("write variable-length value").with("elements", descriptor.count))?;
    let id = id.filter(|id| id.len() + COUNT_BYTES == out.len()).ok_or_else(wrong_identities)?;
    out[..COUNT_BYTES].copy_from_slice(&count.to_le_bytes());
    out[COUNT_BYTES..].copy_from_slice(id);
    Ok(())
}

/// Stores a descriptor of a value whose identity in the container is `id`.
pub(crate) fn store_descriptor(descriptor: VarLenDescriptor, id: &[u8], element: &mut [u8]) -> Result<()> {
    let is_none = descriptor.count == 0 && is_null(id);
    if is_none { VarLenDescriptor::default() } else { descriptor }.store(element)
}

/// Checks that a blob holds a value; the bytes of the value.
pub(crate) fn check_value(count: u64, value_bytes: u64, blob_bytes: u64) -> Result<u64> {
    count.checked_mul(value_bytes).filter(|&n| n <= blob_bytes).ok_or_else(|| {
        Error::corrupt("read variable-length value").with("elements", count).with("bytes", blob_bytes)
    })
}

/// Returns all values of a site, one after another, each cut to its count.
pub(crate) fn join_blobs(
    element_bytes: u64,
    counts: impl Iterator<Item = u64>,
    blobs: &Blobs,
) -> Result<Vec<u8>> {
    let mut joined = Vec::new();
    for (blob, count) in blobs.iter().zip(counts) {
        let len = check_value(count, element_bytes, blob.len() as u64)?;
        joined.extend_from_slice(&blob[..len as usize]);
    }
    Ok(joined)
}
