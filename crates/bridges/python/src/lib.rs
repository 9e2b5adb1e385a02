//! The native module of the Python package `hyperslab`: all I/O, and everything that is called often.
//!
//! The Python files next to this crate give it h5py's names. An object is one class here ([`object::Object`]) with one
//! file for each family of its methods. Elements go straight to and from the memory of numpy arrays, without the
//! interpreter lock.

mod arrow;
mod attribute;
mod buffers;
#[cfg(feature = "command")]
mod command;
mod creation;
mod dataset;
mod datatype;
mod errors;
mod file;
mod file_object;
mod group;
mod heap;
mod indexing;
mod links;
mod maps;
mod object;
mod properties;
mod references;
mod resolver;
mod scales;
mod selection;
mod session;

use pyo3::prelude::*;

/// The functions and classes that the Python files use.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<object::Object>()?;
    module.add_class::<datatype::Type>()?;
    module.add_class::<selection::Selection>()?;
    module.add_class::<heap::Heap>()?;
    module.add_class::<references::Reference>()?;
    module.add_class::<arrow::ArrowArray>()?;
    module.add_class::<arrow::ArrowTable>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(file::open, module)?)?;
    module.add_function(wrap_pyfunction!(file::open_object, module)?)?;
    module.add_function(wrap_pyfunction!(file::open_image, module)?)?;
    module.add_function(wrap_pyfunction!(file::is_accessible, module)?)?;
    module.add_function(wrap_pyfunction!(indexing::select, module)?)?;
    module.add_function(wrap_pyfunction!(buffers::convert, module)?)?;
    #[cfg(feature = "command")]
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(properties::filter_is_available, module)?)
}
