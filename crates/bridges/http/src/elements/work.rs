//! What it costs to read elements: chunks are decoded as a whole, and storage is read in pages.

use hyperslab::Dataset;
use hyperslab::vol::model::properties::Layout;

use crate::elements::axis::Axis;

/// Bytes of the blocks that are decoded between two looks whether the client is still there.
pub(crate) const TILE_BYTES: u64 = 64 << 20;
/// Elements in one piece are read in pages of this.
const PAGE_BYTES: u64 = 4 << 10;
/// A block costs so many bytes at least: it has to be found.
const BLOCK_BYTES_MIN: u64 = 1 << 10;

/// The blocks of a dataset, each of which is read as a whole: its chunks, or pages of what is in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Elements of a block in each dimension.
    pub(crate) shape: Vec<u64>,
    /// Bytes of a block.
    pub(crate) bytes: u64,
    /// Whether blocks are chunks, which may not be stored.
    is_chunked: bool,
}

impl Blocks {
    pub(crate) fn of(dataset: &Dataset) -> Self {
        let info = dataset.dataset_info();
        let (dims, each) = (info.space.dims(), u64::from(info.datatype.size()).max(1));
        let (shape, is_chunked) = match &info.create.layout {
            Layout::Chunked { shape, .. } if shape.len() == dims.len() => (shape.clone(), true),
            _ => (page(dims, each), false),
        };
        let shape: Vec<u64> = shape.into_iter().map(|len| len.max(1)).collect();
        let elements = shape.iter().fold(1, |elements: u64, len| elements.saturating_mul(*len));
        Blocks { bytes: elements.saturating_mul(each).max(BLOCK_BYTES_MIN), shape, is_chunked }
    }

    /// Returns how many blocks have elements of `axes`, in each dimension.
    pub(crate) fn touched(&self, axes: &[Axis]) -> Vec<u64> {
        axes.iter().zip(&self.shape).map(|(axis, len)| axis.blocks(*len)).collect()
    }

    /// Returns the bytes that it takes to read `touched` blocks of `dataset`. Where that is more than `bytes_max`, blocks that
    /// are not stored cost only what it takes to find that out.
    pub(crate) fn work(&self, dataset: &Dataset, touched: u64, bytes_max: u64) -> u64 {
        let all = touched.saturating_mul(self.bytes);
        if all <= bytes_max {
            return all;
        }
        match self.stored(dataset, bytes_max / self.bytes) {
            Some(stored) => {
                let absent = touched.saturating_sub(stored).saturating_mul(BLOCK_BYTES_MIN);
                stored.min(touched).saturating_mul(self.bytes).saturating_add(absent)
            }
            None => all,
        }
    }

    /// Returns how many blocks `dataset` has stored; `None` if they are more than `count_max`, or cannot be counted.
    fn stored(&self, dataset: &Dataset, count_max: u64) -> Option<u64> {
        if !self.is_chunked {
            return None;
        }
        let mut count = 0;
        let visited = dataset.chunks_visit(|_| {
            count += 1;
            i32::from(count > count_max)
        });
        (visited.is_ok() && count <= count_max).then_some(count)
    }
}

/// Returns the shape of a page: whole rows as far as they fit.
fn page(dims: &[u64], each: u64) -> Vec<u64> {
    let mut left = (PAGE_BYTES / each).max(1);
    let mut shape = vec![1; dims.len()];
    for (len, dim) in shape.iter_mut().zip(dims).rev() {
        *len = left.min(*dim).max(1);
        left = (left / *len).max(1);
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn a_page_has_whole_rows_as_far_as_they_fit() {
        assert_eq!(page(&[1_000_000], 8), [512]);
        assert_eq!(page(&[1_000, 3], 8), [170, 3]);
        assert_eq!(page(&[5, 7], 8), [5, 7]);
        assert_eq!(page(&[10, 0], 100_000), [1, 1]);
    }
}
