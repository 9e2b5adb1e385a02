//! References to objects and regions.

use hyperslab::{Reference as Target, ReferenceTarget};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::object::Object;
use crate::selection::Selection;

/// A reference to an object or to elements of a dataset. The null reference is false.
#[pyclass(frozen, module = "hyperslab._core")]
#[derive(Debug)]
pub(crate) struct Reference {
    target: Target,
    is_region: bool,
}

impl Reference {
    /// Returns a reference.
    pub(crate) fn new(target: Target, is_region: bool) -> Self {
        Reference { target, is_region }
    }

    /// Returns what it points to.
    pub(crate) fn value(&self) -> Target {
        self.target.clone()
    }
}

#[pymethods]
impl Reference {
    /// The null reference.
    #[new]
    #[pyo3(signature = (region = false))]
    fn null(region: bool) -> Self {
        Reference { target: Target::null(), is_region: region }
    }

    fn __bool__(&self) -> bool {
        !self.target.is_null()
    }

    /// Whether it is of the kind that points to elements of a dataset.
    #[getter]
    fn is_region(&self) -> bool {
        self.is_region
    }

    /// The object it points to or into, or `None` for the null reference.
    fn object(&self, py: Python<'_>, from: &Object) -> PyResult<Option<Object>> {
        let Some(token) = self.target.token() else { return Ok(None) };
        let find = || {
            let session = match &self.target.file {
                None => from.session.clone(),
                Some(file) => from.session.find(from.session.root, file)?.0,
            };
            // An object that was deleted is an error, not a handle of nothing.
            Object::kind_of(&session, token)?;
            Ok(Some(Object::new(session, token)))
        };
        from.free(py, find).or_raise()
    }

    /// The elements it points to.
    fn selection(&self) -> PyResult<Selection> {
        match &self.target.target {
            ReferenceTarget::Region { selection, .. } => Ok(Selection(selection.clone())),
            _ => Err(PyValueError::new_err("the reference points to no region")),
        }
    }

    /// Whether another reference points to the same.
    fn is_same(&self, other: &Reference) -> bool {
        self.target == other.target
    }

    fn __repr__(&self) -> String {
        let kind = if self.is_region { "region" } else { "object" };
        let null = if self.target.is_null() { " (null)" } else { "" };
        format!("<HDF5 {kind} reference{null}>")
    }
}

#[pymethods]
impl Object {
    /// A reference to the object.
    fn reference(&self) -> Reference {
        Reference::new(Target::object(self.token), false)
    }

    /// A reference to elements of the dataset.
    fn region(&self, py: Python<'_>, selection: &Selection) -> PyResult<Reference> {
        let dims = self.free(py, || self.dataset_info()).or_raise()?.space.dims().to_vec();
        selection.0.validate(&dims).or_raise()?;
        // An extent may grow: a region stays what it was.
        let selection = match &selection.0 {
            hyperslab::Selection::All if !dims.is_empty() => {
                hyperslab::Selection::block(&vec![0; dims.len()], &dims).or_raise()?
            }
            other => other.clone(),
        };
        Ok(Reference::new(Target::region(self.token, selection), true))
    }
}
