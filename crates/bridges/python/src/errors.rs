//! Errors of the library as exceptions of Python.

use hyperslab::{Error, Kind};
use pyo3::exceptions::{
    PyBlockingIOError, PyFileExistsError, PyFileNotFoundError, PyKeyError, PyMemoryError,
    PyNotImplementedError, PyOSError, PyPermissionError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::{PyErr, PyResult};

/// Turns an error of the library into the exception that h5py raises in its place.
pub(crate) fn raised(error: &Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        Kind::NotFound => PyKeyError::new_err(text),
        Kind::Exists | Kind::Invalid => PyValueError::new_err(text),
        Kind::Unsupported => PyNotImplementedError::new_err(text),
        Kind::Conversion => PyTypeError::new_err(text),
        Kind::Limit => PyMemoryError::new_err(text),
        Kind::Busy => PyBlockingIOError::new_err(text),
        Kind::Denied => PyPermissionError::new_err(text),
        Kind::Corrupt | Kind::Io => PyOSError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// Turns an error of opening or creating a file into an `OSError`.
pub(crate) fn raised_by_open(error: &Error) -> PyErr {
    let text = format!("Unable to synchronously open file ({error})");
    match error.kind() {
        Kind::NotFound => PyFileNotFoundError::new_err((2, text)),
        Kind::Exists => {
            PyFileExistsError::new_err((17, format!("Unable to synchronously create file ({error})")))
        }
        Kind::Denied => PyPermissionError::new_err((13, text)),
        Kind::Busy => PyBlockingIOError::new_err((11, text)),
        _ => PyOSError::new_err(text),
    }
}

/// An exception that ends an operation of the library.
pub(crate) struct Raised(pub(crate) PyErr);

impl From<Error> for Raised {
    fn from(error: Error) -> Self {
        Raised(raised(&error))
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Raised(error)
    }
}

/// Results that are passed on to Python.
pub(crate) trait OrRaise<T> {
    /// Returns the value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for hyperslab::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raised(&error))
    }
}
