//! Consistency flags of superblock version 3 (format spec II.A, "File Consistency Flags").
//!
//! A writer sets the flags when it opens the file and clears them when it closes it. A crash leaves them. Ours come with
//! `WHOLE`, which libhdf5 knows and never sets: at every instant such a file is one of our commits, so flags that were left
//! behind are no reason not to open it. Those of other libraries are: what their writer had in memory is lost.

use files::Handle;
use model::{Error, Result};
use vol::{Access, FileAccess};

use crate::format::superblock::Superblock;
use crate::lock::{self, LockState};

/// Open for writing.
pub(crate) const WRITE: u8 = 1;
/// The file is consistent.
pub(crate) const WHOLE: u8 = 2;
/// Open for writing with readers at the same time.
pub(crate) const SWMR: u8 = 4;

/// The warning about flags of a writer that died.
pub(crate) const LEFT_BEHIND: &str =
    "the file was marked as open for writing by a writer that died; what it committed is whole";

/// Returns whether the superblock has flags at all.
pub(crate) fn has_flags(superblock: &Superblock) -> bool {
    superblock.version >= 3
}

/// Returns the flags that a writer set and did not clear.
fn found(superblock: &Superblock) -> u8 {
    if has_flags(superblock) { superblock.flags & (WRITE | SWMR) } else { 0 }
}

/// Refuses a file that another has open for writing, as far as flags and locks tell; returns a warning where flags were left behind.
/// A caller that clears them opens the file even if another library set them.
pub(crate) fn check(
    superblock: &Superblock,
    file: &Handle,
    held: LockState,
    path: &str,
    access: &FileAccess,
    clears: bool,
) -> Result<Option<String>> {
    let flags = found(superblock);
    // Under a lock of ours a plain writer cannot live; one with readers keeps a shared lock.
    let is_left = || {
        let ours = superblock.flags & WHOLE != 0 && held == LockState::Held;
        ours && (access.access == Access::Write || flags & SWMR == 0 || lock::is_alone(file))
    };
    let may = match access.access {
        _ if flags == 0 => true,
        Access::Write => clears || is_left(),
        Access::Read => (access.swmr && flags == WRITE | SWMR) || is_left(),
    };
    match may {
        true if flags == 0 || (access.swmr && access.access == Access::Read) => Ok(None),
        true => Ok(Some(LEFT_BEHIND.to_owned())),
        false => Err(refused(flags, path, access)),
    }
}

fn refused(flags: u8, path: &str, access: &FileAccess) -> Error {
    let problem = match flags & SWMR != 0 {
        true => "it is marked as open for SWMR writing: a writer has it open, or died without closing it",
        false => "it is marked as open for writing: a writer has it open, or died without closing it",
    };
    let help = match access.access == Access::Read && !access.swmr && flags == WRITE | SWMR {
        true => {
            "if the writer lives, open it with SWMR (commands: --swmr); if it died, run `hyperslab recover` on the \
             file first"
        }
        false => "if the writer died, run `hyperslab recover` on the file first",
    };
    Error::busy("open file").with("path", path).with("problem", problem).with("help", help)
}
