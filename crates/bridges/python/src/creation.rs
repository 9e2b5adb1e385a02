//! Creating datasets.

use hyperslab::plist::{DatasetCreate, FillTime, Layout};
use hyperslab::vol::algorithms::transfer::to_file_type;
use hyperslab::vol::model::UNLIMITED;
use hyperslab::vol::model::heap::Heap as Values;
use hyperslab::vol::model::properties::{AllocTime, ExternalFile, FillValue, FilterSpec, VirtualMapping};
use hyperslab::vol::{LinkLocation, OpDatasetCreate};
use hyperslab::{Dataspace, Result};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::datatype::Type;
use crate::errors::OrRaise;
use crate::group::object_create;
use crate::heap::Heap;
use crate::object::Object;
use crate::selection::Selection;

/// Elements in memory: their type, their bytes, and the values that they refer to.
type Values3<'py> = (Type, PyReadonlyArray1<'py, u8>, Option<PyRef<'py, Heap>>);

/// A part of a virtual dataset: file, dataset, elements there, elements here.
type Mapping<'py> = (String, String, PyRef<'py, Selection>, PyRef<'py, Selection>);

/// Creation properties of a dataset, as Python names them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Creation<'py> {
    chunks: Option<Vec<u64>>,
    compact: bool,
    external: Option<Vec<(String, u64, u64)>>,
    mappings: Option<Vec<Mapping<'py>>>,
    filters: Vec<(u16, bool, Vec<u32>)>,
    fill: Option<Values3<'py>>,
    fill_time: Option<String>,
    early: bool,
    track_order: bool,
    track_times: bool,
}

impl std::fmt::Debug for Creation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Creation").field("chunks", &self.chunks).finish_non_exhaustive()
    }
}

/// Returns an extent. No shape at all is the null dataspace; `None` for a maximum is no bound.
pub(crate) fn dataspace(shape: Option<Vec<u64>>, maximum: Option<Vec<Option<u64>>>) -> Result<Dataspace> {
    let Some(shape) = shape else { return Ok(Dataspace::Null) };
    match maximum {
        None => Dataspace::simple(&shape),
        Some(maximum) => {
            let maximum: Vec<u64> = maximum.into_iter().map(|max| max.unwrap_or(UNLIMITED)).collect();
            Dataspace::resizable(&shape, &maximum)
        }
    }
}

impl Creation<'_> {
    fn layout(&self) -> Layout {
        if let Some(shape) = &self.chunks {
            return Layout::chunked(shape);
        }
        if let Some(files) = &self.external {
            let file = |(name, offset, size): &(String, u64, u64)| ExternalFile {
                name: name.clone(),
                offset: *offset,
                size: *size,
            };
            return Layout::External(files.iter().map(file).collect());
        }
        if let Some(mappings) = &self.mappings {
            return Layout::Virtual(mappings.iter().map(mapping).collect());
        }
        if self.compact { Layout::Compact } else { Layout::Contiguous }
    }

    fn properties(&self, py: Python<'_>, object: &Object, datatype: &Type) -> PyResult<DatasetCreate> {
        let mut create = DatasetCreate { layout: self.layout(), ..DatasetCreate::default() };
        create.object = object_create(self.track_order, self.track_times);
        let filter = |(id, optional, values): &(u16, bool, Vec<u32>)| FilterSpec {
            id: *id,
            name: None,
            optional: *optional,
            values: values.clone(),
        };
        create.filters = self.filters.iter().map(filter).collect();
        if let Some(fill) = &self.fill {
            create.fill.value = FillValue::Value(fill_value(py, object, datatype, fill)?);
        }
        create.fill.time = match self.fill_time.as_deref() {
            None | Some("ifset") => FillTime::IfSet,
            Some("alloc") => FillTime::Alloc,
            Some("never") => FillTime::Never,
            Some(_) => {
                return Err(PyValueError::new_err("fill_time must be one of 'alloc', 'never' or 'ifset'"));
            }
        };
        if self.early {
            create.alloc_time = AllocTime::Early;
        }
        Ok(create)
    }
}

fn mapping((file, dataset, source, target): &Mapping<'_>) -> VirtualMapping {
    VirtualMapping {
        file: file.clone(),
        dataset: dataset.clone(),
        source: source.0.clone(),
        target: target.0.clone(),
    }
}

/// Returns a fill value in the file datatype.
fn fill_value(
    py: Python<'_>,
    object: &Object,
    datatype: &Type,
    (memory, bytes, heap): &Values3<'_>,
) -> PyResult<Vec<u8>> {
    let container = object.container();
    let (bytes, mut own) = (bytes.as_slice()?, Values::new());
    let store = |values: &mut Values| {
        let file_type = datatype.datatype.with_descriptors(&container.info()?.descriptors);
        to_file_type(container, &memory.datatype, bytes, &file_type, &Default::default(), values)
    };
    let heap: Option<&Heap> = heap.as_deref();
    let stored = object.free(py, || match heap {
        Some(heap) => heap.with(store),
        None => store(&mut own),
    });
    stored.or_raise()
}

impl Object {
    /// Returns where an object is linked: nowhere without a path.
    pub(crate) fn placed(&self, path: Option<&str>) -> Result<(Object, Option<LinkLocation>)> {
        match path {
            None => Ok((Object::new(self.session.clone(), self.token), None)),
            Some(path) => self.place(path).map(|(parent, place)| (parent, Some(place))),
        }
    }
}

#[pymethods]
impl Object {
    /// Creates a dataset; without a path it is anonymous.
    #[allow(clippy::too_many_arguments)]
    fn create_dataset(
        &self,
        py: Python<'_>,
        path: Option<&str>,
        datatype: &Type,
        committed: Option<&Object>,
        shape: Option<Vec<u64>>,
        maximum: Option<Vec<Option<u64>>>,
        creation: Creation<'_>,
    ) -> PyResult<Object> {
        let create = creation.properties(py, self, datatype)?;
        let space = dataspace(shape, maximum).or_raise()?;
        let made = py.detach(|| {
            let (parent, place) = self.placed(path)?;
            let committed = committed.map(|object| object.token);
            let op =
                OpDatasetCreate { place, datatype: (*datatype.datatype).clone(), committed, space, create };
            let token = parent.container().dataset_create(&op)?;
            Ok(Object::new(parent.session.clone(), token))
        });
        made.or_raise()
    }
}
