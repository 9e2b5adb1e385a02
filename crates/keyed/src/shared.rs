//! The state that all handles of one container in this process share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use model::properties::FileCreate;
use model::{Budget, Limits, Result};
use system::sync::{Mutex, MutexGuard, RwLock};
use vol::Released;

use crate::mapping::{Mapping, Objects};
use crate::reference_counts::ReferenceCounts;
use crate::{AttributeHeader, Elements, Listings, ObjectHeader, PartialChunks};

/// Locks of datasets: more than threads that write at once.
const LOCKS: usize = 64;
/// Headers in the cache; with more, all are dropped.
const HEADERS_MAX: usize = 1 << 16;

/// Object headers by their objects: every operation looks here.
type Headers<M> = HashMap<<M as crate::mapping::Identities>::Id, Arc<ObjectHeader<M>>, ahash::RandomState>;

/// One container that is open in this process.
#[derive(Debug)]
pub struct Shared<M: Mapping> {
    /// Where everything is stored.
    pub mapping: M,
    /// Listings that were made.
    pub listings: Listings<M::Id>,
    pub(crate) create: FileCreate,
    pub(crate) is_writable: bool,
    /// Filters of the registry that the container was opened with.
    pub(crate) filters: filters::Registry,
    /// Blobs that were released, and that readers may still need.
    pub(crate) released: Released<M::BlobId>,
    /// The account that memory for the container's content is charged to: that of its first handle.
    budget: OnceLock<Budget>,
    /// Number of handles.
    handles: AtomicU64,
    /// Locked while links, attributes and reference counts change.
    counts: Mutex<ReferenceCounts<M::Id>>,
    /// Elements of one dataset change under its lock; datasets share locks by their numbers.
    locks: Vec<RwLock<()>>,
    partial_chunks: Mutex<PartialChunks<M::Id>>,
    headers: Mutex<Headers<M>>,
    /// The attribute that was created last: most are looked up and written next.
    recent_attribute: Mutex<Option<RecentAttribute<M>>>,
}

#[derive(Debug)]
struct RecentAttribute<M: Objects> {
    object: M::Id,
    name: String,
    header: Arc<AttributeHeader<M>>,
}

impl<M: Mapping> Shared<M> {
    /// Returns the state of a container without handles.
    pub fn new(mapping: M, create: FileCreate, is_writable: bool, filters: filters::Registry) -> Self {
        Shared {
            mapping,
            listings: Listings::default(),
            create,
            is_writable,
            filters,
            released: Released::default(),
            budget: OnceLock::new(),
            handles: AtomicU64::new(0),
            counts: Mutex::default(),
            locks: (0..LOCKS).map(|_| RwLock::default()).collect(),
            partial_chunks: Mutex::default(),
            headers: Mutex::default(),
            recent_attribute: Mutex::new(None),
        }
    }

    /// Counts a new handle.
    pub(crate) fn add_handle(&self, budget: impl FnOnce() -> Budget) {
        self.handles.fetch_add(1, Ordering::SeqCst);
        self.budget.get_or_init(budget);
    }

    /// Counts one handle less, and returns whether it was the last.
    pub(crate) fn remove_handle(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Locks links, attributes and reference counts.
    pub fn reference_counts(&self) -> MutexGuard<'_, ReferenceCounts<M::Id>> {
        self.counts.lock()
    }

    /// Returns the lock of a dataset's elements, or of a map's values.
    pub(crate) fn lock_of(&self, id: M::Id) -> &RwLock<()> {
        // There are LOCKS of them.
        &self.locks[M::number(id) as usize % LOCKS]
    }

    /// Returns the elements of all datasets.
    pub fn elements(&self) -> Elements<'_, M> {
        let budget = self.budget.get().cloned().unwrap_or_default();
        let (chunks, listings) = (&self.mapping, &self.listings);
        Elements { chunks, listings, partial_chunks: &self.partial_chunks, filters: &self.filters, budget }
    }

    /// Returns the header of an object, from the cache if it is there.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such object, and `Corrupt` if its header cannot be decoded.
    pub(crate) fn header(&self, id: M::Id, limits: &Limits) -> Result<Arc<ObjectHeader<M>>> {
        if let Some(known) = self.headers.lock().get(&id) {
            return Ok(known.clone());
        }
        let header = Arc::new(self.mapping.read_header(id, limits)?);
        self.cache_header(header.clone());
        Ok(header)
    }

    /// Puts the header of an object that is new or changed into the cache.
    pub(crate) fn cache_header(&self, header: Arc<ObjectHeader<M>>) {
        let mut headers = self.headers.lock();
        if headers.len() >= HEADERS_MAX {
            headers.clear();
        }
        headers.insert(header.id, header);
    }

    /// Remembers the attribute that was created last.
    pub(crate) fn set_recent_attribute(&self, object: M::Id, name: &str, header: AttributeHeader<M>) {
        let (name, header) = (name.to_owned(), Arc::new(header));
        *self.recent_attribute.lock() = Some(RecentAttribute { object, name, header });
    }

    /// Returns the header of an attribute if it is the one that was created last.
    pub(crate) fn recent_attribute(&self, object: M::Id, name: &str) -> Option<Arc<AttributeHeader<M>>> {
        let recent = self.recent_attribute.lock();
        let recent = recent.as_ref().filter(|recent| recent.object == object && recent.name == name);
        recent.map(|recent| recent.header.clone())
    }

    /// Forgets the attribute that was created last: it may be gone.
    pub(crate) fn forget_recent_attribute(&self) {
        *self.recent_attribute.lock() = None;
    }

    /// Drops the changed parts of a dataset's chunks.
    pub(crate) fn forget_partial_chunks(&self, dataset: M::Id) {
        self.partial_chunks.lock().forget(dataset);
    }

    /// Drops what is cached of an object's header and listings. Chunks that changed in part stay.
    pub(crate) fn forget_header(&self, id: M::Id) {
        self.forget_recent_attribute();
        self.headers.lock().remove(&id);
        self.listings.changed(id);
    }

    /// Drops everything that is cached of an object that was removed.
    pub fn forget(&self, id: M::Id) {
        self.forget_partial_chunks(id);
        self.forget_header(id);
    }

    /// Drops everything that is cached of what is stored: it may have changed.
    pub(crate) fn forget_all(&self) {
        self.forget_recent_attribute();
        self.headers.lock().clear();
        self.listings.clear();
    }

    /// Makes all changes durable and, if the container is shared with other processes, sees theirs.
    pub(crate) fn flush(&self) -> Result<()> {
        self.elements().flush_all()?;
        self.mapping.flush()?;
        if self.mapping.is_concurrent() {
            self.forget_all();
        }
        Ok(())
    }
}
