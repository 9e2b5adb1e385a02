//! Listings in pages: where the last page ended is remembered, so that paging over a big group stays linear.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Result;
use objects::{ObjectId, Store};

use crate::error::During;

/// Keys fetched at a time.
pub(crate) const PAGE: usize = 1024;
/// Objects whose listings are remembered; with more, all are forgotten.
const KNOWN_MAX: usize = 1024;
/// Ends of pages remembered for one object.
const ENDS_MAX: usize = 16;

/// All keys of an object in one order.
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
struct Known {
    version: u64,
    /// How many keys were passed, and the key to go on from.
    ends: Vec<(u64, Vec<u8>)>,
    snapshots: HashMap<View, Snapshot>,
    count: Option<u64>,
}

#[derive(Debug, Default)]
struct Table {
    /// The version of what is not in the table.
    floor: u64,
    objects: HashMap<ObjectId, Known>,
}

/// What is remembered of listings. Whatever changes an object's keys says so.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    version: AtomicU64,
    table: Mutex<Table>,
}

impl Listings {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keys of an object changed.
    pub(crate) fn changed(&self, id: ObjectId) {
        let mut table = self.table();
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        if table.objects.len() >= KNOWN_MAX {
            table.objects.clear();
            table.floor = version;
        }
        match table.objects.get_mut(&id) {
            Some(known) => *known = Known { version, ..Known::default() },
            // What is not in the table has nothing to forget, but whoever reads it now must not remember it.
            None => drop(table.objects.insert(id, Known { version, ..Known::default() })),
        }
    }

    /// Everything may have changed.
    pub(crate) fn clear(&self) {
        let mut table = self.table();
        table.objects.clear();
        table.floor = self.version.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn version_of(&self, id: ObjectId) -> u64 {
        let table = self.table();
        table.objects.get(&id).map_or(table.floor, |known| known.version)
    }

    /// Notes something that was found while the object had this version.
    fn note(&self, id: ObjectId, version: u64, note: impl FnOnce(&mut Known)) {
        let mut table = self.table();
        let floor = table.floor;
        let known = table.objects.entry(id).or_insert_with(|| Known { version: floor, ..Known::default() });
        if known.version == version {
            note(known);
        }
    }

    /// A snapshot; it is made where none is known.
    pub(crate) fn snapshot(
        &self,
        id: ObjectId,
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

    /// A number of keys; it is counted where it is not known.
    pub(crate) fn count(&self, id: ObjectId, count: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let version = self.version_of(id);
        if let Some(found) = self.table().objects.get(&id).and_then(|known| known.count) {
            return Ok(found);
        }
        let found = count()?;
        self.note(id, version, |known| known.count = Some(found));
        Ok(found)
    }

    /// dkeys for which `shown` holds, by their bytes: up to `count` after the first `skip`, and whether more follow.
    pub(crate) fn page(
        &self,
        store: &dyn Store,
        id: ObjectId,
        (skip, count): (u64, u64),
        shown: impl Fn(&[u8]) -> Result<bool>,
    ) -> Result<(Vec<Vec<u8>>, bool)> {
        let version = self.version_of(id);
        let (mut passed, mut from) = self.end_before(id, skip);
        let (mut page, mut more) = (Vec::new(), false);
        let wanted = skip.saturating_add(count);
        'pages: loop {
            let room = usize::try_from(wanted.saturating_sub(passed).saturating_add(1)).unwrap_or(PAGE);
            let dkeys = store.dkeys(id, &from, room.clamp(16, PAGE)).during("list keys")?;
            let Some(last) = dkeys.last() else { break };
            let next = after(last);
            for dkey in dkeys {
                if !shown(&dkey)? {
                    continue;
                }
                if passed >= wanted {
                    more = true;
                    self.note(id, version, |known| known.add_end(passed, dkey));
                    break 'pages;
                }
                if passed >= skip {
                    page.push(dkey);
                }
                passed += 1;
            }
            from = next;
        }
        Ok((page, more))
    }

    /// The nearest place before `skip` from which keys can be counted.
    fn end_before(&self, id: ObjectId, skip: u64) -> (u64, Vec<u8>) {
        let table = self.table();
        let ends = table.objects.get(&id).map_or(&[][..], |known| &known.ends);
        let nearest = ends.iter().filter(|(passed, _)| *passed <= skip).max_by_key(|(passed, _)| *passed);
        nearest.cloned().unwrap_or_default()
    }
}

impl Known {
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

/// The anchor of the page after one that ended with `key`.
pub(crate) fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// All dkeys of an object for which `shown` holds, one after another.
pub(crate) fn each_dkey(
    store: &dyn Store,
    id: ObjectId,
    from: &[u8],
    mut visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut from = from.to_vec();
    loop {
        let dkeys = store.dkeys(id, &from, PAGE).during("list keys")?;
        let Some(last) = dkeys.last() else { return Ok(()) };
        from = after(last);
        for dkey in &dkeys {
            if !visit(dkey)? {
                return Ok(());
            }
        }
    }
}

/// All akeys of a dkey from a key on, until `visit` says that it has seen enough.
pub(crate) fn each_akey(
    store: &dyn Store,
    id: ObjectId,
    dkey: &[u8],
    from: &[u8],
    mut visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut from = from.to_vec();
    loop {
        let akeys = store.akeys(id, dkey, &from, PAGE).during("list keys")?;
        let Some(last) = akeys.last() else { return Ok(()) };
        from = after(last);
        for akey in &akeys {
            if !visit(akey)? {
                return Ok(());
            }
        }
    }
}
