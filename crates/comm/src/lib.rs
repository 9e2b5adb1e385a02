//! What processes that share a file say to each other: a handful of collective operations.
//!
//! All members of a group call the same operations in the same order. A member that is gone makes the calls of the
//! others fail; no one waits for it.

#[cfg(feature = "mpi")]
mod mpi;
mod single;
mod threads;

use model::{Error, Result};

#[cfg(feature = "mpi")]
pub use crate::mpi::Mpi;
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
    /// Which member this is, from 0.
    fn rank(&self) -> usize;

    /// Returns how many members there are.
    fn size(&self) -> usize;

    /// Returns the bytes of every member, by rank.
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// The bytes of member `root`, for everyone.
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

/// Returns the error of a call that waits for a member which is gone.
pub(crate) fn gone() -> Error {
    let error = std::io::Error::new(std::io::ErrorKind::ConnectionAborted, "another member is gone");
    Error::io("wait for other members", &error)
}
