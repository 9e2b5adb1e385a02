//! A communicator and hints that a program gives to files.

use std::sync::Arc;

use comm::{Communicator, Info};
use hyperslab::parallel::registry_of;
use hyperslab::vol::Registry;

use crate::failure::Fallible;

pub use comm::{MPI_Comm, MPI_Info, nothing};

/// Duplicates of a program's communicator and hints.
#[derive(Debug)]
pub struct Parameters {
    comm: Communicator,
    info: Info,
}

impl Parameters {
    /// Duplicates what a program passes. All processes of the communicator do.
    pub fn duplicate(comm: MPI_Comm, info: MPI_Info) -> Fallible<Arc<Self>> {
        // Files that a program forgot are closed while processes can still agree on it.
        // SAFETY: the caller of the exported function passes a communicator and hints of MPI.
        let (comm, info) = unsafe { (Communicator::duplicate(comm)?, Info::duplicate(info)?) };
        comm::before_end(crate::h5::end)?;
        Ok(Arc::new(Parameters { comm, info }))
    }

    /// Returns duplicates that the program frees. All processes of the communicator do.
    pub fn give(&self) -> Fallible<(MPI_Comm, MPI_Info)> {
        Ok((self.comm.give()?, self.info.give()?))
    }

    /// Returns a registry whose containers all processes create and open together. Each file has a communicator of its own, so
    /// that threads can use several files at once.
    pub fn registry(&self, registry: &Registry) -> Fallible<Registry> {
        Ok(registry_of(registry, Arc::new(self.comm.again()?)))
    }
}
