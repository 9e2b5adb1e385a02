//! Elements as Arrow arrays and tables, handed to pyarrow, pandas and polars through the Arrow C data interface.

mod build;
mod column;
mod table;

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::Field;
use arrow_schema::ffi::FFI_ArrowSchema;
use hyperslab::{Result, Selection as Selected};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::OrRaise;
use crate::object::Object;
use crate::selection::Selection;
use build::Elements;
use column::Column;
pub(crate) use table::ArrowTable;

/// An array in Arrow's memory layout.
#[pyclass(frozen, module = "hyperslab")]
#[derive(Debug)]
pub(crate) struct ArrowArray {
    array: ArrayRef,
}

/// Returns a schema as a capsule.
fn schema_capsule<'py>(py: Python<'py>, schema: FFI_ArrowSchema) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn invalid(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl ArrowArray {
    /// Returns the type, as the Arrow PyCapsule protocol has it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let field = Field::new("", self.array.data_type().clone(), true);
        schema_capsule(py, FFI_ArrowSchema::try_from(&field).map_err(invalid)?)
    }

    /// Returns the type and array, as the Arrow PyCapsule protocol has them. The elements are shared, not copied.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A wish, which may be ignored: the caller looks at the schema that it gets.
        let _ = requested_schema;
        let array = FFI_ArrowArray::new(&self.array.to_data());
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// The type as text.
    #[getter]
    fn r#type(&self) -> String {
        self.array.data_type().to_string()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.array.get_buffer_memory_size()
    }

    fn __repr__(&self) -> String {
        format!("<Arrow array of {} x {}>", self.array.len(), self.array.data_type())
    }
}

impl Object {
    /// Reads elements of a column as an array of rows. `row` is the column of a row, which may be several elements.
    fn read_rows(
        &self,
        selection: &Selected,
        (column, row): (&Column, &Column),
        count: usize,
        binary: bool,
    ) -> Result<ArrayRef> {
        let (bytes, heap) = self.read_values(selection, &column.memory)?;
        row.array(Elements { bytes, heap: Arc::new(heap), count }, binary)
    }
}

#[pymethods]
impl Object {
    /// Reads elements as an Arrow array. `shape` is that of the selection: all but the first dimension become lists.
    fn read_arrow(
        &self,
        py: Python<'_>,
        selection: &Selection,
        shape: Vec<u64>,
        binary: bool,
    ) -> PyResult<ArrowArray> {
        let read = || {
            let info = self.dataset_info()?;
            let (&rows, inner) = shape.split_first().unwrap_or((&1, &[]));
            let column = Column::of(&info.datatype)?;
            let row = column.clone().in_array(inner)?;
            self.read_rows(&selection.0, (&column, &row), rows as usize, binary)
        };
        py.detach(read).or_raise().map(|array| ArrowArray { array })
    }
}
