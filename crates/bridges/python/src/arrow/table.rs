//! Tables: the members of a compound dataset, or several datasets of one length, as a stream of record batches.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use hyperslab::plist::Layout;
use hyperslab::vol::DatasetInfo;
use hyperslab::{Error, Result, Selection};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::build::refused;
use super::column::{Column, ColumnKind, structure};
use super::{invalid, schema_capsule};
use crate::errors::OrRaise;
use crate::object::Object;

/// Bytes of a batch in memory, about: enough that threads have work, and little for a program that streams.
const BATCH_BYTES: u64 = 16 << 20;

/// A dataset whose elements, or whose members, are columns.
#[derive(Debug)]
struct Source {
    dataset: Py<Object>,
    /// The name of its column. Without one, the members of its compounds are columns.
    name: Option<String>,
    column: Column,
    /// The extent without the first dimension.
    inner: Vec<u64>,
}

/// What a stream reads. Streams of one table are independent of each other.
#[derive(Debug)]
struct Plan {
    sources: Vec<Source>,
    schema: SchemaRef,
    rows: std::ops::Range<u64>,
    batch_rows: u64,
    binary: bool,
}

/// A table of columns in a file. Nothing is read before somebody asks for the stream of its batches.
#[pyclass(frozen, module = "hyperslab")]
#[derive(Debug)]
pub(crate) struct ArrowTable {
    plan: Arc<Plan>,
}

#[pymethods]
impl ArrowTable {
    /// Returns the table of datasets with the names of their columns. Without a name, a dataset's members are columns;
    /// `members` says which.
    #[new]
    #[pyo3(signature = (datasets, members, start, stop, batch_rows, binary))]
    fn new(
        py: Python<'_>,
        datasets: Vec<(Option<String>, Py<Object>)>,
        members: Option<Vec<String>>,
        start: u64,
        stop: u64,
        batch_rows: Option<u64>,
        binary: bool,
    ) -> PyResult<Self> {
        let sources = datasets
            .into_iter()
            .map(|(name, dataset)| Source::new(dataset, name, members.as_deref()))
            .collect::<Result<Vec<_>>>()
            .or_raise()?;
        let batch_rows = match batch_rows {
            Some(rows) => rows.max(1),
            None => py.detach(|| rows_of_batch(&sources)).or_raise()?,
        };
        let schema = Arc::new(schema_of(&sources, binary));
        let plan = Plan { sources, schema, rows: start..stop.max(start), batch_rows, binary };
        Ok(ArrowTable { plan: Arc::new(plan) })
    }

    /// Returns the types of the columns, as the Arrow PyCapsule protocol has them.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, FFI_ArrowSchema::try_from(&*self.plan.schema).map_err(invalid)?)
    }

    /// Returns a new stream of record batches, as the Arrow PyCapsule protocol has it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = Batches { plan: self.plan.clone(), at: self.plan.rows.start };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.plan.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        (self.plan.rows.end - self.plan.rows.start) as usize
    }

    fn __repr__(&self) -> String {
        format!("<Arrow table: {} rows, columns {}>", self.__len__(), self.column_names().join(", "))
    }
}

impl Source {
    fn new(dataset: Py<Object>, name: Option<String>, members: Option<&[String]>) -> Result<Source> {
        let info = dataset.get().dataset_info()?;
        let mut column = Column::of(&info.datatype)?;
        if name.is_none() {
            column = chosen(column, members)?;
        }
        let inner = info.space.dims().iter().skip(1).copied().collect();
        Ok(Source { dataset, name, column, inner })
    }

    fn read(&self, start: u64, count: u64, binary: bool) -> Result<ArrayRef> {
        let row = self.column.clone().in_array(&self.inner)?;
        let (mut first, mut counts) = (vec![0; self.inner.len() + 1], vec![count]);
        first[0] = start;
        counts.extend_from_slice(&self.inner);
        let selection = Selection::block(&first, &counts)?;
        self.dataset.get().read_rows(&selection, (&self.column, &row), count as usize, binary)
    }
}

/// Returns the members of a compound that were asked for, in the order of the question.
fn chosen(column: Column, members: Option<&[String]>) -> Result<Column> {
    let ColumnKind::Struct(all) = &column.kind else {
        return Err(Error::invalid("create table").with("problem", "the dataset has no members"));
    };
    let Some(names) = members else { return Ok(column) };
    let find = |name: &String| {
        let found = all.iter().find(|(member, _)| member == name);
        found.cloned().ok_or_else(|| Error::not_found("find member").with("name", name))
    };
    Ok(structure(names.iter().map(find).collect::<Result<Vec<_>>>()?))
}

fn schema_of(sources: &[Source], binary: bool) -> Schema {
    let mut fields = Vec::new();
    for source in sources {
        match (&source.name, &source.column.kind) {
            (None, ColumnKind::Struct(members)) => {
                fields.extend(super::column::fields(members, binary).iter().map(|field| (**field).clone()));
            }
            (name, _) => {
                let outer = source.column.clone().in_array(&source.inner);
                let data_type = outer.as_ref().unwrap_or(&source.column).data_type(binary);
                fields.push(Field::new(name.as_deref().unwrap_or_default(), data_type, true));
            }
        }
    }
    Schema::new(fields)
}

/// Returns how many rows a batch has: whole chunks, so that none is decoded twice.
fn rows_of_batch(sources: &[Source]) -> Result<u64> {
    let (mut bytes, mut chunk_rows) = (0, 1);
    for source in sources {
        let info = source.dataset.get().dataset_info()?;
        bytes += u64::from(info.datatype.size()) * source.inner.iter().product::<u64>();
        chunk_rows = chunk_rows.max(rows_of_chunk(&info));
    }
    let rows = BATCH_BYTES / bytes.max(1);
    Ok((rows / chunk_rows).max(1) * chunk_rows)
}

fn rows_of_chunk(info: &DatasetInfo) -> u64 {
    match &info.create.layout {
        Layout::Chunked { shape, .. } => shape.first().copied().unwrap_or(1).max(1),
        _ => 1,
    }
}

/// The batches that a stream has not read yet.
struct Batches {
    plan: Arc<Plan>,
    at: u64,
}

impl Batches {
    fn read(&self, count: u64) -> Result<RecordBatch> {
        let mut columns = Vec::new();
        for source in &self.plan.sources {
            let array = source.read(self.at, count, self.plan.binary)?;
            match array.as_any().downcast_ref::<StructArray>() {
                Some(members) if source.name.is_none() => columns.extend_from_slice(members.columns()),
                _ => columns.push(array),
            }
        }
        RecordBatch::try_new(self.plan.schema.clone(), columns).map_err(|e| refused(&e))
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let count = self.plan.batch_rows.min(self.plan.rows.end.saturating_sub(self.at));
        if count == 0 {
            return None;
        }
        let batch = self.read(count).map_err(|error| ArrowError::ExternalError(Box::new(error)));
        // After an error the stream ends.
        self.at = if batch.is_ok() { self.at + count } else { self.plan.rows.end };
        Some(batch)
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.plan.schema.clone()
    }
}
