//! Elements of datasets: read into numpy arrays and written from them.

use hyperslab::vol::algorithms::transfer::Elements;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::heap::Heap as Values;
use hyperslab::vol::{DatasetInfo, Transfer, Within};
use hyperslab::{Dataspace, Datatype, Error, Result, Selection as Selected};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::buffers::Bytes;
use crate::datatype::Type;
use crate::errors::{OrRaise, Raised};
use crate::heap::{Heap, Objects, Text, object_array, push_strings};
use crate::object::Object;
use crate::selection::Selection;

impl Object {
    /// Calls `transfer` with the selected elements.
    fn elements<T, E: From<Error>>(
        &self,
        selection: &Selected,
        transfer: impl FnOnce(Elements<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let info = self.dataset_info()?;
        let info: &DatasetInfo = &info;
        let conversions = Conversions::default();
        transfer(Elements {
            container: self.container(),
            dataset: self.token,
            file_type: &info.datatype,
            space: &info.space,
            selection,
            conversions: &conversions,
            transfer: Transfer::Independent,
        })
    }

    /// Reads elements of a type into memory of our own.
    pub(crate) fn read_values(&self, selection: &Selected, memory: &Datatype) -> Result<(Vec<u8>, Values)> {
        self.elements(selection, |elements| {
            let bytes = elements.count()?.saturating_mul(u64::from(memory.size()));
            let mut buffer = vec![0; bytes.within(self.session.access.limits.result_bytes_max, "result")?];
            let mut values = Values::new();
            elements.read(memory, &mut buffer, &mut values)?;
            Ok((buffer, values))
        })
    }
}

#[pymethods]
impl Object {
    /// Reads elements, as elements of `memory` type, into the bytes of an array.
    fn read_into(
        &self,
        py: Python<'_>,
        selection: &Selection,
        memory: &Type,
        mut into: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let bytes = into.as_slice_mut()?;
        let read = |elements: Elements<'_>| elements.read(&memory.datatype, bytes, &mut Values::new());
        py.detach(|| self.elements(&selection.0, read)).or_raise()
    }

    /// Writes elements of `memory` type from the bytes of an array.
    fn write_from(
        &self,
        py: Python<'_>,
        selection: &Selection,
        memory: &Type,
        from: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let bytes = from.as_slice()?;
        let write = |elements: Elements<'_>| elements.write(&memory.datatype, bytes, &mut Values::new());
        py.detach(|| self.elements(&selection.0, write)).or_raise()
    }

    /// Reads elements with variable-length values or references: their bytes, and what these refer to.
    fn read_values_of<'py>(
        &self,
        py: Python<'py>,
        selection: &Selection,
        memory: &Type,
    ) -> PyResult<(Bytes<'py>, Heap)> {
        let (bytes, values) = py.detach(|| self.read_values(&selection.0, &memory.datatype)).or_raise()?;
        Ok((bytes.into_pyarray(py), Heap::from(values)))
    }

    /// Writes elements with variable-length values or references.
    fn write_values_of(
        &self,
        py: Python<'_>,
        selection: &Selection,
        memory: &Type,
        from: PyReadonlyArray1<'_, u8>,
        heap: &Heap,
    ) -> PyResult<()> {
        let bytes = from.as_slice()?;
        let write =
            |elements: Elements<'_>| heap.with(|values| elements.write(&memory.datatype, bytes, values));
        py.detach(|| self.elements(&selection.0, write)).or_raise()
    }

    /// Reads variable-length strings as an array of Python objects, which are made while other threads read the next ones.
    fn read_strings<'py>(
        &self,
        py: Python<'py>,
        selection: &Selection,
        memory: &Type,
        text: &str,
    ) -> PyResult<Objects<'py>> {
        let (text, limits) = (Text::named(text), &self.session.access.limits);
        let read = py.detach(|| {
            self.elements(&selection.0, |elements| {
                let bytes = elements.count()?.saturating_mul(u64::from(memory.datatype.size()));
                bytes.within(limits.result_bytes_max, "result")?;
                let mut objects = Vec::with_capacity(elements.count()? as usize);
                elements.read_strips(&memory.datatype, |elements, values| {
                    Python::attach(|py| push_strings(py, values, elements, text, &mut objects))
                        .map_err(Raised)
                })?;
                Ok(objects)
            })
        });
        read.map(|objects| object_array(py, objects)).map_err(|Raised(error)| error)
    }

    /// The extent, or `None` for the null dataspace.
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let info = self.free(py, || self.dataset_info()).or_raise()?;
        match &info.space {
            Dataspace::Null => Ok(None),
            space => PyTuple::new(py, space.dims()).map(Some),
        }
    }

    /// The largest extent; `None` in it is no bound.
    fn maximum_shape(&self, py: Python<'_>) -> PyResult<Option<Vec<Option<u64>>>> {
        let info = self.free(py, || self.dataset_info()).or_raise()?;
        let bound = |&max: &u64| Some(max).filter(|max| *max != hyperslab::vol::model::UNLIMITED);
        Ok(match &info.space {
            Dataspace::Null => None,
            space => Some(space.max_dims().iter().map(bound).collect()),
        })
    }

    /// Changes the extent.
    fn resize(&self, py: Python<'_>, shape: Vec<u64>) -> PyResult<()> {
        py.detach(|| self.container().dataset_resize(self.token, &shape)).or_raise()
    }

    /// Bytes in storage, and the offset in the file of elements that lie in one piece.
    fn storage(&self, py: Python<'_>) -> PyResult<(u64, Option<u64>)> {
        let storage = py.detach(|| self.container().dataset_storage(self.token)).or_raise()?;
        Ok((storage.bytes, storage.offset))
    }

    /// Offset, filter mask, address and bytes of the chunks that are stored.
    #[allow(clippy::type_complexity)]
    fn stored_chunks(&self, py: Python<'_>) -> PyResult<Vec<(Vec<u64>, u32, Option<u64>, u64)>> {
        let listed = py.detach(|| {
            let mut chunks = Vec::new();
            loop {
                let page = self.container().chunk_list(self.token, chunks.len() as u64, 4096)?;
                chunks
                    .extend(page.entries.into_iter().map(|c| (c.offset, c.filter_mask, c.address, c.bytes)));
                if !page.more {
                    return Ok(chunks);
                }
            }
        });
        listed.or_raise()
    }

    /// A chunk as it is stored: its filter mask and bytes.
    fn read_chunk<'py>(&self, py: Python<'py>, offset: Vec<u64>) -> PyResult<(u32, Bound<'py, PyBytes>)> {
        let (mask, bytes) = py.detach(|| self.container().chunk_read(self.token, &offset)).or_raise()?;
        Ok((mask, PyBytes::new(py, &bytes)))
    }

    /// Stores one chunk as given.
    fn write_chunk(&self, py: Python<'_>, offset: Vec<u64>, mask: u32, bytes: &[u8]) -> PyResult<()> {
        py.detach(|| self.container().chunk_write(self.token, &offset, mask, bytes)).or_raise()
    }
}
