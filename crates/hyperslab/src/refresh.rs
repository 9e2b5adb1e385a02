//! Seeing what others wrote.

use model::{Kind, Result};

use crate::object::Object;
use crate::{Dataset, ObjectHandle};

impl Object {
    /// Shows what others committed since: another program in a file that was opened with SWMR, or another process that
    /// has the same object store open. Links of a group, attributes and pairs of a map are those of now from then on.
    ///
    /// Storage in which nothing is kept from one call to the next has nothing to do.
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
    /// Shows what others committed since, as [`Object::refresh`] does, and its extent in all handles of this file.
    ///
    /// # Errors
    /// As [`Object::refresh`].
    pub fn refresh(&self) -> Result<()> {
        Object::refresh(self)?;
        self.change_info(|info| {
            *info = self.session.container.dataset_info(self.token)?;
            Ok(())
        })
    }
}

impl ObjectHandle {
    /// Shows what others committed since: [`Object::refresh`], [`Dataset::refresh`].
    ///
    /// # Errors
    /// As [`Object::refresh`].
    pub fn refresh(&self) -> Result<()> {
        match self {
            ObjectHandle::Dataset(dataset) => dataset.refresh(),
            other => other.object().refresh(),
        }
    }
}
