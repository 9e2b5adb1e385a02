//! Selections as HSDS writes them: `[0:2,1:8:3,5,[1,4]]`.

use hyperslab::Selection;
use json_text::text::Value;

use crate::answer::Failure;
use crate::elements::axis::{self, Axis};
use crate::elements::selection::SelectedDim;

/// Elements of a dataset that a request selects, and the shape that they have in its answer.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) elements: SelectedElements,
    pub(super) shape: Vec<u64>,
}

/// Which elements are selected.
#[derive(Debug)]
pub(super) enum SelectedElements {
    /// All combinations of those of each dimension.
    Axes(Vec<Axis>),
    /// Coordinates, one after the other.
    Points(Vec<u64>),
}

impl Selected {
    /// Returns all elements of an extent.
    pub(super) fn all(dims: &[u64]) -> Self {
        let axis = |dim: &u64| Axis::Regular { start: 0, step: 1, count: *dim };
        Self::of(dims.iter().map(axis).collect())
    }

    fn of(axes: Vec<Axis>) -> Self {
        Selected { shape: axes.iter().map(Axis::count).collect(), elements: SelectedElements::Axes(axes) }
    }

    /// Returns the selection for the library.
    pub(super) fn to_selection(&self) -> Result<Selection, Failure> {
        match &self.elements {
            SelectedElements::Axes(axes) => axis::selection(axes),
            SelectedElements::Points(coordinates) => {
                let rank = coordinates.len() / (self.count() as usize).max(1);
                Ok(Selection::points(rank, coordinates.clone())?)
            }
        }
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
        let each = items.into_iter().zip(dims).map(|(item, &dim)| match item.strip_prefix('[') {
            None => SelectedDim::parse(item, dim).map(|selected| Axis::from(&selected)),
            Some(list) => coordinates(list, dim).map(|list| Axis::list(&list)),
        });
        each.collect::<Result<_, _>>().map(Self::of)
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
        Ok(Selected { elements: SelectedElements::Points(coordinates), shape })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<Vec<u64>> {
        Selected::parse(text, &[3, 10]).ok().map(|selected| {
            let selection = selected.to_selection().ok().unwrap();
            assert_eq!(selection.element_count(&[3, 10]).unwrap(), selected.count(), "{text}");
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
