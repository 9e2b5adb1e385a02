//! A map of all chunks of a dataset, which is built after so many lookups that it pays.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Result;

use super::index::{ChunkAt, Chunks};

/// A grid of more chunks than this is always asked of the file.
const CHUNKS_MAX: u64 = 1 << 18;
/// All are listed when one in this many was looked for.
const LISTED_AFTER: u64 = 8;

/// The chunks of a dataset in the order of its grid, filled when it pays.
#[derive(Debug, Default)]
pub(crate) struct ChunkMap {
    lookups: AtomicU64,
    /// Nothing where the list could not be made: then each chunk is looked for, and gives the error that it has.
    places: OnceLock<Option<Vec<Option<ChunkAt>>>>,
}

impl ChunkMap {
    /// Returns the chunk at chunk coordinates, if it is stored. `grid` counts the chunks along each dimension.
    pub(crate) fn find(
        &self,
        chunks: &Chunks<'_>,
        grid: &[u64],
        chunk_coords: &[u64],
    ) -> Result<Option<ChunkAt>> {
        match self.places(chunks, grid) {
            Some(places) => Ok(number(grid, chunk_coords).and_then(|n| places.get(n).copied().flatten())),
            None => chunks.find(chunk_coords),
        }
    }

    fn places(&self, chunks: &Chunks<'_>, grid: &[u64]) -> Option<&Vec<Option<ChunkAt>>> {
        if let Some(places) = self.places.get() {
            return places.as_ref();
        }
        // What another program changes meanwhile must not be remembered.
        if chunks.file.store.is_live() {
            return None;
        }
        let count = grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g)).filter(|&n| n <= CHUNKS_MAX)?;
        if self.lookups.fetch_add(1, Ordering::Relaxed) < count / LISTED_AFTER {
            return None;
        }
        self.places.get_or_init(|| list(chunks, grid, count as usize).ok()).as_ref()
    }
}

fn list(chunks: &Chunks<'_>, grid: &[u64], count: usize) -> Result<Vec<Option<ChunkAt>>> {
    let mut places = vec![None; count];
    chunks.walk(&mut |chunk_coords, chunk| {
        if let Some(place) = number(grid, chunk_coords).and_then(|n| places.get_mut(n)) {
            *place = Some(chunk);
        }
        Ok(())
    })?;
    Ok(places)
}

/// Returns the number of a chunk in C order; nothing outside of the grid.
fn number(grid: &[u64], chunk_coords: &[u64]) -> Option<usize> {
    let mut number = 0;
    for (&g, &s) in grid.iter().zip(chunk_coords) {
        if s >= g {
            return None;
        }
        number = number * g + s;
    }
    usize::try_from(number).ok()
}
