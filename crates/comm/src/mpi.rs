//! Processes of one MPI job.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Error, Result};
use mpi::Threading;
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::{Comm, Reduce};

/// Bytes of one message: MPI counts in 31 bits.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// Bytes of a message that may hold all there is to say.
const FIRST_BYTES: usize = 1024;

/// All processes of the job (`MPI_COMM_WORLD`). MPI ends when this is dropped.
///
/// When a process of the job dies, MPI itself ends the others with an error: that is its default, which stays.
pub struct Mpi {
    rank: usize,
    size: usize,
    /// One call at a time, from whatever thread.
    calls: Mutex<()>,
    _universe: Universe,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Mpi {
    /// Begins MPI; an error where this process did so before.
    pub fn start() -> Result<Self> {
        let begun = mpi::initialize_with_threading(Threading::Serialized);
        let (universe, threading) =
            begun.ok_or_else(|| Error::invalid("begin MPI").with("problem", "it was begun before"))?;
        if threading < Threading::Serialized {
            return Err(Error::unsupported("use MPI from several threads"));
        }
        let world = SimpleCommunicator::world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Ok(Mpi { rank, size, calls: Mutex::new(()), _universe: universe })
    }

    fn one_call(&self) -> MutexGuard<'_, ()> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_all(&self, root: usize, bytes: &mut [u8]) {
        let world = SimpleCommunicator::world();
        let root = world.process_at_rank(root as i32);
        bytes.chunks_mut(MESSAGE_BYTES_MAX).for_each(|part| root.broadcast_into(part));
    }
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let _one = self.one_call();
        let world = SimpleCommunicator::world();
        let mut lengths = vec![0u64; self.size];
        world.all_gather_into(&(bytes.len() as u64), &mut lengths[..]);
        let total: u64 = lengths.iter().sum();
        if total > MESSAGE_BYTES_MAX as u64 {
            let mut all: Vec<Vec<u8>> = lengths.iter().map(|len| vec![0; *len as usize]).collect();
            all[self.rank].copy_from_slice(bytes);
            all.iter_mut().enumerate().for_each(|(root, bytes)| self.send_all(root, bytes));
            return Ok(all);
        }
        let counts: Vec<i32> = lengths.iter().map(|len| *len as i32).collect();
        let starts: Vec<i32> = counts.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
        let mut joined = vec![0u8; total as usize];
        let mut partition = PartitionMut::new(&mut joined[..], counts.as_slice(), starts.as_slice());
        world.all_gather_varcount_into(bytes, &mut partition);
        let part = |(&start, &count): (&i32, &i32)| joined[start as usize..][..count as usize].to_vec();
        Ok(starts.iter().zip(&counts).map(part).collect())
    }

    fn bcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        if root >= self.size {
            return Err(Error::invalid("broadcast").with("root", root));
        }
        let _one = self.one_call();
        // Most messages are small: they go with their length.
        let mut first = [0u8; FIRST_BYTES];
        if self.rank == root {
            let small = bytes.len().min(FIRST_BYTES - 8);
            first[..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            first[8..8 + small].copy_from_slice(&bytes[..small]);
        }
        self.send_all(root, &mut first);
        let (length, small) = first.split_at(8);
        let length = length.try_into().map_or(0, u64::from_le_bytes) as usize;
        bytes.resize(length, 0);
        if let Some(small) = small.get(..length) {
            bytes.copy_from_slice(small);
            return Ok(());
        }
        self.send_all(root, bytes);
        Ok(())
    }

    fn allreduce(&self, number: u64, reduce: Reduce) -> Result<u64> {
        let _one = self.one_call();
        let (operation, mut all) = match reduce {
            Reduce::Sum => (SystemOperation::sum(), 0),
            Reduce::Max => (SystemOperation::max(), 0),
            Reduce::Min => (SystemOperation::min(), 0),
        };
        SimpleCommunicator::world().all_reduce_into(&number, &mut all, operation);
        Ok(all)
    }

    fn exscan(&self, number: u64) -> Result<u64> {
        let _one = self.one_call();
        let mut before = 0;
        SimpleCommunicator::world().exclusive_scan_into(&number, &mut before, SystemOperation::sum());
        // MPI leaves the first member's result as it was.
        Ok(if self.rank == 0 { 0 } else { before })
    }

    fn barrier(&self) -> Result<()> {
        let _one = self.one_call();
        SimpleCommunicator::world().barrier();
        Ok(())
    }
}
