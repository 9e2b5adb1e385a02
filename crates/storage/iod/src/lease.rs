//! The right to write, on a store that several processes may open: one of them has it at a time.
//!
//! The lease lies in the container: who has it, and until when. Each flush renews it first, so a process whose lease another
//! one took stores nothing over what that one did. A process that is killed keeps it until its time is over.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, UNIX_EPOCH};

use objects::{Change, Condition, ObjectId, Phase, Store, Update};
use system::sync::Mutex;

use crate::container::MARK;
use crate::layout::Layout;
use crate::{Error, Result};

const KEY: &[u8] = b"writer";
/// How long a lease lasts after a flush. Clocks of machines may differ by less than that.
const LEASE: Duration = Duration::from_secs(60);

/// The lease of this process.
#[derive(Debug)]
pub(crate) struct Lease {
    layout: Layout,
    id: u64,
    /// The lease as it is stored.
    stored: Mutex<Vec<u8>>,
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
    Error::Refused("another process took the right to write, because this one did not flush in time".into())
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
    /// Takes the right to write.
    ///
    /// # Errors
    /// Returns `Refused` if another process has it.
    pub(crate) fn take(store: &dyn Store, layout: Layout) -> Result<Lease> {
        let id = RandomState::new().hash_one(std::process::id());
        let old = store.get(MARK, layout.here, &[KEY])?.pop().flatten();
        if let Some(left) = old.as_deref().and_then(remaining) {
            return Err(taken(left));
        }
        let new = encode(id, now() + LEASE);
        let condition = old.as_deref().map_or(Condition::Absent(KEY), |old| Condition::Equals(KEY, old));
        change(store, layout, Change::Single(KEY, &new), condition).map_err(|error| match error {
            Error::Condition(_) => taken(LEASE),
            error => error,
        })?;
        Ok(Lease { layout, id, stored: Mutex::new(new) })
    }

    /// Goes on for another while.
    ///
    /// # Errors
    /// Returns `Refused` if another process took the right to write meanwhile.
    pub(crate) fn renew(&self, store: &dyn Store) -> Result<()> {
        let mut stored = self.stored.lock();
        let new = encode(self.id, now() + LEASE);
        let condition = Condition::Equals(KEY, &stored);
        change(store, self.layout, Change::Single(KEY, &new), condition).map_err(|error| match error {
            Error::Condition(_) => lost(),
            error => error,
        })?;
        *stored = new;
        Ok(())
    }

    /// Gives the right back. Where that fails, the lease ends by itself.
    pub(crate) fn give_back(&self, store: &dyn Store) {
        let stored = self.stored.lock();
        let _ = change(store, self.layout, Change::Punch(KEY), Condition::Equals(KEY, &stored));
    }
}
