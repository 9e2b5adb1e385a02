//! The state that all handles of one open file share: its reader, and its writer if it is open for writing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::Result;
use system::sync::{Mutex, RwLock};
use vol::{Durability, FilePlacement, LibVersion, MetadataCacheLog, Registered};

use crate::commits::Commits;
use crate::maps::Maps;
use crate::metadata_cache::CacheLog;
use crate::reader::Reader;
use crate::space::Policy;
use crate::store::Store;
use crate::write::{WriteOptions, Writer};

/// The state that all handles of an open file share.
#[derive(Debug)]
pub(crate) struct Core {
    reader: Arc<Reader>,
    pub(crate) warnings: Vec<String>,
    /// It is one file of the system, which others can open by its path.
    pub(crate) is_file: bool,
    /// The durability of the last commit, on closing.
    pub(crate) durability: Durability,
    /// Where keys of maps are. A caller that holds it may wait for the writer, never the other way round.
    pub(crate) maps: Mutex<Maps>,
    /// Commits that handles ask for.
    pub(crate) commits: Commits,
    /// Changes, where the file is open for writing.
    pub(crate) writer: Option<RwLock<Writer>>,
    /// Handles that were not closed.
    handles: AtomicUsize,
}

impl std::ops::Deref for Core {
    type Target = Reader;
    fn deref(&self) -> &Reader {
        &self.reader
    }
}

/// The options of a file that its first handle sets for all.
pub(crate) struct Options {
    pub(crate) chunk_cache_bytes: u64,
    pub(crate) metadata_cache_bytes: u64,
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    /// Newest generation whose structures are written.
    pub(crate) high: LibVersion,
    /// Where new space is taken.
    pub(crate) placement: FilePlacement,
    pub(crate) durability: Durability,
    /// Whether a cache image is written when the file is closed.
    pub(crate) cache_image: bool,
    /// A log of the metadata cache.
    pub(crate) cache_log: Option<MetadataCacheLog>,
    pub(crate) warnings: Vec<String>,
    pub(crate) writable: bool,
    /// It is one file of the system.
    pub(crate) is_file: bool,
    /// Filters and conversions of the registry that it was opened with.
    pub(crate) registered: Registered,
}

impl Core {
    /// Returns a file with one handle.
    pub(crate) fn open(store: Store, options: Options) -> Result<Core> {
        let mut reader = Reader::open(store, options.chunk_cache_bytes, options.metadata_cache_bytes)?;
        reader.registry = options.registered.filters;
        reader.conversions = options.registered.conversions;
        reader.log = CacheLog::create(options.cache_log.as_ref())?;
        let mut core = Core {
            reader: Arc::new(reader),
            warnings: options.warnings,
            is_file: options.is_file,
            durability: options.durability,
            maps: Mutex::default(),
            commits: Commits::default(),
            writer: None,
            handles: AtomicUsize::new(1),
        };
        if options.writable {
            let write = WriteOptions {
                low: options.low,
                high: options.high,
                dirty_bytes_max: options.metadata_cache_bytes / 4 * 2,
                chunks_bytes_max: options.chunk_cache_bytes,
                policy: core.policy()?.with_placement(options.placement),
                cache_image: options.cache_image,
            };
            let mut writer = Writer::new(core.reader.clone(), write);
            writer.storage.take_members(&core.reader)?;
            writer.storage.take_cache_image(&core.reader)?;
            if let Some(error) = writer.storage.take_account(&core.reader)? {
                core.warnings.push(format!("free space that the file remembers is not used: {error}"));
            }
            core.writer = Some(RwLock::new(writer));
        }
        Ok(core)
    }

    /// Returns how the file's space is managed.
    fn policy(&self) -> Result<Policy> {
        let Some(space) = &self.space else { return Ok(Policy::default()) };
        Policy::new(space.strategy, space.threshold, space.page_bytes).checked()
    }

    /// Returns one handle more, unless the last one was closed.
    pub(crate) fn join(&self) -> bool {
        let more = |n: usize| (n > 0).then_some(n + 1);
        self.handles.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// Counts one handle less, and returns whether it was the last.
    pub(crate) fn leave(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// A handle could not be closed after all.
    pub(crate) fn stay(&self) {
        self.handles.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.handles.load(Ordering::Acquire) > 0
    }
}

impl Drop for Core {
    /// Without a close, what was not committed is lost; that the file is open no more is said all the same.
    fn drop(&mut self) {
        let durability = self.durability;
        if let Some(writer) = &mut self.writer
            && !writer.is_poisoned()
        {
            // Where it fails the mark stays, as after a crash.
            let _ = writer.get_mut().storage.mark_dropped(durability);
        }
    }
}
