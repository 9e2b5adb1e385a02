//! Flat indices: elements are counted in an extent that never changes, so that what was logged stays where it is when a
//! dataset grows.

use model::selection::{Run, Runs};
use model::{Dataspace, Error, Result, Selection, UNLIMITED};

/// Bits of a flat index.
const INDEX_BITS: u32 = 62;

/// Returns the extent in which elements are counted: the largest that the dataset may have. Dimensions without a bound (or with
/// bounds so large that all elements could not be counted) share what is left of 62 bits evenly.
pub(crate) fn shape(space: &Dataspace) -> Result<Vec<u64>> {
    let max = space.max_dims();
    let mut open: Vec<bool> = max.iter().map(|&max| max == UNLIMITED).collect();
    let product = |open: &[bool]| {
        let fixed = max.iter().zip(open).filter(|(_, open)| !**open);
        fixed.fold(1u128, |n, (&max, _)| n.saturating_mul(u128::from(max.max(1))))
    };
    while product(&open) > 1 << INDEX_BITS {
        let largest = (0..max.len()).filter(|&d| !open[d]).max_by_key(|&d| max[d]);
        largest.into_iter().for_each(|d| open[d] = true);
    }
    let left = ((1u128 << INDEX_BITS) / product(&open)).ilog2();
    let count = open.iter().filter(|open| **open).count() as u32;
    let each = 1u64 << left.checked_div(count).unwrap_or(0);
    let shape: Vec<u64> =
        max.iter().zip(&open).map(|(&max, &open)| if open { each } else { max.max(1) }).collect();
    check(space.dims(), &shape)?;
    Ok(shape)
}

/// Returns an error where an extent is beyond what can be counted.
pub(crate) fn check(dims: &[u64], shape: &[u64]) -> Result<()> {
    match dims.iter().zip(shape).position(|(dim, max)| dim > max) {
        None => Ok(()),
        Some(d) => Err(Error::limit("count elements of a logged dataset")
            .with("dimension", d)
            .with("extent", dims[d])
            .with("limit", shape[d])),
    }
}

/// Returns the runs of a selection of the extent `dims`, as flat indices.
pub(crate) fn runs(selection: &Selection, dims: &[u64], shape: &[u64]) -> Result<Runs> {
    if dims == shape {
        return selection.runs(dims);
    }
    selection.validate(dims)?;
    match selection {
        Selection::All => Selection::block(&vec![0; dims.len()], dims)?.runs(shape),
        bounded if !bounded.is_unlimited() => bounded.runs(shape),
        unlimited => unlimited.clip(dims)?.runs(shape),
    }
}

/// Returns the run of a block that lies in one piece and in the extent, by arithmetic alone: most requests are no more than that.
pub(crate) fn one_run(selection: &Selection, dims: &[u64], shape: &[u64]) -> Option<Run> {
    let Selection::Regular(regular) = selection else { return None };
    if let ([axis], [dim]) = (regular.axes(), dims) {
        let (offset, len) = axis.single()?;
        return (offset.checked_add(len)? <= *dim).then_some(Run { offset, len });
    }
    if regular.axes().len() != dims.len() {
        return None;
    }
    let (mut run, mut step, mut is_whole) = (Run { offset: 0, len: 1 }, 1u64, true);
    for ((axis, dim), max) in regular.axes().iter().zip(dims).zip(shape).rev() {
        let (start, len) = axis.single()?;
        if start.checked_add(len)? > *dim || (!is_whole && len > 1) {
            return None;
        }
        // Flat indices are within 62 bits.
        run.offset += start * step;
        run.len *= len;
        is_whole &= len == *max;
        step *= max;
    }
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_that_keep_their_size_are_counted_as_they_are() {
        assert_eq!(shape(&Dataspace::simple(&[3, 4]).unwrap()).unwrap(), [3, 4]);
        assert_eq!(shape(&Dataspace::Scalar).unwrap(), [0; 0]);
    }

    #[test]
    fn dimensions_without_bounds_share_what_is_left() {
        let space = Dataspace::resizable(&[1, 4, 8], &[UNLIMITED, 4, 8]).unwrap();
        assert_eq!(shape(&space).unwrap(), [1 << 57, 4, 8]);
        let space = Dataspace::resizable(&[1, 1], &[UNLIMITED, UNLIMITED]).unwrap();
        assert_eq!(shape(&space).unwrap(), [1 << 31, 1 << 31]);
        let space = Dataspace::resizable(&[1, 1], &[1 << 40, 1 << 41]).unwrap();
        assert_eq!(shape(&space).unwrap(), [1 << 40, 1 << 22]);
    }

    #[test]
    fn a_block_in_one_piece_is_found_without_a_walk() {
        let (dims, shape) = ([4, 6], [10, 6]);
        for (start, len) in [([1, 0], [2, 6]), ([3, 2], [1, 4]), ([0, 0], [4, 6])] {
            let block = Selection::block(&start, &len).unwrap();
            let walked: Vec<_> = runs(&block, &dims, &shape).unwrap().collect();
            assert_eq!(one_run(&block, &dims, &shape).as_slice(), walked);
        }
        for (start, len) in [([1, 1], [2, 3]), ([3, 0], [2, 6]), ([0, 5], [1, 2])] {
            assert_eq!(one_run(&Selection::block(&start, &len).unwrap(), &dims, &shape), None);
        }
    }

    #[test]
    fn a_row_of_a_wider_extent_ends_where_it_did() {
        let found = runs(&Selection::All, &[2, 3], &[10, 10]).unwrap();
        assert_eq!(found.map(|run| (run.offset, run.len)).collect::<Vec<_>>(), [(0, 3), (10, 3)]);
    }
}
