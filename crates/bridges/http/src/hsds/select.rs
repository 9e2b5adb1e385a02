//! Selections as HSDS writes them: `[0:2,1:8:3,5,[1,4]]`.

use hyperslab::Selection;
use hyperslab::vol::model::selection::SetOp;
use json_text::text::Value;

use crate::answer::Failure;
use crate::elements::selection::{SelectedDim, SelectedDims};

/// Elements of a dataset that a request selects, and the shape that they have in its answer.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) selection: Selection,
    pub(super) shape: Vec<u64>,
}

impl Selected {
    /// Returns all elements of an extent.
    pub(super) fn all(dims: &[u64]) -> Self {
        let is_empty = dims.contains(&0);
        Selected { selection: if is_empty { Selection::None } else { Selection::All }, shape: dims.to_vec() }
    }

    /// Returns the number of elements; `u64::MAX` where it is larger.
    pub(super) fn count(&self) -> u64 {
        self.shape.iter().fold(1, |count: u64, dim| count.saturating_mul(*dim))
    }

    /// Reads a selection. An index keeps its dimension, with one element.
    ///
    /// # Errors
    /// Returns a failure if the text is not a selection, or leaves the extent.
    pub(super) fn parse(text: &str, dims: &[u64]) -> Result<Self, Failure> {
        let inner = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let items = split(inner);
        if items.len() != dims.len() {
            let message =
                format!("The selection has {} dimensions, and the dataset {}", items.len(), dims.len());
            return Err(Failure::argument(message));
        }
        let (mut axes, mut lists) = (Vec::new(), Vec::new());
        for (axis, (item, &dim)) in items.into_iter().zip(dims).enumerate() {
            match item.strip_prefix('[') {
                None => axes.push(SelectedDim { is_index: false, ..SelectedDim::parse(item, dim)? }),
                Some(list) => {
                    let list = coordinates(list, dim)?;
                    axes.push(SelectedDim { start: 0, step: 1, count: dim, is_index: false });
                    lists.push((axis, list));
                }
            }
        }
        Self::of(axes, &lists, dims)
    }

    fn of(axes: Vec<SelectedDim>, lists: &[(usize, Vec<u64>)], dims: &[u64]) -> Result<Self, Failure> {
        let mut shape: Vec<u64> = axes.iter().map(|axis| axis.count).collect();
        let mut selection = SelectedDims(axes).to_selection()?;
        for (axis, list) in lists {
            shape[*axis] = list.len() as u64;
            selection = selection.combine(SetOp::And, &planes(*axis, list, dims)?, dims)?;
        }
        Ok(Selected { selection, shape })
    }

    /// Returns the elements at these coordinates, in this order.
    pub(super) fn points(coordinates: Vec<u64>, dims: &[u64]) -> Result<Self, Failure> {
        let rank = dims.len().max(1);
        if dims.is_empty() || coordinates.is_empty() || !coordinates.len().is_multiple_of(rank) {
            return Err(Failure::argument(format!("Points of this dataset have {} coordinates", dims.len())));
        }
        let is_inside = |point: &[u64]| point.iter().zip(dims).all(|(at, dim)| at < dim);
        if !coordinates.chunks_exact(rank).all(is_inside) {
            return Err(Failure::argument("A point is outside of the dataset"));
        }
        let shape = vec![(coordinates.len() / rank) as u64];
        Ok(Selected { selection: Selection::points(rank, coordinates)?, shape })
    }

    /// Returns the elements at coordinates that are numbers, or lists of them.
    pub(super) fn json_points(points: &Value<'_>, dims: &[u64]) -> Result<Self, Failure> {
        let wrong = |_| Failure::malformed("Points are numbers or lists of numbers");
        let mut coordinates = Vec::new();
        for point in points.array().map_err(wrong)? {
            match point {
                Value::Array(point) if point.len() == dims.len() => {
                    for at in point {
                        coordinates.push(at.uint().map_err(wrong)?);
                    }
                }
                Value::Array(_) => {
                    return Err(Failure::malformed("Points have one coordinate for each dimension"));
                }
                at => coordinates.push(at.uint().map_err(wrong)?),
            }
        }
        Self::points(coordinates, dims)
    }
}

/// Splits at commas that are not in a list.
fn split(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0i32);
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        items.push(text[start..].trim());
    }
    items
}

/// Reads a list of coordinates without its first bracket. They must increase, as in h5py.
fn coordinates(list: &str, dim: u64) -> Result<Vec<u64>, Failure> {
    let wrong = || Failure::argument("A list of coordinates has increasing numbers within the extent");
    let list = list.strip_suffix(']').ok_or_else(wrong)?;
    let numbers = list.split(',').map(|number| number.trim().parse::<u64>().map_err(|_| wrong()));
    let numbers = numbers.collect::<Result<Vec<u64>, _>>()?;
    let is_increasing = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    if is_increasing && numbers.last().is_some_and(|last| *last < dim) { Ok(numbers) } else { Err(wrong()) }
}

/// Returns all elements whose coordinate in one dimension is in a list.
fn planes(axis: usize, list: &[u64], dims: &[u64]) -> Result<Selection, Failure> {
    let mut corners = Vec::with_capacity(list.len() * 2 * dims.len());
    for &at in list {
        let corner = |of: fn(u64) -> u64| {
            let dims = dims.iter().enumerate();
            dims.map(move |(n, &dim)| if n == axis { at } else { of(dim) }).collect::<Vec<_>>()
        };
        corners.extend(corner(|_| 0));
        corners.extend(corner(|dim| dim.saturating_sub(1)));
    }
    Ok(Selection::union_of_blocks(dims.len(), &corners)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<Vec<u64>> {
        Selected::parse(text, &[3, 10]).ok().map(|selected| {
            assert_eq!(selected.selection.element_count(&[3, 10]).unwrap(), selected.count(), "{text}");
            selected.shape
        })
    }

    #[test]
    fn selections_keep_all_dimensions() {
        assert_eq!(shape("[0:2,1:8:3]"), Some(vec![2, 3]));
        assert_eq!(shape("[1,:]"), Some(vec![1, 10]));
        assert_eq!(shape("[::2,[0,4,9]]"), Some(vec![2, 3]));
        assert_eq!(shape("[[0,2],[1,2]]"), Some(vec![2, 2]));
        assert_eq!(shape("[2:2,:]"), Some(vec![0, 10]));
    }

    #[test]
    fn others_are_refused() {
        for text in
            ["", "[]", "[0]", "[0,0,0]", "[3,0]", "[[1,0],0]", "[[0,3],0]", "[[],0]", "[[0,1,0]", "[x,0]"]
        {
            assert_eq!(shape(text), None, "{text}");
        }
    }
}
