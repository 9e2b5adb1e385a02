//! Options for opening files, with the functions that users of `hdf5-metno` know.

use std::path::Path;

use model::properties::FileCreate;
use model::{Error, Kind, Result};
use vol::{Access, FileAccess, LibVersion, Locking};

use crate::File;

/// The mode in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenMode {
    /// For reading.
    Read,
    /// For reading while another program writes it (SWMR).
    ReadSWMR,
    /// For reading and writing.
    ReadWrite,
    /// Created. An existing file is replaced.
    Create,
    /// Created. An existing file is an error.
    CreateExcl,
    /// For reading and writing. A missing file is created.
    Append,
}

impl File {
    /// Creates a file, which must not exist.
    ///
    /// # Errors
    /// Returns `Exists` if the file exists, and the errors of [`File::create`].
    pub fn create_excl(path: impl AsRef<Path>) -> Result<File> {
        Self::open_as(path, OpenMode::CreateExcl)
    }

    /// Opens a file for reading and writing, or creates it if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of [`File::open_rw`] and [`File::create`].
    pub fn append(path: impl AsRef<Path>) -> Result<File> {
        Self::open_as(path, OpenMode::Append)
    }

    /// Opens or creates a file.
    ///
    /// # Errors
    /// Returns the errors of [`File::open`] and [`File::create`].
    pub fn open_as(path: impl AsRef<Path>, mode: OpenMode) -> Result<File> {
        Self::with_options().open_as(path, mode)
    }

    /// Returns a builder that opens or creates a file with other properties than the defaults.
    ///
    /// ```
    /// # fn main() -> hyperslab::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("options-{}.h5", std::process::id()));
    /// let file = hyperslab::File::with_options().with_fapl(|p| p.libver_v110()).create(&path)?;
    /// # file.close()?;
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_options() -> FileBuilder {
        FileBuilder::default()
    }
}

/// Opens or creates a file with properties.
#[derive(Debug, Clone, Default)]
pub struct FileBuilder {
    access: FileAccessBuilder,
    create: FileCreateBuilder,
}

impl FileBuilder {
    /// Returns a builder with default properties.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Returns the errors of [`File::open_with`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_as(path, OpenMode::Read)
    }

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// Returns the errors of [`File::open_with`].
    pub fn open_rw(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_as(path, OpenMode::ReadWrite)
    }

    /// Creates a file, and replaces an existing one.
    ///
    /// # Errors
    /// Returns the errors of [`File::create_with`].
    pub fn create(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_as(path, OpenMode::Create)
    }

    /// Creates a file, which must not exist.
    ///
    /// # Errors
    /// Returns `Exists` if the file exists, and the errors of [`File::create_with`].
    pub fn create_excl(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_as(path, OpenMode::CreateExcl)
    }

    /// Opens a file for reading and writing, or creates it if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of [`File::open_with`] and [`File::create_with`].
    pub fn append(&self, path: impl AsRef<Path>) -> Result<File> {
        self.open_as(path, OpenMode::Append)
    }

    /// Opens or creates a file.
    ///
    /// # Errors
    /// Returns the errors of [`File::open_with`] and [`File::create_with`].
    pub fn open_as(&self, path: impl AsRef<Path>, mode: OpenMode) -> Result<File> {
        let location = self.access.location(path.as_ref());
        let access = |access| FileAccess { access, ..self.access.access.clone() };
        let make = |truncate| File::create_with(&location, &self.create.0, &access(Access::Write), truncate);
        match mode {
            OpenMode::Read => File::open_with(&location, &access(Access::Read)),
            OpenMode::ReadSWMR => File::open_with(&location, &access(Access::Read).with_swmr()),
            OpenMode::ReadWrite => File::open_with(&location, &access(Access::Write)),
            OpenMode::Create => make(true),
            OpenMode::CreateExcl => make(false),
            OpenMode::Append => match File::open_with(&location, &access(Access::Write)) {
                Err(error) if error.kind() == Kind::NotFound => make(false).map_err(|e| missing(e, &error)),
                opened => opened,
            },
        }
    }

    /// Changes access properties.
    pub fn with_fapl<F>(&mut self, change: F) -> &mut Self
    where
        F: Fn(&mut FileAccessBuilder) -> &mut FileAccessBuilder,
    {
        change(&mut self.access);
        self
    }

    /// Changes access properties, as [`FileBuilder::with_fapl`] does.
    pub fn with_access_plist<F>(&mut self, change: F) -> &mut Self
    where
        F: Fn(&mut FileAccessBuilder) -> &mut FileAccessBuilder,
    {
        self.with_fapl(change)
    }

    /// Changes creation properties.
    pub fn with_fcpl<F>(&mut self, change: F) -> &mut Self
    where
        F: Fn(&mut FileCreateBuilder) -> &mut FileCreateBuilder,
    {
        change(&mut self.create);
        self
    }

    /// Changes creation properties, as [`FileBuilder::with_fcpl`] does.
    pub fn with_create_plist<F>(&mut self, change: F) -> &mut Self
    where
        F: Fn(&mut FileCreateBuilder) -> &mut FileCreateBuilder,
    {
        self.with_fcpl(change)
    }

    /// Returns the access properties for changes.
    pub fn fapl(&mut self) -> &mut FileAccessBuilder {
        &mut self.access
    }

    /// Returns the creation properties for changes.
    pub fn fcpl(&mut self) -> &mut FileCreateBuilder {
        &mut self.create
    }
}

/// Returns the error about a file that could neither be opened nor created, with the error of opening it.
fn missing(made: Error, opened: &Error) -> Error {
    made.with("opening", opened)
}

/// Builds access properties.
#[derive(Debug, Clone, Default)]
pub struct FileAccessBuilder {
    access: FileAccess,
    in_memory: bool,
}

impl FileAccessBuilder {
    fn location(&self, path: &Path) -> String {
        let text = model::text::from_path(path);
        if self.in_memory { format!("memory:{text}") } else { text }
    }

    fn version(&mut self, low: LibVersion) -> &mut Self {
        self.access.version_low = low;
        self
    }

    /// Writes structures that every version of libhdf5 reads.
    pub fn libver_earliest(&mut self) -> &mut Self {
        self.version(LibVersion::Earliest)
    }

    /// Writes structures that libhdf5 1.8 reads.
    pub fn libver_v18(&mut self) -> &mut Self {
        self.version(LibVersion::V18)
    }

    /// Writes structures that libhdf5 1.10 reads.
    pub fn libver_v110(&mut self) -> &mut Self {
        self.version(LibVersion::V110)
    }

    /// Writes structures that libhdf5 1.12 reads.
    pub fn libver_v112(&mut self) -> &mut Self {
        self.version(LibVersion::V112)
    }

    /// Writes structures that libhdf5 1.14 reads.
    pub fn libver_v114(&mut self) -> &mut Self {
        self.version(LibVersion::V114)
    }

    /// Writes structures that libhdf5 2.0 reads.
    pub fn libver_v200(&mut self) -> &mut Self {
        self.version(LibVersion::V200)
    }

    /// Writes the newest structures.
    pub fn libver_latest(&mut self) -> &mut Self {
        self.version(LibVersion::LATEST)
    }

    /// Sets the oldest version of libhdf5 that shall read the file. The newest is not limited.
    pub fn libver_bounds(&mut self, low: LibVersion, _high: LibVersion) -> &mut Self {
        self.version(low)
    }

    /// Sets whether the file is locked while it is open.
    pub fn file_locking(&mut self, locking: bool) -> &mut Self {
        self.access.locking = if locking { Locking::Required } else { Locking::Off };
        self
    }

    /// Sets the capacity of the chunk cache in bytes. The other two numbers configure the hash table of libhdf5 and
    /// are ignored.
    pub fn chunk_cache(&mut self, _nslots: usize, nbytes: usize, _w0: f64) -> &mut Self {
        self.access.chunk_cache_bytes = Some(nbytes as u64);
        self
    }

    /// Sets the virtual file driver, with its parameters: `core`, `family{member_bytes=1048576}`.
    pub fn driver(&mut self, driver: &str) -> &mut Self {
        self.access.driver = Some(driver.to_owned());
        self
    }

    /// Sets whether a file in memory is written to disk too. If it is not, it exists until the process ends or deletes
    /// it.
    pub fn core_filebacked(&mut self, filebacked: bool) -> &mut Self {
        self.in_memory = !filebacked;
        self
    }

    /// Sets all access properties at once.
    pub fn set(&mut self, access: FileAccess) -> &mut Self {
        self.access = access;
        self
    }
}

/// Builds creation properties.
#[derive(Debug, Clone, Default)]
pub struct FileCreateBuilder(FileCreate);

impl FileCreateBuilder {
    /// Sets the size of the user block: 0, or a power of two of at least 512.
    pub fn userblock(&mut self, bytes: u64) -> &mut Self {
        self.0.userblock_bytes = bytes;
        self
    }

    /// Sets all creation properties at once.
    pub fn set(&mut self, create: FileCreate) -> &mut Self {
        self.0 = create;
        self
    }
}
