//! Objects that changed or may change, in memory: read once, written when a reader or a commit needs them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use model::spread::Spread;
use model::{Error, Result};

use super::cached_object::CachedObject;
use super::parts::{Attributes, ChunkSet, Links, PartCache, Writing};
use super::storage::Storage;
use crate::chunk::index::ChunkAt;
use crate::format::Address;
use crate::reader::Reader;

/// Bytes that one use of an object may add to it, as a rule.
const USE_BYTES: u64 = 256;
/// An object is in use if fewer uses of any object than this were since.
const USES_IN_USE: u64 = 64;
/// New objects that stay in memory in any case.
const RECENT_MAX: usize = 256;
/// Those that are larger stay until memory is needed.
const RECENT_BYTES_MAX: u64 = 8 << 10;
/// Bytes of a small object.
const DRAFT_BYTES: u64 = 1024;

/// Dirty objects, within a budget of bytes.
#[derive(Debug)]
pub(crate) struct ObjectCache {
    pub(super) reader: Arc<Reader>,
    objects: HashMap<Address, Box<CachedObject>, Spread>,
    /// Handles that are open, by object.
    retained: HashMap<Address, u32, Spread>,
    /// Objects that are gone; their space may hold others later.
    removed: HashSet<Address, Spread>,
    /// Headers whose messages the indexes of shared messages must not lead to any more.
    pub(super) unindexed: BTreeSet<Address>,
    /// The cache of parts of objects that were written.
    pub(super) parts: PartCache,
    /// Objects whose readers ask the writer since the change that is being made began.
    marked: Vec<Address>,
    /// Objects created recently, in the order of their creation.
    recent: VecDeque<Address>,
    /// Counts uses of objects.
    clock: u64,
    /// Bytes that objects may take: what was found when they were weighed, and a guess at what came since.
    bytes: u64,
    bytes_max: u64,
}

impl ObjectCache {
    pub(super) fn new(reader: Arc<Reader>, bytes_max: u64) -> Self {
        ObjectCache {
            reader,
            objects: HashMap::default(),
            retained: HashMap::default(),
            removed: HashSet::default(),
            unindexed: BTreeSet::new(),
            parts: PartCache::default(),
            marked: Vec::new(),
            recent: VecDeque::new(),
            clock: 0,
            bytes: 0,
            bytes_max,
        }
    }

    /// Returns the object in the cache, loaded from its header when it is changed for the first time.
    pub(super) fn load(&mut self, at: Address) -> Result<&mut CachedObject> {
        self.check_there(at)?;
        self.clock += 1;
        self.bytes += USE_BYTES;
        let cached = match self.objects.entry(at) {
            Entry::Occupied(cached) => cached.into_mut(),
            Entry::Vacant(place) => {
                let unknown = |e: Error| Error::not_found("open object").at(at.0).because(e);
                self.bytes += DRAFT_BYTES;
                place.insert(Box::new(CachedObject::load(&self.reader, at).map_err(unknown)?))
            }
        };
        cached.used = self.clock;
        cached.empty_group = None;
        if !std::mem::replace(&mut cached.is_marked, true) {
            self.marked.push(at);
            self.reader.gate.iter().for_each(|gate| gate.mark_dirty(at));
        }
        Ok(cached)
    }

    /// Returns the links of a group, to be changed.
    pub(super) fn links_mut(&mut self, at: Address) -> Result<&mut Links> {
        let reader = self.reader.clone();
        self.load(at)?.links_mut(&reader)
    }

    /// Returns the attributes of an object, to be changed.
    pub(super) fn attributes_mut(&mut self, at: Address) -> Result<&mut Attributes> {
        let reader = self.reader.clone();
        self.load(at)?.attributes_mut(&reader)
    }

    /// Returns the chunks of a dataset, to be changed.
    pub(super) fn chunks_mut(&mut self, at: Address) -> Result<&mut ChunkSet> {
        let reader = self.reader.clone();
        self.load(at)?.chunks_mut(&reader)
    }

    /// Returns where a chunk of a dataset is, with all changes.
    pub(super) fn chunk_at(&mut self, dataset: Address, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        let reader = self.reader.clone();
        self.load(dataset)?.chunks_seen(&reader)?.get(&reader, chunk_coords)
    }

    /// Returns whether a dataset has no chunks, but those that wait in memory.
    pub(super) fn has_no_chunks(&mut self, dataset: Address) -> Result<bool> {
        let reader = self.reader.clone();
        self.load(dataset)?.chunks_seen(&reader)?.is_empty(&reader)
    }

    /// Returns the object, if it is in the cache.
    pub(crate) fn existing(&self, at: Address) -> Option<&CachedObject> {
        self.objects.get(&at).map(Box::as_ref)
    }

    pub(super) fn existing_mut(&mut self, at: Address) -> Option<&mut CachedObject> {
        self.objects.get_mut(&at).map(Box::as_mut)
    }

    /// Returns a new object, not linked yet.
    pub(super) fn adopt(&mut self, mut cached: CachedObject) -> Address {
        let at = cached.address;
        self.removed.remove(&at);
        self.clock += 1;
        self.bytes += DRAFT_BYTES;
        (cached.used, cached.is_marked) = (self.clock, true);
        self.reader.gate.iter().for_each(|gate| gate.mark_new(at));
        self.recent.push_back(at);
        self.objects.insert(at, Box::new(cached));
        at
    }

    /// Removes an object from the cache.
    pub(super) fn remove(&mut self, at: Address) -> Option<Box<CachedObject>> {
        let cached = self.objects.remove(&at)?;
        // It stays in `removed`, so that readers get an error that says so.
        self.removed.insert(at);
        if cached.is_indexed {
            self.unindexed.insert(at);
        }
        Some(cached)
    }

    /// Returns where the objects are that are in the cache.
    pub(super) fn addresses(&self) -> impl Iterator<Item = Address> + '_ {
        self.objects.keys().copied()
    }

    /// Returns an error for an object that was removed.
    pub(crate) fn check_there(&self, at: Address) -> Result<()> {
        if self.is_removed(at) { Err(Error::not_found("open object").at(at.0)) } else { Ok(()) }
    }

    pub(super) fn is_removed(&self, at: Address) -> bool {
        self.removed.contains(&at)
    }

    pub(super) fn is_retained(&self, at: Address) -> bool {
        self.retained.contains_key(&at)
    }

    /// Adds a handle to an object.
    pub(crate) fn retain(&mut self, at: Address) -> Result<()> {
        self.check_there(at)?;
        *self.retained.entry(at).or_insert(0) += 1;
        Ok(())
    }

    /// Counts one handle less, and returns whether it was the last.
    pub(super) fn release(&mut self, at: Address) -> Result<bool> {
        let Some(count) = self.retained.get_mut(&at) else {
            return Err(Error::invalid("release object").at(at.0).with("problem", "no handle is open"));
        };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            self.retained.remove(&at);
        }
        Ok(is_last)
    }

    /// Returns all objects with handles, which have none from now on.
    pub(super) fn release_all(&mut self) -> Vec<Address> {
        std::mem::take(&mut self.retained).into_keys().collect()
    }

    /// Returns the objects that the file does not hold as they are, in the order of the file: what lies side by side
    /// is written at once.
    pub(super) fn dirty(&self) -> Vec<Address> {
        let dirty = self.objects.iter().filter(|(_, d)| d.is_dirty).map(|(at, _)| *at);
        let mut dirty: Vec<Address> = dirty.collect();
        dirty.sort_unstable();
        dirty
    }

    /// Writes one object, if it changed.
    pub(super) fn write(&mut self, at: Address, storage: &mut Storage) -> Result<()> {
        let Some(cached) = self.objects.get_mut(&at).filter(|cached| cached.is_dirty) else { return Ok(()) };
        if std::mem::take(&mut cached.is_indexed) {
            self.unindexed.insert(at);
        }
        let mut writing = Writing { reader: &self.reader, storage, cache: &mut self.parts };
        let done = cached.serialize(&mut writing);
        if at == storage.transaction.superblock.root && storage.transaction.superblock.version < 2 {
            storage.transaction.superblock.root_cached = cached.cached(storage.sizes);
        }
        self.reader.forget(at);
        self.mark_clean(at);
        done
    }

    /// Writes an object that was just created. Returns its header if that says all of it.
    pub(super) fn write_new(&mut self, at: Address, storage: &mut Storage) -> Result<Option<Vec<u8>>> {
        let Some(cached) = self.objects.get_mut(&at).filter(|cached| cached.is_dirty) else {
            return Ok(None);
        };
        let mut writing = Writing { reader: &self.reader, storage, cache: &mut self.parts };
        let done = cached.serialize_new(&mut writing);
        self.reader.forget(at);
        self.mark_clean(at);
        done
    }

    /// Marks an object as clean, because the file holds it as it is.
    fn mark_clean(&mut self, at: Address) {
        let Some(cached) = self.objects.get_mut(&at).filter(|cached| cached.is_marked && !cached.is_dirty)
        else {
            return;
        };
        cached.is_marked = false;
        self.reader.gate.iter().for_each(|gate| gate.mark_clean(at));
    }

    /// A change is made: objects that were looked at only are as they were.
    pub(super) fn clear_read_marks(&mut self) {
        for at in std::mem::take(&mut self.marked) {
            self.mark_clean(at);
        }
    }

    /// Drops an object that is written.
    pub(super) fn evict(&mut self, at: Address) {
        if self.existing(at).is_some_and(|cached| !cached.is_dirty) {
            self.mark_clean(at);
            self.objects.remove(&at);
        }
    }

    /// Returns whether nothing in the file leads to an object: then the cache has all of it.
    pub(super) fn is_only_here(&self, at: Address) -> bool {
        self.existing(at).is_none_or(|cached| cached.references == 0)
    }

    /// Returns whether neither too many objects are recent, nor objects take too much.
    pub(super) fn has_no_more_than_it_may(&self) -> bool {
        self.recent.len() <= RECENT_MAX && self.bytes <= self.bytes_max
    }

    /// Small objects that were created some time ago: as a rule no one comes back to them soon.
    pub(super) fn no_longer_recent(&mut self) -> Vec<Address> {
        let too_many = self.recent.len().saturating_sub(RECENT_MAX);
        let old: Vec<Address> = self.recent.drain(..too_many).collect();
        let is_small = |at: &Address| self.existing(*at).is_some_and(|d| d.weight() <= RECENT_BYTES_MAX);
        old.into_iter().filter(is_small).collect()
    }

    /// Returns the dirty objects that must go so that the others take half of the budget, those used longest ago
    /// first.
    pub(super) fn over_budget(&mut self) -> Vec<Address> {
        if self.bytes <= self.bytes_max {
            return Vec::new();
        }
        let mut weight: u64 = self.objects.values().map(|cached| cached.weight()).sum();
        let mut by_use: Vec<(u64, Address)> = self.objects.iter().map(|(at, d)| (d.used, *at)).collect();
        by_use.sort_unstable();
        // What is in use stays, however large it is: to read it anew for every change would take for ever.
        let idle = by_use.into_iter().take_while(|(used, _)| used + USES_IN_USE < self.clock);
        let mut go = Vec::new();
        for (_, at) in idle {
            if weight <= self.bytes_max / 2 {
                break;
            }
            weight = weight.saturating_sub(self.objects.get(&at).map_or(0, |cached| cached.weight()));
            go.push(at);
        }
        self.bytes = weight.min(self.bytes_max / 2);
        go
    }
}
