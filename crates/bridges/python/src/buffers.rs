//! Bytes of numpy arrays, and elements in them.

use hyperslab::vol::model::convert::{Conversions, Plan};
use hyperslab::vol::model::heap::Heap as Values;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::datatype::Type;
use crate::errors::OrRaise;
use crate::heap::Heap;

/// Bytes as a numpy array that owns them.
pub(crate) type Bytes<'py> = Bound<'py, PyArray1<u8>>;

/// Returns elements of one type as elements of another; both are memory datatypes.
#[pyfunction]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    bytes: PyReadonlyArray1<'py, u8>,
    from: &Type,
    to: &Type,
    heap: Option<&Heap>,
) -> PyResult<Bytes<'py>> {
    let bytes = bytes.as_slice()?;
    let count = bytes.len() / from.datatype.size().max(1) as usize;
    let mut out = vec![0; count * to.datatype.size() as usize];
    let mut own = Values::new();
    let mut run = |values: &mut Values| {
        Plan::compile(&from.datatype, &to.datatype, &Conversions::default())?
            .run(bytes, &mut out, count, values)
    };
    match heap {
        Some(heap) => heap.with(run),
        None => run(&mut own),
    }
    .or_raise()?;
    Ok(out.into_pyarray(py))
}
