//! Elements that are read and written in the file they lie in, past the container: the caller and the container must mean the
//! same chunks.

use model::selection::PointIndex;
use model::{Result, Selection};

/// Returns the chunks that a selection touches, by their place in the grid, in the order in which
/// [`PlacementParts::Chunks`](vol::PlacementParts::Chunks) has them.
pub fn chunks(selection: &Selection, dims: &[u64], shape: &[u64]) -> Result<Vec<Vec<u64>>> {
    match selection {
        Selection::Points(points) => Ok(PointIndex::new(points, shape)?.chunks().collect()),
        _ => Ok(selection.chunks(dims, shape)?.collect()),
    }
}
