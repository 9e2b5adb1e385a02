//! The files that this process has open, so that all handles of one file see one state of it.
//!
//! A file that is open for writing is shared by all that open it meanwhile. A file that is open to read cannot be opened for
//! writing: its readers keep what they decoded.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};
use system::sync::{Mutex, MutexGuard};

use crate::state::Core;

pub(crate) use files::Identity;

/// The handles of one file.
#[derive(Debug, Default)]
pub(crate) struct Open {
    writer: Weak<Core>,
    readers: Vec<Weak<Core>>,
}

/// One place for each file. A caller that opens a file holds its place, and no one's else.
pub(crate) type OpenFileEntry = Arc<Mutex<Open>>;

static OPEN_FILES: LazyLock<Mutex<HashMap<Identity, OpenFileEntry>>> = LazyLock::new(Mutex::default);

/// Returns the place of a file.
pub(crate) fn entry(identity: Identity) -> OpenFileEntry {
    let mut entries = OPEN_FILES.lock();
    // Places that no one uses go when the table would grow.
    if entries.len() == entries.capacity() {
        entries.retain(|_, entry| Arc::strong_count(entry) > 1 || !entry.lock().is_unused());
    }
    entries.entry(identity).or_default().clone()
}

pub(crate) fn hold(entry: &OpenFileEntry) -> MutexGuard<'_, Open> {
    entry.lock()
}

impl Open {
    fn is_unused(&self) -> bool {
        self.writer.strong_count() == 0 && self.readers.iter().all(|reader| reader.strong_count() == 0)
    }

    /// Returns the file as it is open for writing, with one handle more.
    pub(crate) fn join_writer(&self) -> Option<Arc<Core>> {
        self.writer.upgrade().filter(|core| core.join())
    }

    /// Returns whether it is open for writing.
    pub(crate) fn has_writer(&self) -> bool {
        self.writer.upgrade().is_some_and(|core| core.is_open())
    }

    /// Returns whether it is open to read.
    pub(crate) fn has_readers(&mut self) -> bool {
        self.readers.retain(|reader| reader.upgrade().is_some_and(|core| core.is_open()));
        !self.readers.is_empty()
    }

    /// Notes a file that was opened.
    pub(crate) fn add(&mut self, core: &Arc<Core>) {
        match core.writer.is_some() {
            true => self.writer = Arc::downgrade(core),
            false => {
                self.readers.retain(|reader| reader.strong_count() > 0);
                self.readers.push(Arc::downgrade(core));
            }
        }
    }
}
