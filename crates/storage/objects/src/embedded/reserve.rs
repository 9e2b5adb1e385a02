//! Space that is kept for the index, so that something can still be done on a full disk: a commit of what was written,
//! or one that deletes something.

use std::sync::Arc;

use dir::Dir;

use super::medium::{Medium, Open};

pub(super) const RESERVE: &str = "reserve";
/// Some hundred pages of the index: many commits of a few objects.
const RESERVE_BYTES: u64 = 1 << 20;

/// A file that takes space until a caller needs it.
#[derive(Debug)]
pub(super) struct Reserve {
    medium: Arc<dyn Medium>,
    dir: Dir,
}

impl Reserve {
    /// Returns the reserve of a container's folder; it is made if it is not there and the disk has space.
    pub(super) fn new(medium: Arc<dyn Medium>, dir: &Dir) -> Reserve {
        let reserve = Reserve { medium, dir: dir.clone() };
        if let Ok(file) = reserve.medium.open(dir, RESERVE, Open::Create)
            && file.allocate(RESERVE_BYTES).is_err()
        {
            reserve.release();
        }
        reserve
    }

    /// Gives the space up; whether there was some.
    pub(super) fn release(&self) -> bool {
        self.medium.remove(&self.dir, RESERVE).is_ok()
    }
}
