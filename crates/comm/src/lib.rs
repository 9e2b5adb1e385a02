//! Collective operations between processes that share a file.
//!
//! All members of a group call the same operations in the same order. A member that is gone makes the calls of the
//! others fail; no one waits for it.

mod meter;
#[cfg(feature = "mpi")]
mod mpi;
mod single;
mod threads;

use model::{Error, Result};

#[cfg(feature = "mpi")]
pub use crate::mpi::{Communicator, Info, MPI_Comm, MPI_Info, Mpi, before_end, nothing};
pub use meter::{Meter, Traffic};
pub use single::Single;
pub use threads::{Thread, threads};

/// How numbers of all members become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Reduce {
    fn of(self, numbers: impl Iterator<Item = u64>) -> u64 {
        match self {
            Reduce::Sum => numbers.fold(0, u64::saturating_add),
            Reduce::Max => numbers.max().unwrap_or(0),
            Reduce::Min => numbers.min().unwrap_or(0),
        }
    }
}

/// A group of processes, or of what stands for them.
pub trait Comm: Send + Sync {
    /// Returns the number of this member, from 0.
    fn rank(&self) -> usize;

    /// Returns how many members there are.
    fn size(&self) -> usize;

    /// Returns the bytes of every member, by rank.
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Returns the bytes of every member, by rank, where all have the same number of them.
    fn allgather_equal(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.allgather(bytes)
    }

    /// Returns the bytes of every member, by rank, to member `root`, and nothing to others.
    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let all = self.allgather(bytes)?;
        Ok(if self.rank() == root { all } else { Vec::new() })
    }

    /// Sends bytes to every member, by rank, and returns what every member sent to this one.
    fn alltoall(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let (lengths, bytes) = joined(&to, self.size())?;
        let all = self.allgather(&[lengths, bytes].concat())?;
        all.iter().map(|sent| part(sent, self.rank(), self.size()).map(<[u8]>::to_vec)).collect()
    }

    /// Sends the bytes of member `root` to all members.
    fn bcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let own = if self.rank() == root { bytes.as_slice() } else { &[] };
        let found = self.allgather(own)?.into_iter().nth(root);
        *bytes = found.ok_or_else(|| Error::invalid("broadcast").with("root", root))?;
        Ok(())
    }

    /// Returns one number made of everyone's.
    fn allreduce(&self, number: u64, reduce: Reduce) -> Result<u64> {
        Ok(reduce.of(self.numbers(number)?.into_iter()))
    }

    /// Returns the sum of the numbers of all members before this one.
    fn exscan(&self, number: u64) -> Result<u64> {
        Ok(Reduce::Sum.of(self.numbers(number)?.into_iter().take(self.rank())))
    }

    /// Waits until everyone is here.
    fn barrier(&self) -> Result<()> {
        self.allgather(&[]).map(drop)
    }

    /// Returns the number of every member, by rank.
    fn numbers(&self, number: u64) -> Result<Vec<u64>> {
        let all = self.allgather(&number.to_le_bytes())?;
        let broken =
            |_| Error::invalid("gather numbers").with("problem", "members call different operations");
        all.into_iter().map(|bytes| bytes.try_into().map(u64::from_le_bytes).map_err(broken)).collect()
    }
}

/// Returns the lengths of what goes to each member, as bytes, and all of it.
fn joined(to: &[Vec<u8>], size: usize) -> Result<(Vec<u8>, Vec<u8>)> {
    if to.len() != size {
        return Err(Error::invalid("send to all").with("messages", to.len()).with("members", size));
    }
    let lengths = to.iter().flat_map(|bytes| (bytes.len() as u64).to_le_bytes()).collect();
    Ok((lengths, to.concat()))
}

/// Returns what goes to member `rank` of what [`joined`] put together.
fn part(sent: &[u8], rank: usize, size: usize) -> Result<&[u8]> {
    let broken = || Error::invalid("send to all").with("problem", "members call different operations");
    let (lengths, bytes) = sent.split_at_checked(8 * size).ok_or_else(broken)?;
    let lengths = lengths.as_chunks::<8>().0.iter().map(|length| u64::from_le_bytes(*length) as usize);
    let lengths: Vec<usize> = lengths.collect();
    let start = lengths[..rank].iter().sum::<usize>();
    bytes.get(start..start.saturating_add(lengths[rank])).ok_or_else(broken)
}

/// Returns the error of a call that waits for a member which is gone.
pub(crate) fn gone() -> Error {
    let error = std::io::Error::new(std::io::ErrorKind::ConnectionAborted, "another member is gone");
    Error::io("wait for other members", &error)
}
