//! One open container.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use objects::{Change, ObjectId, Phase, Store, Update};
use system::sync::{Mutex, MutexGuard};

use crate::head::{HEAD, Head};
use crate::layout::{KNOWN, Layout, NEWEST};
use crate::lease::{self, Lease};
use crate::{Error, Id, Kind, Mode, Result, ScratchPad};

/// The object that says that a container is one of ours, and of which version.
pub(crate) const MARK: ObjectId = ObjectId { high: 3, low: 0 };
const MARK_KEY: &[u8] = b"iod";

/// The phase of cells and bytes, and of heads and pairs where a flush is one commit, whatever order they came in.
pub(crate) const PHASE: Phase = Phase::Content;

/// Heads that stay decoded; with more, all are forgotten.
const HEADS_MAX: usize = 1 << 16;

/// The state that all handles of a container share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) layout: Layout,
    mode: Mode,
    /// The right to write, on a store that several processes may open.
    lease: Option<Lease>,
    /// What waits for a flush, on a store whose flush is no commit.
    waiting: Mutex<Waiting>,
    /// Held by a batch while it changes objects, and by a flush: none takes half of another.
    batches: Mutex<()>,
    /// Whether a batch stopped half way: what is in memory must not become durable.
    is_broken: AtomicBool,
    heads: Mutex<HashMap<Id, Arc<Head>>>,
}

/// Objects with changes of heads and pairs that wait for a flush.
#[derive(Debug, Default)]
struct Waiting {
    /// Objects that were created: nothing that is durable leads to them.
    new: HashSet<Id>,
    /// The phases of the others.
    phases: HashMap<Id, Phase>,
}

/// Returns the layout of the container in a store.
///
/// # Errors
/// Returns `Corrupt` if there is none that is known.
fn layout_of(store: &dyn Store) -> Result<Layout> {
    for layout in KNOWN {
        let found = store.get(MARK, layout.here, &[MARK_KEY])?.pop().flatten();
        let version = found.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        match version {
            Some(version) if version == layout.version => return Ok(layout),
            Some(newer) if newer > NEWEST.version => {
                let known = NEWEST.version;
                return Err(Error::Corrupt(format!(
                    "the container has layout version {newer}, and this program knows {known}: use a newer one"
                )));
            }
            _ => {}
        }
    }
    Err(Error::Corrupt("there is no container of key-value stores, arrays and blobs".into()))
}

/// Returns an error if a process has the right to write to the container in a store. What is no container has no writer.
pub(crate) fn check_unused(store: &dyn Store) -> Result<()> {
    layout_of(store).map_or(Ok(()), |layout| lease::check_free(store, layout))
}

impl Core {
    fn new(store: Arc<dyn Store>, layout: Layout, mode: Mode, lease: Duration) -> Result<Core> {
        let is_shared = mode == Mode::ReadWrite && !store.is_atomic();
        let lease = is_shared.then(|| Lease::take(&store, layout, lease)).transpose()?;
        let (waiting, batches, heads) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Core { store, layout, mode, lease, waiting, batches, is_broken: AtomicBool::new(false), heads })
    }

    /// Makes an empty store a container. Its writer has the right to write for `lease` at a time.
    pub(crate) fn create(store: Arc<dyn Store>, lease: Duration) -> Result<Core> {
        let version = NEWEST.version.to_le_bytes();
        let changes = [Change::Single(MARK_KEY, &version)];
        let (dkey, phase) = (NEWEST.here, PHASE);
        store.update(&Update { object: MARK, dkey, changes: &changes, conditions: &[], phase })?;
        store.flush()?;
        Core::new(store, NEWEST, Mode::ReadWrite, lease)
    }

    pub(crate) fn open(store: Arc<dyn Store>, mode: Mode, lease: Duration) -> Result<Core> {
        let layout = layout_of(&*store)?;
        Core::new(store, layout, mode, lease)
    }

    /// Returns the phase in which changes of an object become durable that were asked for in `phase`. What waits is flushed
    /// first where one of both would arrive in the phase of the other: all that waits of a dkey arrives in the last of its
    /// phases.
    pub(crate) fn schedule(&self, objects: &[(Id, Phase, bool)]) -> Result<Vec<Phase>> {
        let clashes = {
            let waiting = self.waiting.lock();
            let clash = |(id, phase, _): &(Id, Phase, bool)| {
                !waiting.new.contains(id) && waiting.phases.get(id).is_some_and(|waits| waits != phase)
            };
            objects.iter().any(clash)
        };
        if clashes {
            self.flush()?;
        }
        let mut waiting = self.waiting.lock();
        let mut phases = Vec::with_capacity(objects.len());
        for (id, phase, is_new) in objects {
            if *is_new {
                waiting.new.insert(*id);
            }
            let phase = match waiting.new.contains(id) {
                // What is in a new object is not found before the link to it.
                true => Phase::Description,
                false => *phase,
            };
            waiting.phases.insert(*id, phase);
            phases.push(phase);
        }
        Ok(phases)
    }

    /// Makes all that was done durable; the caller holds [`Core::alone`].
    pub(crate) fn flush(&self) -> Result<()> {
        if let Some(lease) = &self.lease {
            lease.renew().inspect_err(|_| self.break_off())?;
        }
        self.store.flush()?;
        *self.waiting.lock() = Waiting::default();
        Ok(())
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

    /// Drops what is cached: another process may have changed it.
    fn forget(&self) {
        self.heads().clear();
    }

    fn heads(&self) -> MutexGuard<'_, HashMap<Id, Arc<Head>>> {
        self.heads.lock()
    }

    /// Returns the head of an object, if it is there.
    pub(crate) fn head(&self, id: Id) -> Result<Option<Arc<Head>>> {
        if let Some(known) = self.heads().get(&id) {
            return Ok(Some(known.clone()));
        }
        let Some(bytes) = self.store.get(id.object(), self.layout.here, &[HEAD])?.pop().flatten() else {
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

    /// The dkey of heads and of what is next to them.
    pub(crate) fn here(&self) -> &'static [u8] {
        self.core.layout.here
    }

    /// Returns whether a batch and a flush are all or nothing also after a crash. Otherwise a crash leaves what a flush had
    /// stored until then, [phase](Phase) by phase.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        self.store().is_atomic()
    }

    /// Returns whether [`Container::keys`] and [`Container::pairs`] cost what they return.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.store().is_ordered()
    }

    /// From now on reads see what another process had flushed before this call, unless this one writes.
    pub fn refresh(&self) -> Result<()> {
        if self.core.is_writable() {
            return Ok(());
        }
        self.core.forget();
        self.store().refresh()
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

    /// Returns all objects: key-value stores, arrays, blobs, each by their numbers.
    pub fn list(&self) -> Result<Vec<Id>> {
        let mut found: Vec<Id> = self.store().all_objects()?.into_iter().filter_map(Id::of).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Returns an error unless the index of what is stored is whole; see [`objects::Store::verify_index`].
    pub fn verify_index(&self) -> Result<()> {
        self.store().verify_index()
    }

    /// Makes all that was done durable: all at once, or phase by phase where the store [cannot](Container::is_atomic).
    pub fn flush(&self) -> Result<()> {
        if self.mode == Mode::Read {
            return Ok(());
        }
        let _whole = self.core.alone();
        self.core.check_whole()?;
        self.core.flush()
    }
}
