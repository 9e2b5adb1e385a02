//! The elements of one dimension that are read, in ascending order.

use std::ops::Range;

use hyperslab::Selection;

use crate::answer::Failure;
use crate::elements::selection::SelectedDim;

/// Intervals of coordinates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Intervals {
    /// First and last coordinates. Intervals are in order, and there are coordinates between them.
    ends: Vec<[u64; 2]>,
    /// How many coordinates come before each interval.
    before: Vec<u64>,
    count: u64,
}

impl Intervals {
    /// Appends coordinates that come after all others. Those that are there already are left out.
    pub(crate) fn push(&mut self, coordinates: Range<u64>) {
        let end = self.ends.last().map_or(0, |[_, last]| last + 1);
        let start = coordinates.start.max(end);
        if start >= coordinates.end {
            return;
        }
        match self.ends.last_mut() {
            Some([_, last]) if start == end => *last = coordinates.end - 1,
            _ => {
                self.ends.push([start, coordinates.end - 1]);
                self.before.push(self.count);
            }
        }
        self.count += coordinates.end - start;
    }

    fn at(&self, index: u64) -> u64 {
        let nth = self.before.partition_point(|before| *before <= index).saturating_sub(1);
        self.ends[nth][0] + (index - self.before[nth])
    }

    fn index_from(&self, coordinate: u64) -> u64 {
        let nth = self.ends.partition_point(|[_, last]| *last < coordinate);
        let inside = |[first, _]: &[u64; 2]| self.before[nth] + coordinate.saturating_sub(*first);
        self.ends.get(nth).map_or(self.count, inside)
    }

    fn part(&self, range: Range<u64>) -> Self {
        let mut part = Intervals::default();
        let first = self.before.partition_point(|before| *before <= range.start).saturating_sub(1);
        for (ends, before) in self.ends.iter().zip(&self.before).skip(first) {
            if *before >= range.end {
                break;
            }
            let start = ends[0] + range.start.saturating_sub(*before);
            part.push(start..(ends[0] + (range.end - before)).min(ends[1] + 1));
        }
        part
    }
}

/// The elements of one dimension that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Every `step`-th one.
    Regular {
        start: u64,
        step: u64,
        count: u64,
    },
    Intervals(Intervals),
}

impl From<&SelectedDim> for Axis {
    fn from(dim: &SelectedDim) -> Self {
        Axis::Regular { start: dim.start, step: dim.step, count: dim.count }
    }
}

impl Axis {
    /// Returns single coordinates, which increase.
    pub(crate) fn list(coordinates: &[u64]) -> Self {
        let mut intervals = Intervals::default();
        coordinates.iter().for_each(|at| intervals.push(*at..at + 1));
        Axis::Intervals(intervals)
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Axis::Regular { count, .. } => *count,
            Axis::Intervals(intervals) => intervals.count,
        }
    }

    /// Returns the coordinate of the element with a number below the count.
    pub(crate) fn at(&self, index: u64) -> u64 {
        match self {
            Axis::Regular { start, step, .. } => start + index * step,
            Axis::Intervals(intervals) => intervals.at(index),
        }
    }

    /// Returns the number of the first element that lies at a coordinate or after it; the count if there is none.
    pub(crate) fn index_from(&self, coordinate: u64) -> u64 {
        match self {
            Axis::Regular { start, step, count } => {
                coordinate.saturating_sub(*start).div_ceil(*step).min(*count)
            }
            Axis::Intervals(intervals) => intervals.index_from(coordinate),
        }
    }

    /// Returns the elements with these numbers.
    pub(crate) fn part(&self, range: Range<u64>) -> Self {
        match self {
            Axis::Regular { step, .. } => {
                let (start, count) = (self.at(range.start), range.end - range.start);
                Axis::Regular { start, step: *step, count }
            }
            Axis::Intervals(intervals) => Axis::Intervals(intervals.part(range)),
        }
    }

    /// Returns the number after the last element in `blocks` blocks of `len` coordinates, from the one of element `index` on.
    pub(crate) fn index_after(&self, index: u64, len: u64, blocks: u64) -> u64 {
        match self {
            Axis::Regular { step, count, .. } if *step >= len => index.saturating_add(blocks).min(*count),
            Axis::Regular { .. } => {
                self.index_from((self.at(index) / len).saturating_add(blocks).saturating_mul(len))
            }
            Axis::Intervals(_) => (0..blocks).fold(index, |index, _| match index < self.count() {
                true => self.index_from((self.at(index) / len + 1).saturating_mul(len)),
                false => index,
            }),
        }
    }

    /// Returns the number of blocks of `len` coordinates that have elements.
    pub(crate) fn blocks(&self, len: u64) -> u64 {
        match self {
            Axis::Regular { count: 0, .. } => 0,
            Axis::Regular { step, count, .. } if *step >= len => *count,
            Axis::Regular { start, count, .. } => self.at(count - 1) / len - start / len + 1,
            Axis::Intervals(intervals) => {
                let (mut blocks, mut next) = (0, 0);
                for [first, last] in &intervals.ends {
                    let (from, to) = ((first / len).max(next), last / len + 1);
                    blocks += to.saturating_sub(from);
                    next = to;
                }
                blocks
            }
        }
    }

    /// Returns first and last coordinates of all intervals, one after the other.
    fn ends(&self) -> Vec<u64> {
        match self {
            Axis::Regular { start, step: 1, count } => vec![*start, start + (count - 1)],
            Axis::Regular { count, .. } => (0..*count).flat_map(|index| [self.at(index); 2]).collect(),
            Axis::Intervals(intervals) => intervals.ends.as_flattened().to_vec(),
        }
    }
}

/// Returns all combinations of the elements of each dimension.
pub(crate) fn selection(axes: &[Axis]) -> Result<Selection, Failure> {
    if axes.is_empty() {
        return Ok(Selection::All);
    }
    if axes.iter().any(|axis| axis.count() == 0) {
        return Ok(Selection::None);
    }
    let regular = axes.iter().map(|axis| match axis {
        Axis::Regular { start, step, count } => Some([*start, *step, *count]),
        Axis::Intervals(_) => None,
    });
    if let Some(regular) = regular.collect::<Option<Vec<[u64; 3]>>>() {
        let [start, step, count] = [0, 1, 2].map(|n| regular.iter().map(|axis| axis[n]).collect::<Vec<_>>());
        return Ok(Selection::hyperslab(&start, &step, &count, &vec![1; axes.len()])?);
    }
    let ends: Vec<Vec<u64>> = axes.iter().map(Axis::ends).collect();
    let ends: Vec<&[u64]> = ends.iter().map(Vec::as_slice).collect();
    Ok(Selection::product_of_intervals(&ends)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinates(axis: &Axis) -> Vec<u64> {
        (0..axis.count()).map(|index| axis.at(index)).collect()
    }

    fn intervals(ranges: &[Range<u64>]) -> Axis {
        let mut intervals = Intervals::default();
        ranges.iter().for_each(|range| intervals.push(range.clone()));
        Axis::Intervals(intervals)
    }

    fn axes() -> [Axis; 4] {
        [
            Axis::Regular { start: 3, step: 1, count: 20 },
            Axis::Regular { start: 1, step: 7, count: 5 },
            intervals(&[2..5, 5..6, 4..8, 11..12, 30..41]),
            Axis::list(&[0, 9, 10, 31]),
        ]
    }

    #[test]
    fn elements_are_found_by_number_and_by_coordinate() {
        assert_eq!(coordinates(&axes()[2])[..8], [2, 3, 4, 5, 6, 7, 11, 30]);
        for axis in axes() {
            let all = coordinates(&axis);
            for coordinate in 0..60 {
                let expected = all.iter().filter(|at| **at < coordinate).count() as u64;
                assert_eq!(axis.index_from(coordinate), expected, "{axis:?} {coordinate}");
            }
        }
    }

    #[test]
    fn parts_have_the_elements_of_their_range() {
        for axis in axes() {
            let all = coordinates(&axis);
            for (start, end) in (0..all.len()).flat_map(|s| (s..=all.len()).map(move |e| (s, e))) {
                let part = axis.part(start as u64..end as u64);
                assert_eq!(coordinates(&part), all[start..end], "{axis:?} {start} {end}");
            }
        }
    }

    #[test]
    fn blocks_are_counted_once() {
        for axis in axes() {
            for len in 1..12 {
                let mut blocks: Vec<u64> = coordinates(&axis).iter().map(|at| at / len).collect();
                blocks.dedup();
                assert_eq!(axis.blocks(len), blocks.len() as u64, "{axis:?} {len}");
                let (mut index, mut steps) = (0, 0);
                while index < axis.count() {
                    (index, steps) = (axis.index_after(index, len, 1), steps + 1);
                }
                assert_eq!(steps, axis.blocks(len), "{axis:?} {len}");
            }
        }
    }
}
