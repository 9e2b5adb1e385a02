//! Substitutes for MPI in a library that was built without it.

use std::ffi::c_void;
use std::sync::Arc;

use hyperslab::vol::Registry;

use crate::failure::{Failure, Fallible};

/// A communicator is a pointer or a number, as the MPI library has it: both are passed as a pointer is.
pub type MPI_Comm = *mut c_void;
/// As [`MPI_Comm`].
pub type MPI_Info = *mut c_void;

/// Parameters of MPI, which do not exist without MPI.
#[derive(Debug)]
pub enum Parameters {}

impl Parameters {
    /// Returns an error: the library was built without MPI.
    pub fn duplicate(_comm: MPI_Comm, _info: MPI_Info) -> Fallible<Arc<Self>> {
        Err(Failure::unsupported("this library was built without MPI (the feature `mpi`)"))
    }

    /// Never returns, because there are no values of this type.
    pub fn give(&self) -> Fallible<(MPI_Comm, MPI_Info)> {
        match *self {}
    }

    /// Never returns, because there are no values of this type.
    pub fn hints(&self) -> super::Hints {
        match *self {}
    }

    /// Never returns, because there are no values of this type.
    pub fn registry(&self, _registry: &Registry) -> Fallible<Registry> {
        match *self {}
    }
}

/// Returns what stands for no communicator and no hints.
pub fn nothing() -> (MPI_Comm, MPI_Info) {
    (std::ptr::null_mut(), std::ptr::null_mut())
}
