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

/// One place for each file. Whoever opens a file holds its place, and nobody's else.
pub(crate) type Slot = Arc<Mutex<Open>>;

static SLOTS: LazyLock<Mutex<HashMap<Identity, Slot>>> = LazyLock::new(Mutex::default);

/// The place of a file.
pub(crate) fn slot(identity: Identity) -> Slot {
    let mut slots = SLOTS.lock();
    // Places that nobody uses go when the table would grow.
    if slots.len() == slots.capacity() {
        slots.retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.lock().is_unused());
    }
    slots.entry(identity).or_default().clone()
}

pub(crate) fn hold(slot: &Slot) -> MutexGuard<'_, Open> {
    slot.lock()
}

impl Open {
    fn is_unused(&self) -> bool {
        self.writer.strong_count() == 0 && self.readers.iter().all(|reader| reader.strong_count() == 0)
    }

    /// The file as it is open for writing, with one handle more.
    pub(crate) fn join_writer(&self) -> Option<Arc<Core>> {
        self.writer.upgrade().filter(|core| core.join())
    }

    /// Whether it is open for writing.
    pub(crate) fn has_writer(&self) -> bool {
        self.writer.upgrade().is_some_and(|core| core.is_open())
    }

    /// Whether it is open to read.
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
