//! Dimension scales.

use hyperslab::{Dataset, Error, File, ObjectHandle, Reference, Result};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::object::Object;

impl Object {
    /// Returns the dataset as the Rust library has it.
    fn as_dataset(&self) -> Result<Dataset> {
        let session = &self.session;
        let file = File::from_container(session.container.clone(), &session.location, &session.access)?;
        match file.dereference(&Reference::object(self.token))? {
            ObjectHandle::Dataset(dataset) => Ok(dataset),
            _ => Err(Error::invalid("use dimension scales").with("problem", "not a dataset")),
        }
    }
}

#[pymethods]
impl Object {
    /// Makes the dataset a dimension scale.
    fn make_scale(&self, py: Python<'_>, name: Option<&str>) -> PyResult<()> {
        self.free(py, || self.as_dataset().and_then(|dataset| dataset.make_scale(name))).or_raise()
    }

    /// Whether the dataset is a dimension scale.
    fn is_scale(&self, py: Python<'_>) -> PyResult<bool> {
        self.free(py, || self.as_dataset().and_then(|dataset| dataset.is_scale())).or_raise()
    }

    /// The name of a dimension scale.
    fn scale_name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.free(py, || self.as_dataset().and_then(|dataset| dataset.scale_name())).or_raise()
    }

    /// Attaches a scale to a dimension.
    fn attach_scale(&self, py: Python<'_>, dimension: usize, scale: &Object) -> PyResult<()> {
        self.free(py, || {
            self.as_dataset().and_then(|dataset| dataset.attach_scale(dimension, &scale.as_dataset()?))
        })
        .or_raise()
    }

    /// Detaches a scale from a dimension.
    fn detach_scale(&self, py: Python<'_>, dimension: usize, scale: &Object) -> PyResult<()> {
        self.free(py, || {
            self.as_dataset().and_then(|dataset| dataset.detach_scale(dimension, &scale.as_dataset()?))
        })
        .or_raise()
    }

    /// Whether a scale is attached to a dimension.
    fn is_attached(&self, py: Python<'_>, dimension: usize, scale: &Object) -> PyResult<bool> {
        self.free(py, || {
            self.as_dataset().and_then(|dataset| dataset.is_attached(dimension, &scale.as_dataset()?))
        })
        .or_raise()
    }

    /// The scales of a dimension, with their names.
    fn scales(&self, py: Python<'_>, dimension: usize) -> PyResult<Vec<(Option<String>, Object)>> {
        let named =
            |scale: &Dataset| Ok((scale.scale_name()?, Object::new(self.session.clone(), scale.token())));
        let find = || self.as_dataset()?.scales(dimension)?.iter().map(named).collect::<Result<_>>();
        self.free(py, find).or_raise()
    }

    /// The label of a dimension.
    fn dimension_label(&self, py: Python<'_>, dimension: usize) -> PyResult<Option<String>> {
        self.free(py, || self.as_dataset().and_then(|dataset| dataset.label(dimension))).or_raise()
    }

    /// Sets the label of a dimension.
    fn set_dimension_label(&self, py: Python<'_>, dimension: usize, label: &str) -> PyResult<()> {
        self.free(py, || self.as_dataset().and_then(|dataset| dataset.set_label(dimension, label))).or_raise()
    }
}
