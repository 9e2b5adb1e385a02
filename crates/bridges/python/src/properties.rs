//! Creation properties of datasets that exist.

use hyperslab::plist::{FillTime, Layout};
use hyperslab::vol::algorithms::transfer::from_file_type;
use hyperslab::vol::model::heap::Heap as Values;
use hyperslab::vol::model::properties::{AllocTime, FillValue};
use hyperslab::vol::model::text::from_path;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::datatype::Type;
use crate::errors::OrRaise;
use crate::heap::Heap;
use crate::object::Object;
use crate::resolver::{Prefixes, with_origin};
use crate::selection::Selection;

/// Access properties of a dataset.
#[pyclass(frozen, module = "hyperslab._core")]
#[derive(Debug)]
pub(crate) struct AccessProperties(Prefixes);

#[pymethods]
impl AccessProperties {
    /// Returns the prefix of names of external files; empty if there is none.
    fn get_efile_prefix(&self) -> &[u8] {
        self.0.external.as_deref().unwrap_or_default().as_bytes()
    }

    /// Returns the prefix of names of virtual sources; empty if there is none.
    fn get_virtual_prefix(&self) -> &[u8] {
        self.0.r#virtual.as_deref().unwrap_or_default().as_bytes()
    }
}

/// Whether this library has a filter.
#[pyfunction]
pub(crate) fn filter_is_available(number: i32) -> bool {
    hyperslab::filters::Filter::User(number, Vec::new()).is_available()
}

fn fill_time(time: FillTime) -> &'static str {
    match time {
        FillTime::Alloc => "alloc",
        FillTime::Never => "never",
        FillTime::IfSet => "ifset",
    }
}

fn put_layout(into: &Bound<'_, PyDict>, layout: &Layout) -> PyResult<()> {
    let py = into.py();
    match layout {
        Layout::Compact => into.set_item("layout", "compact"),
        Layout::Contiguous => into.set_item("layout", "contiguous"),
        Layout::External(files) => {
            let files: Vec<_> = files.iter().map(|file| (&file.name, file.offset, file.size)).collect();
            into.set_item("external", files)?;
            into.set_item("layout", "external")
        }
        Layout::Chunked { shape, .. } => {
            into.set_item("chunks", shape)?;
            into.set_item("layout", "chunked")
        }
        Layout::Virtual(mappings) => {
            let mut all = Vec::new();
            for mapping in mappings {
                let (source, target) = (Selection(mapping.source.clone()), Selection(mapping.target.clone()));
                all.push((
                    &mapping.file,
                    &mapping.dataset,
                    source.into_pyobject(py)?,
                    target.into_pyobject(py)?,
                ));
            }
            into.set_item("mappings", all)?;
            into.set_item("layout", "virtual")
        }
    }
}

#[pymethods]
impl Object {
    /// Layout, filters, fill value and the like of a dataset.
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.free(py, || self.dataset_info()).or_raise()?;
        let (create, all) = (&info.create, PyDict::new(py));
        put_layout(&all, &create.layout)?;
        let filters: Vec<_> = create.filters.iter().map(|f| (f.id, f.optional, &f.values, &f.name)).collect();
        all.set_item("filters", filters)?;
        all.set_item("fill_time", fill_time(create.fill.time))?;
        all.set_item("early", create.alloc_time == AllocTime::Early)?;
        all.set_item("track_times", create.object.track_times)?;
        let is_ordered = create.object.attribute_order != hyperslab::plist::CreationOrder::Untracked;
        all.set_item("track_order", is_ordered)?;
        all.set_item("committed", info.committed.is_some())?;
        Ok(all)
    }

    /// Says where the files are that a dataset leads to.
    fn set_prefixes(&self, py: Python<'_>, external: Option<&str>, r#virtual: Option<&str>) -> PyResult<()> {
        let Some(neighbours) = self.session.neighbours() else { return Ok(()) };
        let [external, r#virtual] = [external, r#virtual]
            .map(|prefix| prefix.map(|prefix| from_path(&with_origin(prefix, &self.session.location))));
        let info = self.free(py, || self.dataset_info()).or_raise()?;
        neighbours.set_prefixes(self.token, &info.create.layout, Prefixes { external, r#virtual });
        Ok(())
    }

    /// Returns what a dataset was opened with, under h5py's names.
    fn get_access_plist(&self) -> AccessProperties {
        AccessProperties(self.session.neighbours().map(|n| n.prefixes(self.token)).unwrap_or_default())
    }

    /// The committed datatype that a dataset shares.
    fn committed_type(&self, py: Python<'_>) -> PyResult<Option<Object>> {
        let shared = || {
            let committed = self.dataset_info()?.committed;
            Ok(committed.map(|token| Object::new(self.session.clone(), token)))
        };
        self.free(py, shared).or_raise()
    }

    /// The fill value as an element in the memory datatype of its type, or `None` where none was set.
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Option<(Type, crate::buffers::Bytes<'py>, Heap)>> {
        let read = || {
            let info = self.dataset_info()?;
            let FillValue::Value(raw) = &info.create.fill.value else { return Ok(None) };
            let (memory, mut values) = (info.datatype.memory_type(), Values::new());
            let (file_type, none) = (&info.datatype, Default::default());
            let bytes = from_file_type(self.container(), file_type, raw, &memory, &none, &mut values)?;
            Ok(Some((memory, bytes, values)))
        };
        let found = self.free(py, read).or_raise()?;
        Ok(found
            .map(|(memory, bytes, values)| (Type::from(memory), bytes.into_pyarray(py), Heap::from(values))))
    }
}
