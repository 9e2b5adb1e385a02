//! Changing a file, in four parts, each of which knows only those below it:
//!
//! - the [object cache](object_cache): objects that changed, as values, written when a reader or a commit needs them;
//! - the [chunk store](chunk_store): chunks that changed in part, and the datasets that elements go to;
//! - the allocator and the transaction, together [`Storage`]: space that is free, and bytes that wait for a commit.
//!
//! [`Writer`] puts them together: each operation of the contract is a method in one of the files here.

mod array_update;
mod attributes;
mod blobs;
mod block;
mod chunk_index;
mod chunk_store;
mod chunks;
mod create;
mod datasets;
pub(crate) mod draft;
mod elements;
mod file_space;
mod incoming;
mod link_set;
mod links;
mod object_cache;
mod objects;
mod parts;
mod pending;
mod pipeline;
mod placement;
mod reshape;
mod shared_index;
mod storage;
mod swmr;
mod symbol_table;
mod trees;
mod values;
mod versions;
mod view;

use std::sync::Arc;

use model::{Error, Result};
use vol::{Durability, LibVersion};

use crate::chunk::index::ChunkAt;
use crate::format::Address;
use crate::reader::Reader;
use crate::space::Policy;
use crate::store::Commit;

use blobs::Values;
use chunk_store::ChunkStore;
use draft::Draft;
use object_cache::ObjectCache;
use parts::ChunkSet;
use storage::Storage;

pub(crate) use create::{check as check_create, create_file};
pub(crate) use elements::check_elements;

/// The changes to one open file.
#[derive(Debug)]
pub(crate) struct Writer {
    reader: Arc<Reader>,
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    storage: Storage,
    objects: ObjectCache,
    chunks: ChunkStore,
    values: Values,
}

/// How a writer works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions {
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    /// Bytes of changed objects that may wait in memory.
    pub(crate) drafts_bytes_max: u64,
    /// Bytes of changed chunks that may wait in memory.
    pub(crate) chunks_bytes_max: u64,
    /// How space is managed.
    pub(crate) policy: Policy,
}

impl Writer {
    pub(crate) fn new(reader: Arc<Reader>, options: WriteOptions) -> Self {
        Writer {
            low: options.low,
            storage: Storage::new(&reader, options.policy, options.chunks_bytes_max / 2),
            objects: ObjectCache::new(reader.clone(), options.drafts_bytes_max),
            chunks: ChunkStore::new(options.chunks_bytes_max),
            values: Values::default(),
            reader,
        }
    }

    /// Takes over the free space that the file remembers. What was wrong with it, if it cannot be trusted: then it is lost.
    pub(crate) fn take_account(&mut self) -> Result<Option<Error>> {
        self.storage.take_account(&self.reader)
    }

    /// Writes everything that waits, and takes it for one commit; `None` if there is nothing to commit. Changes of others
    /// go on while that is brought into the file.
    pub(crate) fn begin_commit(&mut self, durability: Durability) -> Result<Option<Commit>> {
        self.remove_released(self.reader.released.due())?;
        self.lay_out_all()?;
        self.trim()?;
        if !self.storage.is_changed() {
            self.storage.store().confirm(durability)?;
            return Ok(None);
        }
        self.objects.kept.before_commit(&mut self.storage)?;
        self.update_shared_indexes()?;
        self.storage.forget_managers()?;
        let without = self.remove_blobs()?;
        let commit = self.storage.seal(durability)?;
        self.blobs_removed(without);
        self.objects.kept.after_commit();
        Ok(Some(commit))
    }

    /// Makes one commit of everything that waits.
    pub(crate) fn commit(&mut self, durability: Durability) -> Result<()> {
        self.begin_commit(durability)?.map_or(Ok(()), Commit::run)
    }

    /// A commit after the last one: from then on the file says what is free.
    pub(crate) fn commit_managers(&mut self, durability: Durability) -> Result<()> {
        self.storage.settle();
        match self.storage.store_managers()? {
            true => self.storage.commit(durability),
            false => Ok(()),
        }
    }

    /// Writes one object, if it changed.
    pub(crate) fn lay_out(&mut self, at: Address) -> Result<()> {
        self.flush_blobs()?;
        self.flush_chunks(at)?;
        if self.objects.existing(at).is_some_and(|draft| draft.is_dirty) {
            self.chunks.forget(at);
        }
        self.objects.write(at, &mut self.storage)
    }

    pub(crate) fn lay_out_all(&mut self) -> Result<()> {
        self.objects.dirty().into_iter().try_for_each(|at| self.lay_out(at))?;
        self.flush_blobs()
    }

    /// The draft of an object, made from its header when it is changed for the first time.
    fn draft(&mut self, at: Address) -> Result<&mut Draft> {
        self.chunks.drafted.take_if(|drafted| drafted.address == at);
        self.objects.draft(at)
    }

    /// The chunks of a dataset, to be changed.
    fn chunks_mut(&mut self, at: Address) -> Result<&mut ChunkSet> {
        self.chunks.drafted.take_if(|drafted| drafted.address == at);
        self.objects.chunks_mut(at)
    }

    /// Where a chunk of a dataset is, with all changes.
    fn chunk_at(&mut self, dataset: Address, scaled: &[u64]) -> Result<Option<ChunkAt>> {
        let reader = self.reader.clone();
        self.objects.draft(dataset)?.chunks_seen(&reader)?.get(&reader, scaled)
    }

    /// Whether a dataset has no chunks, but those that wait in memory.
    fn has_no_chunks(&mut self, dataset: Address) -> Result<bool> {
        let reader = self.reader.clone();
        self.objects.draft(dataset)?.chunks_seen(&reader)?.is_empty(&reader)
    }

    /// A new object, not linked yet.
    fn adopt(&mut self, draft: Draft) -> Address {
        self.chunks.drafted = None;
        self.objects.adopt(draft)
    }

    /// Writes an object and drops its draft, unless nothing in the file leads to it.
    fn evict(&mut self, at: Address) -> Result<()> {
        if self.objects.is_only_here(at) {
            return Ok(());
        }
        self.lay_out(at)?;
        self.objects.evict(at);
        Ok(())
    }

    /// Keeps the memory of drafts below its bound.
    pub(crate) fn trim(&mut self) -> Result<()> {
        self.objects.no_longer_recent().into_iter().try_for_each(|at| self.evict(at))?;
        self.objects.over_budget().into_iter().try_for_each(|at| self.evict(at))
    }

    /// A change is made: says what readers must ask this writer for.
    pub(crate) fn settle_marks(&mut self) {
        self.objects.settle_marks();
        let has_new_values = self.has_new_blobs();
        self.reader.gate.iter().for_each(|gate| gate.set_new_values(has_new_values));
    }

    /// An error for an object that was removed.
    pub(crate) fn check_there(&self, at: Address) -> Result<()> {
        self.objects.check_there(at)
    }

    /// Whether what the file holds of an object is out of date.
    pub(crate) fn must_lay_out(&self, at: Address) -> bool {
        self.has_new_blobs() || self.objects.existing(at).is_some_and(|draft| draft.is_dirty)
    }

    /// The draft of an object that changed already.
    pub(crate) fn existing(&self, at: Address) -> Option<&Draft> {
        self.objects.existing(at)
    }
}
