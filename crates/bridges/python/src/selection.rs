//! Selections of elements.

use hyperslab::vol::algorithms::thread_pool;
use hyperslab::vol::model::selection::{MaskRows, Selection as Elements};
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

    /// All combinations of runs along each dimension: for each, the first and the last coordinates of its runs.
    #[staticmethod]
    fn product(axes: Vec<PyReadonlyArray1<'_, u64>>) -> PyResult<Self> {
        let axes: Vec<&[u64]> = axes.iter().map(|axis| axis.as_slice()).collect::<Result<_, _>>()?;
        Elements::product_of_intervals(&axes).map(Selection).or_raise()
    }

    /// Elements at which a mask of the extent is not zero.
    #[staticmethod]
    fn mask(py: Python<'_>, shape: Vec<u64>, mask: PyReadonlyArray1<'_, u8>) -> PyResult<Self> {
        let mask = mask.as_slice()?;
        if shape.iter().product::<u64>() != mask.len() as u64 || shape.is_empty() {
            return Err(PyValueError::new_err("Boolean indexing array has incompatible shape"));
        }
        py.detach(|| masked(&shape, mask)).map(Selection).or_raise()
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

/// Bytes of a mask that a thread looks at.
const MASK_BYTES: usize = 512 << 10;

/// Returns the elements at which a mask is not zero. It has as many bytes as the extent has elements.
fn masked(shape: &[u64], mask: &[u8]) -> hyperslab::Result<Elements> {
    let row_bytes = shape[1..].iter().product::<u64>().max(1) as usize;
    let rows = (MASK_BYTES / row_bytes).max(1);
    let parts = mask.chunks(rows * row_bytes).enumerate().collect();
    let looked_at = thread_pool::map(parts, |(n, part)| MaskRows::new(shape, (n * rows) as u64, part))?;
    Elements::from_mask_rows(looked_at)
}
