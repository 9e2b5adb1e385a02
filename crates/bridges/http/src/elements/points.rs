//! Elements at points in any order: each block is decoded once.

use hyperslab::vol::model::{Charge, Heap};
use hyperslab::{Dataset, Datatype, Selection};

use crate::answer::Failure;
use crate::call::{Call, busy};
use crate::elements::work::{Blocks, TILE_BYTES};

/// Bytes of a point while points are sorted: its number and that of its block.
const SORTED_BYTES: u64 = 16;

/// Points of a dataset, as coordinates one after the other.
pub(crate) struct PointReading<'c> {
    pub(crate) call: &'c Call<'c>,
    pub(crate) dataset: &'c Dataset,
    pub(crate) coordinates: &'c [u64],
    /// The type in memory.
    pub(crate) memory: &'c Datatype,
}

/// Points in the order of their blocks: the block of each, and its number.
struct SortedPoints {
    points: Vec<(u64, u64)>,
    _charge: Charge,
}

impl PointReading<'_> {
    /// Returns all elements in the order of the points. The caller has the memory.
    ///
    /// # Errors
    /// Returns a failure with the status 413 if more bytes are to be decoded than a request may, 503 if the time passed, and
    /// failures of the container.
    pub(crate) fn packed(&self, heap: &mut Heap) -> Result<Vec<u8>, Failure> {
        let blocks = Blocks::of(self.dataset);
        let sorted = self.checked(&blocks)?;
        let each = self.memory.size() as usize;
        let mut out = vec![0; sorted.points.len() * each];
        let mut left = sorted.points.as_slice();
        while !left.is_empty() {
            self.call.check_cancelled()?;
            let (group, rest) = left.split_at(group(left, TILE_BYTES / blocks.bytes));
            self.read(group, &mut out, heap)?;
            left = rest;
        }
        Ok(out)
    }

    /// Returns a failure with the status 413 if more bytes are to be decoded than a request may.
    pub(crate) fn check_work(&self) -> Result<(), Failure> {
        self.checked(&Blocks::of(self.dataset)).map(drop)
    }

    fn checked(&self, blocks: &Blocks) -> Result<SortedPoints, Failure> {
        let sorted = self.sorted(&blocks.shape)?;
        let touched = sorted.points.chunk_by(|a, b| a.0 == b.0).count() as u64;
        self.call.check_work(blocks.work(self.dataset, touched, self.call.limits.decoded_bytes_max))?;
        Ok(sorted)
    }

    fn sorted(&self, shape: &[u64]) -> Result<SortedPoints, Failure> {
        let points = self.coordinates.chunks_exact(shape.len());
        let bytes = points.len() as u64 * SORTED_BYTES;
        let charge = self.call.memory.charge(bytes, "points").map_err(|_| busy())?;
        let dims = self.dataset.dataset_info();
        let block = |point: &[u64]| {
            let each = point.iter().zip(shape).zip(dims.space.dims());
            each.fold(0, |block: u64, ((at, len), dim)| block.wrapping_mul(dim.div_ceil(*len)) + at / len)
        };
        let mut points: Vec<(u64, u64)> =
            points.zip(0..).map(|(point, number)| (block(point), number)).collect();
        points.sort_unstable();
        Ok(SortedPoints { points, _charge: charge })
    }

    /// Reads points and puts each where it belongs.
    fn read(&self, points: &[(u64, u64)], out: &mut [u8], heap: &mut Heap) -> Result<(), Failure> {
        let rank = self.dataset.dataset_info().space.rank();
        let each = self.memory.size() as usize;
        let coordinates = points.iter().flat_map(|(_, number)| {
            let first = *number as usize * rank;
            &self.coordinates[first..first + rank]
        });
        let selection = Selection::points(rank, coordinates.copied().collect())?;
        let elements = self.dataset.read_bytes(&selection, self.memory, heap)?;
        for ((_, number), element) in points.iter().zip(elements.chunks_exact(each)) {
            let first = *number as usize * each;
            out[first..first + each].copy_from_slice(element);
        }
        Ok(())
    }
}

/// Returns how many points lie in the first `blocks_max` blocks, at least one.
fn group(points: &[(u64, u64)], blocks_max: u64) -> usize {
    let blocks = points.chunk_by(|a, b| a.0 == b.0);
    blocks.take(usize::try_from(blocks_max).unwrap_or(usize::MAX).max(1)).map(<[_]>::len).sum()
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn a_group_has_whole_blocks() {
        let points = [(0, 3), (0, 5), (2, 0), (2, 1), (2, 2), (7, 4)];
        assert_eq!([0, 1, 2, 3, 9].map(|blocks| group(&points, blocks)), [2, 2, 5, 6, 6]);
    }
}
