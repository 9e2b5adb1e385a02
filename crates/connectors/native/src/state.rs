//! What all handles of one open file share: its store, its superblock extension, and caches of what was decoded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use filters::Registry;
use model::{Context, Error, Result};
use quick_cache::{UnitWeighter, Weighter};
use vol::{Durability, LibVersion, Released};

use crate::chunk::cache::ChunkCache;
use crate::format::driver_info::DriverInfo;
use crate::format::file_space::{self, FileSpace};
use crate::format::global_heap::HeapId;
use crate::format::header::{flag, kind};
use crate::format::shared::{self, SharedIndex};
use crate::format::superblock::{self, TreeK};
use crate::format::{Address, cache_image, driver_info};
use crate::kept::Kept;
use crate::maps::Maps;
use crate::object::dataset::Dataset;
use crate::object::decoded::{ByDecoded, DecodedCache};
use crate::object::global_heap::Collection;
use crate::object::header::Header;
use crate::space::Policy;
use crate::store::Store;
use crate::work::Works;
use crate::write::{WriteOptions, Writer};

/// Datasets whose headers are kept in decoded form.
const DATASETS_CACHE_COUNT: u64 = 1024;
/// Bytes of trees and heaps that are kept in decoded form.
const DECODED_BYTES: u64 = 4 << 20;

#[derive(Debug, Clone)]
pub(crate) struct ByHeader;

impl Weighter<Address, Arc<Header>> for ByHeader {
    fn weight(&self, _: &Address, header: &Arc<Header>) -> u64 {
        header.weight()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ByCollection;

impl Weighter<Address, Arc<Collection>> for ByCollection {
    fn weight(&self, _: &Address, collection: &Arc<Collection>) -> u64 {
        collection.bytes() as u64
    }
}

/// What all handles of an open file share.
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) tree_k: TreeK,
    pub(crate) shared_indexes: Vec<SharedIndex>,
    pub(crate) space: Option<FileSpace>,
    pub(crate) driver: Option<DriverInfo>,
    pub(crate) warnings: Vec<String>,
    /// It is one file of the system, which others can open by its path.
    pub(crate) is_file: bool,
    /// What the last commit, on closing, promises.
    pub(crate) durability: Durability,
    pub(crate) chunks: ChunkCache,
    pub(crate) works: Works,
    pub(crate) registry: Registry,
    pub(crate) headers: Kept<Address, Arc<Header>, ByHeader>,
    pub(crate) collections: Kept<Address, Arc<Collection>, ByCollection>,
    pub(crate) datasets: Kept<Address, Arc<Dataset>, UnitWeighter>,
    pub(crate) decoded: DecodedCache,
    /// Where keys of maps are. Whoever holds it may wait for the writer, never the other way round.
    pub(crate) maps: Mutex<Maps>,
    /// Values that were released, and that readers may still need.
    pub(crate) released: Released<HeapId>,
    /// Changes, where the file is open for writing.
    pub(crate) writer: Option<RwLock<Writer>>,
    /// Handles that were not closed.
    handles: AtomicUsize,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("superblock", &self.store.superblock).finish_non_exhaustive()
    }
}

/// What the opener of a file decides for all its handles.
pub(crate) struct Options {
    pub(crate) chunk_cache_bytes: u64,
    pub(crate) metadata_cache_bytes: u64,
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    pub(crate) durability: Durability,
    pub(crate) warnings: Vec<String>,
    pub(crate) writable: bool,
    /// It is one file of the system.
    pub(crate) is_file: bool,
}

impl Core {
    /// A file with one handle.
    pub(crate) fn open(store: Store, options: Options) -> Result<Core> {
        let tree_k = store.superblock.k;
        // Raw blocks have as much again; while the file is written they are not kept, and drafts have their part.
        let quarter = options.metadata_cache_bytes / 4;
        // What another program overwrites must not come back from a cache; the writer of this one says what it replaced.
        let chunk_cache_bytes = if store.is_live() { 0 } else { options.chunk_cache_bytes };
        let mut core = Core {
            store,
            tree_k,
            shared_indexes: Vec::new(),
            space: None,
            driver: None,
            warnings: options.warnings,
            is_file: options.is_file,
            durability: options.durability,
            chunks: ChunkCache::new(chunk_cache_bytes),
            works: Works::default(),
            registry: Registry::default(),
            headers: Kept::new(quarter, ByHeader),
            collections: Kept::new(quarter, ByCollection),
            datasets: Kept::new(DATASETS_CACHE_COUNT, UnitWeighter),
            decoded: Kept::new(DECODED_BYTES, ByDecoded),
            maps: Mutex::default(),
            released: Released::default(),
            writer: None,
            handles: AtomicUsize::new(1),
        };
        core.read_driver_block()?;
        core.read_extension()?;
        if options.writable && core.store.has_overlay() {
            return Err(Error::unsupported("write to a file with a metadata cache image"));
        }
        if options.writable {
            let (superblock, end) = (core.store.superblock.clone(), core.store.end());
            let write = WriteOptions {
                low: options.low,
                drafts_bytes_max: 2 * quarter,
                chunks_bytes_max: options.chunk_cache_bytes,
                policy: core.policy()?,
            };
            let mut writer = Writer::new(core.store.shared.clone(), superblock, core.tree_k, end, write);
            if let Some(error) = writer.take_account(&core.store, core.space.as_ref())? {
                core.warnings.push(format!("free space that the file remembers is not used: {error}"));
            }
            core.writer = Some(RwLock::new(writer));
        }
        Ok(core)
    }

    /// How the file's space is managed.
    fn policy(&self) -> Result<Policy> {
        let Some(space) = &self.space else { return Ok(Policy::default()) };
        Policy::new(space.strategy, space.threshold, space.page_bytes).checked()
    }

    /// One handle more, unless the last one was closed.
    pub(crate) fn join(&self) -> bool {
        let more = |n: usize| (n > 0).then_some(n + 1);
        self.handles.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// One handle less; whether it was the last.
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

    fn read_driver_block(&mut self) -> Result<()> {
        let Some(at) = self.store.superblock.driver_info else { return Ok(()) };
        let head = self.store.block(at, driver_info::BLOCK_HEAD_BYTES, "driver information")?;
        let bytes = driver_info::BLOCK_HEAD_BYTES + driver_info::block_data_bytes(&head)?;
        self.driver = Some(driver_info::block(&self.store.block(at, bytes, "driver information")?)?);
        Ok(())
    }

    fn read_extension(&mut self) -> Result<()> {
        let Some(at) = self.store.superblock.extension else { return Ok(()) };
        let header = Header::load(&self.store, at).during("read superblock extension")?;
        let sizes = self.store.sizes();
        if let Some(m) = header.message(kind::TREE_K) {
            self.tree_k = superblock::tree_k(m.body)?;
        }
        if let Some(m) = header.message(kind::DRIVER_INFO) {
            self.driver = Some(driver_info::message(m.body)?);
        }
        if let Some(m) = header.message(kind::FILE_SPACE).filter(|m| m.flags & flag::WAS_UNKNOWN == 0) {
            self.space = Some(file_space::decode(m.body, sizes)?);
        }
        if let Some(m) = header.message(kind::CACHE_IMAGE) {
            self.load_cache_image(m.body)?;
        }
        if let Some(m) = header.message(kind::SHARED_TABLE) {
            let (table, count) = shared::table_message(m.body, sizes)?;
            let bytes = self.store.block(table, shared::table_bytes(count, sizes), "shared message table")?;
            self.shared_indexes = shared::table(&bytes, count, sizes)?;
        }
        Ok(())
    }

    fn load_cache_image(&mut self, body: &[u8]) -> Result<()> {
        let sizes = self.store.sizes();
        if let (Some(at), bytes) = cache_image::message(body, sizes)? {
            let image = self.store.block(at, bytes, "cache image")?;
            let entries = cache_image::entries(&image, sizes).during_at("read cache image", at.0)?;
            self.store.set_overlay(entries);
        }
        Ok(())
    }
}

impl Drop for Core {
    /// Without a close, what was not committed is lost; that the file is open no more is said all the same.
    fn drop(&mut self) {
        let durability = self.durability;
        if let Some(writer) = &mut self.writer
            && let Ok(writer) = writer.get_mut()
        {
            // Where it fails the mark stays, as after a crash.
            let _ = writer.mark_dropped(durability);
        }
    }
}
