//! Locks between programs, as libhdf5 takes them: `flock`, shared to read, exclusive to write.

use std::io::ErrorKind;

use files::Handle;
use model::{Error, Result};
use vol::{Access, Locking};

/// The variable that has the last word.
const VARIABLE: &str = "HDF5_USE_FILE_LOCKING";

/// The knowledge about other programs that a lock gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockState {
    /// No one holds one that is in the way.
    Held,
    /// Nothing: there is no lock.
    Unknown,
}

/// Returns what libhdf5 understands, in this very spelling; anything else leaves the choice to the caller.
fn chosen(variable: Option<&str>, asked: Locking) -> Locking {
    match variable {
        Some("FALSE" | "0") => Locking::Off,
        Some("TRUE" | "1") => Locking::Required,
        Some("BEST_EFFORT") => Locking::BestEffort,
        _ => asked,
    }
}

/// Takes the lock that the access asks for, without waiting.
pub(crate) fn take(file: &Handle, path: &str, access: Access, locking: Locking) -> Result<LockState> {
    let locking = chosen(std::env::var(VARIABLE).ok().as_deref(), locking);
    let lock = match access {
        Access::Read => files::Lock::Shared,
        Access::Write => files::Lock::Exclusive,
    };
    if locking == Locking::Off {
        return Ok(LockState::Unknown);
    }
    match file.lock(lock) {
        Ok(()) => Ok(LockState::Held),
        Err(e) if e.kind() == ErrorKind::WouldBlock => Err(in_the_way(path, access)),
        // The file system has no locks.
        Err(e) if e.kind() == ErrorKind::Unsupported && locking == Locking::BestEffort => {
            Ok(LockState::Unknown)
        }
        Err(e) => Err(Error::io("lock file", &e).with("path", path)),
    }
}

/// Returns whether no other caller has any lock. What is held is a shared lock, before and after.
pub(crate) fn is_alone(file: &Handle) -> bool {
    let alone = file.lock(files::Lock::Exclusive).is_ok();
    // A conversion that fails may have given up what was held.
    file.lock(files::Lock::Shared).is_ok() && alone
}

fn in_the_way(path: &str, access: Access) -> Error {
    let problem = match access {
        Access::Read => "unable to lock file: a program has it open for writing",
        Access::Write => "unable to lock file: a program has it open",
    };
    Error::busy("open file").with("path", path).with("problem", problem).with(
        "help",
        format!("close it there; {VARIABLE}=FALSE opens it without a lock, at the risk of its content"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_in_the_spelling_of_libhdf5() {
        for (variable, asked, chosen_one) in [
            (None, Locking::Required, Locking::Required),
            (Some("FALSE"), Locking::Required, Locking::Off),
            (Some("0"), Locking::BestEffort, Locking::Off),
            (Some("TRUE"), Locking::Off, Locking::Required),
            (Some("1"), Locking::Off, Locking::Required),
            (Some("BEST_EFFORT"), Locking::Off, Locking::BestEffort),
            (Some("false"), Locking::BestEffort, Locking::BestEffort),
            (Some(""), Locking::Off, Locking::Off),
        ] {
            assert_eq!(chosen(variable, asked), chosen_one, "{variable:?}");
        }
    }
}
