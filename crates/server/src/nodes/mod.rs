//! Sessions of clients that use several nodes: servers in front of one store.
//!
//! When a node dies, its clients go on at another one. What they keep is made again there (`protocol::is_kept`); every other
//! change is stored before it is answered. One may be under way when the node dies. Therefore an [`Intent`] of it is stored
//! before it begins, in a [`Journal`] next to the container: it says how things were. The next node compares that with how
//! things are, and completes or undoes the change (`recover`) before it runs it again.

mod changes;
mod intent;
mod journal;
mod recover;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::Result;
use protocol::Id;
use system::sync::{Mutex, MutexGuard};
use vol::{Operation, Registry};

pub(crate) use changes::NodeChange;
pub(crate) use intent::Intent;
pub(crate) use journal::Journal;

/// Intents that no one needs any more are removed so many at a time.
const FORGOTTEN_AT_ONCE: usize = 32;

/// A container in a store that several servers share, as all sessions of this server have it.
#[derive(Debug)]
pub(crate) struct SharedStore {
    /// Where the journal is.
    location: String,
    journal: Mutex<Option<Arc<Journal>>>,
    /// Held while anything is stored that waits for it. So what an operation created is not stored before its intent is.
    order: Mutex<()>,
}

impl SharedStore {
    /// Returns the state of a container whose journal is at `location`.
    pub(crate) fn new(location: String) -> Self {
        SharedStore { location, journal: Mutex::default(), order: Mutex::default() }
    }

    /// Waits for the turn of an operation that may store what waits for it; others need none.
    pub(crate) fn order(&self, code: Operation) -> Option<MutexGuard<'_, ()>> {
        (protocol::stores(code) || code == Operation::release).then(|| self.order.lock())
    }

    /// Waits for the turn of something that may store what waits for it.
    pub(crate) fn ordered(&self) -> MutexGuard<'_, ()> {
        self.order.lock()
    }

    fn journal(&self, registry: &Registry) -> Result<Arc<Journal>> {
        let mut journal = self.journal.lock();
        if let Some(open) = &*journal {
            return Ok(open.clone());
        }
        let open = Arc::new(Journal::open(registry, &self.location)?);
        *journal = Some(open.clone());
        Ok(open)
    }

    /// Removes the journal with its container.
    pub(crate) fn delete_journal(&self, registry: &Registry) -> Result<()> {
        let mut journal = self.journal.lock();
        *journal = None;
        Journal::delete(registry, &self.location)
    }
}

/// The part of a session that goes on at other nodes.
#[derive(Debug)]
pub(crate) struct NodeSession {
    id: Id,
    journal: Arc<Journal>,
    /// Whether the session began at another node.
    is_resumed: bool,
    /// What was under way at another node, by the number of the operation.
    unfinished: Mutex<BTreeMap<u64, Intent>>,
    /// The operations whose intents are in the journal.
    noted: Mutex<BTreeSet<u64>>,
}

impl NodeSession {
    /// Begins a session, or takes it over from a node that died.
    pub(crate) fn begin(store: &SharedStore, registry: &Registry, id: Id, is_resumed: bool) -> Result<Self> {
        let journal = store.journal(registry)?;
        let unfinished = if is_resumed { journal.load(id)? } else { BTreeMap::new() };
        let noted = Mutex::new(unfinished.keys().copied().collect());
        Ok(NodeSession { id, journal, is_resumed, unfinished: Mutex::new(unfinished), noted })
    }

    /// Stores the intent of an operation. Those of operations below `acknowledged` go, many at a time.
    fn note(&self, number: u64, acknowledged: u64, intent: &Intent) -> Result<()> {
        let mut noted = self.noted.lock();
        let mut done: Vec<u64> = noted.range(..acknowledged).copied().collect();
        if done.len() < FORGOTTEN_AT_ONCE {
            done.clear();
        }
        noted.retain(|number| !done.contains(number));
        noted.insert(number);
        drop(noted);
        self.journal.note(self.id, number, intent, &done)
    }

    /// Returns what another node noted of an operation.
    fn unfinished(&self, number: u64) -> Option<Intent> {
        self.unfinished.lock().get(&number).cloned()
    }

    /// What another node noted of an operation is of no use any more.
    fn finished(&self, number: u64) {
        self.unfinished.lock().remove(&number);
    }

    /// The client ended the session: no one asks for its operations any more.
    pub(crate) fn end(&self) {
        let done: Vec<u64> = std::mem::take(&mut *self.noted.lock()).into_iter().collect();
        if let Err(error) = self.journal.forget(self.id, &done) {
            tracing::warn!(why = %error, "could not clear the journal of a session");
        }
    }
}
