//! Python file objects as files: ranges are read and written with `seek`, `readinto` or `read`, and `write`.
//!
//! The driver belongs to one opened file: it is registered in that file's own registry.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

use hyperslab::extend::{Created, Driver, DriverFile, DriverHandle, DriverInfo, Lock, Mode, Sync, Target};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyByteArray, PyBytes};

/// The name of the driver, as h5py has it.
pub(crate) const DRIVER: &str = "fileobj";

/// A Python object with `seek`, `read` or `readinto`, and to change it `write`, `truncate` and `flush`. It has one
/// position, which all threads share; and it is released when the file is closed.
#[derive(Debug)]
pub(crate) struct SharedObject(Mutex<Option<Py<PyAny>>>);

impl SharedObject {
    /// Returns the object of a file.
    pub(crate) fn new(object: Py<PyAny>) -> Arc<Self> {
        Arc::new(SharedObject(Mutex::new(Some(object))))
    }

    /// Calls `act` while no other thread moves the position.
    fn with<T>(&self, act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        let done = Python::try_attach(|py| {
            // The interpreter is released while this waits: the thread that has the position needs it.
            let object = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            let closed = || io::Error::other("the file is closed");
            let object = object.as_ref().ok_or_else(closed)?.bind(py);
            act(object).map_err(|error| failed(py, error))
        });
        done.unwrap_or_else(|| Err(io::Error::other("the Python interpreter has ended")))
    }

    /// Lets the object go.
    pub(crate) fn forget(&self) {
        Python::try_attach(|py| {
            let object = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
            drop(object);
        });
    }
}

/// The bytes of a Python object.
#[derive(Debug)]
struct FileObject {
    object: Arc<SharedObject>,
    writable: bool,
}

impl FileObject {
    fn check_writable(&self) -> io::Result<()> {
        let denied = || io::Error::new(ErrorKind::PermissionDenied, "file is open for reading only");
        if self.writable { Ok(()) } else { Err(denied()) }
    }
}

/// Returns an exception as an error that keeps it.
fn failed(py: Python<'_>, error: PyErr) -> io::Error {
    let kind = if error.is_instance_of::<pyo3::exceptions::PyPermissionError>(py) {
        ErrorKind::PermissionDenied
    } else {
        ErrorKind::Other
    };
    io::Error::new(kind, error)
}

fn end_of(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    object.call_method1("seek", (0, 2))?;
    object.call_method0("tell")?.extract()
}

/// Reads up to `buf.len()` bytes at the position and returns how many there were.
fn read_some(object: &Bound<'_, PyAny>, buf: &mut [u8]) -> PyResult<usize> {
    let py = object.py();
    if object.hasattr("readinto")? {
        let into = PyByteArray::new_with(py, buf.len(), |_| Ok(()))?;
        let count: Option<usize> = object.call_method1("readinto", (&into,))?.extract()?;
        let (count, bytes) = (count.unwrap_or(0).min(buf.len()), into.to_vec());
        let count = count.min(bytes.len());
        buf[..count].copy_from_slice(&bytes[..count]);
        return Ok(count);
    }
    let bytes = object.call_method1("read", (buf.len(),))?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    let count = bytes.len().min(buf.len());
    buf[..count].copy_from_slice(&bytes[..count]);
    Ok(count)
}

fn write_all(object: &Bound<'_, PyAny>, mut data: &[u8]) -> PyResult<()> {
    while !data.is_empty() {
        let written: Option<usize> =
            object.call_method1("write", (PyBytes::new(object.py(), data),))?.extract()?;
        // Objects that do not say how much they took, took all.
        let written = written.unwrap_or(data.len());
        if written == 0 {
            return Err(io::Error::from(ErrorKind::WriteZero).into());
        }
        data = data.get(written..).unwrap_or_default();
    }
    Ok(())
}

impl DriverFile for FileObject {
    fn len(&self) -> io::Result<u64> {
        self.object.with(end_of)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let filled = self.object.with(|object| {
            object.call_method1("seek", (offset,))?;
            let mut filled = 0;
            while filled < buf.len() {
                match read_some(object, &mut buf[filled..])? {
                    0 => break,
                    count => filled += count,
                }
            }
            Ok(filled)
        })?;
        if filled < buf.len() { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        self.object.with(|object| {
            object.call_method1("seek", (offset,))?;
            write_all(object, data)
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        self.object.with(|object| {
            if end_of(object)? < len {
                // `truncate` of some objects does not make them longer.
                object.call_method1("seek", (len - 1,))?;
                return write_all(object, &[0]);
            }
            object.call_method1("truncate", (len,)).map(drop)
        })
    }

    fn sync(&self, _: Sync) -> io::Result<()> {
        self.object.with(|object| match self.writable && object.hasattr("flush")? {
            true => object.call_method0("flush").map(drop),
            false => Ok(()),
        })
    }

    fn lock(&self, _: Lock) -> io::Result<()> {
        Ok(())
    }

    fn is_serial(&self) -> bool {
        true
    }
}

/// The driver of one Python object.
pub(crate) struct FileObjectDriver(pub(crate) Arc<SharedObject>);

impl FileObjectDriver {
    fn file(&self, writable: bool) -> DriverHandle {
        Arc::new(FileObject { object: self.0.clone(), writable })
    }
}

impl Driver for FileObjectDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: DRIVER, aliases: &[], about: "a Python file object", parameters: &[] }
    }

    fn create(&self, _: &Target<'_>, _may_exist: bool) -> io::Result<Created> {
        let file = self.file(true);
        let is_new = file.is_empty()?;
        Ok(Created { file, is_new })
    }

    fn open(&self, _: &Target<'_>, mode: Mode) -> io::Result<DriverHandle> {
        Ok(self.file(mode.is_writable()))
    }

    fn delete(&self, _: &Target<'_>) -> io::Result<()> {
        self.file(true).set_len(0)
    }
}
