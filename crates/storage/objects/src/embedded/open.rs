//! Containers that this process has open: their handles share one state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use system::sync::{Condvar, Mutex, MutexGuard};

use super::shared::Shared;
use crate::Result;

static OPEN: Mutex<BTreeMap<PathBuf, Weak<Shared>>> = Mutex::new(BTreeMap::new());
static CLOSED: Condvar = Condvar::new();

fn open() -> MutexGuard<'static, BTreeMap<PathBuf, Weak<Shared>>> {
    OPEN.lock()
}

/// Says, when it goes, that a container's files are closed.
#[derive(Debug)]
pub(super) struct Registration(PathBuf);

impl Drop for Registration {
    fn drop(&mut self) {
        open().remove(&self.0);
        CLOSED.notify_all();
    }
}

/// Answers the open container of a folder, or opens it.
pub(super) fn share(folder: &Path, make: impl FnOnce(Registration) -> Result<Shared>) -> Result<Arc<Shared>> {
    let mut all = open();
    while let Some(known) = all.get(folder) {
        if let Some(shared) = known.upgrade() {
            return Ok(shared);
        }
        // Its last handle is just going, or another thread is opening it.
        all = CLOSED.wait(all);
    }
    all.insert(folder.to_owned(), Weak::new());
    drop(all);
    let shared = Arc::new(make(Registration(folder.to_owned()))?);
    if let Some(known) = open().get_mut(folder) {
        *known = Arc::downgrade(&shared);
    }
    CLOSED.notify_all();
    Ok(shared)
}

/// Returns whether this process has a container open.
pub(super) fn is_open(folder: &Path) -> bool {
    open().get(folder).is_some_and(|known| known.strong_count() > 0)
}
