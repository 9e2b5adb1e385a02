//! The parts of an object: links, attributes, chunks. Each has the changes, over the content of the file.
//!
//! A part that is small, or new, is in memory whole, and is built whole. A large one stays in the file: what changed since is
//! kept by name or place, and goes into the indexes of the file, where it belongs. Where much of a part changed, to build it
//! anew costs less than to change it.

mod attributes;
mod chunks;
mod dense;
mod links;
mod records;

use std::collections::{BTreeMap, HashMap};

use model::properties::PhaseChange;
use model::{Error, Kind, Result};

use super::cached_object::EmptyGroupHeader;
use super::storage::Storage;
use crate::format::Address;
use crate::format::group::SymbolTable;
use crate::format::header::Message;
use crate::format::superblock::TreeK;
use crate::object::footprint::Ranges;
use crate::reader::Reader;
use crate::update::fractal_heap::Heap;
use crate::update::symbol_table::{Table, Widths};

pub(crate) use attributes::{AttributeEntry, Attributes};
pub(crate) use chunks::{ChunkChanges, ChunkMap, ChunkSet};
pub(crate) use links::Links;

/// The largest message that stays in a header.
const MESSAGE_BYTES_MAX: usize = 65000;
/// A part is changed where at most one of so many of its entries changed.
const CHANGED_SHARE: u64 = 8;
/// So few changes are always put in their places.
const CHANGES_FEW: u64 = 16;
/// Heaps that stay open after a commit.
const HEAPS_MAX: usize = 16;

/// The state of writing objects.
#[derive(Debug)]
pub(crate) struct Writing<'w> {
    pub(crate) reader: &'w Reader,
    pub(crate) storage: &'w mut Storage,
    pub(crate) cache: &'w mut PartCache,
}

/// The cache of parts of objects that were written.
#[derive(Debug, Default)]
pub(crate) struct PartCache {
    /// The header of the empty group that was written last.
    pub(crate) empty_group: Option<EmptyGroupHeader>,
    /// Heaps that changed. They know what the next commit makes free.
    heaps: HashMap<Address, Heap>,
    /// Symbol tables that changed, by the root of their tree.
    tables: HashMap<Address, Table>,
    /// Indexes of shared messages that lost their last message, each with the commit of which that is.
    pub(super) empty_indexes: BTreeMap<usize, u64>,
}

impl PartCache {
    /// Finishes what waited for the last commit.
    pub(crate) fn before_commit(&mut self, storage: &mut Storage) -> Result<()> {
        let mut waiting = self.heaps.values_mut().filter(|heap| heap.has_pending_removals());
        waiting.try_for_each(|heap| heap.finish(storage))
    }

    /// A commit is done: what is not used soon can be read again.
    pub(crate) fn after_commit(&mut self) {
        if self.heaps.len() > HEAPS_MAX {
            self.heaps.retain(|_, heap| heap.has_pending_removals());
        }
        if self.tables.len() > HEAPS_MAX {
            self.tables.clear();
        }
    }

    /// Forgets the object at this address, which was removed. Another one may be there soon.
    pub(crate) fn forget(&mut self, at: Address) {
        self.heaps.remove(&at);
        self.tables.remove(&at);
    }
}

impl Writing<'_> {
    /// Calls `f` with a heap that is open to change. If it fails, what the heap has in memory is forgotten.
    pub(super) fn with_heap<T>(
        &mut self,
        at: Address,
        f: impl FnOnce(&mut Heap, &mut Storage) -> Result<T>,
    ) -> Result<T> {
        let mut heap = match self.cache.heaps.remove(&at) {
            Some(heap) => heap,
            None => Heap::open(self.storage, at)?,
        };
        let done = f(&mut heap, self.storage)?;
        self.cache.heaps.insert(at, heap);
        Ok(done)
    }

    /// Calls `f` with a symbol table, which is opened or taken from the cache.
    fn with_table<T>(
        &mut self,
        at: SymbolTable,
        f: impl FnOnce(&mut Table, &mut Storage) -> Result<T>,
    ) -> Result<T> {
        let TreeK { group_internal: internal_k, group_leaf: leaf_k, .. } = self.storage.tree_k;
        let mut table = match self.cache.tables.remove(&at.tree) {
            Some(table) => table,
            None => Table::open(self.storage, at, Widths { internal_k, leaf_k })?,
        };
        let done = f(&mut table, self.storage)?;
        self.cache.tables.insert(at.tree, table);
        Ok(done)
    }

    pub(super) fn release(&mut self, blocks: Ranges) {
        blocks.into_iter().for_each(|(at, len)| self.storage.release(at, len));
    }
}

/// A part of an object, and what its header says of it.
#[derive(Debug, Default)]
pub(crate) struct HeaderPart<T> {
    value: T,
    is_dirty: bool,
    /// Its messages as they were written last.
    messages: Vec<Message>,
}

impl<T> HeaderPart<T> {
    /// Returns a part that is not in the file yet.
    pub(crate) fn new(value: T) -> Self {
        HeaderPart { value, is_dirty: true, messages: Vec::new() }
    }

    /// Returns a part that the file has, with its messages.
    fn stored(value: T, messages: Vec<Message>) -> Self {
        HeaderPart { value, is_dirty: false, messages }
    }

    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    /// Returns the value, to be looked at by what keeps something of it.
    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }

    pub(crate) fn change(&mut self) -> &mut T {
        self.is_dirty = true;
        &mut self.value
    }

    /// Returns its messages as they were written last.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(crate) fn weight(&self, of_value: impl FnOnce(&T) -> usize) -> usize {
        let messages: usize = self.messages.iter().map(|m| m.body.len() + 64).sum();
        of_value(&self.value) + messages
    }

    /// Writes the part, if it changed.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut T) -> Result<Vec<Message>>) -> Result<()> {
        if self.is_dirty {
            self.messages = write(&mut self.value)?;
            self.is_dirty = false;
        }
        Ok(())
    }
}

/// Returns whether so many things go to a heap, when they did (`dense`) or did not before.
fn is_dense(count: u64, phase: PhaseChange, dense: bool) -> bool {
    count > u64::from(phase.compact_max) || (dense && count >= u64::from(phase.dense_min))
}

/// Returns whether so many changes are put in their places among `count` entries.
fn is_few(changes: usize, count: u64) -> bool {
    changes as u64 <= CHANGES_FEW.max(count / CHANGED_SHARE)
}

/// Returns whether a structure of the file cannot be changed in place, so that it must be built anew.
fn must_be_built(error: &Error) -> bool {
    error.kind() == Kind::Unsupported
}
