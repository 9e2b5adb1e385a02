//! Listings in pages: the end of the last page is cached, so that paging over a large group takes linear time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Result;
use system::sync::{Mutex, MutexGuard};

/// Keys that are read at a time.
pub const PAGE: usize = 1024;
/// Objects whose listings are cached; with more, all are dropped.
const KNOWN_MAX: usize = 1024;
/// Ends of pages that are cached for one object.
const ENDS_MAX: usize = 16;

/// All keys of an object, in one order.
pub(crate) type Snapshot = Arc<Vec<Vec<u8>>>;

/// Which snapshot of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// Links by name.
    Names,
    /// Links in the order of their creation.
    Creation,
    /// Attributes by name.
    Attributes,
    /// Chunks in the order of their first elements.
    Chunks,
}

#[derive(Debug, Default)]
struct KnownNames {
    version: u64,
    /// Ends of pages: the number of keys before, and the next key.
    ends: Vec<(u64, Vec<u8>)>,
    snapshots: HashMap<View, Snapshot>,
    count: Option<u64>,
}

#[derive(Debug)]
struct Table<Id> {
    /// The version of objects that are not in the table.
    floor: u64,
    objects: HashMap<Id, KnownNames, ahash::RandomState>,
}

/// The cache of listings. Every change of an object's keys calls [`Listings::changed`].
#[derive(Debug)]
pub struct Listings<Id> {
    version: AtomicU64,
    table: Mutex<Table<Id>>,
}

impl<Id> Default for Listings<Id> {
    fn default() -> Self {
        let table = Table { floor: 0, objects: HashMap::default() };
        Listings { version: AtomicU64::new(0), table: Mutex::new(table) }
    }
}

impl<Id: Copy + Eq + Hash> Listings<Id> {
    fn table(&self) -> MutexGuard<'_, Table<Id>> {
        self.table.lock()
    }

    /// Drops the listings of an object whose keys changed.
    pub fn changed(&self, id: Id) {
        let mut table = self.table();
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        if table.objects.len() >= KNOWN_MAX {
            table.objects.clear();
            table.floor = version;
        }
        match table.objects.get_mut(&id) {
            Some(known) => *known = KnownNames { version, ..KnownNames::default() },
            // There is nothing to drop, but what another thread reads now must not get into the cache.
            None => drop(table.objects.insert(id, KnownNames { version, ..KnownNames::default() })),
        }
    }

    /// Drops all listings.
    pub(crate) fn clear(&self) {
        let mut table = self.table();
        table.objects.clear();
        table.floor = self.version.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn version_of(&self, id: Id) -> u64 {
        let table = self.table();
        table.objects.get(&id).map_or(table.floor, |known| known.version)
    }

    /// Adds to the cache what was read while the object had this version.
    fn note(&self, id: Id, version: u64, note: impl FnOnce(&mut KnownNames)) {
        let mut table = self.table();
        let floor = table.floor;
        let known =
            table.objects.entry(id).or_insert_with(|| KnownNames { version: floor, ..KnownNames::default() });
        if known.version == version {
            note(known);
        }
    }

    /// Returns a snapshot, which is made if it is not cached.
    pub(crate) fn snapshot(
        &self,
        id: Id,
        view: View,
        make: impl FnOnce() -> Result<Vec<Vec<u8>>>,
    ) -> Result<Snapshot> {
        let version = self.version_of(id);
        if let Some(found) = self.table().objects.get(&id).and_then(|known| known.snapshots.get(&view)) {
            return Ok(found.clone());
        }
        let made = Arc::new(make()?);
        self.note(id, version, |known| drop(known.snapshots.insert(view, made.clone())));
        Ok(made)
    }

    /// Returns the number of keys, which are counted if it is not cached.
    pub(crate) fn count(&self, id: Id, count: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let version = self.version_of(id);
        if let Some(found) = self.table().objects.get(&id).and_then(|known| known.count) {
            return Ok(found);
        }
        let found = count()?;
        self.note(id, version, |known| known.count = Some(found));
        Ok(found)
    }

    /// Returns up to `count` keys for which `shown` holds, in byte order after the first `skip`, and whether more follow.
    /// `keys` returns a number of keys from a key on.
    pub(crate) fn page(
        &self,
        id: Id,
        (skip, count): (u64, u64),
        keys: impl Fn(&[u8], usize) -> Result<Vec<Vec<u8>>>,
        shown: impl Fn(&[u8]) -> Result<bool>,
    ) -> Result<(Vec<Vec<u8>>, bool)> {
        let version = self.version_of(id);
        let (mut passed, mut from) = self.end_before(id, skip);
        let (mut page, mut more) = (Vec::new(), false);
        let wanted = skip.saturating_add(count);
        'pages: loop {
            let count = usize::try_from(wanted.saturating_sub(passed).saturating_add(1)).unwrap_or(PAGE);
            let found = keys(&from, count.clamp(16, PAGE))?;
            let Some(last) = found.last() else { break };
            let next = after(last);
            for key in found {
                if !shown(&key)? {
                    continue;
                }
                if passed >= wanted {
                    more = true;
                    self.note(id, version, |known| known.add_end(passed, key));
                    break 'pages;
                }
                if passed >= skip {
                    page.push(key);
                }
                passed += 1;
            }
            from = next;
        }
        Ok((page, more))
    }

    /// Returns the nearest end of a page before `skip`: the number of keys before, and the next key.
    fn end_before(&self, id: Id, skip: u64) -> (u64, Vec<u8>) {
        let table = self.table();
        let ends = table.objects.get(&id).map_or(&[][..], |known| &known.ends);
        let nearest = ends.iter().filter(|(passed, _)| *passed <= skip).max_by_key(|(passed, _)| *passed);
        nearest.cloned().unwrap_or_default()
    }
}

impl KnownNames {
    fn add_end(&mut self, passed: u64, from: Vec<u8>) {
        if self.ends.iter().any(|(known, _)| *known == passed) {
            return;
        }
        if self.ends.len() >= ENDS_MAX {
            self.ends.remove(0);
        }
        self.ends.push((passed, from));
    }
}

/// Returns up to `count_max` keys after `after_key` for which `shown` holds, and whether more follow. `keys` returns a
/// number of keys from a key on.
pub(crate) fn page_after(
    after_key: Option<&[u8]>,
    count_max: u64,
    keys: impl Fn(&[u8], usize) -> Result<Vec<Vec<u8>>>,
    shown: impl Fn(&[u8]) -> Result<bool>,
) -> Result<vol::Page<Vec<u8>>> {
    let mut from = after_key.map_or_else(Vec::new, after);
    let mut entries: Vec<Vec<u8>> = Vec::new();
    loop {
        let left = count_max - entries.len() as u64;
        let count = usize::try_from(left.saturating_add(1)).unwrap_or(PAGE);
        let found = keys(&from, count.clamp(16, PAGE))?;
        let Some(last) = found.last() else { return Ok(vol::Page { entries, more: false }) };
        from = after(last);
        for key in found {
            if !shown(&key)? {
                continue;
            }
            if entries.len() as u64 == count_max {
                return Ok(vol::Page { entries, more: true });
            }
            entries.push(key);
        }
    }
}

/// Returns the first key that may follow `key`, to read the page after one that ended with it.
pub fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
