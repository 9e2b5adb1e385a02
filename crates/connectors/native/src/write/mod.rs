//! Changing a file: drafts of objects, laid out when they are read or committed.
//!
//! An object that changes becomes a [`Draft`](draft::Draft) in memory, and those of its links, attributes and
//! chunks that change become values. Adding a link to a group of any size costs a look-up in a map. When the
//! object's bytes are needed, by a reader, by a commit or because drafts take too much memory, its header is laid
//! out in place, and those of its parts that changed are built whole in fresh space.

mod array_update;
mod attributes;
mod blobs;
mod block;
mod chunk_index;
mod chunks;
mod create;
mod datasets;
pub(crate) mod draft;
mod elements;
mod file_space;
mod incoming;
mod link_set;
mod links;
mod objects;
mod parts;
mod pending;
mod pipeline;
mod placement;
mod reshape;
mod shared_index;
mod swmr;
mod symbol_table;
mod trees;
mod values;
mod versions;
mod view;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use model::spread::Spread;
use model::{Error, Result};
use vol::{Durability, LibVersion};

use crate::file::File;
use crate::format::superblock::{Superblock, TreeK};
use crate::format::{Address, Sizes};
use crate::object::footprint::Ranges;
use crate::space::{Policy, Space, Use};
use crate::txn::{Publish, Turn};

use draft::{Blank, Draft};

pub(crate) use create::{check as check_create, create_file};

/// The changes to one open file.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) sizes: Sizes,
    pub(crate) tree_k: TreeK,
    store: Arc<crate::store::Shared>,
    space: Space,
    /// What the file says of its free space, where it keeps it.
    account: Option<file_space::Account>,
    superblock: Superblock,
    drafts: HashMap<Address, Box<Draft>, Spread>,
    /// Handles that are open, by object.
    retained: HashMap<Address, u32, Spread>,
    /// Objects that are gone; their room may hold others later.
    removed: HashSet<Address, Spread>,
    blobs: Option<blobs::OpenCollection>,
    /// Values that were given up; the last commit may still use them.
    doomed: BTreeMap<Address, BTreeSet<u32>>,
    /// Headers whose messages the indexes of shared messages must not lead to any more.
    unindexed: BTreeSet<Address>,
    /// Whether anything was written since the last commit.
    is_changed: bool,
    /// What is allocated while a part of an object is built, so that it can be given back when it is built anew.
    building: Option<Ranges>,
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    /// Bytes of drafts that may wait in memory.
    drafts_bytes_max: u64,
    /// The header of the empty group that was laid out last.
    blank: Option<Blank>,
    /// Objects made lately, in the order of their making.
    newborn: VecDeque<Address>,
    /// Counts uses of drafts.
    clock: u64,
    /// Readers of other programs look on.
    is_swmr: bool,
    /// Chunks that were stored since the index of their dataset was laid out, while readers look on; `None` where some were
    /// taken away too.
    changed_chunks: HashMap<Address, Option<BTreeSet<Vec<u64>>>>,
    /// The dataset that was written last, with an extent that its header may not have yet.
    current: Option<Arc<crate::object::dataset::Dataset>>,
    /// The dataset that elements went to last, while its header waits.
    drafted: Option<Arc<crate::object::dataset::Dataset>>,
    /// Chunks that changed in part.
    pending: pending::Pending,
    /// Bytes that drafts may take: what was found when they were weighed, and a guess at what came since.
    drafts_bytes: u64,
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

/// Bytes that one use of a draft may add to it, as a rule.
const USE_BYTES: u64 = 256;
/// A draft is in use when it was used so few uses of any draft ago.
const USES_IN_USE: u64 = 64;
/// New objects that are kept in memory in any case.
const NEWBORN_MAX: usize = 256;
/// Those that are larger stay until memory is needed.
const NEWBORN_BYTES_MAX: u64 = 8 << 10;
/// Bytes of a small draft.
const DRAFT_BYTES: u64 = 1024;

impl Writer {
    pub(crate) fn new(
        store: Arc<crate::store::Shared>,
        superblock: Superblock,
        tree_k: TreeK,
        end: u64,
        options: WriteOptions,
    ) -> Self {
        Writer {
            sizes: superblock.sizes,
            tree_k,
            store,
            space: Space::new(options.policy, end),
            account: None,
            superblock,
            drafts: HashMap::default(),
            retained: HashMap::default(),
            removed: HashSet::default(),
            blobs: None,
            doomed: BTreeMap::new(),
            unindexed: BTreeSet::new(),
            is_changed: false,
            building: None,
            low: options.low,
            drafts_bytes_max: options.drafts_bytes_max,
            blank: None,
            newborn: VecDeque::new(),
            clock: 0,
            is_swmr: false,
            changed_chunks: HashMap::new(),
            current: None,
            drafted: None,
            pending: pending::Pending::new(options.chunks_bytes_max),
            drafts_bytes: 0,
        }
    }

    /// What `build` says, and the room that it allocated.
    pub(crate) fn note_allocated<T>(&mut self, build: impl FnOnce(&mut Writer) -> T) -> (T, Ranges) {
        let outer = self.building.replace(Vec::new());
        let built = build(self);
        let allocated = std::mem::replace(&mut self.building, outer).unwrap_or_default();
        (built, allocated)
    }

    /// Room for `len` bytes of metadata, which may be read from now on.
    pub(crate) fn allocate(&mut self, len: u64) -> Address {
        self.allocate_for(len, Use::Metadata)
    }

    /// Room for `len` bytes of elements or values.
    pub(crate) fn allocate_raw(&mut self, len: u64) -> Address {
        self.allocate_for(len, Use::Raw)
    }

    fn allocate_for(&mut self, len: u64, what: Use) -> Address {
        let at = self.space.allocate(len, what);
        self.removed.remove(&at);
        self.store.set_end(self.space.end());
        if let Some(building) = &mut self.building {
            building.push((at, len));
        }
        at
    }

    /// Whether nothing that was committed is there.
    pub(crate) fn is_fresh(&self, at: Address, len: u64) -> bool {
        at.0.checked_add(len).is_some_and(|stop| self.space.is_fresh(at.0, stop))
    }

    pub(crate) fn release(&mut self, at: Address, len: u64) {
        self.give_back(at, len, Use::Metadata);
    }

    /// Gives back room of elements or values.
    pub(crate) fn release_raw(&mut self, at: Address, len: u64) {
        self.give_back(at, len, Use::Raw);
    }

    fn give_back(&mut self, at: Address, len: u64, used: Use) {
        // A reader that looks on may still be there.
        if !self.is_swmr {
            self.space.release(at, len, used);
        }
    }

    pub(crate) fn write(&mut self, at: Address, data: &[u8]) -> Result<()> {
        self.write_in_turn(at, data, Turn::Middle)
    }

    /// Writes bytes that are published before or after those that point to them.
    pub(crate) fn write_in_turn(&mut self, at: Address, data: &[u8], turn: Turn) -> Result<()> {
        self.is_changed = true;
        self.store.write(at, data, turn)
    }

    /// Lays out everything and makes it one commit.
    pub(crate) fn commit(&mut self, file: &File, durability: Durability) -> Result<()> {
        self.remove_released(file, file.released.due())?;
        self.lay_out_all(file)?;
        self.trim(file)?;
        if !self.is_changed {
            return self.store.confirm(durability);
        }
        self.update_shared_indexes(file)?;
        self.forget_managers()?;
        let without = self.remove_blobs(file)?;
        self.publish(durability)?;
        self.blobs_removed(file, without);
        self.store.add_fresh(self.space.commit())
    }

    /// A commit after the last one: from then on the file says what is free.
    pub(crate) fn commit_managers(&mut self, durability: Durability) -> Result<()> {
        if !self.store_managers()? {
            return Ok(());
        }
        self.publish(durability)?;
        self.store.add_fresh(self.space.commit())
    }

    fn publish(&mut self, durability: Durability) -> Result<()> {
        self.space.cut_end();
        self.store.set_end(self.space.end());
        self.superblock.end = self.superblock.base + self.space.end();
        let superblock = self.superblock.encode()?;
        let end = self.superblock.end;
        let publish = Publish { superblock_at: self.store.base(), superblock: &superblock, end };
        self.store.commit(&publish, durability)?;
        self.is_changed = false;
        Ok(())
    }

    /// Lays out one object, if it changed.
    pub(crate) fn lay_out(&mut self, file: &File, at: Address) -> Result<()> {
        self.flush_blobs(file)?;
        self.flush_chunks(file, at)?;
        let Entry::Occupied(place) = self.drafts.entry(at) else { return Ok(()) };
        if !place.get().is_dirty {
            return Ok(());
        }
        let mut draft = place.remove();
        let done = self.lay_out_draft(file, &mut draft);
        self.drafts.insert(at, draft);
        done
    }

    /// Lays out a draft that is not among the others for the moment, if it changed.
    fn lay_out_draft(&mut self, file: &File, draft: &mut Draft) -> Result<()> {
        let at = draft.address;
        if !draft.is_dirty {
            return Ok(());
        }
        self.forget_current(at);
        if std::mem::take(&mut draft.is_indexed) {
            self.take_out_of_index(at);
        }
        let done = draft.lay_out(self);
        if at == self.superblock.root && self.superblock.version < 2 {
            self.superblock.root_cached = draft.cached(self.sizes);
        }
        file.forget(at);
        done
    }

    pub(crate) fn lay_out_all(&mut self, file: &File) -> Result<()> {
        let dirty = self.drafts.iter().filter(|(_, d)| d.is_dirty).map(|(at, _)| *at);
        let mut dirty: Vec<Address> = dirty.collect();
        // In the order of the file, so that what lies side by side is written at once.
        dirty.sort_unstable();
        dirty.into_iter().try_for_each(|at| self.lay_out(file, at))?;
        self.flush_blobs(file)
    }

    /// The draft of an object, made from its header when it is changed for the first time.
    pub(crate) fn draft(&mut self, file: &File, at: Address) -> Result<&mut Draft> {
        self.check_there(at)?;
        self.clock += 1;
        self.drafts_bytes += USE_BYTES;
        self.drafted.take_if(|drafted| drafted.address == at);
        let draft = match self.drafts.entry(at) {
            Entry::Occupied(draft) => draft.into_mut(),
            Entry::Vacant(place) => {
                let unknown = |e: Error| Error::not_found("open object").at(at.0).because(e);
                self.drafts_bytes += DRAFT_BYTES;
                place.insert(Box::new(Draft::load(file, at).map_err(unknown)?))
            }
        };
        draft.used = self.clock;
        draft.blank = None;
        Ok(draft)
    }

    /// Writes small objects that were made some time ago, and drops their drafts while they are still at hand: as a
    /// rule nobody comes back to them soon.
    fn settle_newborn(&mut self, file: &File) -> Result<()> {
        while self.newborn.len() > NEWBORN_MAX
            && let Some(at) = self.newborn.pop_front()
        {
            if self.existing(at).is_some_and(|d| d.weight() <= NEWBORN_BYTES_MAX) {
                self.drop_draft(file, at)?;
            }
        }
        Ok(())
    }

    /// Writes an object and drops its draft, unless nothing in the file leads to it: then its draft is all there is.
    fn drop_draft(&mut self, file: &File, at: Address) -> Result<()> {
        if self.existing(at).is_none_or(|d| d.references == 0) {
            return Ok(());
        }
        self.flush_blobs(file)?;
        self.flush_chunks(file, at)?;
        let Some(mut draft) = self.drafts.remove(&at) else { return Ok(()) };
        let done = self.lay_out_draft(file, &mut draft);
        if done.is_err() {
            self.drafts.insert(at, draft);
        }
        done
    }

    /// Keeps the memory of drafts below its bound: those used longest ago are laid out and dropped.
    pub(crate) fn trim(&mut self, file: &File) -> Result<()> {
        self.settle_newborn(file)?;
        if self.drafts_bytes <= self.drafts_bytes_max {
            return Ok(());
        }
        let mut weight: u64 = self.drafts.values().map(|draft| draft.weight()).sum();
        let mut by_use: Vec<(u64, Address)> = self.drafts.iter().map(|(at, d)| (d.used, *at)).collect();
        by_use.sort_unstable();
        // What is in use stays, however large it is: to build it anew for every change would take for ever.
        let idle = by_use.iter().take_while(|(used, _)| used + USES_IN_USE < self.clock);
        for (_, at) in idle.copied().collect::<Vec<_>>() {
            if weight <= self.drafts_bytes_max / 2 {
                break;
            }
            weight = weight.saturating_sub(self.existing(at).map_or(0, Draft::weight));
            self.drop_draft(file, at)?;
        }
        self.drafts_bytes = weight.min(self.drafts_bytes_max / 2);
        Ok(())
    }

    /// An error for an object that was removed.
    pub(crate) fn check_there(&self, at: Address) -> Result<()> {
        if self.removed.contains(&at) { Err(Error::not_found("open object").at(at.0)) } else { Ok(()) }
    }

    /// Whether what the file holds of an object is out of date.
    pub(crate) fn must_lay_out(&self, at: Address) -> bool {
        self.has_new_blobs() || self.existing(at).is_some_and(|draft| draft.is_dirty)
    }

    /// The draft of an object that changed already.
    pub(crate) fn existing(&self, at: Address) -> Option<&Draft> {
        self.drafts.get(&at).map(Box::as_ref)
    }
}
