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
    /// Opens a file to read it. Nothing beyond it is opened: external links, external data and virtual sources
    /// need [`File::open_with`] and a resolver.
    pub fn open(path: impl AsRef<Path>) -> Result<File> {
        Self::open_with(&from_path(path.as_ref()), &FileAccess::read())
    }

    /// Opens a container at a location, with access properties. Bytes of a path that are not UTF-8 stand in a location as
    /// [`model::text::from_path`] writes them.
    pub fn open_with(location: &str, access: &FileAccess) -> Result<File> {
        Self::open_in(built_in(), location, access)
    }

    /// Opens a container with connectors of the caller's own.
    pub fn open_in(registry: &Registry, location: &str, access: &FileAccess) -> Result<File> {
        Self::from_container_in(registry, registry.open(location, access)?, location, access)
    }

    /// Creates a file, or empties the one that is there.
    pub fn create(path: impl AsRef<Path>) -> Result<File> {
        Self::create_with(&from_path(path.as_ref()), &FileCreate::default(), &FileAccess::write(), true)
    }

    /// Creates a container at a location. Without `truncate` it must not be there yet.
    pub fn create_with(
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        truncate: bool,
    ) -> Result<File> {
        Self::create_in(built_in(), location, create, access, truncate)
    }

    /// Creates a container with connectors of the caller's own.
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

    /// Opens a file to change it.
    pub fn open_rw(path: impl AsRef<Path>) -> Result<File> {
        Self::open_with(&from_path(path.as_ref()), &FileAccess::write())
    }

    /// Makes all changes so far one commit. It survives power loss when this returns, unless the file was opened
    /// with another [`Durability`].
    pub fn flush(&self) -> Result<()> {
        self.commit(self.root.session.access.durability)
    }

    /// Makes all changes so far one commit that promises this.
    pub fn commit(&self, durability: Durability) -> Result<()> {
        self.root.session.container.commit(durability)
    }

    /// Commits, and from now on other programs may read the file while this one goes on (SWMR). Elements and extents can
    /// change; objects, links and attributes stay as they are. The file needs a version bound of 1.10 or later.
    pub fn start_swmr(&self) -> Result<()> {
        self.root.session.container.start_swmr()
    }

    /// Returns how the cache of decoded chunks did so far.
    pub fn chunk_cache(&self) -> Result<ChunkCacheInfo> {
        self.root.session.container.chunk_cache_info()
    }

    /// Opens the image of a file that is already in memory.
    #[cfg(feature = "native")]
    pub fn from_image(image: Vec<u8>) -> Result<File> {
        Self::from_image_with(image, &FileAccess::read())
    }

    /// Opens the image of a file that is already in memory, to read or to change it there. [`File::image`] returns what
    /// became of it.
    #[cfg(feature = "native")]
    pub fn from_image_with(image: Vec<u8>, access: &FileAccess) -> Result<File> {
        Self::from_container(native::open_image(image, access)?, "(image)", access)
    }

    /// Returns the bytes of an HDF5 file, in memory or on disk, after a commit of all changes so far. They are those of a file
    /// that no one has open.
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

    /// Returns a file over a container that is already open.
    pub fn from_container(
        container: Arc<dyn Container>,
        location: &str,
        access: &FileAccess,
    ) -> Result<File> {
        Self::from_container_in(built_in(), container, location, access)
    }

    /// Returns a file over a container that is already open, with the conversions and classes of links of a registry.
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

    /// Returns where it was opened.
    pub fn filename(&self) -> &str {
        &self.root.session.location
    }

    /// Returns the info of the container: its connector, capabilities and root group.
    pub fn container_info(&self) -> Result<Arc<ContainerInfo>> {
        self.root.session.container.info()
    }

    /// Returns the number of bytes of the file.
    pub fn size(&self) -> Result<u64> {
        Ok(self.container_info()?.storage_bytes.unwrap_or(0))
    }

    /// Returns the root group.
    pub fn as_group(&self) -> &Group {
        &self.root
    }

    /// Commits and closes. Handles that are still open give errors afterwards.
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
