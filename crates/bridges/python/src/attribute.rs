//! Attributes.

use hyperslab::plist::CreationOrder;
use hyperslab::vol::algorithms::transfer::{from_file_type, to_file_type};
use hyperslab::vol::model::CharacterSet;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::datatype::{ByteOrder, VarLen, VarLenKind};
use hyperslab::vol::model::heap::{Heap as Values, VarLenDescriptor};
use hyperslab::vol::{AttributeInfo, OpAttributeCreate, OpList, Pin};
use hyperslab::{Dataspace, Datatype, Error, Index, Kind, Order, Result};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString, PyTuple};

use crate::creation::dataspace;
use crate::datatype::Type;
use crate::errors::OrRaise;
use crate::heap::{Heap, Text, put_string};
use crate::object::Object;

/// A name that no attribute of a user has: a new value is complete before it takes the place of an old one.
const UNFINISHED: &str = "\u{1}hyperslab unfinished attribute";

/// Bytes of a descriptor in memory.
const DESCRIPTOR: usize = 16;

fn is_var_string(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::VarLen(VarLen { kind: VarLenKind::String { .. }, .. }))
}

impl Object {
    fn attribute(&self, name: &str) -> Result<AttributeInfo> {
        let missing = || Error::not_found("open attribute").with("name", name);
        self.container().attribute_info(self.token, name)?.ok_or_else(missing)
    }

    /// Returns a whole value in the memory datatype of its type.
    fn attribute_value(&self, info: &AttributeInfo) -> Result<(Vec<u8>, Values)> {
        let _pin = Pin::of(self.container(), &info.datatype)?;
        let raw = self.container().attribute_read(self.token, &[&info.name])?.pop().unwrap_or_default();
        let mut values = Values::new();
        if !info.datatype.has_descriptors() {
            return Ok((raw, values));
        }
        let memory = info.datatype.memory_type();
        let bytes = from_file_type(
            self.container(),
            &info.datatype,
            &raw,
            &memory,
            &Conversions::default(),
            &mut values,
        )?;
        Ok((bytes, values))
    }

    /// Writes a whole value, converted to the type of the attribute.
    fn write_attribute(
        &self,
        name: &str,
        memory: &Datatype,
        bytes: &[u8],
        values: &mut Values,
    ) -> Result<()> {
        let file_type = self.attribute(name)?.datatype;
        if *memory == file_type && !memory.has_descriptors() {
            return self.container().attribute_write(self.token, name, bytes);
        }
        let stored =
            to_file_type(self.container(), memory, bytes, &file_type, &Conversions::default(), values)?;
        self.container().attribute_write(self.token, name, &stored)
    }

    /// Returns the attributes: in creation order where it is tracked, else sorted by name.
    fn all_attributes(&self) -> Result<Vec<AttributeInfo>> {
        let info = self.container().object_info(self.token)?;
        let is_tracked = info.create.attribute_order != CreationOrder::Untracked;
        let index = if is_tracked { Index::CreationOrder } else { Index::Name };
        let mut all = Vec::new();
        loop {
            let op = OpList { index, order: Order::Increasing, skip: all.len() as u64, count_max: 4096 };
            let page = self.container().attribute_list(self.token, &op)?;
            all.extend(page.entries);
            if !page.more {
                return Ok(all);
            }
        }
    }

    /// Returns an attribute of one value that is to be created.
    fn new_attribute(&self, name: &str, datatype: &Datatype) -> OpAttributeCreate {
        let charset = if name.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 };
        let (name, datatype) = (name.to_owned(), datatype.clone());
        OpAttributeCreate {
            object: self.token,
            name,
            charset,
            datatype,
            committed: None,
            space: Dataspace::Scalar,
        }
    }

    fn create_unless(
        &self,
        op: &OpAttributeCreate,
        memory: &Datatype,
        bytes: Option<&[u8]>,
        values: &mut Values,
    ) -> Result<()> {
        let write = |name: &str, values: &mut Values| match bytes {
            Some(bytes) => self.write_attribute(name, memory, bytes, values),
            None => Ok(()),
        };
        match self.container().attribute_create(op) {
            Err(error) if error.kind() == Kind::Exists => {}
            Err(error) => return Err(error),
            Ok(()) => {
                return write(&op.name, values).inspect_err(|_| {
                    // The error of the write says more than one of the removal.
                    let _ = self.container().attribute_delete(self.token, &op.name);
                });
            }
        }
        // The old value stays until the new one is complete.
        self.container()
            .attribute_create(&OpAttributeCreate { name: UNFINISHED.to_owned(), ..op.clone() })?;
        if let Err(error) = write(UNFINISHED, values) {
            let _ = self.container().attribute_delete(self.token, UNFINISHED);
            return Err(error);
        }
        self.container().attribute_delete(self.token, &op.name)?;
        self.container().attribute_rename(self.token, UNFINISHED, &op.name)
    }
}

#[pymethods]
impl Object {
    /// Names of the attributes, in the order of the object.
    fn attribute_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let all = py.detach(|| self.all_attributes()).or_raise()?;
        Ok(all.into_iter().map(|info| info.name).collect())
    }

    /// The number of attributes.
    fn attribute_count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.free(py, || self.container().object_info(self.token)).or_raise()?.attributes)
    }

    /// Whether there is an attribute of this name.
    fn has_attribute(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.free(py, || self.container().attribute_info(self.token, name)).or_raise()?.is_some())
    }

    /// Type and shape of an attribute.
    fn attribute_type<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Type, Option<Bound<'py, PyTuple>>)> {
        let info = self.free(py, || self.attribute(name)).or_raise()?;
        Ok((Type::from(info.datatype), shape_of(py, &info.space)?))
    }

    /// The value of an attribute: a `str` where it is one variable-length string; else its type, its shape, its bytes
    /// in the memory datatype of the type, and the values that they refer to.
    fn read_attribute<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let read = py.detach(|| {
            let info = self.attribute(name)?;
            let (bytes, values) = match info.space {
                Dataspace::Null => Default::default(),
                _ => self.attribute_value(&info)?,
            };
            Ok((info, bytes, values))
        });
        let (info, bytes, values) = read.or_raise()?;
        if is_var_string(&info.datatype) && matches!(info.space, Dataspace::Scalar) {
            let text = values.get(VarLenDescriptor::load(&bytes).or_raise()?, 1).or_raise()?;
            return Ok(Text::Surrogates.object(py, text)?.into_bound(py));
        }
        let heap = info.datatype.has_descriptors().then(|| Heap::from(values));
        let shape = shape_of(py, &info.space)?;
        let all = (Type::from(info.datatype), shape, bytes.into_pyarray(py), heap);
        Ok(all.into_pyobject(py)?.into_any())
    }

    /// Creates an attribute with a value, in place of one of the same name.
    #[allow(clippy::too_many_arguments)]
    fn create_attribute(
        &self,
        py: Python<'_>,
        name: &str,
        datatype: &Type,
        committed: Option<&Object>,
        shape: Option<Vec<u64>>,
        memory: &Type,
        bytes: Option<PyReadonlyArray1<'_, u8>>,
        heap: Option<&Heap>,
    ) -> PyResult<()> {
        let mut op = self.new_attribute(name, &datatype.datatype);
        op.committed = committed.map(|object| object.token);
        op.space = dataspace(shape, None).or_raise()?;
        let bytes = bytes.as_ref().map(|bytes| bytes.as_slice()).transpose()?;
        let create = |values: &mut Values| self.create_unless(&op, &memory.datatype, bytes, values);
        py.detach(|| match heap {
            Some(heap) => heap.with(create),
            None => create(&mut Values::new()),
        })
        .or_raise()
    }

    /// Creates an attribute of one `str`, `int` or `float`, in place of one of the same name. `False` if the value is
    /// none of these, or an `int` of more than 8 bytes.
    fn create_plain(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mut values = Values::new();
        let Some((memory, bytes)) = plain_value(value, &mut values)? else { return Ok(false) };
        let op = self.new_attribute(name, &memory);
        py.detach(|| self.create_unless(&op, &memory, Some(&bytes), &mut values)).or_raise()?;
        Ok(true)
    }

    /// Gives an attribute another value of the same shape.
    fn modify_attribute(
        &self,
        py: Python<'_>,
        name: &str,
        memory: &Type,
        bytes: PyReadonlyArray1<'_, u8>,
        heap: Option<&Heap>,
    ) -> PyResult<()> {
        let bytes = bytes.as_slice()?;
        let write = |values: &mut Values| self.write_attribute(name, &memory.datatype, bytes, values);
        py.detach(|| match heap {
            Some(heap) => heap.with(write),
            None => write(&mut Values::new()),
        })
        .or_raise()
    }

    /// Removes an attribute.
    fn delete_attribute(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.free(py, || self.container().attribute_delete(self.token, name)).or_raise()
    }
}

/// Returns memory datatype and bytes of a `str`, an `int` of 8 bytes or a `float`; `None` for anything else.
fn plain_value(value: &Bound<'_, PyAny>, values: &mut Values) -> PyResult<Option<(Datatype, Vec<u8>)>> {
    if value.is_exact_instance_of::<PyString>() {
        let mut bytes = vec![0; DESCRIPTOR];
        put_string(value, values)?.store(&mut bytes).or_raise()?;
        return Ok(Some((Datatype::var_string(CharacterSet::Utf8).memory_type(), bytes)));
    }
    if value.is_exact_instance_of::<PyInt>() {
        let number = value.extract::<i64>().ok();
        return Ok(number.map(|number| (Datatype::native_int(8), number.to_ne_bytes().to_vec())));
    }
    if value.is_exact_instance_of::<PyFloat>() {
        let bytes = value.extract::<f64>()?.to_le_bytes().to_vec();
        return Ok(Some((Datatype::ieee_f64(ByteOrder::Little), bytes)));
    }
    Ok(None)
}

fn shape_of<'py>(py: Python<'py>, space: &Dataspace) -> PyResult<Option<Bound<'py, PyTuple>>> {
    match space {
        Dataspace::Null => Ok(None),
        space => PyTuple::new(py, space.dims()).map(Some),
    }
}
