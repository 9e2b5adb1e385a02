//! The elements that an overview looks at, where all of them would take too long: those in some blocks, evenly spread.

use std::ops::Range;

use hyperslab::Dataset;

use crate::call::Call;
use crate::elements::axis::{Axis, Intervals};
use crate::elements::selection::{SelectedDim, SelectedDims};
use crate::elements::strips::product;
use crate::elements::work::Blocks;

/// Blocks of a sample at most: more small ones cost time and say little more.
const BLOCKS_MAX: u64 = 1 << 14;
/// Elements of an axis that are listed one by one at most, which takes memory.
pub(super) const SINGLES_MAX: u64 = 1 << 20;

/// How many blocks were read of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) read: u64,
    pub(super) of: u64,
}

/// What an overview may read.
#[derive(Debug, Clone, Copy)]
pub(super) struct OverviewLimit {
    pub(super) bytes_max: u64,
    pub(super) elements_max: u64,
}

impl OverviewLimit {
    /// Returns the limit of each of `passes` passes of one request.
    pub(super) fn of(call: &Call<'_>, passes: u64) -> Self {
        let limits = call.limits;
        let bytes_max = limits.overview_bytes_max.min(limits.decoded_bytes_max) / passes;
        OverviewLimit { bytes_max, elements_max: limits.elements_max.max(1) }
    }
}

/// A selection of a dataset, and the blocks that it is in.
pub(super) struct Overview<'c> {
    pub(super) dataset: &'c Dataset,
    pub(super) selected: &'c SelectedDims,
    pub(super) blocks: Blocks,
    limit: OverviewLimit,
}

impl<'c> Overview<'c> {
    pub(super) fn new(dataset: &'c Dataset, selected: &'c SelectedDims, limit: OverviewLimit) -> Self {
        Overview { dataset, selected, blocks: Blocks::of(dataset), limit }
    }

    /// Returns whether all blocks with elements of `axes` may be read.
    pub(super) fn is_affordable(&self, axes: &[Axis]) -> bool {
        let touched = product(self.blocks.touched(axes));
        self.blocks.work(self.dataset, touched, self.limit.bytes_max) <= self.limit.bytes_max
    }

    /// Returns whether all elements may be looked at.
    pub(super) fn is_exact(&self) -> bool {
        self.selected.count() <= self.limit.elements_max && self.is_affordable(&self.selected.axes())
    }

    /// Returns how many blocks may be read, at least one.
    pub(super) fn blocks_max(&self) -> u64 {
        (self.limit.bytes_max / self.blocks.bytes).min(self.limit.elements_max).clamp(1, BLOCKS_MAX)
    }

    /// Returns how many blocks have elements of `axes`, and how many have selected ones.
    pub(super) fn share(&self, axes: &[Axis]) -> Share {
        let count = |axes: &[Axis]| product(self.blocks.touched(axes));
        Share { read: count(axes), of: count(&self.selected.axes()) }
    }

    /// Returns elements of some blocks, with all of those that are selected there as far as they are not too many.
    pub(super) fn sampled(&self) -> Vec<Axis> {
        let parts = parts(&self.blocks.touched(&self.selected.axes()), self.blocks_max());
        let dims = self.selected.0.iter().zip(&self.blocks.shape).zip(parts);
        let mut all: Vec<Vec<Range<u64>>> =
            dims.map(|((dim, len), parts)| windows(dim, *len, 0..dim.count, parts)).collect();
        shorten(&mut all, self.limit.elements_max);
        for (dim, windows) in self.selected.0.iter().zip(&mut all) {
            shorten(std::slice::from_mut(windows), singles_max(dim));
        }
        self.selected.0.iter().zip(&all).map(|(dim, windows)| axis(dim, windows)).collect()
    }

    /// Returns windows within each range of one dimension, in as many blocks as may be read.
    pub(super) fn windows_in(&self, at: usize, ranges: &[Range<u64>]) -> Vec<Vec<Range<u64>>> {
        let (dim, len) = (&self.selected.0[at], self.blocks.shape[at]);
        let parts = (self.blocks_max() / (ranges.len() as u64).max(1)).max(1);
        let elements_max = self.limit.elements_max / (ranges.len() as u64).max(1);
        let in_range = |range: &Range<u64>| {
            let mut windows = [windows(dim, len, range.clone(), parts)];
            let singles_max = singles_max(dim) / (ranges.len() as u64).max(1);
            shorten(&mut windows, elements_max.min(singles_max).max(1));
            let [windows] = windows;
            windows
        };
        ranges.iter().map(in_range).collect()
    }
}

/// Returns how many blocks of each dimension are read, such that together they are `blocks_max` at most.
pub(super) fn parts(touched: &[u64], blocks_max: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..touched.len()).collect();
    // Dimensions of few blocks come first: what they leave over is for the others.
    order.sort_by_key(|at| touched[*at]);
    let mut parts = vec![1; touched.len()];
    let (mut left, mut rest) = (blocks_max.max(1) as f64, touched.iter().map(|n| *n as f64).product::<f64>());
    for (done, at) in order.iter().enumerate() {
        let dims = (touched.len() - done) as f64;
        let share = (left / rest).min(1.0).powf(1.0 / dims) * touched[*at] as f64;
        // A product of roots may be a little less than a whole number.
        parts[*at] = ((share + 1e-9) as u64).clamp(1, touched[*at].max(1));
        left /= parts[*at] as f64;
        rest /= touched[*at].max(1) as f64;
    }
    parts
}

/// Returns what lies in one block in the middle of each of `parts` equal parts of a range of a dimension's elements.
pub(super) fn windows(dim: &SelectedDim, len: u64, range: Range<u64>, parts: u64) -> Vec<Range<u64>> {
    let count = range.end - range.start;
    let (parts, axis) = (parts.min(count), Axis::from(dim));
    let bound = |part: u64| range.start + (u128::from(count) * u128::from(part) / u128::from(parts)) as u64;
    let window = |part: u64| {
        let (start, end) = (bound(part), bound(part + 1));
        let block = axis.at(start + (end - start) / 2) / len * len;
        axis.index_from(block).max(start)..axis.index_from(block.saturating_add(len)).min(end)
    };
    (0..parts).map(window).collect()
}

/// Returns the number of the part that an element is in, of those of [`windows`].
pub(super) fn part_of(element: u64, count: u64, parts: u64) -> usize {
    let (element, count, parts) =
        (u128::from(element), u128::from(count.max(1)), u128::from(parts.min(count)));
    (((element + 1) * parts).saturating_sub(1) / count) as usize
}

/// Shortens windows, those of the first dimensions before others, such that they have about `elements_max` elements.
fn shorten(all: &mut [Vec<Range<u64>>], elements_max: u64) {
    let len = |windows: &Vec<Range<u64>>| windows.iter().map(|window| window.end - window.start).sum::<u64>();
    let mut excess = product(all.iter().map(len)).div_ceil(elements_max);
    for windows in all {
        let longest = windows.iter().map(|window| window.end - window.start).max().unwrap_or(1);
        let part = excess.clamp(1, longest.max(1));
        for window in windows.iter_mut() {
            window.end = window.start + ((window.end - window.start) / part).max(1);
        }
        excess = excess.div_ceil(part);
    }
}

/// Returns how many elements of a dimension may be in windows: where it has steps, they are listed one by one.
fn singles_max(dim: &SelectedDim) -> u64 {
    if dim.step == 1 { u64::MAX } else { SINGLES_MAX }
}

/// Returns the elements of a dimension that lie in windows.
pub(super) fn axis(dim: &SelectedDim, windows: &[Range<u64>]) -> Axis {
    let (mut intervals, axis) = (Intervals::default(), Axis::from(dim));
    for window in windows {
        match dim.step {
            1 => intervals.push(dim.start + window.start..dim.start + window.end),
            _ => window.clone().for_each(|element| intervals.push(axis.at(element)..axis.at(element) + 1)),
        }
    }
    Axis::Intervals(intervals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_within_the_bound_and_use_it() {
        for touched in [&[1000u64][..], &[50, 20], &[1, 7, 900], &[3, 3, 3, 3], &[], &[1]] {
            for bound in [1, 2, 10, 64, 100, 500] {
                let parts = parts(touched, bound);
                let (read, all) = (product(parts.iter().copied()), product(touched.iter().copied()));
                assert!(
                    read <= bound && parts.iter().zip(touched).all(|(n, of)| n <= of),
                    "{touched:?} {bound}"
                );
                assert!(4 * read >= bound.min(all), "{touched:?} {bound}: {parts:?}");
            }
        }
        assert_eq!(parts(&[5], 100), [5]);
    }

    #[test]
    fn a_window_lies_in_one_block_of_its_part() {
        for (start, step, count) in [(0, 1, 1000), (7, 1, 93), (3, 5, 100), (0, 50, 20)] {
            let dim = SelectedDim { start, step, count, is_index: false };
            let axis = Axis::from(&dim);
            for parts in [1, 3, 7, 20] {
                let windows = windows(&dim, 16, 0..count, parts);
                assert_eq!(windows.len() as u64, parts.min(count));
                for (part, window) in windows.iter().enumerate() {
                    assert!(window.start < window.end, "{dim:?} {parts}");
                    assert_eq!(axis.at(window.start) / 16, axis.at(window.end - 1) / 16);
                    assert!(window.clone().all(|element| part_of(element, count, parts) == part));
                }
            }
        }
    }

    #[test]
    fn shorter_windows_have_as_many_elements_as_allowed() {
        let mut all = [vec![0..100, 200..300], vec![0..10, 20..30]];
        shorten(&mut all, 400);
        assert_eq!(all, [vec![0..10, 200..210], vec![0..10, 20..30]]);
        shorten(&mut all, 20);
        assert_eq!(all, [vec![0..1, 200..201], vec![0..5, 20..25]]);
    }
}
