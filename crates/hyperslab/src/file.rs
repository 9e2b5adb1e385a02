//! Files: open containers.

use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::properties::FileCreate;
use model::text::from_path;
use vol::{ChunkCacheInfo, Container, ContainerInfo, Durability, FileAccess, Registry};

use crate::Group;
use crate::object::Object;
use crate::registry::built_in;
use crate::session::Session;

/// An open file. It dereferences to its root group.
#[derive(Debug, Clone)]
pub struct File {
    root: Group,
}

impl File {
    /// Opens a file for reading. External links, external data and virtual datasets need [`File::open_with`] and a
    /// resolver.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such file, `Corrupt` if it is damaged or not an HDF5 file, and `Busy` if
    /// another program has locked it.
    pub fn open(path: impl AsRef<Path>) -> Result<File> {
        Self::open_with(&from_path(path.as_ref()), &FileAccess::read())
    }

    /// Opens a container at a location, with access properties. A location spells bytes of a path that are not UTF-8
    /// as [`model::text::from_path`] does.
    ///
    /// # Errors
    /// Returns the errors of [`Registry::open`].
    pub fn open_with(location: &str, access: &FileAccess) -> Result<File> {
        Self::open_in(built_in(), location, access)
    }

    /// Opens a container with the connectors, drivers and layers of a registry.
    ///
    /// # Errors
    /// Returns the errors of [`Registry::open`].
    pub fn open_in(registry: &Registry, location: &str, access: &FileAccess) -> Result<File> {
        Self::from_container_in(registry, registry.open(location, access)?, location, access)
    }

    /// Creates a file, and replaces an existing one.
    ///
    /// # Errors
    /// Returns `NotFound` or `Denied` if the folder does not exist or cannot be written, and `Busy` if the file is
    /// open.
    pub fn create(path: impl AsRef<Path>) -> Result<File> {
        Self::create_with(&from_path(path.as_ref()), &FileCreate::default(), &FileAccess::write(), true)
    }

    /// Creates a container at a location. An existing one is replaced if `truncate` is set.
    ///
    /// # Errors
    /// Returns `Exists` if there is a container and `truncate` is not set, and the errors of [`Registry::create`].
    pub fn create_with(
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        truncate: bool,
    ) -> Result<File> {
        Self::create_in(built_in(), location, create, access, truncate)
    }

    /// Creates a container with the connectors, drivers and layers of a registry.
    ///
    /// # Errors
    /// Returns `Exists` if there is a container and `truncate` is not set, and the errors of [`Registry::create`].
    pub fn create_in(
        registry: &Registry,
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        truncate: bool,
    ) -> Result<File> {
        let container = registry.create(location, create, access, truncate)?;
        Self::from_container_in(registry, container, location, access)
    }

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such file, `Corrupt` if it is damaged or not an HDF5 file, `Busy` if another
    /// program has it open, and `Denied` if it cannot be written.
    pub fn open_rw(path: impl AsRef<Path>) -> Result<File> {
        Self::open_with(&from_path(path.as_ref()), &FileAccess::write())
    }

    /// Commits all changes made so far. They survive power loss when this returns, unless the file was opened with
    /// another [`Durability`].
    ///
    /// # Errors
    /// Returns the error of the storage. Changes that were not committed stay pending, and the next commit includes
    /// them.
    pub fn flush(&self) -> Result<()> {
        self.commit(self.root.session.access.durability)
    }

    /// Commits all changes made so far, with a durability.
    ///
    /// # Errors
    /// Returns the errors of [`File::flush`].
    pub fn commit(&self, durability: Durability) -> Result<()> {
        self.root.session.container.commit(durability)
    }

    /// Commits, and allows other programs to read the file while this one writes (SWMR). From then on elements and
    /// extents can change, but objects, links and attributes cannot. The file needs a version bound of 1.10 or later.
    ///
    /// # Errors
    /// Returns `Invalid` if the file has an older format, and `Unsupported` if the connector has no SWMR mode.
    pub fn start_swmr(&self) -> Result<()> {
        self.root.session.container.start_swmr()
    }

    /// Returns statistics of the cache of decoded chunks.
    ///
    /// # Errors
    /// Returns `Unsupported` if the connector has no such cache.
    pub fn chunk_cache(&self) -> Result<ChunkCacheInfo> {
        self.root.session.container.chunk_cache_info()
    }

    /// Opens the image of an HDF5 file in memory for reading.
    ///
    /// # Errors
    /// Returns `Corrupt` if the bytes are not an HDF5 file.
    #[cfg(feature = "native")]
    pub fn from_image(image: Vec<u8>) -> Result<File> {
        Self::from_image_with(image, &FileAccess::read())
    }

    /// Opens the image of an HDF5 file in memory, for reading or for writing there. [`File::image`] returns the
    /// changed image.
    ///
    /// # Errors
    /// Returns `Corrupt` if the bytes are not an HDF5 file.
    #[cfg(feature = "native")]
    pub fn from_image_with(image: Vec<u8>, access: &FileAccess) -> Result<File> {
        Self::from_container(native::open_image(image, access)?, "(image)", access)
    }

    /// Commits all changes made so far and returns the bytes of an HDF5 file, in memory or on disk. They are those of
    /// a file that no one has open.
    ///
    /// ```
    /// # fn main() -> hyperslab::Result<()> {
    /// let access = hyperslab::FileAccess::write().with_driver("core{backing_store=false}");
    /// let file = hyperslab::File::create_with("in-memory.h5", &Default::default(), &access, true)?;
    /// file.new_dataset_builder().with_data(&[1, 2, 3]).create("numbers")?;
    /// let again = hyperslab::File::from_image(file.image()?)?;
    /// assert_eq!(again.dataset("numbers")?.read_raw::<i32>()?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns `Unsupported` if the container is not one HDF5 file.
    #[cfg(feature = "native")]
    pub fn image(&self) -> Result<Vec<u8>> {
        if self.root.session.access.access == vol::Access::Write {
            self.commit(Durability::None)?;
        }
        vol::call::<native::FileImage>(&*self.root.session.container, &())
    }

    /// Returns a file for a container that is already open.
    ///
    /// # Errors
    /// Returns the error of reading the container's root group.
    pub fn from_container(
        container: Arc<dyn Container>,
        location: &str,
        access: &FileAccess,
    ) -> Result<File> {
        Self::from_container_in(built_in(), container, location, access)
    }

    /// Returns a file for a container that is already open, with the conversions and link classes of a registry.
    ///
    /// # Errors
    /// Returns the error of reading the container's root group.
    pub fn from_container_in(
        registry: &Registry,
        container: Arc<dyn Container>,
        location: &str,
        access: &FileAccess,
    ) -> Result<File> {
        let session = Session::new(container, location, access, registry.registered())?;
        let root = session.root;
        Ok(File { root: Group(Object::new(session, root, model::ObjectPath::root())) })
    }

    /// Returns the location that the file was opened at.
    pub fn filename(&self) -> &str {
        &self.root.session.location
    }

    /// Returns the info of the container: its connector, capabilities and root group.
    ///
    /// # Errors
    /// Returns `Invalid` if the file is closed.
    pub fn container_info(&self) -> Result<Arc<ContainerInfo>> {
        self.root.session.container.info()
    }

    /// Returns the number of bytes of the file, or 0 if the storage does not count them.
    ///
    /// # Errors
    /// Returns `Invalid` if the file is closed.
    pub fn size(&self) -> Result<u64> {
        Ok(self.container_info()?.storage_bytes.unwrap_or(0))
    }

    /// Returns the root group.
    pub fn as_group(&self) -> &Group {
        &self.root
    }

    /// Commits and closes the file. Handles of its objects return errors afterwards.
    ///
    /// # Errors
    /// Returns the error of the commit.
    pub fn close(self) -> Result<()> {
        self.root.session.container.close()
    }
}

impl std::ops::Deref for File {
    type Target = Group;
    fn deref(&self) -> &Group {
        &self.root
    }
}
