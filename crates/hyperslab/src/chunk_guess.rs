//! Chunk shapes that no one chose.

use model::{Dataspace, UNLIMITED};

/// Bytes of a chunk by default: large enough to compress and to transfer well, small enough to be rewritten.
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = 16 << 10..=1 << 20;
/// The number of elements that an unlimited dimension counts as.
const GROWING_DIM: u64 = 1024;

/// Returns a chunk shape for a dataset: its extent, halved along its longest dimension until a chunk has a good size.
pub fn guess_chunk(space: &Dataspace, element_bytes: u64) -> Vec<u64> {
    let largest = space.dims().iter().zip(space.max_dims());
    let mut shape: Vec<u64> = largest
        .map(|(&dim, &max)| if max == UNLIMITED { dim.max(GROWING_DIM) } else { max.max(1) })
        .collect();
    let bytes = |shape: &[u64]| shape.iter().fold(element_bytes.max(1), |n, &d| n.saturating_mul(d));
    let target = (bytes(&shape) / 64).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end());
    while bytes(&shape) > target {
        let Some(longest) = shape.iter_mut().rev().max().filter(|d| **d > 1) else { break };
        *longest = longest.div_ceil(2);
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_nobody_chose_are_of_a_good_size() {
        let guess =
            |dims: &[u64], max: &[u64], bytes| guess_chunk(&Dataspace::resizable(dims, max).unwrap(), bytes);
        assert_eq!(guess(&[0, 3], &[UNLIMITED, 3], 8), [512, 3]);
        assert_eq!(guess(&[100], &[100], 4), [100]);
        assert_eq!(guess(&[10_000, 10_000], &[10_000, 10_000], 4), [313, 625]);
        assert_eq!(guess(&[1], &[1], 1 << 30), [1]);
    }
}
