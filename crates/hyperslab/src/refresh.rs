//! Refreshing objects that other processes change.

use model::{Kind, Result};

use crate::object::Object;
use crate::{Dataset, ObjectHandle};

impl Object {
    /// Reads the object again, as others committed it since: another program in a file that was opened with SWMR, or
    /// another process that has the same object store open. Links of a group, attributes and pairs of a map are then
    /// the current ones.
    ///
    /// A container without caches, or whose storage no other process changes, does nothing.
    ///
    /// # Errors
    /// Returns `NotFound` if the object does not exist any more, and the error of the storage.
    pub fn refresh(&self) -> Result<()> {
        match self.session.container.object_refresh(self.token) {
            Err(error) if error.kind() != Kind::Unsupported => Err(error),
            _ => Ok(()),
        }
    }
}

impl Dataset {
    /// Reads the dataset again, as [`Object::refresh`] does, and updates the extent in all handles of this file.
    ///
    /// # Errors
    /// Returns the errors of [`Object::refresh`].
    pub fn refresh(&self) -> Result<()> {
        Object::refresh(self)?;
        self.change_info(|info| {
            *info = self.session.container.dataset_info(self.token)?;
            Ok(())
        })
    }
}

impl ObjectHandle {
    /// Reads the object again, as [`Object::refresh`] or [`Dataset::refresh`] does.
    ///
    /// # Errors
    /// Returns the errors of [`Object::refresh`].
    pub fn refresh(&self) -> Result<()> {
        match self {
            ObjectHandle::Dataset(dataset) => dataset.refresh(),
            other => other.object().refresh(),
        }
    }
}
