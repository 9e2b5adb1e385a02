//! Heaps whose blocks and huge objects are filtered: compressed links of large groups.

use std::borrow::Cow;

use filters::Registry;
use filters::pipeline::{stage_bytes_max, stages};
use model::{Error, Result, Within};

use crate::format::fractal_heap::{FractalHeap, StoredSize};

/// The largest block or object whose filters are undone to change it. libhdf5 has blocks of up to 64 KiB.
pub(super) const FILTERED_BYTES_MAX: u64 = 1 << 20;

/// Applies the filters of a heap to a block or an object. Returns what is written, and how it is stored if there are filters.
///
/// # Errors
/// Returns `Error::Unsupported` if a filter is not there, and `Error::Invalid` if one that is not optional fails.
pub(crate) fn apply<'b>(
    registry: &Registry,
    heap: &FractalHeap,
    bytes: &'b [u8],
) -> Result<(Cow<'b, [u8]>, Option<StoredSize>)> {
    if heap.filters.is_empty() {
        return Ok((Cow::Borrowed(bytes), None));
    }
    let encoded = registry.encode(&stages(&heap.filters), bytes.to_vec());
    let (bytes, filter_mask) = encoded.map_err(|e| refused("apply filters of fractal heap", &e))?;
    let stored = StoredSize { bytes: bytes.len() as u64, filter_mask };
    Ok((Cow::Owned(bytes), Some(stored)))
}

/// Undoes the filters of a block or an object that has `len` bytes without them.
///
/// # Errors
/// Returns `Error::Corrupt` if something else comes out, and `Error::Limit` above [`FILTERED_BYTES_MAX`].
pub(super) fn undo(
    registry: &Registry,
    heap: &FractalHeap,
    (raw, filter_mask): (Vec<u8>, u32),
    len: u64,
) -> Result<Vec<u8>> {
    let len = len.within(FILTERED_BYTES_MAX, "filtered block of fractal heap")?;
    let decoded = registry.decode(&stages(&heap.filters), filter_mask, raw, len, stage_bytes_max(len));
    let bytes = decoded.map_err(|e| refused("undo filters of fractal heap", &e))?;
    match bytes.len() == len {
        true => Ok(bytes),
        false => Err(Error::corrupt("undo filters of fractal heap").with("bytes", bytes.len())),
    }
}

fn refused(operation: &str, error: &filters::Error) -> Error {
    let base = match error.kind() {
        filters::ErrorKind::Unsupported => Error::unsupported(operation),
        filters::ErrorKind::Limit => Error::limit(operation),
        _ => Error::corrupt(operation),
    };
    base.with("problem", error)
}
