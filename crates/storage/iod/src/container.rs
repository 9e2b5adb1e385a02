//! One open container.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use objects::{Change, ObjectId, Phase, Store, Update};
use system::sync::{Mutex, MutexGuard};

use crate::head::{HEAD, HERE, Head};
use crate::{Error, Id, Kind, Mode, Result, ScratchPad};

/// The object that says that a container is one of ours, and of which version.
const MARK: ObjectId = ObjectId { high: 3, low: 0 };
const MARK_KEY: &[u8] = b"iod";
const VERSION: u32 = 1;

/// All updates are of one phase: a flush is one commit, whatever order they came in.
pub(crate) const PHASE: Phase = Phase::Content;

/// Heads that stay decoded; with more, all are forgotten.
const HEADS_MAX: usize = 1 << 16;

/// The state that all handles of a container share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    mode: Mode,
    /// Held by a batch while it changes objects, and by a flush: none takes half of another.
    batches: Mutex<()>,
    /// Whether a batch stopped half way: what is in memory must not become durable.
    is_broken: AtomicBool,
    heads: Mutex<HashMap<Id, Arc<Head>>>,
}

impl Core {
    fn new(store: Arc<dyn Store>, mode: Mode) -> Result<Core> {
        if !store.is_atomic() {
            return Err(Error::Refused("the engine cannot change several objects at once".into()));
        }
        let (batches, heads) = (Mutex::default(), Mutex::default());
        Ok(Core { store, mode, batches, is_broken: AtomicBool::new(false), heads })
    }

    pub(crate) fn create(store: Arc<dyn Store>) -> Result<Core> {
        let version = VERSION.to_le_bytes();
        let changes = [Change::Single(MARK_KEY, &version)];
        let mark = Update { object: MARK, dkey: HERE, changes: &changes, conditions: &[], phase: PHASE };
        store.update(&mark)?;
        store.flush()?;
        Core::new(store, Mode::ReadWrite)
    }

    pub(crate) fn open(store: Arc<dyn Store>, mode: Mode) -> Result<Core> {
        let found = store.get(MARK, HERE, &[MARK_KEY])?.pop().flatten();
        let version = found.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        match version {
            Some(VERSION) => Core::new(store, mode),
            Some(newer) if newer > VERSION => Err(Error::Corrupt(format!(
                "the container has layout version {newer}, and this program knows {VERSION}: use a newer one"
            ))),
            _ => Err(Error::Corrupt("there is no container of key-value stores, arrays and blobs".into())),
        }
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.mode == Mode::ReadWrite
    }

    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        self.batches.lock()
    }

    pub(crate) fn check_whole(&self) -> Result<()> {
        match self.is_broken.load(Ordering::SeqCst) {
            true => Err(Error::Refused(
                "a change stopped half way: close the container, its last flush is as it was".into(),
            )),
            false => Ok(()),
        }
    }

    /// From now on nothing is written any more.
    pub(crate) fn break_off(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }

    fn heads(&self) -> MutexGuard<'_, HashMap<Id, Arc<Head>>> {
        self.heads.lock()
    }

    /// Returns the head of an object, if it is there.
    pub(crate) fn head(&self, id: Id) -> Result<Option<Arc<Head>>> {
        if let Some(known) = self.heads().get(&id) {
            return Ok(Some(known.clone()));
        }
        let Some(bytes) = self.store.get(id.object(), HERE, &[HEAD])?.pop().flatten() else {
            return Ok(None);
        };
        let head = Arc::new(Head::decode(id, &bytes)?.0);
        self.know(id, Some(head.clone()));
        Ok(Some(head))
    }

    /// Caches a head. Heads of blobs are too many, and few are looked at twice.
    pub(crate) fn know(&self, id: Id, head: Option<Arc<Head>>) {
        let mut heads = self.heads();
        match head {
            Some(head) if id.kind() != Some(Kind::Blob) => {
                if heads.len() >= HEADS_MAX {
                    heads.clear();
                }
                heads.insert(id, head);
            }
            _ => drop(heads.remove(&id)),
        }
    }
}

/// A handle of an open container.
#[derive(Clone, Debug)]
pub struct Container {
    pub(crate) core: Arc<Core>,
    mode: Mode,
}

pub(crate) fn missing(id: Id) -> Error {
    Error::NotFound(format!("there is no {id}"))
}

impl Container {
    pub(crate) fn new(core: Arc<Core>, mode: Mode) -> Container {
        Container { core, mode }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.core.store
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.mode {
            Mode::ReadWrite => self.core.check_whole(),
            Mode::Read => Err(Error::Refused("the container is open for reading only".into())),
        }
    }

    /// Returns the head of an object of a kind, which must be there.
    pub(crate) fn head_of(&self, id: Id, kind: Kind) -> Result<Arc<Head>> {
        if id.kind() != Some(kind) {
            return Err(Error::Condition(format!("{id} is not of the kind {kind:?}")));
        }
        self.core.head(id)?.ok_or_else(|| missing(id))
    }

    /// Returns the scratch pad of an object; `NotFound` where there is no such object.
    pub fn open(&self, id: Id) -> Result<ScratchPad> {
        match id.kind() {
            Some(kind) => Ok(self.head_of(id, kind)?.pad),
            None => Err(missing(id)),
        }
    }

    /// Up to `count_max` objects, those after `after`: key-value stores, arrays, blobs, each by their numbers.
    pub fn list(&self, after: Option<Id>, count_max: usize) -> Result<Vec<Id>> {
        let found = self.store().objects(after.map(Id::object), count_max.saturating_add(1))?;
        Ok(found.into_iter().filter_map(Id::of).filter(|id| Some(*id) != after).take(count_max).collect())
    }

    /// Returns an error unless the index of what is stored is whole; see [`objects::Store::verify_index`].
    pub fn verify_index(&self) -> Result<()> {
        self.store().verify_index()
    }

    /// Makes all that was done durable, all at once.
    pub fn flush(&self) -> Result<()> {
        if self.mode == Mode::Read {
            return Ok(());
        }
        let _whole = self.core.alone();
        self.core.check_whole()?;
        self.store().flush()
    }
}
