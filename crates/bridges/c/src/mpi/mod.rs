//! Files that the processes of an MPI job have open together.
//!
//! The feature `mpi` builds this for one MPI library: communicators are pointers in Open MPI and numbers in MPICH. Without it
//! the functions of the interface are there, and fail.

#[cfg(not(feature = "mpi"))]
mod absent;
#[cfg(feature = "mpi")]
mod job;

#[cfg(not(feature = "mpi"))]
pub use absent::{MPI_Comm, MPI_Info, Parameters, nothing};
#[cfg(feature = "mpi")]
pub use job::{MPI_Comm, MPI_Info, Parameters, nothing};

use std::sync::Arc;

use hyperslab::vol::{ParallelAccess, Registry};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::h5fd::{BuiltIn, DriverHandle};
use crate::h5p::values::FileAccessValues;

/// Returns whether the processes of a communicator open a file together.
pub fn is_parallel(access: &FileAccessValues) -> bool {
    let driver = access.driver.as_ref().map(|choice| &*choice.driver);
    matches!(driver, Some(DriverHandle::BuiltIn(BuiltIn::Mpio)))
}

/// Returns the registry with which a file is opened: its containers are those of all processes of the communicator, if the
/// list has one.
///
/// # Errors
/// Returns a failure if the list has the MPI driver, and no communicator.
pub fn registry_for(registry: Registry, access: &FileAccessValues) -> Fallible<Registry> {
    if !is_parallel(access) {
        return Ok(registry);
    }
    let missing = || Failure::new(Major::FILE, Minor::CANTOPENFILE, "the MPI driver has no communicator");
    access.mpi.as_ref().ok_or_else(missing)?.registry(&registry)
}

/// Hints to MPI-IO that have an effect here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// Processes that write small scattered elements for all (`cb_nodes`).
    pub aggregators: Option<u32>,
    /// Bytes of the pieces that they write (`striping_unit`).
    pub stripe_bytes: Option<u64>,
}

/// Returns how the processes that open a file work on it.
pub fn parallel_access(access: &FileAccessValues) -> ParallelAccess {
    let hints =
        access.mpi.as_ref().filter(|_| is_parallel(access)).map(|mpi| mpi.hints()).unwrap_or_default();
    ParallelAccess {
        aggregators: hints.aggregators,
        stripe_bytes: hints.stripe_bytes,
        // Programs for libhdf5 expect that others read what they wrote when they say so, without a flush.
        elements_in_place: is_parallel(access),
        ..Default::default()
    }
}

/// Communicator and hints of an access list.
pub type Choice = Option<Arc<Parameters>>;
