//! Maps: pairs of keys and values.

use hyperslab::plist::ObjectCreate;
use hyperslab::vol::algorithms::maps::{stored_keys, to_elements};
use hyperslab::vol::algorithms::transfer::{from_file_type, to_file_type};
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::heap::Heap as Values;
use hyperslab::vol::{OpMapCreate, Pin};
use hyperslab::{Error, Result};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::buffers::Bytes;
use crate::datatype::Type;
use crate::errors::OrRaise;
use crate::heap::Heap;
use crate::object::Object;

/// Keys that are fetched at a time.
const PAGE: u64 = 4096;

impl Object {
    /// Returns one key as the map stores it.
    fn stored_key(&self, memory: &Type, bytes: &[u8], heap: &Heap) -> Result<Vec<u8>> {
        let info = self.container().map_info(self.token)?;
        let keys = heap.with(|values| stored_keys(&info.key, &memory.datatype, bytes, values))?;
        keys.into_iter().next().ok_or_else(|| Error::invalid("use map key"))
    }

    fn all_keys(&self) -> Result<Vec<Vec<u8>>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            let page = self.container().map_keys(self.token, keys.last().map(Vec::as_slice), PAGE)?;
            let is_last = !page.more || page.entries.is_empty();
            keys.extend(page.entries);
            if is_last {
                return Ok(keys);
            }
        }
    }
}

#[pymethods]
impl Object {
    /// Creates a map.
    fn create_map(&self, py: Python<'_>, path: &str, key: &Type, value: &Type) -> PyResult<Object> {
        let made = || {
            let (parent, place) = self.placed(Some(path))?;
            let (key, value) = ((*key.datatype).clone(), (*value.datatype).clone());
            let op = OpMapCreate { place, key, value, create: ObjectCreate::default() };
            let token = parent.container().map_create(&op)?;
            Ok(Object::new(parent.session.clone(), token))
        };
        self.free(py, made).or_raise()
    }

    /// Types of keys and values, and the number of pairs.
    fn map_info(&self) -> PyResult<(Type, Type, u64)> {
        let info = self.container().map_info(self.token).or_raise()?;
        Ok((Type::from(info.key), Type::from(info.value), info.count))
    }

    /// Sets one pair. Key and value are elements of the memory types.
    fn map_put(
        &self,
        key: (Type, PyReadonlyArray1<'_, u8>, PyRef<'_, Heap>),
        value: (Type, PyReadonlyArray1<'_, u8>, PyRef<'_, Heap>),
    ) -> PyResult<()> {
        let stored = self.stored_key(&key.0, key.1.as_slice()?, &key.2).or_raise()?;
        let info = self.container().map_info(self.token).or_raise()?;
        let (memory, bytes) = (&value.0.datatype, value.1.as_slice()?);
        let value = value.2.with(|values| {
            to_file_type(self.container(), memory, bytes, &info.value, &Conversions::default(), values)
        });
        self.container().map_put(self.token, &[(&stored, &value.or_raise()?)]).or_raise()
    }

    /// The value of a key in the memory datatype of the values, or `None`.
    fn map_get<'py>(
        &self,
        py: Python<'py>,
        key: (Type, PyReadonlyArray1<'py, u8>, PyRef<'py, Heap>),
    ) -> PyResult<Option<(Bytes<'py>, Heap)>> {
        let stored = self.stored_key(&key.0, key.1.as_slice()?, &key.2).or_raise()?;
        let info = self.container().map_info(self.token).or_raise()?;
        let _pin = Pin::of(self.container(), &info.value).or_raise()?;
        let found = self.container().map_get(self.token, &[&stored]).or_raise()?.pop().flatten();
        let Some(raw) = found else { return Ok(None) };
        let (memory, mut values) = (info.value.memory_type(), Values::new());
        let bytes = from_file_type(
            self.container(),
            &info.value,
            &raw,
            &memory,
            &Conversions::default(),
            &mut values,
        );
        Ok(Some((bytes.or_raise()?.into_pyarray(py), Heap::from(values))))
    }

    /// Removes a pair; `False` if there was none.
    fn map_delete(&self, key: (Type, PyReadonlyArray1<'_, u8>, PyRef<'_, Heap>)) -> PyResult<bool> {
        let stored = self.stored_key(&key.0, key.1.as_slice()?, &key.2).or_raise()?;
        self.container().map_delete(self.token, &stored).or_raise()
    }

    /// All keys, as elements in the memory datatype of the keys.
    fn map_keys<'py>(&self, py: Python<'py>) -> PyResult<(Bytes<'py>, Heap)> {
        let info = self.container().map_info(self.token).or_raise()?;
        let keys = py.detach(|| self.all_keys()).or_raise()?;
        let mut values = Values::new();
        let bytes = to_elements(&info.key, keys.iter().map(Vec::as_slice), &mut values).or_raise()?;
        Ok((bytes.into_pyarray(py), Heap::from(values)))
    }
}
