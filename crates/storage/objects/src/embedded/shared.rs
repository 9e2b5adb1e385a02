//! What all handles of an open container share.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::data::Data;
use super::far;
use super::index::{Commit, Index, Number};
use super::open::Registration;
use super::overlay::{Changes, View};
use super::space::Space;
use crate::layout::value::{Released, Value};
use crate::{Error, ObjectId, Result};

/// Locks of dkeys: readers of one share it, a writer has it alone.
const STRIPES: usize = 512;
/// Changes that wait take about so much memory before those nobody finds yet go to the index.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Numbers that are made durable at once: what a process does not use is lost, and there are 2^64.
const NUMBERS_AT_ONCE: u64 = 1 << 12;

/// An open container.
///
/// Locks are taken in this order: `gate`, a stripe, `view` or `space`; and `commits`, `gate`, `view` or `space`.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) view: RwLock<View>,
    stripes: Vec<RwLock<()>>,
    /// The epoch. Updates hold it shared, so that a flush takes whole updates.
    gate: RwLock<u64>,
    /// Free bytes, known from the first update that needs some.
    space: OnceLock<Mutex<Space>>,
    /// Bytes that are free after the next flush.
    released: Mutex<Vec<Released>>,
    numbers: Mutex<Range<u64>>,
    /// One commit at a time; whether the index has something that a crash would take.
    commits: Mutex<bool>,
    index: Index,
    /// Has the lock of the container, so it goes after the index.
    pub(super) data: Data,
    /// The last to go: only then may another handle open the files.
    _registration: Registration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn new(index: Index, data: Data, registration: Registration) -> Result<Shared> {
        let view = RwLock::new(View::new(index.snapshot()?));
        Ok(Shared {
            data,
            view,
            stripes: (0..STRIPES).map(|_| RwLock::new(())).collect(),
            gate: RwLock::new(1),
            space: OnceLock::new(),
            released: Mutex::default(),
            numbers: Mutex::new(0..0),
            commits: Mutex::new(false),
            index,
            _registration: registration,
        })
    }

    /// Whether it may change.
    pub(super) fn writable(&self) -> bool {
        self.index.is_writable()
    }

    pub(super) fn view(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn view_mut(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current epoch; no flush begins while it is held.
    pub(super) fn epoch(&self) -> RwLockReadGuard<'_, u64> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock of a dkey.
    pub(super) fn stripe(&self, object: ObjectId, dkey: &[u8]) -> &RwLock<()> {
        let mut hasher = DefaultHasher::new();
        (object, dkey).hash(&mut hasher);
        // There are STRIPES of them.
        &self.stripes[hasher.finish() as usize % STRIPES]
    }

    /// The free bytes. Must not be called while the gate is held.
    pub(super) fn space(&self) -> Result<&Mutex<Space>> {
        if let Some(space) = self.space.get() {
            return Ok(space);
        }
        // No commit meanwhile: what it releases would count twice.
        let _commits = lock(&self.commits);
        if self.space.get().is_none() {
            let committed = self.view().committed.clone();
            let mut taken = Vec::new();
            committed.all_values(|stored| {
                if Value::single(stored).is_none() {
                    let places = Value::decode(stored)?.places();
                    taken.extend(places.iter().map(|place| (place.at, place.length)));
                }
                Ok(())
            })?;
            let _ = self.space.set(Mutex::new(Space::around(taken)));
        }
        self.space.get().ok_or_else(|| Error::Corrupt("the free space is unknown".into()))
    }

    /// The free bytes, if anything needed them yet.
    pub(super) fn space_if_known(&self) -> Option<&Mutex<Space>> {
        self.space.get()
    }

    /// Notes what is free after the next flush.
    pub(super) fn release(&self, places: Vec<Released>) {
        if !places.is_empty() {
            lock(&self.released).extend(places);
        }
    }

    /// Takes numbers that nobody else gets.
    pub(super) fn allocate(&self, count: u64) -> Result<Range<u64>> {
        let mut numbers = lock(&self.numbers);
        if numbers.end - numbers.start < count {
            let commits = lock(&self.commits);
            let next = self.index.number(Number::Next)?.unwrap_or(2);
            let end = next.checked_add(count.max(NUMBERS_AT_ONCE));
            let end = end.ok_or_else(|| Error::TooLarge(format!("{count} numbers are not left")))?;
            // What is durable early must be whole: the bytes before the index.
            self.data.sync()?;
            self.index.commit(&Commit {
                changes: &Changes::default(),
                numbers: &[(Number::Next, end)],
                durable: true,
            })?;
            drop(commits);
            *numbers = next..end;
        }
        let start = numbers.start;
        numbers.start += count;
        Ok(start..start + count)
    }

    /// Commits all that waits.
    pub(super) fn flush(&self) -> Result<()> {
        if !self.writable() {
            return Ok(());
        }
        let mut unsafe_yet = lock(&self.commits);
        let released = {
            let mut epoch = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            let mut view = self.view_mut();
            if view.waiting.is_empty() && !*unsafe_yet {
                return Ok(());
            }
            *epoch += 1;
            view.flushing = Arc::new(std::mem::take(&mut view.waiting));
            view.weight = 0;
            std::mem::take(&mut *lock(&self.released))
        };
        match self.commit(true) {
            Ok(()) => {
                *unsafe_yet = false;
                far::give(self.space.get(), &released);
                Ok(())
            }
            Err(error) => {
                self.release(released);
                Err(error)
            }
        }
    }

    /// Commits what is being flushed, and shows the result; after an error it waits again.
    fn commit(&self, durable: bool) -> Result<()> {
        let flushing = self.view().flushing.clone();
        let committed = self.commit_changes(&flushing, durable);
        let mut view = self.view_mut();
        view.flushing = Arc::new(Changes::default());
        match committed {
            Ok(snapshot) => view.committed = Arc::new(snapshot),
            Err(error) => {
                let changes = Arc::unwrap_or_clone(flushing);
                for (key, below) in changes.into_unordered() {
                    match view.waiting.get_mut(&key) {
                        Some(over) => below.content.go_below(&mut over.content),
                        None => view.waiting.insert(key, below),
                    }
                }
                return Err(error);
            }
        }
        // Freeing many changes takes a while: not under the lock.
        drop(view);
        Ok(())
    }

    fn commit_changes(&self, changes: &Changes, durable: bool) -> Result<super::index::Snapshot> {
        let mut numbers = Vec::new();
        if durable {
            self.data.sync()?;
            numbers.push((Number::DataEnd, self.data.len()?));
        }
        self.index.commit(&Commit { changes, numbers: &numbers, durable })?;
        self.index.snapshot()
    }

    /// Commits the changes of one dkey, and no others.
    pub(super) fn flush_dkey(&self, dkey: &[u8]) -> Result<()> {
        let mut unsafe_yet = lock(&self.commits);
        {
            let mut epoch = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            let mut view = self.view_mut();
            *epoch += 1;
            view.flushing = Arc::new(view.waiting.take(dkey));
        }
        self.commit(true)?;
        *unsafe_yet = false;
        Ok(())
    }

    /// Keeps the changes that wait few: those of content go to the index, where only a flush makes them last.
    pub(super) fn relieve(&self) -> Result<()> {
        if self.view().weight < WAITING_BYTES_MAX {
            return Ok(());
        }
        let mut unsafe_yet = lock(&self.commits);
        {
            let mut epoch = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            let mut view = self.view_mut();
            if view.weight < WAITING_BYTES_MAX {
                return Ok(());
            }
            *epoch += 1;
            view.flushing = Arc::new(view.waiting.take_content());
            view.weight = 0;
        }
        *unsafe_yet = true;
        self.commit(false)
    }
}
