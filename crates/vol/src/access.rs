//! Access properties of a container, and the resolver that opens other files.

use std::sync::Arc;

use model::{Budget, Error, Limits, Result};

use crate::{CloseErrorHook, Container};

/// The kind of access to a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Access {
    /// Read.
    #[default]
    Read,
    /// Read and change.
    Write,
}

/// The guarantee of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// It survives power loss.
    #[default]
    Full,
    /// It is ordered after earlier commits, and survives with them or not at all.
    Ordered,
    /// It is visible to others; nothing is synced.
    None,
}

/// What a write does when the buffer of a connector that caches elements until a flush is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WhenFull {
    /// It writes pending elements to the storage, without a commit. Processes that write together cannot choose this.
    #[default]
    Flush,
    /// It fails with `Limit`, and the caller flushes.
    Fail,
}

/// Whether a file is locked while it is open, so that other programs neither write to it nor see half of a change.
///
/// The environment variable `HDF5_USE_FILE_LOCKING` (`TRUE` or `1`, `FALSE` or `0`, `BEST_EFFORT`) has the last word, as in libhdf5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Locking {
    /// The file is locked if the file system has locks.
    #[default]
    BestEffort,
    /// The file is always locked. A file system without locks is an error.
    Required,
    /// The file is never locked.
    Off,
}

/// Generations of libhdf5, for what may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum LibVersion {
    /// The earliest version of each structure that can store the object.
    Earliest,
    /// 1.8.
    #[default]
    V18,
    /// 1.10.
    V110,
    /// 1.12.
    V112,
    /// 1.14.
    V114,
    /// 2.0.
    V200,
}

impl LibVersion {
    /// The newest generation.
    pub const LATEST: LibVersion = LibVersion::V200;
}

/// Raw data in a file next to the container (external raw data).
pub trait RawBytes: Send + Sync {
    /// Reads bytes from `offset` on. Bytes past the end of the file read as zeros.
    ///
    /// # Errors
    /// Returns the error of reading the file.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()>;
    /// Writes bytes from `offset` on.
    ///
    /// # Errors
    /// Returns the error of writing the file, and `Denied` if it is open for reading.
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;
}

/// Opens the other files that a container refers to. Without a resolver, a container opens no other file.
pub trait Resolver: Send + Sync {
    /// Opens the container that an external link or a virtual dataset of the file at `from` calls `name`.
    ///
    /// # Errors
    /// Returns the error of opening it: `NotFound` if there is none, and `Denied` if the resolver does not allow it.
    fn container(&self, name: &str, from: &str) -> Result<Arc<dyn Container>>;
    /// Opens the container that a virtual dataset of the file at `from` calls `name`, to write its elements. The
    /// caller keeps it open, commits it and closes it.
    ///
    /// # Errors
    /// Returns `Denied` if the resolver only opens files for reading, which is the default.
    fn container_for_writing(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        let error = Error::denied("open other file to write").with("file", name).with("from", from);
        Err(error.with("problem", "files next to this one are only read"))
    }
    /// Opens the file with external raw data that the file at `from` calls `name`.
    ///
    /// # Errors
    /// Returns the error of opening it: `NotFound` if there is none, and `Denied` if the resolver does not allow it.
    fn bytes(&self, name: &str, from: &str) -> Result<Arc<dyn RawBytes>>;
}

/// How far a virtual dataset with unlimited mappings reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VirtualView {
    /// Up to the first element that some mapping lacks, instead of the last that any has.
    pub first_missing: bool,
    /// Missing sources of a numbered series that are passed over before it counts as ended.
    pub gap: u64,
}

/// Where a file gets new space, for connectors that store one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FilePlacement {
    /// Blocks of at least so many bytes start at a multiple of `alignment`.
    pub alignment_threshold: u64,
    /// Bytes; 1 is anywhere.
    pub alignment: u64,
    /// Bytes set aside for metadata at a time, so that elements lie apart from it; 0 sets none aside.
    pub metadata_block_bytes: u64,
}

impl Default for FilePlacement {
    /// Space starts anywhere, and no block is set aside for metadata.
    fn default() -> Self {
        FilePlacement { alignment_threshold: 1, alignment: 1, metadata_block_bytes: 0 }
    }
}

/// A buffer of whole pages between a file and its readers, for files with the page strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PageBuffer {
    /// Bytes, rounded down to whole pages, at least one. 0 is no buffer.
    pub bytes: u64,
    /// Percentage of the pages that is reserved for metadata, at least.
    pub metadata_percent_min: u32,
    /// Percentage of the pages that is reserved for raw data, at least.
    pub raw_percent_min: u32,
}

/// How processes that have a container open together work on it. All of them say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ParallelAccess {
    /// Processes to which the others send small scattered elements of a collective write, and which write them in large pieces
    /// (the hint `cb_nodes` of MPI-IO). `None` is all of them.
    pub aggregators: Option<u32>,
    /// Bytes of the pieces, which begin at multiples of it: the stripes of a parallel file system (`striping_unit`).
    /// `None` is 1 MiB.
    pub stripe_bytes: Option<u64>,
    /// Whether reads of structure are collective, too: one process reads, and sends the answer to all
    /// (`H5Pset_all_coll_metadata_ops`).
    pub collective_metadata: bool,
    /// Whether elements are written where they lie, also over those of the last commit: others read them at once, and a crash
    /// may leave some of both. Else those wait for the next commit.
    pub elements_in_place: bool,
}

/// A log of the metadata cache, for connectors that store one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MetadataCacheLog {
    /// The path of the log, which is created anew.
    pub path: String,
    /// Whether it is written from the start on.
    pub starts_on_open: bool,
}

/// Access properties of a container.
#[derive(Clone, Default)]
pub struct FileAccess {
    /// Read or write.
    pub access: Access,
    /// Limits of memory and work.
    pub limits: Limits,
    /// The account that memory for its content is charged to; `None` is one of its own, with
    /// [`Limits::memory_bytes_max`]. Several containers may share one.
    pub budget: Option<Budget>,
    /// Opens other files; `None` refuses them.
    pub resolver: Option<Arc<dyn Resolver>>,
    /// The virtual file driver, with its parameters (`family{member_bytes=1024}`). `None` is a plain file, or the driver whose
    /// files the path names.
    pub driver: Option<String>,
    /// Layers above the connector, outermost first; see [`crate::Stack`].
    pub stack: Option<String>,
    /// Oldest generation whose structures are written, where there is a choice.
    pub version_low: LibVersion,
    /// Newest generation whose structures are written; what needs newer ones is refused. `None` is any.
    pub version_high: Option<LibVersion>,
    /// Bytes of decoded chunks that are cached for each container; `None` is the connector's default.
    pub chunk_cache_bytes: Option<u64>,
    /// Bytes of metadata that are cached for each container; `None` is 64 MiB.
    pub metadata_cache_bytes: Option<u64>,
    /// A log of the metadata cache; `None` is none.
    pub metadata_cache_log: Option<MetadataCacheLog>,
    /// Stores the metadata that is in memory in the file when it is closed, so that the next one that opens it reads it at
    /// once (`H5Pset_mdc_image_config`). It is given up when the file is changed.
    pub metadata_cache_image: bool,
    /// A buffer of pages. A file without the page strategy has none; a new file must have pages that fit into it.
    pub page_buffer: PageBuffer,
    /// Where new space is taken. A file of pages has its own rules.
    pub placement: FilePlacement,
    /// The guarantee of a commit.
    pub durability: Durability,
    /// How virtual datasets with unlimited mappings are extended.
    pub virtual_view: VirtualView,
    /// Whether the file is locked while it is open.
    pub locking: Locking,
    /// One process writes while others read (SWMR): the writer changes elements and extents only, and readers see
    /// them after a refresh.
    pub swmr: bool,
    /// Bytes of elements that may wait for a flush, over all datasets, where a connector buffers them; `None` is its default.
    pub write_buffer_bytes: Option<u64>,
    /// The behaviour when the buffer is full.
    pub write_buffer_full: WhenFull,
    /// Called when the container cannot be closed as its last handle is dropped; `None` leaves it to
    /// [`crate::set_close_error_hook`].
    pub close_error_hook: Option<CloseErrorHook>,
    /// Dropping the last handle without `close` gives up what was not committed, instead of committing it: for work that counts
    /// only when it is done. Connectors that store changes at once keep what they have.
    pub discard_on_drop: bool,
    /// How several processes work on the container, where they have it open together.
    pub parallel: ParallelAccess,
}

impl std::fmt::Debug for FileAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileAccess")
            .field("access", &self.access)
            .field("driver", &self.driver)
            .field("stack", &self.stack)
            .field("resolver", &self.resolver.is_some())
            .finish_non_exhaustive()
    }
}

impl FileAccess {
    /// Returns the access to read, with default limits.
    pub fn read() -> Self {
        Self::default()
    }

    /// Returns the access to read and change.
    pub fn write() -> Self {
        FileAccess { access: Access::Write, ..Self::default() }
    }

    /// Adds a way to open other files.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Sets one writer and many readers at the same time; see [`FileAccess::swmr`].
    #[must_use]
    pub fn with_swmr(mut self) -> Self {
        self.swmr = true;
        self
    }

    /// Adds a function that is called when the container cannot be closed as its last handle is dropped.
    #[must_use]
    pub fn with_close_error_hook(mut self, hook: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.close_error_hook = Some(Arc::new(hook));
        self
    }

    /// Sets other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the account that memory is charged to.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Returns the account that memory is charged to. The registry gives every container one before its connector sees it.
    pub fn budget(&self) -> Budget {
        self.budget.clone().unwrap_or_else(|| self.limits.budget())
    }

    /// Sets the virtual file driver: `core`, `family{member_bytes=1048576}`.
    #[must_use]
    pub fn with_driver(mut self, driver: impl Into<String>) -> Self {
        self.driver = Some(driver.into());
        self
    }

    /// Sets a buffer of so many bytes for the pages of a file with the page strategy.
    #[must_use]
    pub fn with_page_buffer(mut self, bytes: u64) -> Self {
        self.page_buffer.bytes = bytes;
        self
    }

    /// Sets the layers above the connector.
    #[must_use]
    pub fn with_stack(mut self, stack: impl Into<String>) -> Self {
        self.stack = Some(stack.into());
        self
    }
}
