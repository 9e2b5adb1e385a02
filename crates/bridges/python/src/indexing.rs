//! The common indexes: whole numbers, slices and `...`. Python does the others.

use hyperslab::vol::model::selection::Selection as Elements;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};

use crate::errors::OrRaise;
use crate::selection::Selection;

/// One dimension of an index: where it starts, how many elements, how far apart, and whether the dimension stays.
struct Axis {
    start: u64,
    count: u64,
    step: u64,
    is_kept: bool,
}

/// Returns the selection and the shape of its elements, or `None` if an index is of another kind.
///
/// Raises `IndexError` for a number out of range, and `ValueError` for a step below 1 or too many indexes.
#[pyfunction]
pub(crate) fn select<'py>(
    py: Python<'py>,
    shape: Vec<u64>,
    index: &Bound<'py, PyTuple>,
) -> PyResult<Option<(Selection, Bound<'py, PyTuple>)>> {
    let rank = shape.len();
    let mut axes: Vec<Axis> = Vec::with_capacity(rank);
    let given = index.iter_borrowed().filter(|item| !item.is_instance_of::<PyEllipsis>()).count();
    if index.len() - given > 1 {
        return Err(PyValueError::new_err("Only one ellipsis may be used."));
    }
    for item in index.iter_borrowed() {
        if item.is_instance_of::<PyEllipsis>() {
            let count = rank.saturating_sub(given);
            axes.extend(shape.iter().skip(axes.len()).take(count).map(|&len| whole(len)));
            continue;
        }
        let Some(&len) = shape.get(axes.len()) else { return Err(too_many(given, rank)) };
        if let Ok(slice) = item.cast::<PySlice>() {
            axes.push(sliced(&slice, len)?);
        } else if item.is_exact_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
            axes.push(numbered(item.extract()?, len)?);
        } else {
            return Ok(None);
        }
    }
    axes.extend(shape.iter().skip(axes.len()).map(|&len| whole(len)));
    let kept = axes.iter().filter(|axis| axis.is_kept).map(|axis| axis.count);
    let result = PyTuple::new(py, kept.collect::<Vec<_>>())?;
    Ok(Some((selection(&axes, &shape)?, result)))
}

fn selection(axes: &[Axis], shape: &[u64]) -> PyResult<Selection> {
    if axes.iter().zip(shape).all(|(axis, &len)| axis.start == 0 && axis.step == 1 && axis.count == len) {
        return Ok(Selection(Elements::All));
    }
    let all = |of: fn(&Axis) -> u64| axes.iter().map(of).collect::<Vec<_>>();
    let (start, count, step) = (all(|a| a.start), all(|a| a.count), all(|a| a.step));
    let made = match step.iter().all(|&step| step == 1) {
        true => Elements::block(&start, &count),
        false => Elements::hyperslab(&start, &step, &count, &vec![1; axes.len()]),
    };
    made.map(Selection).or_raise()
}

fn whole(len: u64) -> Axis {
    Axis { start: 0, count: len, step: 1, is_kept: true }
}

fn sliced(slice: &Bound<'_, PySlice>, len: u64) -> PyResult<Axis> {
    let step = slice.getattr("step")?;
    if !step.is_none() && step.lt(1)? {
        return Err(PyValueError::new_err(format!("Step must be >= 1 (got {step})")));
    }
    let at = slice.indices(isize::try_from(len)?)?;
    let (start, step) = (at.start as u64, at.step as u64);
    match at.slicelength {
        0 => Ok(Axis { start: 0, count: 0, step: 1, is_kept: true }),
        count => Ok(Axis { start, count: count as u64, step, is_kept: true }),
    }
}

fn numbered(index: i64, len: u64) -> PyResult<Axis> {
    let range = i128::from(len);
    let at = i128::from(index) + if index < 0 { range } else { 0 };
    if at < 0 || at >= range {
        let text = match len {
            0 => format!("Index ({index}) out of range for empty dimension"),
            _ => format!("Index ({index}) out of range for (0-{})", len - 1),
        };
        return Err(PyIndexError::new_err(text));
    }
    Ok(Axis { start: at as u64, count: 1, step: 1, is_kept: false })
}

fn too_many(given: usize, rank: usize) -> PyErr {
    PyValueError::new_err(format!("{given} indexing arguments for {rank} dimensions"))
}
