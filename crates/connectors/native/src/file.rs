//! One open HDF5 file: its store, its superblock extension, and caches of what was decoded.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};

use filters::{Registry, Stage};
use model::properties::{FilterSpec, GroupCreate, SpaceStrategy};
use model::{Context, Error, ObjectKind, Result, Token};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use vol::{Container, Durability, LibVersion, Resolver, VirtualView};

use crate::chunk::cache::ChunkCache;
use crate::format::driver_info::DriverInfo;
use crate::format::file_space::{self, FileSpace};
use crate::format::header::{flag, kind};
use crate::format::shared::{self, SharedIndex};
use crate::format::superblock::{self, TreeK};
use crate::format::{Address, cache_image, driver_info};
use crate::object::dataset::Dataset;
use crate::object::global_heap::Collection;
use crate::object::header::Header;
use crate::store::{INTERRUPTED, Store};
use crate::write::{WriteOptions, Writer};

/// Datasets whose headers are kept in decoded form.
const DATASETS_CACHE_COUNT: usize = 1024;

#[derive(Debug, Clone)]
struct ByHeader;

impl Weighter<Address, Arc<Header>> for ByHeader {
    fn weight(&self, _: &Address, header: &Arc<Header>) -> u64 {
        header.messages.iter().map(|m| m.body.len() as u64 + 64).sum::<u64>() + 256
    }
}

#[derive(Debug, Clone)]
struct ByCollection;

impl Weighter<Address, Arc<Collection>> for ByCollection {
    fn weight(&self, _: &Address, collection: &Arc<Collection>) -> u64 {
        collection.bytes() as u64
    }
}

/// An open file.
pub(crate) struct File {
    pub(crate) store: Store,
    /// The name it was opened by: other files are found from there.
    pub(crate) path: String,
    pub(crate) tree_k: TreeK,
    pub(crate) shared_indexes: Vec<SharedIndex>,
    pub(crate) space: Option<FileSpace>,
    pub(crate) driver: Option<DriverInfo>,
    pub(crate) warnings: Vec<String>,
    pub(crate) resolver: Option<Arc<dyn Resolver>>,
    pub(crate) virtual_view: VirtualView,
    /// What the last commit, on closing, promises.
    pub(crate) durability: Durability,
    pub(crate) chunks: ChunkCache,
    registry: Registry,
    headers: Cache<Address, Arc<Header>, ByHeader>,
    collections: Cache<Address, Arc<Collection>, ByCollection>,
    datasets: Cache<Address, Arc<Dataset>>,
    /// Changes, where the file is open for writing.
    pub(crate) writer: Option<RwLock<Writer>>,
    /// Files that were changed through virtual datasets of this one, by the names it has for them.
    changed_sources: Mutex<Vec<(String, Arc<dyn Container>)>>,
    /// This file, for a virtual dataset whose source is in it too.
    this: OnceLock<Weak<File>>,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File")
            .field("path", &self.path)
            .field("superblock", &self.store.superblock)
            .finish_non_exhaustive()
    }
}

/// What the opener of a file decides.
pub(crate) struct Options {
    pub(crate) path: String,
    pub(crate) resolver: Option<Arc<dyn Resolver>>,
    pub(crate) chunk_cache_bytes: u64,
    pub(crate) metadata_cache_bytes: u64,
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    pub(crate) durability: Durability,
    pub(crate) virtual_view: VirtualView,
    pub(crate) warnings: Vec<String>,
    pub(crate) writable: bool,
}

impl File {
    pub(crate) fn open(store: Store, options: Options) -> Result<Arc<File>> {
        let tree_k = store.superblock.k;
        // Raw blocks have as much again; while the file is written they are not kept, and drafts have their part.
        let quarter = options.metadata_cache_bytes / 4;
        let mut file = File {
            store,
            path: options.path,
            tree_k,
            shared_indexes: Vec::new(),
            space: None,
            driver: None,
            warnings: options.warnings,
            resolver: options.resolver,
            virtual_view: options.virtual_view,
            durability: options.durability,
            // Chunks that a writer replaces must not come back from a cache that a reader fills meanwhile.
            chunks: ChunkCache::new(if options.writable { 0 } else { options.chunk_cache_bytes }),
            registry: Registry::default(),
            headers: Cache::with_weighter(4096, quarter, ByHeader),
            collections: Cache::with_weighter(1024, quarter, ByCollection),
            datasets: Cache::new(DATASETS_CACHE_COUNT),
            writer: None,
            changed_sources: Mutex::default(),
            this: OnceLock::new(),
        };
        file.read_driver_block()?;
        file.read_extension()?;
        if options.writable && file.store.has_overlay() {
            return Err(Error::unsupported("write to a file with a metadata cache image"));
        }
        if options.writable {
            let (superblock, end) = (file.store.superblock.clone(), file.store.end());
            let write = WriteOptions { low: options.low, drafts_bytes_max: 2 * quarter };
            let writer = Writer::new(file.store.shared.clone(), superblock, file.tree_k, end, write);
            file.writer = Some(RwLock::new(writer));
        }
        let file = Arc::new(file);
        file.this.get_or_init(|| Arc::downgrade(&file));
        Ok(file)
    }

    fn changed_sources(&self) -> MutexGuard<'_, Vec<(String, Arc<dyn Container>)>> {
        self.changed_sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that was changed through a virtual dataset: what is not committed can only be read there.
    pub(crate) fn changed_source(&self, name: &str) -> Option<Arc<dyn Container>> {
        self.changed_sources().iter().find(|(n, _)| n == name).map(|(_, container)| container.clone())
    }

    /// The file of a virtual source, open for writing; it is committed and closed with this one.
    pub(crate) fn source_to_change(&self, name: &str) -> Result<Arc<dyn Container>> {
        let mut sources = self.changed_sources();
        if let Some((_, container)) = sources.iter().find(|(n, _)| n == name) {
            return Ok(container.clone());
        }
        let refused = || Error::denied("open virtual source").with("problem", "no resolver was given");
        let resolver = self.resolver.as_ref().ok_or_else(refused)?;
        let container = resolver.container_for_writing(name, &self.path)?;
        sources.push((name.to_owned(), container.clone()));
        Ok(container)
    }

    /// Commits the files that were changed through this one.
    pub(crate) fn commit_sources(&self, durability: Durability) -> Result<()> {
        let sources = self.changed_sources().clone();
        sources.iter().try_for_each(|(_, container)| container.commit(durability))
    }

    /// Closes them, where nobody else uses them.
    pub(crate) fn close_sources(&self) -> Result<()> {
        let sources = std::mem::take(&mut *self.changed_sources());
        let mut alone = sources.iter().filter(|(_, container)| Arc::strong_count(container) == 1);
        alone.try_for_each(|(_, container)| container.close())
    }

    /// One more handle on this file.
    pub(crate) fn again(&self) -> Result<Arc<File>> {
        let this = self.this.get().and_then(Weak::upgrade);
        this.ok_or_else(|| Error::invalid("use file").with("problem", "it is closed"))
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
            self.tree_k = superblock::tree_k(&m.body)?;
        }
        if let Some(m) = header.message(kind::DRIVER_INFO) {
            self.driver = Some(driver_info::message(&m.body)?);
        }
        if let Some(m) = header.message(kind::FILE_SPACE).filter(|m| m.flags & flag::WAS_UNKNOWN == 0) {
            self.space = Some(file_space::decode(&m.body, sizes)?);
        }
        if let Some(m) = header.message(kind::CACHE_IMAGE) {
            self.load_cache_image(&m.body)?;
        }
        if let Some(m) = header.message(kind::SHARED_TABLE) {
            let (table, count) = shared::table_message(&m.body, sizes)?;
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

    /// An object's header, through the cache.
    pub(crate) fn header(&self, address: Address) -> Result<Arc<Header>> {
        self.headers.get_or_insert_with(&address, || Header::load(&self.store, address).map(Arc::new))
    }

    pub(crate) fn header_of(&self, token: Token) -> Result<Arc<Header>> {
        self.header(Address(token.to_u64()))
    }

    /// A dataset, through the cache.
    pub(crate) fn dataset(&self, token: Token) -> Result<Arc<Dataset>> {
        let address = Address(token.to_u64());
        if let Some(dataset) = self.datasets.get(&address) {
            return Ok(dataset);
        }
        let header = self.header(address)?;
        if header.object_kind()? != ObjectKind::Dataset {
            return Err(Error::invalid("open dataset")
                .at(address.0)
                .with("problem", "object is not a dataset"));
        }
        let dataset = crate::object::dataset::load(self, &header).during_at("open dataset", address.0)?;
        let dataset = Arc::new(dataset);
        // A virtual dataset's extent follows its sources: it is worked out anew each time.
        if !matches!(dataset.layout, crate::format::layout::Layout::Virtual { .. }) {
            self.datasets.insert(address, dataset.clone());
        }
        Ok(dataset)
    }

    /// A global heap collection, through the cache.
    pub(crate) fn collection(&self, address: Address) -> Result<Arc<Collection>> {
        self.collections.get_or_insert_with(&address, || Collection::load(self, address).map(Arc::new))
    }

    /// What a filter is called, whatever its number.
    pub(crate) fn filter_name(&self, id: u16) -> String {
        self.registry.name_of(id).map_or_else(|| format!("filter {id}"), str::to_owned)
    }

    /// Undoes filters; `bytes` is what comes out when nothing is wrong.
    pub(crate) fn unfilter(
        &self,
        filters: &[FilterSpec],
        mask: u32,
        raw: Vec<u8>,
        bytes: usize,
    ) -> Result<Vec<u8>> {
        let stages: Vec<Stage<'_>> =
            filters.iter().map(|f| Stage { id: f.id, optional: f.optional, values: &f.values }).collect();
        // Between stages the data may be longer than the chunk: a checksum or a codec's frame around it.
        let bytes_max = bytes.saturating_add(bytes / 2).saturating_add(4096);
        self.registry.decode(&stages, mask, raw, bytes, bytes_max).map_err(|e| filter_error(&e, filters))
    }

    /// Applies filters: bytes, and the mask of those that were left out.
    pub(crate) fn filter(&self, filters: &[FilterSpec], data: Vec<u8>) -> Result<(Vec<u8>, u32)> {
        if filters.is_empty() {
            return Ok((data, 0));
        }
        let stages: Vec<Stage<'_>> =
            filters.iter().map(|f| Stage { id: f.id, optional: f.optional, values: &f.values }).collect();
        self.registry.encode(&stages, data).map_err(|e| filter_error(&e, filters))
    }

    /// An object changed: what was decoded of it is out of date.
    pub(crate) fn forget(&self, at: Address) {
        self.headers.remove(&at);
        self.datasets.remove(&at);
    }

    /// A collection changed.
    pub(crate) fn forget_collection(&self, at: Address) {
        self.collections.remove(&at);
    }

    /// The writer, where the file is open for writing.
    pub(crate) fn writer(&self) -> Result<RwLockWriteGuard<'_, Writer>> {
        let refused = || Error::denied("change file").with("problem", "it is open to read");
        self.writer.as_ref().ok_or_else(refused)?.write().map_err(|_| interrupted())
    }

    /// The writer's state, where there is one. While this is held, nothing in the file moves.
    pub(crate) fn reading(&self) -> Result<Option<RwLockReadGuard<'_, Writer>>> {
        self.writer.as_ref().map(|writer| writer.read().map_err(|_| interrupted())).transpose()
    }

    /// The same, when all values that were stored can be read.
    pub(crate) fn settled_blobs(&self) -> Result<Option<RwLockReadGuard<'_, Writer>>> {
        loop {
            match self.reading()? {
                Some(writer) if writer.has_new_blobs() => drop(writer),
                still => return Ok(still),
            }
            self.writer()?.flush_blobs(self)?;
        }
    }

    /// The same, when what a reader of this object will look at is laid out.
    pub(crate) fn settled(&self, token: Token) -> Result<Option<RwLockReadGuard<'_, Writer>>> {
        let at = Address(token.to_u64());
        loop {
            let Some(writer) = self.reading()? else { return Ok(None) };
            writer.check_there(at)?;
            if !writer.must_lay_out(at) {
                return Ok(Some(writer));
            }
            drop(writer);
            self.writer()?.lay_out(self, at)?;
        }
    }

    /// How the file was created, as far as it still says.
    pub(crate) fn creation(&self, root: GroupCreate) -> model::properties::FileCreate {
        let (sizes, space) = (self.store.sizes(), self.space.as_ref());
        model::properties::FileCreate {
            userblock_bytes: self.store.user_block_bytes(),
            offset_bytes: sizes.offset as u8,
            length_bytes: sizes.length as u8,
            group_leaf_k: self.tree_k.group_leaf,
            group_internal_k: self.tree_k.group_internal,
            chunk_k: self.tree_k.chunk,
            space_strategy: space.map_or(SpaceStrategy::default(), |s| s.strategy),
            space_persist: space.is_some_and(|s| s.persist),
            space_threshold: space.map_or(1, |s| s.threshold),
            page_bytes: space.map_or(4096, |s| s.page_bytes),
            shared_indexes: self
                .shared_indexes
                .iter()
                .map(|i| model::properties::SharedIndex {
                    message_types: i.message_types,
                    bytes_min: i.bytes_min,
                })
                .collect(),
            root,
        }
    }
}

/// Half a change must not become part of a commit, nor be shown.
fn interrupted() -> Error {
    Error::invalid("use file").with("problem", INTERRUPTED)
}

fn filter_error(error: &filters::Error, filters: &[FilterSpec]) -> Error {
    let names: Vec<String> =
        filters.iter().map(|f| f.name.clone().unwrap_or_else(|| f.id.to_string())).collect();
    let base = match error.kind() {
        filters::ErrorKind::Unsupported => Error::unsupported("undo filters"),
        filters::ErrorKind::Limit => Error::limit("undo filters"),
        _ => Error::corrupt("undo filters"),
    };
    base.with("problem", error).with("pipeline", names.join(", "))
}
