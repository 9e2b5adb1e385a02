//! Reading one open file: its bytes, and caches of what was decoded of them.
//!
//! Readers and the writer ask the same one; the writer says what is out of date.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use files::DriverBlock;
use filters::Registry;
use filters::pipeline::{stage_bytes_max, stages};
use model::convert::Conversions;
use model::properties::FilterSpec;
use model::{Context, Error, Kind, ObjectKind, Result, Token};
use quick_cache::{UnitWeighter, Weighter};
use vol::Released;

use crate::chunk::cache::ChunkCache;
use crate::chunk::load::check_stored;
use crate::format::file_space::{self, FileSpace};
use crate::format::global_heap::HeapId;
use crate::format::header::{flag, kind};
use crate::format::layout::Layout;
use crate::format::superblock::{self, TreeK};
use crate::format::{Address, cache_image, driver_info};
use crate::gate::Gate;
use crate::lazy_cache::LazyCache;
use crate::metadata_cache::{CacheEvent, CacheLog, LookUps};
use crate::object::dataset::{self, Dataset};
use crate::object::decoded::{ByDecoded, DecodedCache};
use crate::object::global_heap::Collection;
use crate::object::header::Header;
use crate::object::shared_table::SharedTable;
use crate::stamped_cache::StampedCache;
use crate::statistics::MetadataCache;
use crate::store::Store;
use crate::work::{Work, WorkBuffers};

/// How often metadata is read while another program writes, before what is wrong with it is an error: as in libhdf5.
pub(crate) const READ_ATTEMPTS: u64 = 100;

/// Datasets whose decoded headers are cached.
const DATASETS_CACHE_COUNT: u64 = 1024;
/// Bytes of decoded trees and heaps that are cached.
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

/// The reader of an open file.
pub(crate) struct Reader {
    pub(crate) store: Store,
    pub(crate) tree_k: TreeK,
    pub(crate) shared: SharedTable,
    pub(crate) space: Option<FileSpace>,
    pub(crate) driver: Option<DriverBlock>,
    /// Where the file has a metadata cache image, and its bytes.
    pub(crate) cache_image: Option<(Address, u64)>,
    pub(crate) chunks: ChunkCache,
    pub(crate) works: WorkBuffers,
    /// Filters.
    pub(crate) registry: Registry,
    /// The caller's own conversions, for sources of virtual datasets.
    pub(crate) conversions: Arc<Conversions>,
    pub(crate) look_ups: LookUps,
    pub(crate) log: CacheLog,
    /// Bytes of metadata that may be cached.
    metadata_cache_bytes: AtomicU64,
    pub(crate) headers: StampedCache<Address, Arc<Header>, ByHeader>,
    pub(crate) collections: StampedCache<Address, Arc<Collection>, ByCollection>,
    pub(crate) datasets: StampedCache<Address, Arc<Dataset>, UnitWeighter>,
    pub(crate) decoded: DecodedCache,
    /// Readers of single objects, where the file is open for writing.
    pub(crate) gate: Option<Arc<Gate>>,
    /// Values that were released, and that readers may still need.
    pub(crate) released: Released<HeapId>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("superblock", &self.store.superblock).finish_non_exhaustive()
    }
}

impl Reader {
    /// Returns what a store holds, read within these bounds of memory.
    pub(crate) fn open(store: Store, chunk_cache_bytes: u64, metadata_cache_bytes: u64) -> Result<Reader> {
        let tree_k = store.superblock.k;
        // Raw blocks have as much again; while the file is written they are not kept, and objects have their part.
        let quarter = metadata_cache_bytes / 4;
        // What another program overwrites must not come back from a cache; the writer of this one says what it replaced.
        let chunk_cache_bytes = if store.is_live() { 0 } else { chunk_cache_bytes };
        let writable = store.is_writable();
        let mut reader = Reader {
            gate: writable.then(Arc::default),
            store,
            tree_k,
            shared: SharedTable::default(),
            space: None,
            driver: None,
            cache_image: None,
            chunks: ChunkCache::new(chunk_cache_bytes),
            works: WorkBuffers::default(),
            registry: Registry::default(),
            conversions: Arc::default(),
            look_ups: LookUps::default(),
            log: CacheLog::default(),
            metadata_cache_bytes: AtomicU64::new(metadata_cache_bytes),
            headers: StampedCache::new(quarter, ByHeader, writable),
            collections: StampedCache::new(quarter, ByCollection, writable),
            datasets: StampedCache::new(DATASETS_CACHE_COUNT, UnitWeighter, writable),
            decoded: LazyCache::new(DECODED_BYTES, ByDecoded),
            released: Released::default(),
        };
        reader.read_driver_block()?;
        reader.read_extension()?;
        Ok(reader)
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
        self.shared = SharedTable::load(&self.store, &header)?;
        Ok(())
    }

    fn load_cache_image(&mut self, body: &[u8]) -> Result<()> {
        let sizes = self.store.sizes();
        if let (Some(at), bytes) = cache_image::message(body, sizes)? {
            let image = self.store.block(at, bytes, "cache image")?;
            let entries = cache_image::entries(&image, sizes).during_at("read cache image", at.0)?;
            self.cache_image = Some((at, bytes));
            match self.store.is_writable() {
                true => crate::write::stage_cache_image(&self.store, &entries)?,
                false => self.store.set_overlay(entries),
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Returns an object's header, through the cache.
    pub(crate) fn header(&self, address: Address) -> Result<Arc<Header>> {
        let load = || self.steady(|| Header::load(&self.store, address)).map(Arc::new);
        let header = self.cached(&self.headers, address, load)?;
        self.log.note(CacheEvent::Protect(address, header.weight()));
        Ok(header)
    }

    /// Caches the header of an object that was just created, which this block has all of.
    pub(crate) fn know_header(&self, address: Address, block: &[u8]) -> Result<()> {
        let header = Header::of_block(address, block);
        self.cached(&self.headers, address, || header.map(Arc::new)).map(drop)
    }

    /// Returns what a cache holds for an address, or what `load` returns, which is cached unless it was removed meanwhile.
    fn cached<V: Clone, W: Weighter<Address, V> + Clone>(
        &self,
        cache: &StampedCache<Address, V, W>,
        at: Address,
        load: impl FnOnce() -> Result<V>,
    ) -> Result<V> {
        let found = cache.get(at);
        self.look_ups.note(at, found.is_some());
        if let Some(value) = found {
            return Ok(value);
        }
        let stamp = cache.stamp(at);
        let value = load()?;
        cache.insert(at, stamp, value.clone());
        Ok(value)
    }

    pub(crate) fn header_of(&self, token: Token) -> Result<Arc<Header>> {
        self.header(Address(token.to_u64()))
    }

    /// Returns a dataset as its header has it, through the cache. How far a virtual one reaches its sources say, which `File` knows.
    pub(crate) fn dataset(&self, token: Token) -> Result<Arc<Dataset>> {
        let address = Address(token.to_u64());
        if let Some(dataset) = self.datasets.get(address) {
            self.look_ups.note(address, true);
            return Ok(dataset);
        }
        let stamp = self.datasets.stamp(address);
        let header = self.header(address)?;
        if header.object_kind()? != ObjectKind::Dataset {
            return Err(Error::invalid("open dataset")
                .at(address.0)
                .with("problem", "object is not a dataset"));
        }
        let load = || dataset::load(self, &header).during_at("open dataset", address.0);
        let dataset = self.steady(load)?;
        let dataset = Arc::new(dataset);
        if !matches!(dataset.layout, Layout::Virtual { .. }) {
            self.datasets.insert(address, stamp, dataset.clone());
        }
        Ok(dataset)
    }

    /// Returns a global heap collection, through the cache.
    pub(crate) fn collection(&self, address: Address) -> Result<Arc<Collection>> {
        self.cached(&self.collections, address, || Collection::load(self, address).map(Arc::new))
    }

    /// Returns what a filter is called, whatever its number.
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
        let decoded = self.registry.decode(&stages(filters), mask, raw, bytes, stage_bytes_max(bytes));
        decoded.map_err(|e| filter_error(UNDO, &e, filters))
    }

    /// Undoes the filters of the bytes that wait in `work.raw`, into a buffer of exactly what comes out.
    pub(crate) fn unfilter_into(
        &self,
        filters: &[FilterSpec],
        mask: u32,
        into: &mut [u8],
        work: &mut Work,
    ) -> Result<()> {
        let bytes_max = stage_bytes_max(into.len());
        let done =
            self.registry.decode_into(&stages(filters), mask, &work.raw, into, bytes_max, &mut work.filters);
        done.map_err(|e| filter_error(UNDO, &e, filters))
    }

    /// Applies filters: bytes, and the mask of those that were left out.
    pub(crate) fn filter(&self, filters: &[FilterSpec], data: Vec<u8>) -> Result<(Vec<u8>, u32)> {
        if filters.is_empty() {
            return Ok((data, 0));
        }
        let plain_bytes = data.len() as u64;
        let encoded =
            self.registry.encode(&stages(filters), data).map_err(|e| filter_error(APPLY, &e, filters))?;
        check_stored(&self.store.limits, plain_bytes, encoded.0.len() as u64)?;
        Ok(encoded)
    }

    /// Returns what `read` says. While another program writes, what was read may be half of a change: then it is read again.
    pub(crate) fn steady<T>(&self, mut read: impl FnMut() -> Result<T>) -> Result<T> {
        let mut done = read();
        for attempt in 1..READ_ATTEMPTS {
            let torn = matches!(&done, Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Io));
            if !self.store.is_live() || !torn {
                break;
            }
            system::thread::sleep(Duration::from_micros(10 * attempt));
            done = read();
        }
        done
    }

    /// Applies filters to a chunk that stays where it is.
    pub(crate) fn filter_into(
        &self,
        filters: &[FilterSpec],
        data: &[u8],
        work: &mut Work,
        out: &mut Vec<u8>,
    ) -> Result<(usize, u32)> {
        let encoded = self.registry.encode_into(&stages(filters), data, &mut work.filters, out);
        let encoded = encoded.map_err(|e| filter_error(APPLY, &e, filters))?;
        check_stored(&self.store.limits, data.len() as u64, encoded.0 as u64)?;
        Ok(encoded)
    }

    /// Forgets an object that changed, and everything that was decoded of it.
    pub(crate) fn forget(&self, at: Address) {
        self.log.note(CacheEvent::Dirty(at));
        self.remove(at);
    }

    /// Removes what was decoded of an object: its caller needs it no more.
    pub(crate) fn evict(&self, at: Address) {
        self.log.note(CacheEvent::Evict(at));
        self.remove(at);
    }

    fn remove(&self, at: Address) {
        self.headers.remove(at);
        self.datasets.remove(at);
    }

    /// Forgets everything that was read or decoded: another process changed the file, which ends at `end` now.
    pub(crate) fn forget_all(&self, end: u64) {
        self.store.forget_all(end);
        self.headers.clear();
        self.collections.clear();
        self.datasets.clear();
        self.decoded.clear();
        self.chunks.forget_all();
    }

    /// Forgets a collection that changed.
    pub(crate) fn forget_collection(&self, at: Address) {
        self.collections.remove(at);
    }
}

impl Reader {
    /// Bounds the metadata that is cached, at most at the largest bound that libhdf5 knows.
    pub(crate) fn set_metadata_cache_bytes(&self, bytes: u64) {
        let bytes = bytes.min(METADATA_CACHE_BYTES_MAX);
        self.metadata_cache_bytes.store(bytes, Ordering::Relaxed);
        self.headers.set_weight_max(bytes / 4);
        self.collections.set_weight_max(bytes / 4);
        self.store.set_cache_bytes(bytes / 2);
    }

    /// Returns what the metadata cache holds, and how often it helped.
    pub(crate) fn metadata_cache(&self) -> MetadataCache {
        let (accesses, hits) = self.look_ups.counts();
        let (store_bytes, store_entries) = self.store.cached();
        let entries = self.headers.len() + self.collections.len() + self.decoded.len() + store_entries;
        let (has_log, is_logging) = self.log.state();
        let image = self.cache_image.filter(|_| !self.store.is_writable());
        MetadataCache {
            accesses,
            hits,
            bytes: self.headers.weight() + self.collections.weight() + self.decoded.weight() + store_bytes,
            bytes_max: self.metadata_cache_bytes.load(Ordering::Relaxed),
            entries: entries as u64,
            image_address: image.map_or(0, |(at, _)| at.0),
            image_bytes: image.map_or(0, |(_, bytes)| bytes),
            has_log: has_log.into(),
            is_logging: is_logging.into(),
        }
    }
}

/// `H5C__MAX_MAX_CACHE_SIZE`
const METADATA_CACHE_BYTES_MAX: u64 = 128 << 20;

const APPLY: &str = "apply filters";
const UNDO: &str = "undo filters";

fn filter_error(operation: &str, error: &filters::Error, filters: &[FilterSpec]) -> Error {
    let names: Vec<String> =
        filters.iter().map(|f| f.name.clone().unwrap_or_else(|| f.id.to_string())).collect();
    let base = match error.kind() {
        filters::ErrorKind::Unsupported => Error::unsupported(operation),
        filters::ErrorKind::Limit => Error::limit(operation),
        // Values that make no sense come from the caller when they are applied, and from the file when they are undone.
        _ if operation == APPLY => Error::invalid(operation),
        _ => Error::corrupt(operation),
    };
    base.with("problem", error).with("pipeline", names.join(", "))
}
