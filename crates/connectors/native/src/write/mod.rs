//! Changing a file, in five parts, each of which knows only those below it:
//!
//! - the [object cache](object_cache): objects that changed, as values, written when a reader or a commit needs them;
//! - the [chunk store](chunk_store): chunks that changed in part, and the datasets that elements go to;
//! - [values](blobs) of variable length;
//! - the allocator and the transaction, together [`Storage`]: space that is free, and bytes that wait for a commit.
//!
//! [`Writer`] puts them together: an operation of the contract that needs several of them is a method of it, in one of the files
//! here; one that needs a single part is a method of that part.

mod array_update;
mod attributes;
mod blobs;
mod block;
mod cache_image;
pub(crate) mod cached_object;
mod chunk_index;
mod chunk_store;
mod chunks;
mod create;
mod datasets;
mod elements;
mod file_space;
mod followed;
mod incoming;
mod link_set;
mod links;
mod members;
mod object_cache;
mod objects;
mod parts;
mod pending;
mod pipeline;
mod placement;
mod references;
mod reshape;
mod shared_index;
mod shared_messages;
mod storage;
mod swmr;
mod symbol_table;
mod trees;
mod values;
mod versions;
mod view;

use std::sync::Arc;

use model::{Result, Token};
use vol::{Durability, LibVersion};

use crate::format::Address;
use crate::format::header::kind;
use crate::format::layout::Layout;
use crate::object::dataset::Dataset;
use crate::reader::Reader;
use crate::space::Policy;
use crate::store::Commit;

use blobs::Values;
use chunk_store::ChunkStore;
use object_cache::ObjectCache;
use storage::Storage;
use versions::Versions;

pub(crate) use cache_image::stage as stage_cache_image;
pub(crate) use create::{check as check_create, create_file};
pub(crate) use elements::check_elements;
pub(crate) use incoming::filters_of;

/// The changes to one open file.
#[derive(Debug)]
pub(crate) struct Writer {
    reader: Arc<Reader>,
    versions: Versions,
    pub(crate) storage: Storage,
    pub(crate) objects: ObjectCache,
    chunks: ChunkStore,
    pub(crate) values: Values,
    /// A cache image is written when the file is closed.
    has_cache_image: bool,
}

/// How a writer works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions {
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    /// Newest generation whose structures are written.
    pub(crate) high: LibVersion,
    /// Bytes of changed objects that may wait in memory.
    pub(crate) dirty_bytes_max: u64,
    /// Bytes of changed chunks that may wait in memory.
    pub(crate) chunks_bytes_max: u64,
    /// How space is managed.
    pub(crate) policy: Policy,
    /// Whether a cache image is written when the file is closed.
    pub(crate) cache_image: bool,
}

impl Writer {
    pub(crate) fn new(reader: Arc<Reader>, options: WriteOptions) -> Self {
        Writer {
            versions: Versions { low: options.low, high: options.high },
            storage: Storage::new(&reader, options.policy, options.chunks_bytes_max / 2),
            objects: ObjectCache::new(reader.clone(), options.dirty_bytes_max),
            chunks: ChunkStore::new(options.chunks_bytes_max),
            values: Values::new(reader.clone()),
            has_cache_image: options.cache_image,
            reader,
        }
    }

    /// Sets which generations' structures are written from now on.
    pub(crate) fn set_version_bounds(&mut self, low: LibVersion, high: LibVersion) {
        self.versions = Versions { low, high };
    }

    /// Returns the dataset with all changes: as readers find it in the file, or as its object in memory says, if that is all that is
    /// needed. What changed is not written for it, unless that is the only way to tell: [`Writer::serialize`] does that.
    pub(crate) fn dataset(&mut self, at: Address) -> Result<Arc<Dataset>> {
        self.objects.check_there(at)?;
        if let Some(current) = self.chunks.current(at) {
            return Ok(current.clone());
        }
        let changed = self.objects.existing(at).filter(|cached| cached.is_dirty);
        let dataset = match changed.map(|cached| cached.dataset(&self.reader)) {
            Some(dataset) => dataset?,
            None => return self.reader.dataset(Token::from_u64(at.0)),
        };
        if let Some(dataset) = &dataset {
            self.chunks.set_current(dataset.clone());
        }
        dataset.map_or_else(|| self.stored_dataset(at), Ok)
    }

    /// Returns the dataset when all of it is in the file.
    fn stored_dataset(&mut self, at: Address) -> Result<Arc<Dataset>> {
        self.serialize(at)?;
        self.reader.dataset(Token::from_u64(at.0))
    }

    /// Says where the elements of a dataset are from now on.
    fn set_layout(&mut self, at: Address, layout: &Layout) -> Result<()> {
        let body = layout.encode_new(self.storage.sizes)?;
        self.objects.load(at)?.set(kind::LAYOUT, 0, body);
        self.chunks.forget(at);
        Ok(())
    }

    /// Writes everything that waits, and takes it for one commit; `None` if there is nothing to commit. Changes of others
    /// go on while that is brought into the file.
    pub(crate) fn begin_commit(&mut self, durability: Durability) -> Result<Option<Commit>> {
        self.remove_released(self.reader.released.due())?;
        self.serialize_all()?;
        self.trim()?;
        if !self.storage.is_changed() {
            self.storage.store().confirm(durability)?;
            return Ok(None);
        }
        self.objects.parts.before_commit(&mut self.storage)?;
        self.objects.update_shared_indexes(&mut self.storage)?;
        self.storage.forget_managers()?;
        let without = self.values.before_commit(&mut self.storage)?;
        let commit = self.storage.seal(durability)?;
        self.values.after_commit(without, &mut self.storage);
        self.objects.parts.after_commit();
        Ok(Some(commit))
    }

    /// Makes one commit of everything that waits.
    pub(crate) fn commit(&mut self, durability: Durability) -> Result<()> {
        self.begin_commit(durability)?.map_or(Ok(()), Commit::run)
    }

    /// Writes one object, if it changed.
    pub(crate) fn serialize(&mut self, at: Address) -> Result<()> {
        self.values.flush(&mut self.storage)?;
        self.flush_chunks(at)?;
        if self.objects.existing(at).is_some_and(|cached| cached.is_dirty) {
            self.chunks.forget(at);
        }
        self.objects.write(at, &mut self.storage)
    }

    pub(crate) fn serialize_all(&mut self) -> Result<()> {
        self.objects.dirty().into_iter().try_for_each(|at| self.serialize(at))?;
        self.values.flush(&mut self.storage)
    }

    /// Writes an object and drops it from the cache, unless nothing in the file leads to it.
    fn evict(&mut self, at: Address) -> Result<()> {
        if self.objects.is_only_here(at) {
            return Ok(());
        }
        self.serialize(at)?;
        self.objects.evict(at);
        Ok(())
    }

    /// Keeps the memory of objects below its bound.
    pub(crate) fn trim(&mut self) -> Result<()> {
        if self.objects.has_no_more_than_it_may() {
            return Ok(());
        }
        self.objects.no_longer_recent().into_iter().try_for_each(|at| self.evict(at))?;
        self.objects.over_budget().into_iter().try_for_each(|at| self.evict(at))
    }

    /// A change is made: says what readers must ask this writer for.
    pub(crate) fn clear_read_marks(&mut self) {
        self.objects.clear_read_marks();
        let has_new_values = self.values.has_new();
        self.reader.gate.iter().for_each(|gate| gate.set_new_values(has_new_values));
    }

    /// Returns whether what the file holds of an object is out of date.
    pub(crate) fn must_serialize(&self, at: Address) -> bool {
        self.values.has_new() || self.objects.existing(at).is_some_and(|cached| cached.is_dirty)
    }
}
