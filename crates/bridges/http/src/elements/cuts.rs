//! How a read is cut into parts: between blocks, so that none is decoded twice where that can be.

use std::ops::Range;

use crate::answer::Failure;
use crate::elements::axis::Axis;

/// The parts of each axis, as numbers of its elements.
pub(crate) type Cuts = Vec<Vec<Range<u64>>>;

/// Returns parts of an axis that have `blocks` blocks of `len` coordinates each.
fn between_blocks(axis: &Axis, len: u64, blocks: u64) -> Vec<Range<u64>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    while start < axis.count() {
        let end = axis.index_after(start, len, blocks);
        parts.push(start..end);
        start = end;
    }
    parts
}

/// Returns tiles of at most `blocks_max` blocks, at least one: long ones along the last axis.
pub(crate) fn tiles(axes: &[Axis], block_shape: &[u64], blocks_max: u64) -> Cuts {
    let mut left = blocks_max.max(1);
    let mut cuts: Cuts = Vec::with_capacity(axes.len());
    for (axis, len) in axes.iter().zip(block_shape).rev() {
        let blocks = axis.blocks(*len).clamp(1, left);
        left = (left / blocks).max(1);
        cuts.push(between_blocks(axis, *len, blocks));
    }
    cuts.reverse();
    cuts
}

/// Returns parts of at most `elements_max` elements, at least one, that follow each other in C order.
pub(crate) fn bands(axes: &[Axis], block_shape: &[u64], elements_max: u64) -> Cuts {
    let mut rows = vec![1u64; axes.len()];
    for at in (1..axes.len()).rev() {
        rows[at - 1] = rows[at].saturating_mul(axes[at].count());
    }
    let cut = rows.iter().position(|row| *row <= elements_max).unwrap_or(axes.len());
    let each = axes.iter().zip(block_shape).enumerate();
    let parts = each.map(|(at, (axis, len))| match at.cmp(&cut) {
        std::cmp::Ordering::Less => (0..axis.count()).map(|index| index..index + 1).collect(),
        std::cmp::Ordering::Equal => of_elements(axis, *len, (elements_max / rows[at].max(1)).max(1)),
        std::cmp::Ordering::Greater => std::iter::once(0..axis.count()).collect(),
    });
    parts.collect()
}

/// Returns parts of an axis that have `count_max` elements at most, and end between blocks where one fits.
fn of_elements(axis: &Axis, len: u64, count_max: u64) -> Vec<Range<u64>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    while start < axis.count() {
        let most = start.saturating_add(count_max).min(axis.count());
        let end = match most == axis.count() {
            true => most,
            false => {
                Some(axis.index_from(axis.at(most) / len * len)).filter(|end| *end > start).unwrap_or(most)
            }
        };
        parts.push(start..end);
        start = end;
    }
    parts
}

/// Calls `visit` with every combination of parts, the last axis first.
pub(crate) fn each(
    cuts: &[Vec<Range<u64>>],
    mut visit: impl FnMut(&[Range<u64>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if cuts.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut at = vec![0; cuts.len()];
    loop {
        let part: Vec<Range<u64>> = cuts.iter().zip(&at).map(|(parts, at)| parts[*at].clone()).collect();
        visit(&part)?;
        let Some(next) = (0..cuts.len()).rev().find(|axis| at[*axis] + 1 < cuts[*axis].len()) else {
            return Ok(());
        };
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Vec<Axis> {
        vec![Axis::Regular { start: 2, step: 3, count: 9 }, Axis::list(&[0, 1, 2, 10, 11, 12, 13, 29])]
    }

    fn parts(cuts: &Cuts) -> Vec<Vec<Range<u64>>> {
        let mut parts = Vec::new();
        each(cuts, |part| {
            parts.push(part.to_vec());
            Ok(())
        })
        .ok()
        .unwrap();
        parts
    }

    fn elements(part: &[Range<u64>]) -> u64 {
        part.iter().map(|range| range.end - range.start).product()
    }

    #[test]
    fn tiles_have_whole_blocks_and_all_elements() {
        let (axes, shape) = (axes(), [5, 10]);
        for blocks_max in 1..20 {
            let tiles = parts(&tiles(&axes, &shape, blocks_max));
            assert_eq!(tiles.iter().map(|part| elements(part)).sum::<u64>(), 72);
            let mut blocks = 0;
            for tile in &tiles {
                let touched: u64 =
                    (0..2).map(|at| axes[at].part(tile[at].clone()).blocks(shape[at])).product();
                assert!((1..=blocks_max).contains(&touched), "{tile:?}");
                blocks += touched;
            }
            assert_eq!(blocks, axes[0].blocks(5) * axes[1].blocks(10), "no block is in two tiles");
        }
    }

    #[test]
    fn bands_are_in_order_and_have_all_elements() {
        for elements_max in 1..80 {
            let bands = parts(&bands(&axes(), &[5, 10], elements_max));
            assert!(bands.iter().all(|band| elements(band) <= elements_max), "{elements_max}");
            let mut next = 0;
            for band in &bands {
                assert_eq!(band[0].start * 8 + band[1].start, next, "{elements_max}");
                next += elements(band);
            }
            assert_eq!(next, 72);
        }
    }

    #[test]
    fn a_scalar_is_one_part_and_no_elements_are_none() {
        assert_eq!(parts(&tiles(&[], &[], 3)), [Vec::new()]);
        assert_eq!(parts(&bands(&[], &[], 3)), [Vec::new()]);
        let none = [Axis::Regular { start: 0, step: 1, count: 0 }];
        assert!(parts(&tiles(&none, &[5], 3)).is_empty());
    }
}
