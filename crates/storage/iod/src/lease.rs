//! The right to write, on a store that several processes may open: one of them has it at a time.
//!
//! The lease lies in the container: who has it, and until when. A thread renews it while the container is open, and each
//! flush renews it first, so a process whose lease another one took stores nothing over what that one did. A process that
//! is killed keeps it until its time is over.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use objects::{Change, Condition, ObjectId, Phase, Store, Update};
use system::sync::{Condvar, Mutex};
use system::thread::{Builder, JoinHandle};

use crate::container::MARK;
use crate::layout::Layout;
use crate::{Error, Result};

const KEY: &[u8] = b"writer";
/// How long a lease lasts, unless its owner says otherwise. Clocks of machines may differ by less than that.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// A lease is renewed so many times before it would end.
const RENEWALS: u32 = 3;

/// The lease of this process.
#[derive(Debug)]
pub(crate) struct Lease {
    held: Arc<HeldLease>,
    renewal: Option<JoinHandle<()>>,
    /// The process that took it: a child of it has neither the lease nor the thread.
    process: u32,
}

/// A lease as the thread that renews it has it too.
#[derive(Debug)]
struct HeldLease {
    store: Arc<dyn Store>,
    layout: Layout,
    id: u64,
    time: Duration,
    /// The lease as it is stored; `None` once it was given back.
    stored: Mutex<Option<Vec<u8>>>,
    given_back: Condvar,
}

fn now() -> Duration {
    system::clock::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn encode(id: u64, end: Duration) -> Vec<u8> {
    [id.to_le_bytes(), end.as_secs().to_le_bytes()].concat()
}

/// Returns how long a stored lease still lasts; what cannot be read is over.
fn remaining(stored: &[u8]) -> Option<Duration> {
    let end = stored.get(8..)?.try_into().map(u64::from_le_bytes).ok()?;
    Duration::from_secs(end).checked_sub(now()).filter(|left| !left.is_zero())
}

fn taken(left: Duration) -> Error {
    Error::Refused(format!(
        "another process writes to the container, or was killed: its lease ends in {} s unless it goes on; \
         `hyperslab serve` lets several processes write",
        left.as_secs() + 1
    ))
}

fn lost() -> Error {
    Error::Refused("another process took the right to write, because this one was silent for too long".into())
}

/// Returns an error if a process has the right to write.
///
/// # Errors
/// Returns `Refused` if one has it.
pub(crate) fn check_free(store: &dyn Store, layout: Layout) -> Result<()> {
    let stored = store.get(MARK, layout.here, &[KEY])?.pop().flatten();
    stored.as_deref().and_then(remaining).map_or(Ok(()), |left| Err(taken(left)))
}

fn change(store: &dyn Store, layout: Layout, change: Change<'_>, condition: Condition<'_>) -> Result<()> {
    let object: ObjectId = MARK;
    store.update_now(&Update {
        object,
        dkey: layout.here,
        changes: &[change],
        conditions: &[condition],
        phase: Phase::Content,
    })
}

impl Lease {
    /// Takes the right to write, and keeps it until it is dropped.
    ///
    /// # Errors
    /// Returns `Refused` if another process has it.
    pub(crate) fn take(store: &Arc<dyn Store>, layout: Layout, time: Duration) -> Result<Lease> {
        let id = RandomState::new().hash_one(std::process::id());
        let old = store.get(MARK, layout.here, &[KEY])?.pop().flatten();
        if let Some(left) = old.as_deref().and_then(remaining) {
            return Err(taken(left));
        }
        let new = encode(id, now() + time);
        let condition = old.as_deref().map_or(Condition::Absent(KEY), |old| Condition::Equals(KEY, old));
        change(&**store, layout, Change::Single(KEY, &new), condition).map_err(|error| match error {
            Error::Condition(_) => taken(time),
            error => error,
        })?;
        let (store, stored) = (store.clone(), Mutex::new(Some(new)));
        let held = Arc::new(HeldLease { store, layout, id, time, stored, given_back: Condvar::new() });
        let renewed = held.clone();
        let renewal = Builder::named("lease").spawn(move || renewed.keep());
        // Without the thread, flushes renew it.
        Ok(Lease { held, renewal: renewal.ok(), process: system::process::id() })
    }

    /// Goes on for another while.
    ///
    /// # Errors
    /// Returns `Refused` if another process took the right to write meanwhile.
    pub(crate) fn renew(&self) -> Result<()> {
        self.held.renew()
    }
}

impl HeldLease {
    fn renew(&self) -> Result<()> {
        let mut stored = self.stored.lock();
        let Some(old) = &*stored else { return Err(lost()) };
        let new = encode(self.id, now() + self.time);
        let condition = Condition::Equals(KEY, old);
        change(&*self.store, self.layout, Change::Single(KEY, &new), condition).map_err(
            |error| match error {
                Error::Condition(_) => lost(),
                error => error,
            },
        )?;
        *stored = Some(new);
        Ok(())
    }

    /// Renews the lease again and again until it is given back. A store that fails may answer the next time; a lease that
    /// another process has is an error of the next flush.
    fn keep(&self) {
        let mut stored = self.stored.lock();
        while stored.is_some() {
            stored =
                self.given_back.wait_timeout_while(stored, self.time / RENEWALS, |lease| lease.is_some());
            if stored.is_some() {
                drop(stored);
                let _ = self.renew();
                stored = self.stored.lock();
            }
        }
    }
}

impl Drop for Lease {
    /// Gives the right back. Where that fails, the lease ends by itself.
    fn drop(&mut self) {
        if self.process != system::process::id() {
            return;
        }
        if let Some(stored) = self.held.stored.lock().take() {
            let HeldLease { store, layout, .. } = &*self.held;
            let _ = change(&**store, *layout, Change::Punch(KEY), Condition::Equals(KEY, &stored));
        }
        self.held.given_back.notify_all();
        if let Some(renewal) = self.renewal.take() {
            let _ = renewal.join();
        }
    }
}
