//! Slices of datasets, written as for `ndarray`: `s![0..10, 3, ..;2]`, negative indices counted from the end.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use model::{Error, Result, Selection};
use ndarray::{Dimension, SliceInfo, SliceInfoElem};

/// The part of a dataset that is read or written: one entry for each dimension, or everything. It is created from
/// `s![…]`, from a range or an index for datasets of one dimension, from a tuple of them (`(3, .., 0..5)`), or from
/// `..` for everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice(Taking);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Taking {
    All,
    Each(Vec<SliceInfoElem>),
}

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Self {
        Slice(Taking::All)
    }
}

impl From<()> for Slice {
    fn from((): ()) -> Self {
        Slice(Taking::Each(Vec::new()))
    }
}

macro_rules! one_dimension {
    ($($t:ty),*) => { $(
        impl From<$t> for Slice {
            fn from(taken: $t) -> Self {
                Slice(Taking::Each(vec![taken.into()]))
            }
        }
    )* };
}
one_dimension!(
    usize,
    Range<usize>,
    RangeFrom<usize>,
    RangeInclusive<usize>,
    RangeTo<usize>,
    RangeToInclusive<usize>,
    SliceInfoElem
);

macro_rules! dimensions {
    ($($name:ident)*) => {
        impl<$($name: Into<SliceInfoElem>),*> From<($($name,)*)> for Slice {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Slice(Taking::Each(vec![$($name.into()),*]))
            }
        }
    };
}
dimensions!(A);
dimensions!(A B);
dimensions!(A B C);
dimensions!(A B C D);
dimensions!(A B C D E);
dimensions!(A B C D E F);
dimensions!(A B C D E F G);
dimensions!(A B C D E F G H);

impl<T, D, E> From<SliceInfo<T, D, E>> for Slice
where
    T: AsRef<[SliceInfoElem]>,
    D: Dimension,
    E: Dimension,
{
    fn from(info: SliceInfo<T, D, E>) -> Self {
        let elements: &[SliceInfoElem] = info.as_ref();
        Slice(Taking::Each(elements.to_vec()))
    }
}

/// The selected elements of one dimension.
struct Taken {
    start: u64,
    step: u64,
    count: u64,
    /// Whether the result has the dimension. An index drops it.
    keep: bool,
}

impl Slice {
    /// Returns the selection of a dataset of shape `dims`, and the shape of the result.
    ///
    /// # Errors
    /// Returns `Invalid` if the slice has another rank or lies outside of `dims`, and `Unsupported` for a negative
    /// step or a new axis.
    pub fn resolve(&self, dims: &[u64]) -> Result<(Selection, Vec<u64>)> {
        let Taking::Each(each) = &self.0 else { return Ok((Selection::All, dims.to_vec())) };
        if each.len() != dims.len() {
            return Err(Error::invalid("slice dataset")
                .with("slice rank", each.len())
                .with("rank", dims.len()));
        }
        let taken = each.iter().zip(dims).map(|(e, &dim)| take(*e, dim)).collect::<Result<Vec<_>>>()?;
        let shape: Vec<u64> = taken.iter().filter(|t| t.keep).map(|t| t.count).collect();
        if taken.iter().any(|t| t.count == 0) {
            return Ok((Selection::None, shape));
        }
        if taken.is_empty() {
            return Ok((Selection::All, shape));
        }
        let get = |f: fn(&Taken) -> u64| taken.iter().map(f).collect::<Vec<u64>>();
        let block = vec![1; dims.len()];
        Ok((Selection::hyperslab(&get(|t| t.start), &get(|t| t.step), &get(|t| t.count), &block)?, shape))
    }
}

/// Returns an index or bound within `0..=dim`. A negative one counts from the end.
fn place(at: isize, dim: u64) -> Result<u64> {
    let at = at as i128;
    let from_start = if at < 0 { at + i128::from(dim) } else { at };
    let inside = u64::try_from(from_start).ok().filter(|&n| n <= dim);
    inside.ok_or_else(|| Error::invalid("slice dataset").with("index", at).with("extent", dim))
}

fn take(element: SliceInfoElem, dim: u64) -> Result<Taken> {
    match element {
        SliceInfoElem::Index(at) => match place(at, dim)? {
            start if start < dim => Ok(Taken { start, step: 1, count: 1, keep: false }),
            _ => Err(Error::invalid("slice dataset").with("index", at).with("extent", dim)),
        },
        SliceInfoElem::Slice { start, end, step } => {
            let (start, end) = (place(start, dim)?, end.map_or(Ok(dim), |end| place(end, dim))?);
            let step = u64::try_from(step).ok().filter(|&s| s > 0);
            let step = step.ok_or_else(|| Error::unsupported("slice dataset with a negative step"))?;
            Ok(Taken { start, step, count: end.saturating_sub(start).div_ceil(step), keep: true })
        }
        SliceInfoElem::NewAxis => Err(Error::unsupported("slice dataset with a new axis")),
    }
}

#[cfg(test)]
mod tests {
    use super::Slice;
    use ndarray::s;

    #[test]
    fn an_index_drops_its_dimension_and_a_step_thins() {
        let (selection, shape) = Slice::from(s![-2, 1..9;3, ..]).resolve(&[4, 10, 5]).unwrap();
        assert_eq!(shape, [3, 5]);
        assert_eq!(selection.element_count(&[4, 10, 5]).unwrap(), 15);
        assert!(selection.contains(&[4, 10, 5], &[2, 7, 4]).unwrap());
    }

    #[test]
    fn a_slice_beyond_the_extent_is_refused() {
        assert!(Slice::from(s![0..11]).resolve(&[10]).is_err());
        assert!(Slice::from(s![10]).resolve(&[10]).is_err());
        assert!(Slice::from(s![..;-1]).resolve(&[10]).is_err());
        assert_eq!(Slice::from(s![3..3]).resolve(&[10]).unwrap().1, [0]);
    }
}
