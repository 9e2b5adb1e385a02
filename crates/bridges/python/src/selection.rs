//! Selections of elements.

use hyperslab::vol::model::selection::Selection as Elements;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// Elements of a dataset, in an order.
#[pyclass(frozen, module = "hyperslab._core")]
#[derive(Debug, Clone)]
pub(crate) struct Selection(pub(crate) Elements);

#[pymethods]
impl Selection {
    /// All elements.
    #[staticmethod]
    fn all() -> Self {
        Selection(Elements::All)
    }

    /// No element.
    #[staticmethod]
    fn none() -> Self {
        Selection(Elements::None)
    }

    /// Blocks at even distances. A count of `None` has no end.
    #[staticmethod]
    fn hyperslab(
        start: Vec<u64>,
        stride: Vec<u64>,
        count: Vec<Option<u64>>,
        block: Vec<u64>,
    ) -> PyResult<Self> {
        let count: Vec<u64> =
            count.into_iter().map(|n| n.unwrap_or(hyperslab::vol::model::UNLIMITED)).collect();
        Elements::hyperslab(&start, &stride, &count, &block).map(Selection).or_raise()
    }

    /// Points: `rank` coordinates for each.
    #[staticmethod]
    fn points(rank: usize, coordinates: PyReadonlyArray1<'_, u64>) -> PyResult<Self> {
        Elements::points(rank, coordinates.as_slice()?.to_vec()).map(Selection).or_raise()
    }

    /// The union of blocks: for each, `rank` first coordinates and `rank` last ones.
    #[staticmethod]
    fn blocks(py: Python<'_>, rank: usize, corners: PyReadonlyArray1<'_, u64>) -> PyResult<Self> {
        let corners = corners.as_slice()?;
        if corners.is_empty() {
            return Ok(Selection(Elements::None));
        }
        py.detach(|| Elements::union_of_blocks(rank, corners)).map(Selection).or_raise()
    }

    /// Elements at which a mask of the extent is not zero.
    #[staticmethod]
    fn mask(py: Python<'_>, shape: Vec<u64>, mask: PyReadonlyArray1<'_, u8>) -> PyResult<Self> {
        let mask = mask.as_slice()?;
        if shape.iter().product::<u64>() != mask.len() as u64 || shape.is_empty() {
            return Err(PyValueError::new_err("Boolean indexing array has incompatible shape"));
        }
        let made = py.detach(|| {
            let corners = corners_of_runs(&shape, mask);
            match corners.is_empty() {
                true => Ok(Elements::None),
                false => Elements::union_of_blocks(shape.len(), &corners),
            }
        });
        made.map(Selection).or_raise()
    }

    /// The number of elements it selects in an extent.
    fn count(&self, dims: Vec<u64>) -> PyResult<u64> {
        self.0.element_count(&dims).or_raise()
    }

    /// First and last coordinates of the block around it, or `None` where it is empty.
    fn bounds(&self, dims: Vec<u64>) -> PyResult<Option<(Vec<u64>, Vec<u64>)>> {
        self.0.bounds(&dims).or_raise()
    }

    /// Fails if it reaches beyond an extent.
    fn check(&self, dims: Vec<u64>) -> PyResult<()> {
        self.0.validate(&dims).or_raise()
    }

    /// Start, stride, count and block of each dimension, where it is one regular hyperslab.
    fn regular(&self) -> Option<Vec<[u64; 4]>> {
        match &self.0 {
            Elements::Regular(regular) => Some(regular.declared()),
            _ => None,
        }
    }

    /// Coordinates of its points one after another, where it is a selection of points.
    fn coordinates<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u64>>> {
        match &self.0 {
            Elements::Points(points) => Some(points.coords().to_vec().into_pyarray(py)),
            _ => None,
        }
    }

    /// Whether it stands for the whole extent.
    fn is_all(&self) -> bool {
        matches!(self.0, Elements::All)
    }
}

/// Returns first and last corners of the runs of set bytes along the last dimension.
fn corners_of_runs(shape: &[u64], mask: &[u8]) -> Vec<u64> {
    let (width, mut corners) = (shape[shape.len() - 1] as usize, Vec::new());
    if width == 0 {
        return corners;
    }
    let mut outer = vec![0u64; shape.len() - 1];
    for row in mask.chunks_exact(width) {
        let mut at = 0;
        while let Some(start) = next_set(row, at) {
            let len = row[start..].iter().position(|&set| set == 0).unwrap_or(width - start);
            corners.extend_from_slice(&outer);
            corners.push(start as u64);
            corners.extend_from_slice(&outer);
            corners.push((start + len - 1) as u64);
            at = start + len;
        }
        advance(&mut outer, shape);
    }
    corners
}

/// Returns where the next set byte is, from `at` on. Blocks of zeros are skipped as wholes, with vector instructions.
fn next_set(row: &[u8], at: usize) -> Option<usize> {
    const BLOCK: usize = 64;
    let is_set = |&byte: &u8| byte != 0;
    let mut from = at;
    for block in row[at..].chunks_exact(BLOCK) {
        if block.iter().fold(0, |any, &byte| any | byte) != 0 {
            break;
        }
        from += BLOCK;
    }
    row[from..].iter().position(is_set).map(|skip| from + skip)
}

/// Moves coordinates to the next row, in C order.
fn advance(outer: &mut [u64], shape: &[u64]) {
    for (coordinate, len) in outer.iter_mut().zip(shape).rev() {
        *coordinate += 1;
        if *coordinate < *len {
            return;
        }
        *coordinate = 0;
    }
}
