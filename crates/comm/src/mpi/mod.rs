//! Processes of one MPI job.

mod communicator;
mod info;
mod peers;
mod raw;

use std::time::Duration;

use ::mpi::Threading;
use ::mpi::environment::Universe;
use model::{Error, Result};

pub use ::mpi::ffi::{MPI_Comm, MPI_Info};
pub use communicator::Communicator;
pub use info::Info;
pub use raw::{before_end, nothing};

use crate::{Comm, Reduce};

/// All processes of the job (`MPI_COMM_WORLD`), of a program that does not begin MPI itself. MPI ends when this is dropped.
///
/// A process that died fails the calls of the others: at once where they run on one machine, else when they have waited as
/// long as they may. (`mpirun` ends all of them before that, unless it is told not to: `--enable-recovery` of Open MPI.)
pub struct Mpi {
    /// Freed before MPI ends: fields are dropped in this order.
    comm: Communicator,
    /// Ends MPI when it is dropped.
    universe: Option<Universe>,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.rank()).field("size", &self.size()).finish_non_exhaustive()
    }
}

impl Mpi {
    /// Begins MPI; an error where this process did so before. Calls wait for an hour at most.
    pub fn start() -> Result<Self> {
        Self::start_within(communicator::WAIT_MAX)
    }

    /// Returns a group whose calls wait at most so long for processes that keep silent.
    pub fn start_within(wait_max: Duration) -> Result<Self> {
        let begun = ::mpi::initialize_with_threading(Threading::Serialized);
        let (universe, threading) =
            begun.ok_or_else(|| Error::invalid("begin MPI").with("problem", "it was begun before"))?;
        if threading < Threading::Serialized {
            return Err(Error::unsupported("use MPI from several threads"));
        }
        let mut comm = Communicator::world()?;
        comm.set_wait_max(wait_max);
        Ok(Mpi { comm, universe: Some(universe) })
    }
}

impl Drop for Mpi {
    /// Ends MPI, unless another process is missing: that would wait for everyone.
    fn drop(&mut self) {
        if self.comm.barrier().is_err() {
            std::mem::forget(self.universe.take());
        }
    }
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.comm.allgather(bytes)
    }

    fn allgather_equal(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.comm.allgather_equal(bytes)
    }

    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.comm.gather(root, bytes)
    }

    fn alltoall(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        self.comm.alltoall(to)
    }

    fn bcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        self.comm.bcast(root, bytes)
    }

    fn allreduce(&self, number: u64, reduce: Reduce) -> Result<u64> {
        self.comm.allreduce(number, reduce)
    }

    fn exscan(&self, number: u64) -> Result<u64> {
        self.comm.exscan(number)
    }

    fn barrier(&self) -> Result<()> {
        self.comm.barrier()
    }

    fn numbers(&self, number: u64) -> Result<Vec<u64>> {
        self.comm.numbers(number)
    }
}
