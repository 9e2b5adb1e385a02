//! Handles of objects: groups, datasets, committed datatypes and maps.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hyperslab::vol::{Container, DatasetInfo};
use hyperslab::{Error, ObjectKind, Result, Token};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::OrRaise;
use crate::session::Session;

/// A handle of one object of an open file.
#[pyclass(frozen, weakref, module = "hyperslab._core")]
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) session: Arc<Session>,
    pub(crate) token: Token,
}

impl Drop for Object {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the container forgets its objects when it closes.
        let release = || drop(self.session.container.release(self.token));
        match self.session.is_local {
            true => release(),
            false => Python::try_attach(|py| py.detach(release)).unwrap_or_default(),
        }
    }
}

impl Object {
    /// Returns a handle, which keeps the object alive though it may lose its last link.
    pub(crate) fn new(session: Arc<Session>, token: Token) -> Self {
        // A container that does not count handles answers `Unsupported`; it keeps objects anyway.
        let _ = session.container.retain(token);
        Object { session, token }
    }

    /// Returns the container.
    pub(crate) fn container(&self) -> &dyn Container {
        &*self.session.container
    }

    /// Calls `work`, without the interpreter lock unless the file is a local one: work may wait for a network, and where
    /// the file is a Python object another thread that holds a lock of the library may wait for the interpreter. Short work
    /// on local files keeps the lock, which is faster.
    pub(crate) fn free<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
        if self.session.is_local { work() } else { py.detach(work) }
    }

    /// Returns the info of a dataset.
    pub(crate) fn dataset_info(&self) -> Result<Arc<DatasetInfo>> {
        self.container().dataset_info(self.token)
    }

    /// Returns the kind of an object.
    pub(crate) fn kind_of(session: &Session, token: Token) -> Result<ObjectKind> {
        match session.container.object_kinds(&[token]) {
            Ok(kinds) => kinds.first().copied().ok_or_else(|| Error::not_found("find object")),
            Err(_) => Ok(session.container.object_info(token)?.kind),
        }
    }

    /// Returns the path of a file on disk without links in it, else the location: what tells files apart.
    fn file_key(&self) -> String {
        let path = hyperslab::vol::model::text::to_path(&self.session.location);
        path.canonicalize().map_or_else(|_| self.session.location.clone(), |path| path.display().to_string())
    }
}

#[pymethods]
impl Object {
    /// Whether the file is open.
    #[getter]
    fn valid(&self) -> bool {
        !self.session.is_closed()
    }

    fn __bool__(&self) -> bool {
        self.valid()
    }

    /// The identity of the object in its container.
    #[getter]
    fn token<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.token.0)
    }

    /// Where the file was opened.
    #[getter]
    fn location(&self) -> &str {
        &self.session.location
    }

    /// Whether another handle is one of the same object.
    fn is_same(&self, other: &Object) -> bool {
        self.token == other.token
            && (Arc::ptr_eq(&self.session, &other.session) || self.file_key() == other.file_key())
    }

    /// Whether another handle belongs to the same opened file.
    fn in_same_file(&self, other: &Object) -> bool {
        Arc::ptr_eq(&self.session, &other.session)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.file_key(), self.token.0).hash(&mut hasher);
        hasher.finish()
    }

    /// The root group of the file.
    fn root(&self, py: Python<'_>) -> Object {
        self.free(py, || Object::new(self.session.clone(), self.session.root))
    }

    /// Forgets what is cached of the object, so that the next read sees what other processes wrote.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.container().object_refresh(self.token)).or_raise()
    }

    /// Reference count, number of attributes, whether attributes are in creation order, and the four times.
    #[allow(clippy::type_complexity)]
    fn info(
        &self,
        py: Python<'_>,
    ) -> PyResult<(u32, u64, bool, Option<(u32, u32, u32, u32)>, Option<String>)> {
        let info = self.free(py, || self.container().object_info(self.token)).or_raise()?;
        let times = info.times.map(|t| (t.access, t.modification, t.change, t.birth));
        let is_ordered = info.create.attribute_order != hyperslab::plist::CreationOrder::Untracked;
        Ok((info.references, info.attributes, is_ordered, times, info.comment))
    }

    /// Sets or removes the comment.
    fn set_comment(&self, py: Python<'_>, comment: Option<&str>) -> PyResult<()> {
        self.free(py, || self.container().object_set_comment(self.token, comment)).or_raise()
    }

    /// The first path from the root that leads to the object, or `None`.
    fn path(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| self.search_path()).or_raise()
    }
}
