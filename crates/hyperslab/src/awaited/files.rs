//! Files that are opened, committed and closed while their caller awaits it, on threads that may wait.

use std::path::Path;

use layers::asynchronous::background;
use model::Result;
use model::properties::FileCreate;
use model::text::from_path;
use vol::{Durability, FileAccess};

use crate::{Dataset, File};

impl File {
    /// Opens a file to read it, as [`File::open`] does.
    ///
    /// # Errors
    /// Returns the error of [`File::open`].
    pub async fn open_async(path: impl AsRef<Path>) -> Result<File> {
        Self::open_with_async(&from_path(path.as_ref()), &FileAccess::read()).await
    }

    /// Opens a file to change it, as [`File::open_rw`] does.
    ///
    /// # Errors
    /// Returns the error of [`File::open_rw`].
    pub async fn open_rw_async(path: impl AsRef<Path>) -> Result<File> {
        Self::open_with_async(&from_path(path.as_ref()), &FileAccess::write()).await
    }

    /// Opens a container at a location, as [`File::open_with`] does. It is opened on another thread: what only the calling
    /// thread may use (drivers and filters of the program's own that say so) is opened with [`File::open_with`].
    ///
    /// # Errors
    /// Returns the error of [`File::open_with`].
    pub async fn open_with_async(location: &str, access: &FileAccess) -> Result<File> {
        let (location, access) = (location.to_owned(), access.clone());
        background(move || File::open_with(&location, &access)).await
    }

    /// Creates a file, or empties the one that is there, as [`File::create`] does.
    ///
    /// # Errors
    /// Returns the error of [`File::create`].
    pub async fn create_async(path: impl AsRef<Path>) -> Result<File> {
        let (create, access) = (FileCreate::default(), FileAccess::write());
        Self::create_with_async(&from_path(path.as_ref()), &create, &access, true).await
    }

    /// Creates a container at a location, as [`File::create_with`] does.
    ///
    /// # Errors
    /// Returns the error of [`File::create_with`].
    pub async fn create_with_async(
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        truncate: bool,
    ) -> Result<File> {
        let (location, create, access) = (location.to_owned(), create.clone(), access.clone());
        background(move || File::create_with(&location, &create, &access, truncate)).await
    }

    /// Makes all changes so far one commit, as [`File::flush`] does. What was started before is part of it.
    ///
    /// # Errors
    /// Returns the error of the storage, and failures of the background that no one looked at.
    pub async fn flush_async(&self) -> Result<()> {
        self.commit_async(self.as_group().session.access.durability).await
    }

    /// Makes all changes so far one commit that promises this, as [`File::commit`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and failures of the background that no one looked at.
    pub async fn commit_async(&self, durability: Durability) -> Result<()> {
        let session = self.as_group().session.clone();
        let ours = session.clone();
        session.aside(move || ours.container.commit(durability)).await
    }

    /// Commits and closes, as [`File::close`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and failures of the background that no one looked at.
    pub async fn close_async(self) -> Result<()> {
        let session = self.as_group().session.clone();
        session.aside(move || self.close()).await
    }
}

impl Dataset {
    /// Commits all changes of the file so far, as [`Dataset::flush`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and failures of the background that no one looked at.
    pub async fn flush_async(&self) -> Result<()> {
        let dataset = self.clone();
        self.session.aside(move || dataset.flush()).await
    }
}
