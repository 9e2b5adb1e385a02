//! Chunks through their filters and back.

use model::properties::FilterSpec;
use model::{Error, Result};

use crate::{Registry, Scratch, Stage, Tolerance};

const APPLY: &str = "apply filters";

/// Filters as a registry takes them.
pub fn stages(filters: &[FilterSpec]) -> Vec<Stage<'_>> {
    filters.iter().map(|f| Stage { id: f.id, optional: f.optional, values: &f.values }).collect()
}

/// Returns the most bytes between two stages. Data may be longer than the chunk there, by a checksum or by a codec's
/// frame.
pub fn stage_bytes_max(chunk_bytes: usize) -> usize {
    chunk_bytes.saturating_add(chunk_bytes / 2).saturating_add(4096)
}

/// Returns an error if a filter that must be applied is not in `registry`.
///
/// # Errors
/// Returns `Unsupported`, with the filter's number and name.
pub fn check(registry: &Registry, filters: &[FilterSpec]) -> Result<()> {
    let mut needed = filters.iter().filter(|filter| !filter.optional);
    needed.try_for_each(|filter| registry.get(filter.id).map(drop).map_err(|error| failed(APPLY, &error)))
}

/// Returns an error if a filter that must be applied to a new dataset is not in `registry`.
///
/// A filter with a name was read from a container that stores it: a copy may take its chunks as they are, without
/// this program knowing the filter.
///
/// # Errors
/// Returns `Unsupported`, with the filter's number and name.
pub fn check_new(registry: &Registry, filters: &[FilterSpec]) -> Result<()> {
    let mut needed = filters.iter().filter(|filter| !filter.optional && filter.name.is_none());
    needed.try_for_each(|filter| {
        registry.get(filter.id).map(drop).map_err(|error| failed("create dataset", &error))
    })
}

/// Returns whether this build has the filter with this number.
pub fn is_available(id: u16) -> bool {
    Registry::default().get(id).is_ok()
}

/// Returns the mask of a chunk that went through none of these filters.
pub fn mask_of_none(filters: &[FilterSpec]) -> u32 {
    ((1u64 << filters.len().min(32)) - 1) as u32
}

/// Applies filters to a chunk. Returns the bytes, and the mask of the filters that were skipped.
pub fn apply(registry: &Registry, filters: &[FilterSpec], chunk: &[u8]) -> Result<(Vec<u8>, u32)> {
    let (mut scratch, mut out) = (Scratch::new(), Vec::new());
    let done = registry.encode_into(&stages(filters), chunk, &mut scratch, &mut out);
    let (len, mask) = done.map_err(|error| failed(APPLY, &error))?;
    out.truncate(len);
    Ok((out, mask))
}

/// Undoes the filters of a stored chunk.
pub fn undo(
    registry: &Registry,
    filters: &[FilterSpec],
    mask: u32,
    stored: &[u8],
    chunk: &mut [u8],
) -> Result<()> {
    let bytes_max = stage_bytes_max(chunk.len());
    let done = registry.decode_into(&stages(filters), mask, stored, chunk, bytes_max, &mut Scratch::new());
    done.map_err(|error| failed("undo filters", &error))
}

/// Undoes the filters of a chunk that may be damaged. `tolerance` says which damage is accepted.
///
/// # Errors
/// Returns `Corrupt` for what is not accepted, and `Unsupported` for a filter that is not in `registry`.
pub fn undo_tolerantly(
    registry: &Registry,
    filters: &[FilterSpec],
    (mask, stored): (u32, Vec<u8>),
    chunk_bytes: usize,
    tolerance: &mut Tolerance<'_>,
) -> Result<Vec<u8>> {
    let sizes = (chunk_bytes, stage_bytes_max(chunk_bytes));
    let done = registry.decode_tolerantly(&stages(filters), mask, stored, sizes, tolerance);
    done.map_err(|error| failed("undo filters", &error))
}

fn failed(operation: &str, error: &crate::Error) -> Error {
    let base = match error.kind() {
        crate::ErrorKind::Unsupported => Error::unsupported(operation),
        crate::ErrorKind::Limit => Error::limit(operation),
        // Values that make no sense come from the caller when they are applied, and from storage when they are undone.
        _ if operation == APPLY => Error::invalid(operation),
        _ => Error::corrupt(operation),
    };
    base.with("problem", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deflate() -> Vec<FilterSpec> {
        vec![FilterSpec { id: 1, optional: false, name: None, values: vec![6] }]
    }

    #[test]
    fn a_chunk_comes_back_through_its_filters() {
        let chunk = vec![7; 4096];
        let registry = Registry::default();
        let (stored, mask) = apply(&registry, &deflate(), &chunk).unwrap();
        assert!(mask == 0 && stored.len() < chunk.len());
        let mut back = vec![0; chunk.len()];
        undo(&registry, &deflate(), mask, &stored, &mut back).unwrap();
        assert_eq!(back, chunk);
        assert!(undo(&registry, &deflate(), 0, &stored[..4], &mut back).is_err());
    }

    #[test]
    fn a_filter_that_nobody_knows_is_refused() {
        let unknown = [FilterSpec { id: 60000, optional: false, name: None, values: Vec::new() }];
        let registry = Registry::default();
        assert_eq!(check(&registry, &unknown).unwrap_err().kind(), model::Kind::Unsupported);
        assert_eq!(mask_of_none(&unknown), 1);
        check(&registry, &deflate()).unwrap();
    }
}
