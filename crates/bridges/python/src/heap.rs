//! Variable-length values and references of elements in memory, and Python objects made of them and into them.

use std::sync::{Mutex, PoisonError};

use hyperslab::Error;
use hyperslab::vol::model::heap::{Heap as Values, VarLenDescriptor};
use numpy::ndarray::Array1;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyUnicodeDecodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};

use crate::buffers::Bytes;
use crate::errors::OrRaise;
use crate::references::Reference;

/// Bytes of a descriptor in memory.
const DESCRIPTOR_BYTES: usize = 16;

/// A numpy array of objects.
pub(crate) type Objects<'py> = Bound<'py, PyArray1<Py<PyAny>>>;

/// How strings are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// Not at all: `bytes`.
    Bytes,
    /// UTF-8; the rest raises `UnicodeDecodeError`.
    Strict,
    /// UTF-8; other bytes become surrogates.
    Surrogates,
}

impl Text {
    /// Returns the mode called `name`.
    pub(crate) fn named(name: &str) -> Text {
        match name {
            "strict" => Text::Strict,
            "surrogateescape" => Text::Surrogates,
            _ => Text::Bytes,
        }
    }

    /// Returns a string as a Python object.
    pub(crate) fn object(self, py: Python<'_>, bytes: &[u8]) -> PyResult<Py<PyAny>> {
        if self == Text::Bytes {
            return Ok(PyBytes::new(py, bytes).into_any().unbind());
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(PyString::new(py, text).into_any().unbind()),
            Err(_) if self == Text::Surrogates => decode(py, bytes, "surrogateescape"),
            Err(error) => Err(PyUnicodeDecodeError::new_utf8(py, bytes, error)?.into_err()),
        }
    }
}

/// A `UnicodeDecodeError` as an exception.
trait IntoErr {
    fn into_err(self) -> PyErr;
}

impl IntoErr for Bound<'_, PyUnicodeDecodeError> {
    fn into_err(self) -> PyErr {
        PyErr::from_value(self.into_any())
    }
}

/// Decodes bytes as UTF-8 with one of Python's error handlers.
fn decode(py: Python<'_>, bytes: &[u8], errors: &str) -> PyResult<Py<PyAny>> {
    Ok(PyBytes::new(py, bytes).call_method1("decode", ("utf-8", errors))?.unbind())
}

/// The values that descriptors in elements stand for.
#[pyclass(frozen, module = "hyperslab._core")]
#[derive(Debug, Default)]
pub(crate) struct Heap(Mutex<Values>);

impl From<Values> for Heap {
    fn from(values: Values) -> Self {
        Heap(Mutex::new(values))
    }
}

impl Heap {
    /// Calls `use_values` with the values.
    pub(crate) fn with<T>(&self, use_values: impl FnOnce(&mut Values) -> T) -> T {
        use_values(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Heap {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Strings of descriptors, as `bytes`, or as `str` where `text` names an error handler.
    fn strings<'py>(
        &self,
        py: Python<'py>,
        descriptors: PyReadonlyArray1<'py, u8>,
        text: &str,
    ) -> PyResult<Objects<'py>> {
        let descriptors = descriptors.as_slice()?;
        self.with(|values| strings(py, values, descriptors, Text::named(text)))
    }

    /// Descriptors of strings: `str`, `bytes` or what `str()` makes a string of. `None` is the empty string.
    fn put_strings<'py>(
        &self,
        py: Python<'py>,
        objects: PyReadonlyArray1<'py, Py<PyAny>>,
    ) -> PyResult<Bytes<'py>> {
        let objects = objects.as_slice()?;
        let mut descriptors = vec![0; objects.len() * DESCRIPTOR_BYTES];
        self.with(|values| {
            objects.iter().zip(descriptors.chunks_exact_mut(DESCRIPTOR_BYTES)).try_for_each(
                |(object, element)| put_string(object.bind(py), values)?.store(element).or_raise(),
            )
        })?;
        Ok(descriptors.into_pyarray(py))
    }

    /// Numbers of elements of variable-length sequences, and all their elements of `size` bytes one after another.
    fn sequences<'py>(
        &self,
        py: Python<'py>,
        descriptors: PyReadonlyArray1<'py, u8>,
        size: u64,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bytes<'py>)> {
        let (mut counts, mut bytes) = (Vec::new(), Vec::new());
        self.with(|values| {
            descriptors.as_slice()?.chunks_exact(DESCRIPTOR_BYTES).try_for_each(|element| {
                let descriptor = VarLenDescriptor::load(element).or_raise()?;
                counts.push(descriptor.count);
                bytes.extend_from_slice(values.get(descriptor, size).or_raise()?);
                Ok::<_, PyErr>(())
            })
        })?;
        Ok((counts.into_pyarray(py), bytes.into_pyarray(py)))
    }

    /// Descriptors of sequences whose elements of `size` bytes lie one after another.
    fn put_sequences<'py>(
        &self,
        py: Python<'py>,
        counts: Vec<u64>,
        bytes: PyReadonlyArray1<'py, u8>,
        size: u64,
    ) -> PyResult<Bytes<'py>> {
        let mut rest = bytes.as_slice()?;
        let mut descriptors = vec![0; counts.len() * DESCRIPTOR_BYTES];
        self.with(|values| {
            for (&count, element) in counts.iter().zip(descriptors.chunks_exact_mut(DESCRIPTOR_BYTES)) {
                let len = count.saturating_mul(size) as usize;
                let short = || PyValueError::new_err("fewer elements than the sequences have");
                let (value, later) = rest.split_at_checked(len).ok_or_else(short)?;
                values.push(value, count).store(element).or_raise()?;
                rest = later;
            }
            Ok::<_, PyErr>(())
        })?;
        Ok(descriptors.into_pyarray(py))
    }

    /// References of descriptors.
    fn references(&self, descriptors: PyReadonlyArray1<'_, u8>, region: bool) -> PyResult<Vec<Reference>> {
        self.with(|values| {
            let load = |element| Ok(Reference::new(values.load_reference(element).or_raise()?, region));
            descriptors.as_slice()?.chunks_exact(DESCRIPTOR_BYTES).map(load).collect()
        })
    }

    /// Descriptors of references. `None` is the null reference.
    fn put_references<'py>(
        &self,
        py: Python<'py>,
        references: Vec<Option<PyRef<'py, Reference>>>,
    ) -> PyResult<Bytes<'py>> {
        let mut descriptors = vec![0; references.len() * DESCRIPTOR_BYTES];
        self.with(|values| {
            references.iter().zip(descriptors.chunks_exact_mut(DESCRIPTOR_BYTES)).try_for_each(
                |(reference, element)| {
                    let reference = reference.as_ref().map_or_else(hyperslab::Reference::null, |r| r.value());
                    values.store_reference(reference, element).or_raise()
                },
            )
        })?;
        Ok(descriptors.into_pyarray(py))
    }
}

/// Returns the strings of descriptors as an array of Python objects.
pub(crate) fn strings<'py>(
    py: Python<'py>,
    values: &Values,
    descriptors: &[u8],
    text: Text,
) -> PyResult<Objects<'py>> {
    let mut objects = Vec::with_capacity(descriptors.len() / DESCRIPTOR_BYTES);
    push_strings(py, values, descriptors, text, &mut objects)?;
    Ok(object_array(py, objects))
}

/// Returns an array of Python objects.
pub(crate) fn object_array(py: Python<'_>, objects: Vec<Py<PyAny>>) -> Objects<'_> {
    PyArray1::from_owned_object_array(py, Array1::from_vec(objects))
}

/// Appends the strings of descriptors, made in one pass from the bytes where they are.
pub(crate) fn push_strings(
    py: Python<'_>,
    values: &Values,
    descriptors: &[u8],
    text: Text,
    objects: &mut Vec<Py<PyAny>>,
) -> PyResult<()> {
    // One check of all bytes instead of one for each string.
    let plain = if text == Text::Bytes { None } else { values.plain_text() };
    for element in descriptors.chunks_exact(DESCRIPTOR_BYTES) {
        let descriptor = VarLenDescriptor::load(element).or_raise()?;
        let bytes = values.get(descriptor, 1).or_raise()?;
        objects.push(match plain {
            Some(all) => {
                let start = descriptor.offset as usize;
                let text = all.get(start..start + bytes.len()).ok_or_else(broken)?;
                PyString::new(py, text).into_any().unbind()
            }
            None => text.object(py, bytes)?,
        });
    }
    Ok(())
}

fn broken() -> PyErr {
    crate::errors::raised(&Error::invalid("read string"))
}

/// Takes a Python string to the heap.
pub(crate) fn put_string(object: &Bound<'_, PyAny>, values: &mut Values) -> PyResult<VarLenDescriptor> {
    if let Ok(text) = object.cast::<PyString>() {
        return match text.to_cow() {
            Ok(text) => push_text(text.as_bytes(), values),
            // A string with surrogates stands for bytes that are not UTF-8.
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", "surrogateescape"))?;
                push_text(bytes.cast::<PyBytes>()?.as_bytes(), values)
            }
        };
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return push_text(bytes.as_bytes(), values);
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return push_text(&bytes.to_vec(), values);
    }
    if object.is_none() {
        return push_text(b"", values);
    }
    if object.hasattr("__array__")? && object.getattr("ndim").and_then(|n| n.gt(0)).unwrap_or(false) {
        return Err(PyTypeError::new_err("Can't implicitly convert non-string objects to strings"));
    }
    match object.is_instance_of::<pyo3::types::PyInt>() || object.is_instance_of::<pyo3::types::PyFloat>() {
        true => Err(PyTypeError::new_err("Can't implicitly convert non-string objects to strings")),
        false => push_text(object.str()?.to_cow()?.as_bytes(), values),
    }
}

fn push_text(bytes: &[u8], values: &mut Values) -> PyResult<VarLenDescriptor> {
    match bytes.contains(&0) {
        true => Err(PyValueError::new_err("VLEN strings do not support embedded NULLs")),
        false => Ok(values.push(bytes, bytes.len() as u64)),
    }
}
