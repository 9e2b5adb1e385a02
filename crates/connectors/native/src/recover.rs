//! Repair of a file whose writer died (`hyperslab recover`): opening it to write finishes its last commit, and closing it
//! clears its consistency flags.

use std::sync::Arc;

use model::{Kind, Result};
use vol::{Access, Container, ContainerOpen, FileAccess};

use crate::connector::{CUT_SHORT, ContainerFile, open_file};
use crate::consistency_flags::LEFT_BEHIND;
use crate::container::NativeContainer;
use crate::driver;

/// The remains of a dead writer.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LeftBehind {
    /// A commit that is in the redo record only.
    commit: bool,
    /// Consistency flags.
    flags: bool,
}

/// Repairs a file and returns what was repaired. A file that needs nothing is only read.
///
/// # Errors
/// Returns `Error::Busy` if a lock says that the writer is alive.
pub(crate) fn recover(op: &ContainerOpen<'_>) -> Result<Vec<String>> {
    let before = match open(op, Access::Read) {
        Ok(container) => closed(&container)?,
        Err(error) if error.kind() == Kind::Busy => LeftBehind { commit: false, flags: true },
        Err(error) => return Err(error),
    };
    if !before.commit && !before.flags {
        return Ok(Vec::new());
    }
    let at_write = closed(&*open(op, Access::Write)?)?;
    let done = [
        (at_write.commit, "the last commit was finished"),
        (before.flags, "it is not marked as open for writing any more"),
    ];
    Ok(done.iter().filter(|(is_done, _)| *is_done).map(|(_, what)| (*what).to_owned()).collect())
}

/// Opens a file even if its flags say that it is open, unless a lock says so too.
fn open(op: &ContainerOpen<'_>, access: Access) -> Result<Arc<NativeContainer>> {
    let access = &FileAccess { access, swmr: false, ..op.access.clone() };
    let op = ContainerOpen { access, ..op.clone() };
    let source = ContainerFile { clears_flags: true, ..driver::open(&op)? };
    open_file(source, op.path, access, op.registry.registered())
}

/// Closes a file, and returns what was found when it was opened.
fn closed(container: &NativeContainer) -> Result<LeftBehind> {
    let warnings = &container.info()?.warnings;
    let has = |what: &str| warnings.iter().any(|warning| warning == what);
    let found = LeftBehind { commit: has(CUT_SHORT), flags: has(LEFT_BEHIND) };
    container.close()?;
    Ok(found)
}
