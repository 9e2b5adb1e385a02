//! Selections as numpy writes them: `0,:,5:10:2,-1`.

use hyperslab::Selection;

use crate::answer::Failure;
use crate::elements::axis::Axis;

/// The selected elements of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectedDim {
    pub(crate) start: u64,
    pub(crate) step: u64,
    pub(crate) count: u64,
    /// An index drops its dimension from the result.
    pub(crate) is_index: bool,
}

/// A selection of a dataset: one entry for each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelectedDims(pub(crate) Vec<SelectedDim>);

impl SelectedDims {
    /// Reads a selection of a dataset of `dims`. Dimensions that it does not name are selected whole.
    ///
    /// # Errors
    /// Returns a failure with the status 422 if it is not a selection, or if an index is beyond the extent.
    pub(crate) fn parse(text: Option<&str>, dims: &[u64]) -> Result<Self, Failure> {
        let items: Vec<&str> = text.map(|text| text.split(',').map(str::trim).collect()).unwrap_or_default();
        if items.len() > dims.len() {
            let message =
                format!("The selection has {} dimensions, and the dataset {}", items.len(), dims.len());
            return Err(Failure::argument(message));
        }
        let whole = std::iter::repeat(":");
        let each = items.into_iter().chain(whole).zip(dims).map(|(item, &dim)| SelectedDim::parse(item, dim));
        each.collect::<Result<_, _>>().map(SelectedDims)
    }

    /// Returns the shape of the result.
    pub(crate) fn shape(&self) -> Vec<u64> {
        self.kept().map(|dim| dim.count).collect()
    }

    /// Returns the dimensions of the result.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &SelectedDim> {
        self.0.iter().filter(|dim| !dim.is_index)
    }

    /// Returns the number of elements; `u64::MAX` where it is larger.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().fold(1, |count: u64, dim| count.saturating_mul(dim.count))
    }

    /// Returns the elements of each dimension.
    pub(crate) fn axes(&self) -> Vec<Axis> {
        self.0.iter().map(Axis::from).collect()
    }

    /// Returns the selection for the library.
    pub(crate) fn to_selection(&self) -> Result<Selection, Failure> {
        if self.0.is_empty() {
            return Ok(Selection::All);
        }
        if self.count() == 0 {
            return Ok(Selection::None);
        }
        let get = |field: fn(&SelectedDim) -> u64| self.0.iter().map(field).collect::<Vec<u64>>();
        let block = vec![1; self.0.len()];
        let (start, step, count) = (get(|d| d.start), get(|d| d.step), get(|d| d.count));
        Ok(Selection::hyperslab(&start, &step, &count, &block)?)
    }

    /// Returns every `steps[n]`-th element of the n-th dimension of the result.
    pub(crate) fn thinned(&self, steps: &[u64]) -> Self {
        let mut steps = steps.iter();
        let thin = |dim: &SelectedDim| match dim.is_index {
            true => *dim,
            false => {
                let step = steps.next().copied().unwrap_or(1).max(1);
                SelectedDim { step: dim.step.saturating_mul(step), count: dim.count.div_ceil(step), ..*dim }
            }
        };
        SelectedDims(self.0.iter().map(thin).collect())
    }
}

impl SelectedDim {
    /// Reads what one dimension of a selection says.
    pub(crate) fn parse(item: &str, dim: u64) -> Result<Self, Failure> {
        let wrong =
            || Failure::argument(format!("{item:?} does not select elements of a dimension of {dim}"));
        match item.split_once(':') {
            None => {
                let start = position(item, dim).filter(|at| *at < dim).ok_or_else(wrong)?;
                Ok(SelectedDim { start, step: 1, count: 1, is_index: true })
            }
            Some((start, rest)) => {
                let (end, step) = rest.split_once(':').unwrap_or((rest, ""));
                let start = bound(start, dim, 0).ok_or_else(wrong)?;
                let end = bound(end, dim, dim).ok_or_else(wrong)?;
                let step = if step.is_empty() { Some(1) } else { step.parse().ok().filter(|step| *step > 0) };
                let step: u64 = step.ok_or_else(wrong)?;
                let count = end.saturating_sub(start).div_ceil(step);
                Ok(SelectedDim { start, step, count, is_index: false })
            }
        }
    }
}

/// Returns a position that may be negative, counted from the end.
fn position(text: &str, dim: u64) -> Option<u64> {
    let at: i128 = text.parse::<i64>().ok()?.into();
    u64::try_from(if at < 0 { at + i128::from(dim) } else { at }).ok()
}

/// Returns a bound of a range; bounds beyond the extent are cut off, as in Python.
fn bound(text: &str, dim: u64, default: u64) -> Option<u64> {
    if text.is_empty() {
        return Some(default);
    }
    let at: i128 = text.parse::<i64>().ok()?.into();
    let at = if at < 0 { at + i128::from(dim) } else { at };
    u64::try_from(at.clamp(0, i128::from(dim))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str, dims: &[u64]) -> Option<Vec<u64>> {
        SelectedDims::parse(Some(text), dims).ok().map(|selected| selected.shape())
    }

    #[test]
    fn selections_are_those_of_numpy() {
        assert_eq!(shape("0", &[3, 4]), Some(vec![4]));
        assert_eq!(shape("-1,:", &[3, 4]), Some(vec![4]));
        assert_eq!(shape("::2,1:100", &[3, 4]), Some(vec![2, 3]));
        assert_eq!(shape("1,2", &[3, 4]), Some(vec![]));
        assert_eq!(shape("2:1", &[3]), Some(vec![0]));
    }

    #[test]
    fn others_are_refused() {
        for text in ["", "x", "3,0", "-4", "0,0,0", "::0", "::-1", "1:x", "99999999999999999999", "0,,"] {
            assert_eq!(shape(text, &[3, 4]), None, "{text}");
        }
    }

    #[test]
    fn thinning_steps_along_what_is_left() {
        let selected = SelectedDims::parse(Some("1,::2,:"), &[3, 10, 7]).ok().unwrap().thinned(&[2, 3]);
        assert_eq!(selected.shape(), [3, 3]);
        assert_eq!(selected.0[1].step, 4);
    }
}
