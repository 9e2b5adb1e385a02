//! What stands for MPI in a library without it.

use std::ffi::c_void;
use std::sync::Arc;

use hyperslab::vol::Registry;

use crate::failure::{Failure, Fallible};

/// A communicator is a pointer or a number, as the MPI library has it: both are passed as a pointer is.
pub type MPI_Comm = *mut c_void;
/// As [`MPI_Comm`].
pub type MPI_Info = *mut c_void;

/// There are none.
#[derive(Debug)]
pub enum Parameters {}

impl Parameters {
    /// Fails: the library was built without MPI.
    pub fn duplicate(_comm: MPI_Comm, _info: MPI_Info) -> Fallible<Arc<Self>> {
        Err(Failure::unsupported("this library was built without MPI (the feature `mpi`)"))
    }

    /// There is nothing to return.
    pub fn give(&self) -> Fallible<(MPI_Comm, MPI_Info)> {
        match *self {}
    }

    /// There are none.
    pub fn hints(&self) -> super::Hints {
        match *self {}
    }

    /// There is nothing to open.
    pub fn registry(&self, _registry: &Registry) -> Fallible<Registry> {
        match *self {}
    }
}

/// Returns what stands for no communicator and no hints.
pub fn nothing() -> (MPI_Comm, MPI_Info) {
    (std::ptr::null_mut(), std::ptr::null_mut())
}
