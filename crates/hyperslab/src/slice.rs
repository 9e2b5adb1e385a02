//! Slices of datasets: `s![0..10, 3, ..;2]`.

use std::ops::{Bound, RangeBounds};

use model::{Error, Result, Selection};

/// What is taken of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceDim {
    /// One index; the dimension is dropped from the result.
    Index(u64),
    /// From `start` up to `end` (or the extent), every `step`-th.
    Range {
        /// First index.
        start: u64,
        /// First index that is not taken.
        end: Option<u64>,
        /// Distance.
        step: u64,
    },
}

impl SliceDim {
    /// A range, with a step.
    pub fn range(range: impl RangeBounds<u64>, step: u64) -> Self {
        let start = match range.start_bound() {
            Bound::Included(&n) => n,
            Bound::Excluded(&n) => n.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&n) => Some(n.saturating_add(1)),
            Bound::Excluded(&n) => Some(n),
            Bound::Unbounded => None,
        };
        SliceDim::Range { start, end, step }
    }
}

impl From<u64> for SliceDim {
    fn from(index: u64) -> Self {
        SliceDim::Index(index)
    }
}

macro_rules! from_range {
    ($($range:ty),*) => { $( impl From<$range> for SliceDim {
        fn from(range: $range) -> Self { SliceDim::range(range, 1) }
    } )* };
}
from_range!(
    std::ops::Range<u64>,
    std::ops::RangeFrom<u64>,
    std::ops::RangeTo<u64>,
    std::ops::RangeInclusive<u64>,
    std::ops::RangeToInclusive<u64>
);

impl From<std::ops::RangeFull> for SliceDim {
    fn from(_: std::ops::RangeFull) -> Self {
        SliceDim::Range { start: 0, end: None, step: 1 }
    }
}

/// What is taken of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// One entry for each dimension.
    pub dims: Vec<SliceDim>,
}

impl Slice {
    /// The selection of a dataset of `dims`, and the shape of what comes out.
    pub fn resolve(&self, dims: &[u64]) -> Result<(Selection, Vec<u64>)> {
        if self.dims.len() != dims.len() {
            return Err(Error::invalid("slice dataset")
                .with("slice rank", self.dims.len())
                .with("rank", dims.len()));
        }
        let (mut start, mut stride, mut count, mut shape) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (slice, &dim) in self.dims.iter().zip(dims) {
            let (from, step, n, keep) = resolve_dim(*slice, dim)?;
            start.push(from);
            stride.push(step);
            count.push(n);
            if keep {
                shape.push(n);
            }
        }
        if count.contains(&0) {
            return Ok((Selection::None, shape));
        }
        if dims.is_empty() {
            return Ok((Selection::All, shape));
        }
        Ok((Selection::hyperslab(&start, &stride, &count, &vec![1; dims.len()])?, shape))
    }
}

fn resolve_dim(slice: SliceDim, dim: u64) -> Result<(u64, u64, u64, bool)> {
    let outside = |at: u64| Error::invalid("slice dataset").with("index", at).with("extent", dim);
    match slice {
        SliceDim::Index(at) if at < dim => Ok((at, 1, 1, false)),
        SliceDim::Index(at) => Err(outside(at)),
        SliceDim::Range { start, end, step } => {
            let end = end.unwrap_or(dim);
            if end > dim || start > end || step == 0 {
                return Err(outside(end.max(start)));
            }
            Ok((start, step, (end - start).div_ceil(step), true))
        }
    }
}

/// A slice, in the manner of `ndarray::s!`: an index drops its dimension, `a..b;n` takes every n-th.
#[macro_export]
macro_rules! s {
    (@dims [$($done:expr,)*]) => { $crate::Slice { dims: vec![$($done),*] } };
    (@dims [$($done:expr,)*] $r:expr; $step:expr, $($rest:tt)*) => {
        $crate::s!(@dims [$($done,)* $crate::SliceDim::range($r, $step),] $($rest)*)
    };
    (@dims [$($done:expr,)*] $r:expr; $step:expr) => {
        $crate::s!(@dims [$($done,)* $crate::SliceDim::range($r, $step),])
    };
    (@dims [$($done:expr,)*] $r:expr, $($rest:tt)*) => {
        $crate::s!(@dims [$($done,)* $crate::SliceDim::from($r),] $($rest)*)
    };
    (@dims [$($done:expr,)*] $r:expr) => { $crate::s!(@dims [$($done,)* $crate::SliceDim::from($r),]) };
    ($($t:tt)*) => { $crate::s!(@dims [] $($t)*) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_index_drops_its_dimension_and_a_step_thins() {
        let (selection, shape) = s![2, 1..9;3, ..].resolve(&[4, 10, 5]).unwrap();
        assert_eq!(shape, [3, 5]);
        assert_eq!(selection.element_count(&[4, 10, 5]).unwrap(), 15);
    }

    #[test]
    fn a_slice_beyond_the_extent_is_refused() {
        assert!(s![0..11].resolve(&[10]).is_err());
        assert!(s![10].resolve(&[10]).is_err());
        assert_eq!(s![3..3].resolve(&[10]).unwrap().1, [0]);
    }
}
