//! A communicator and hints that a program gives to files.

use std::sync::Arc;
use std::time::Duration;

use comm::{Comm, Communicator, Info};
use hyperslab::parallel::registry_of;
use hyperslab::vol::Registry;

use super::Hints;
use crate::failure::{Failure, Fallible};

pub use comm::{MPI_Comm, MPI_Info, nothing};

/// For how many seconds a call waits for other processes.
const SECONDS_VARIABLE: &str = "HYPERSLAB_MPI_SECONDS";
/// Smaller pieces than blocks of a file system are a mistake.
const STRIPE_BYTES_MIN: u64 = 4096;

/// Duplicates of a program's communicator and hints.
#[derive(Debug)]
pub struct Parameters {
    comm: Communicator,
    info: Info,
    hints: Hints,
}

/// Returns for how long calls wait for other processes, if the environment says so.
fn wait_max() -> Fallible<Option<Duration>> {
    let Ok(text) = std::env::var(SECONDS_VARIABLE) else { return Ok(None) };
    match text.parse() {
        Ok(seconds @ 1..) => Ok(Some(Duration::from_secs(seconds))),
        _ => Err(Failure::argument(format!("{SECONDS_VARIABLE} is no number of seconds: {text}"))),
    }
}

/// Duplicates a communicator of the program.
fn duplicate(comm: MPI_Comm) -> Fallible<Communicator> {
    let wait_max = wait_max()?;
    // SAFETY: the caller of the exported function passes a communicator of MPI.
    Ok(match wait_max {
        Some(wait_max) => unsafe { Communicator::duplicate_within(comm, wait_max) }?,
        None => unsafe { Communicator::duplicate(comm) }?,
    })
}

/// Returns the hints that have an effect. Those that processes disagree on have none.
fn agreed(comm: &Communicator, info: &Info) -> Fallible<Hints> {
    let aggregators = info.number(c"cb_nodes")?.and_then(|nodes| u32::try_from(nodes).ok());
    let stripe_bytes = info.number(c"striping_unit")?.filter(|bytes| *bytes >= STRIPE_BYTES_MIN);
    let own = Hints { aggregators: aggregators.filter(|nodes| *nodes > 0), stripe_bytes };
    let text = format!("{own:?}").into_bytes();
    let is_same = comm.allgather(&text)?.iter().all(|other| *other == text);
    Ok(if is_same { own } else { Hints::default() })
}

impl Parameters {
    /// Duplicates what a program passes. All processes of the communicator do.
    pub fn duplicate(comm: MPI_Comm, info: MPI_Info) -> Fallible<Arc<Self>> {
        let comm = duplicate(comm)?;
        // SAFETY: the caller of the exported function passes hints of MPI.
        let info = unsafe { Info::duplicate(info)? };
        let hints = agreed(&comm, &info)?;
        // Files that a program forgot are closed while processes can still agree on it.
        comm::before_end(crate::h5::end)?;
        Ok(Arc::new(Parameters { comm, info, hints }))
    }

    /// Returns the hints that have an effect.
    pub fn hints(&self) -> Hints {
        self.hints
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
