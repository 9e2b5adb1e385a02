//! The state that all handles of an open container share.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use system::thread::{self, JoinHandle};

use system::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::data::Data;
use super::far;
use super::index::{Commit, Index, Number};
use super::open::Registration;
use super::overlay::{Changes, View};
use super::space::Space;
use crate::layout::value::{Released, Value};
use crate::{Error, ObjectId, Result, Update};

/// Locks of dkeys: readers of one share it, a writer has it alone.
const STRIPES: usize = 512;
/// Changes that wait take about so much memory before a thread begins to put them into the index.
const EARLY_BYTES: usize = 4 << 20;
/// With so much of them, a caller that makes more waits for it.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// An open container.
///
/// Locks are taken in this order: `gate`, a stripe, `view` or `space`; and `commits`, `gate`, `view` or `space`.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) view: RwLock<View>,
    stripes: Vec<RwLock<()>>,
    /// Which stripe a dkey has.
    hasher: ahash::RandomState,
    /// The epoch. Updates hold it shared, so that a flush takes whole updates.
    gate: RwLock<u64>,
    /// Free bytes, known from the first update that needs some.
    space: OnceLock<Mutex<Space>>,
    /// Bytes that are free after the next flush.
    released: Mutex<Vec<Released>>,
    /// The next number that no one took.
    next: Mutex<u64>,
    /// Puts changes into the index while others are made.
    helper: Mutex<Option<JoinHandle<()>>>,
    /// One commit at a time; whether the index has something that a crash would take.
    commits: Mutex<bool>,
    index: Index,
    /// Has the lock of the container, so it goes after the index.
    pub(super) data: Data,
    /// The last to go: only then may another handle open the files.
    _registration: Registration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Shared {
    pub(super) fn new(index: Index, data: Data, registration: Registration) -> Result<Shared> {
        let view = RwLock::new(View::new(index.snapshot()?));
        let next = Mutex::new(index.number(Number::Next)?.unwrap_or(2));
        Ok(Shared {
            data,
            view,
            stripes: (0..STRIPES).map(|_| RwLock::new(())).collect(),
            hasher: ahash::RandomState::new(),
            gate: RwLock::new(1),
            space: OnceLock::new(),
            released: Mutex::default(),
            next,
            helper: Mutex::default(),
            commits: Mutex::new(false),
            index,
            _registration: registration,
        })
    }

    /// Returns whether it may change.
    pub(super) fn writable(&self) -> bool {
        self.index.is_writable()
    }

    pub(super) fn view(&self) -> RwLockReadGuard<'_, View> {
        self.view.read()
    }

    pub(super) fn view_mut(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write()
    }

    /// Returns the current epoch; no flush begins while it is held.
    pub(super) fn epoch(&self) -> RwLockReadGuard<'_, u64> {
        self.gate.read()
    }

    fn stripe_number(&self, object: ObjectId, dkey: &[u8]) -> usize {
        self.hasher.hash_one((object, dkey)) as usize % STRIPES
    }

    /// Returns the lock of a dkey.
    pub(super) fn stripe(&self, object: ObjectId, dkey: &[u8]) -> &RwLock<()> {
        // There are STRIPES of them.
        &self.stripes[self.stripe_number(object, dkey)]
    }

    /// Locks the dkeys of updates, each lock once and in their order.
    pub(super) fn stripes_of(&self, updates: &[Update<'_>]) -> Vec<RwLockWriteGuard<'_, ()>> {
        let numbers = updates.iter().map(|update| self.stripe_number(update.object, update.dkey));
        let numbers: std::collections::BTreeSet<usize> = numbers.collect();
        let lock = |number: usize| self.stripes[number].write();
        numbers.into_iter().map(lock).collect()
    }

    /// Returns the free bytes. Must not be called while the gate is held.
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

    /// Returns the free bytes, if anything needed them yet.
    pub(super) fn space_if_known(&self) -> Option<&Mutex<Space>> {
        self.space.get()
    }

    /// Notes what is free after the next flush.
    pub(super) fn release(&self, places: Vec<Released>) {
        if !places.is_empty() {
            lock(&self.released).extend(places);
        }
    }

    /// Takes numbers that no other caller gets.
    pub(super) fn allocate(&self, count: u64) -> Result<Range<u64>> {
        let mut next = lock(&self.next);
        let end = next.checked_add(count);
        let end = end.ok_or_else(|| Error::TooLarge(format!("{count} numbers are not left")))?;
        Ok(std::mem::replace(&mut *next, end)..end)
    }

    /// Commits all that waits.
    pub(super) fn flush(&self) -> Result<()> {
        if !self.writable() {
            return Ok(());
        }
        let mut unsafe_yet = lock(&self.commits);
        let released = {
            let (mut epoch, mut view) = self.between_updates();
            if view.waiting.is_empty() && !*unsafe_yet {
                return Ok(());
            }
            *epoch += 1;
            view.begin_flush();
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

    /// Returns the epoch and view while no update is under way.
    fn between_updates(&self) -> (RwLockWriteGuard<'_, u64>, RwLockWriteGuard<'_, View>) {
        (self.gate.write(), self.view_mut())
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
                        Some(over) => below.go_below(over),
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

    fn commit_changes(&self, changes: &Changes, durable: bool) -> Result<super::snapshot::Snapshot> {
        let mut numbers = Vec::new();
        if durable {
            self.data.sync()?;
            numbers.push((Number::DataEnd, self.data.len()?));
            // Numbers that nothing durable has may be given again after a crash.
            numbers.push((Number::Next, *lock(&self.next)));
        }
        self.index.commit(&Commit { changes, numbers: &numbers, durable })?;
        self.index.snapshot()
    }

    /// Commits the changes of one dkey, and of those that wait no others.
    pub(super) fn flush_dkey(&self, dkey: &[u8]) -> Result<()> {
        let mut unsafe_yet = lock(&self.commits);
        {
            let (mut epoch, mut view) = self.between_updates();
            *epoch += 1;
            view.flushing = Arc::new(view.waiting.take(dkey));
        }
        self.commit(true)?;
        *unsafe_yet = false;
        Ok(())
    }

    /// Keeps the changes that wait few: they go to the index early, and by another thread while they are not many.
    pub(super) fn relieve(self: &Arc<Self>) -> Result<()> {
        let weight = self.view().weight;
        if weight < EARLY_BYTES {
            return Ok(());
        }
        if weight >= WAITING_BYTES_MAX {
            return self.flush_early();
        }
        let mut helper = lock(&self.helper);
        if helper.as_ref().is_none_or(JoinHandle::is_finished) {
            let shared = self.clone();
            // After an error the changes wait again, and the next flush tells. Without a thread they wait for that.
            *helper =
                thread::Builder::named("hyperslab-flush").spawn(move || drop(shared.flush_early())).ok();
        }
        Ok(())
    }

    /// Puts what waits into the index, where only a flush makes it last.
    fn flush_early(&self) -> Result<()> {
        let mut unsafe_yet = lock(&self.commits);
        {
            let (mut epoch, mut view) = self.between_updates();
            if view.weight < EARLY_BYTES {
                return Ok(());
            }
            *epoch += 1;
            view.begin_flush();
        }
        *unsafe_yet = true;
        self.commit(false)
    }

    /// Waits for the thread that puts changes into the index.
    pub(super) fn join_helper(&self) {
        if let Some(helper) = lock(&self.helper).take() {
            let _ = helper.join();
        }
    }
}
