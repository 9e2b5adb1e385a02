//! What a superblock of version 3 says of a writer (format spec II.A, "File Consistency Flags").
//!
//! A writer sets the marks when it opens the file and takes them away when it closes it. A crash leaves them. Ours come with
//! `WHOLE`, which libhdf5 knows and never sets: at every instant such a file is one of our commits, so marks that were left
//! behind are no reason not to open it. Those of others are: nobody knows what their writer had in memory.

use files::Handle;
use model::{Error, Result};
use vol::{Access, FileAccess};

use crate::format::superblock::Superblock;
use crate::lock::{self, Held};

/// Open for writing.
pub(crate) const WRITE: u8 = 1;
/// The file is consistent.
pub(crate) const WHOLE: u8 = 2;
/// Open for writing with readers at the same time.
pub(crate) const SWMR: u8 = 4;

/// Whether a file has marks at all.
pub(crate) fn has_room(superblock: &Superblock) -> bool {
    superblock.version >= 3
}

/// The marks that somebody left or keeps.
fn found(superblock: &Superblock) -> u8 {
    if has_room(superblock) { superblock.flags & (WRITE | SWMR) } else { 0 }
}

/// Refuses a file that another has open for writing, as far as marks and locks tell; a warning where marks were left behind.
pub(crate) fn check(
    superblock: &Superblock,
    file: &Handle,
    held: Held,
    path: &str,
    access: &FileAccess,
) -> Result<Option<String>> {
    let marks = found(superblock);
    // Under a lock of ours a plain writer cannot live; one with readers keeps a shared lock.
    let is_left = || {
        let ours = superblock.flags & WHOLE != 0 && held == Held::Sure;
        ours && (access.access == Access::Write || marks & SWMR == 0 || lock::is_alone(file))
    };
    let may = match access.access {
        _ if marks == 0 => true,
        Access::Write => access.clear_marks || is_left(),
        Access::Read => (access.swmr && marks == WRITE | SWMR) || is_left(),
    };
    let left = "the file was marked as open for writing by a writer that died; what it committed is whole";
    match may {
        true if marks == 0 || (access.swmr && access.access == Access::Read) => Ok(None),
        true => Ok(Some(left.to_owned())),
        false => Err(refused(marks, path, access)),
    }
}

fn refused(marks: u8, path: &str, access: &FileAccess) -> Error {
    let problem = match marks & SWMR != 0 {
        true => "it is marked as open for SWMR writing: a writer has it open, or died without closing it",
        false => "it is marked as open for writing: a writer has it open, or died without closing it",
    };
    let help = match access.access == Access::Read && !access.swmr && marks == WRITE | SWMR {
        true => {
            "if the writer lives, open it with SWMR; if it died, run `hyperslab recover` on the file first"
        }
        false => "if the writer died, run `hyperslab recover` on the file first",
    };
    Error::busy("open file").with("path", path).with("problem", problem).with("help", help)
}
