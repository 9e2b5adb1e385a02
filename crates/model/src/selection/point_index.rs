//! Points grouped by the chunk they fall in.

use std::ops::Range;
use std::sync::Arc;

use super::chunk_runs::{ChunkRun, ChunkRuns, Merged, Source};
use super::{Points, invalid};
use crate::{Error, Result, dataspace};

/// A grid of this many chunks for each point is sorted by counting; a wider one by comparing.
const CELLS_EACH_MAX: u64 = 4;

/// Points grouped by the chunk they fall in, so that each chunk finds its own at once.
#[derive(Debug, Clone)]
pub struct PointIndex {
    grid: Grid,
    /// Points by chunk and then by selection order.
    places: Arc<[ChunkPoint]>,
    /// Chunks that hold points, in C order: the number in the grid, and the first place.
    groups: Vec<(u64, usize)>,
}

/// A point: where it is in its chunk, and its number in the selection.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkPoint {
    chunk_offset: u64,
    number: usize,
}

/// The chunks around the points.
#[derive(Debug, Clone)]
struct Grid {
    chunk_shape: Vec<u64>,
    /// Chunk coordinates of the first chunk.
    low: Vec<u64>,
    shape: Vec<u64>,
    cells: u64,
}

impl Grid {
    fn new(points: &Points, chunk_shape: &[u64]) -> Result<Self> {
        if chunk_shape.len() != points.rank() || chunk_shape.contains(&0) {
            return Err(invalid("chunk shape").with("rank", chunk_shape.len()));
        }
        dataspace::element_count(chunk_shape)?;
        let chunk_coords = |corner: &[u64]| corner.iter().zip(chunk_shape).map(|(x, len)| x / len).collect();
        let (low, high): (Vec<u64>, Vec<u64>) = (chunk_coords(&points.low), chunk_coords(&points.high));
        let shape: Vec<u64> = low.iter().zip(&high).map(|(low, high)| high - low + 1).collect();
        // Points inside of an extent that can be counted have countable chunks.
        let cells = shape.iter().try_fold(1u64, |n, &len| n.checked_mul(len));
        let cells = cells.ok_or_else(|| Error::limit("group points").with("problem", "too many chunks"))?;
        Ok(Grid { chunk_shape: chunk_shape.to_vec(), low, shape, cells })
    }

    /// Returns the number of a point's chunk in the grid, and the point's place in the chunk.
    #[inline]
    fn locate(&self, point: &[u64]) -> (u64, u64) {
        let (mut cell, mut offset) = (0, 0);
        let dims = self.chunk_shape.iter().zip(&self.low).zip(&self.shape);
        for (&x, ((&len, &low), &count)) in point.iter().zip(dims) {
            // A shift where it can be one: divisions are most of the work here.
            let chunk_coords = if len.is_power_of_two() { x >> len.trailing_zeros() } else { x / len };
            cell = cell * count + (chunk_coords - low);
            offset = offset * len + (x - chunk_coords * len);
        }
        (cell, offset)
    }

    /// Returns the number of the chunk with those chunk coordinates, if it is in the grid.
    fn cell(&self, chunk_coords: &[u64]) -> Option<u64> {
        if chunk_coords.len() != self.low.len() {
            return None;
        }
        let mut dims = chunk_coords.iter().zip(&self.low).zip(&self.shape);
        dims.try_fold(0, |cell, ((x, low), &count)| {
            x.checked_sub(*low).filter(|&x| x < count).map(|x| cell * count + x)
        })
    }

    fn chunk_coords(&self, mut cell: u64) -> Vec<u64> {
        let mut chunk_coords = self.low.clone();
        for (x, count) in chunk_coords.iter_mut().zip(&self.shape).rev() {
            *x += cell % count;
            cell /= count;
        }
        chunk_coords
    }
}

impl PointIndex {
    /// Groups `points` by chunks of `chunk_shape`.
    pub fn new(points: &Points, chunk_shape: &[u64]) -> Result<Self> {
        let grid = Grid::new(points, chunk_shape)?;
        let located = points.iter().enumerate().map(|(number, point)| {
            let (cell, chunk_offset) = grid.locate(point);
            (cell, ChunkPoint { chunk_offset, number })
        });
        let located: Vec<(u64, ChunkPoint)> = located.collect();
        let (places, groups) = match grid.cells <= CELLS_EACH_MAX.saturating_mul(points.len() as u64) {
            true => counted(&located, grid.cells as usize),
            false => compared(located),
        };
        Ok(PointIndex { grid, places: places.into(), groups })
    }

    /// Returns the number of chunks that hold points.
    pub fn chunk_count(&self) -> usize {
        self.groups.len()
    }

    /// Returns the chunk coordinates of the chunks that hold points, in C order.
    pub fn chunks(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        self.groups.iter().map(|(cell, _)| self.grid.chunk_coords(*cell))
    }

    /// Returns the runs of the points in the chunk with those chunk coordinates.
    pub fn chunk_runs(&self, chunk_coords: &[u64]) -> Result<ChunkRuns> {
        let cell = self.grid.cell(chunk_coords);
        let found = cell.and_then(|cell| self.groups.binary_search_by_key(&cell, |group| group.0).ok());
        let Some(found) = found else { return Ok(ChunkRuns(Source::Nothing)) };
        let end = self.groups.get(found + 1).map_or(self.places.len(), |group| group.1);
        let walk = BucketWalk { places: self.places.clone(), left: self.groups[found].1..end };
        Ok(ChunkRuns(Source::Bucket(Merged::new(walk))))
    }
}

type Grouped = (Vec<ChunkPoint>, Vec<(u64, usize)>);

/// Sorts by counting the points of each cell.
fn counted(located: &[(u64, ChunkPoint)], cells: usize) -> Grouped {
    let mut starts = vec![0usize; cells + 1];
    for (cell, _) in located {
        starts[*cell as usize + 1] += 1;
    }
    let mut groups = Vec::new();
    for cell in 0..cells {
        if starts[cell + 1] > 0 {
            groups.push((cell as u64, starts[cell]));
        }
        starts[cell + 1] += starts[cell];
    }
    let mut places = vec![ChunkPoint::default(); located.len()];
    for (cell, place) in located {
        let next = &mut starts[*cell as usize];
        places[*next] = *place;
        *next += 1;
    }
    (places, groups)
}

/// Sorts by comparing cells, and the numbers of points in them.
fn compared(mut located: Vec<(u64, ChunkPoint)>) -> Grouped {
    located.sort_unstable_by_key(|(cell, place)| (*cell, place.number));
    let mut groups: Vec<(u64, usize)> = Vec::new();
    for (at, (cell, _)) in located.iter().enumerate() {
        if groups.last().is_none_or(|group| group.0 != *cell) {
            groups.push((*cell, at));
        }
    }
    (located.into_iter().map(|(_, place)| place).collect(), groups)
}

/// Points of one chunk of an index.
#[derive(Debug, Clone)]
pub(super) struct BucketWalk {
    places: Arc<[ChunkPoint]>,
    left: Range<usize>,
}

impl BucketWalk {
    /// Returns the points that were not walked over: place in the chunk and number.
    pub(super) fn rest(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.places[self.left.clone()].iter().map(|place| (place.chunk_offset, place.number as u64))
    }
}

impl Iterator for BucketWalk {
    type Item = ChunkRun;

    fn next(&mut self) -> Option<ChunkRun> {
        let place = self.places.get(self.left.next()?)?;
        Some(ChunkRun { chunk_offset: place.chunk_offset, selection_offset: place.number as u64, len: 1 })
    }
}
