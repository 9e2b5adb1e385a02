//! What all openings of one container in this process share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use keyed::{Elements, Pending};
use model::properties::FileCreate;
use model::{Budget, Error, Limits, Result, encode};
use objects::{Change, Mode, ObjectId, Phase, Store, Update};
use system::sync::{Mutex, MutexGuard, RwLock};
use vol::{AttributeInfo, DatasetInfo};

use crate::described::Described;
use crate::encoded::{AttributeForm, Last};
use crate::error::During;
use crate::identity::Numbers;
use crate::keys;
use crate::listing::Listings;

/// One container that is open in this process.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) create: FileCreate,
    /// Whether other processes may write too: then counters are changed with conditions.
    pub(crate) is_concurrent: bool,
    pub(crate) mode: Mode,
    pub(crate) numbers: Numbers,
    pub(crate) listings: Listings,
    /// Blobs that were released, and that readers may still need.
    pub(crate) released: vol::Released<crate::slots::BlobId>,
    /// What memory for its content is charged to: the account of whoever opened it first.
    pub(crate) budget: OnceLock<Budget>,
    /// How often it is open.
    pub(crate) opened: AtomicU64,
    /// Held while links, attributes, counts and handles change.
    structure: Mutex<Structure>,
    /// Elements of one dataset change under its lock; datasets share locks by their numbers.
    elements: Vec<RwLock<()>>,
    /// Chunks that changed in part.
    pending: Mutex<Pending<ObjectId>>,
    /// The attribute that was made last: most are looked at and written next.
    new_attribute: Mutex<Option<NewAttribute>>,
    pub(crate) last_attribute: Last<AttributeForm>,
    pub(crate) last_dataset: Last<Arc<DatasetInfo>>,
    /// What was decoded of objects.
    known: Mutex<Known>,
}

/// Descriptions by their objects: every call looks here.
type Known = HashMap<ObjectId, Arc<Described>, ahash::RandomState>;

/// What is known about lives of objects, besides the counts in the store.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    /// Open handles, of all openings.
    pub(crate) handles: HashMap<ObjectId, u32>,
    /// Objects without a reference: they go with their last handle, or when the container closes.
    pub(crate) unlinked: HashSet<ObjectId>,
}

/// What is known of an attribute that was just made.
#[derive(Debug)]
pub(crate) struct NewAttribute {
    pub(crate) object: ObjectId,
    pub(crate) info: AttributeInfo,
    /// Of its value.
    pub(crate) bytes: usize,
}

/// Locks of datasets: more than threads that write at once.
const LOCKS: usize = 64;
/// Objects that stay decoded; with more, all are forgotten.
const KNOWN_MAX: usize = 1 << 16;

impl Shared {
    /// A container that was just made in the store: its root group and its global metadata are written and durable.
    pub(crate) fn create(store: Arc<dyn Store>, is_concurrent: bool, create: &FileCreate) -> Result<Self> {
        let (version, one) = (keys::VERSION.to_le_bytes(), keys::number(1));
        let root = encode::group_create(&create.root)?;
        let file = encode::file_create(create)?;
        let described = |object, changes| Update {
            object,
            dkey: keys::INTERNAL,
            changes,
            conditions: &[],
            phase: Phase::Description,
        };
        let root = [Change::Single(keys::CREATION, &root), Change::Single(keys::REFERENCES, &one)];
        store.update(&described(keys::ROOT, &root)).during("make root group")?;
        // Last, so that a container which was not completed has no version.
        let file = [Change::Single(keys::CREATION, &file), Change::Single(keys::LAYOUT_VERSION, &version)];
        let file = Update { phase: Phase::Link, ..described(keys::GLOBAL, &file) };
        store.update(&file).during("make container")?;
        store.flush().during("make container")?;
        Ok(Self::new(store, is_concurrent, create.clone(), Mode::ReadWrite))
    }

    /// A container that is in the store.
    pub(crate) fn open(store: Arc<dyn Store>, is_concurrent: bool, mode: Mode) -> Result<Self> {
        let wanted = [keys::LAYOUT_VERSION, keys::CREATION];
        let mut found = store.get(keys::GLOBAL, keys::INTERNAL, &wanted).during("open container")?;
        let (creation, version) = (found.pop().flatten(), found.pop().flatten());
        check_version(version.as_deref())?;
        let creation = creation.ok_or_else(|| incomplete("it has no creation properties"))?;
        let create = encode::decode_file_create(&creation)?;
        Ok(Self::new(store, is_concurrent, create, mode))
    }

    fn new(store: Arc<dyn Store>, is_concurrent: bool, create: FileCreate, mode: Mode) -> Self {
        Shared {
            store,
            create,
            is_concurrent,
            mode,
            numbers: Numbers::default(),
            listings: Listings::default(),
            released: vol::Released::default(),
            budget: OnceLock::new(),
            opened: AtomicU64::new(0),
            structure: Mutex::default(),
            elements: (0..LOCKS).map(|_| RwLock::default()).collect(),
            pending: Mutex::default(),
            new_attribute: Mutex::default(),
            last_attribute: Last::default(),
            last_dataset: Last::default(),
            known: Mutex::default(),
        }
    }

    pub(crate) fn structure(&self) -> MutexGuard<'_, Structure> {
        self.structure.lock()
    }

    /// The lock of a dataset's elements.
    pub(crate) fn lock_of(&self, dataset: ObjectId) -> &RwLock<()> {
        &self.elements[dataset.low as usize % LOCKS]
    }

    /// Remembers an attribute that was just made.
    pub(crate) fn note_new_attribute(&self, new: NewAttribute) {
        *self.new_attribute.lock() = Some(new);
    }

    /// What is known of an attribute, where it was the last that was made.
    pub(crate) fn new_attribute<T>(
        &self,
        object: ObjectId,
        name: &str,
        known: impl FnOnce(&NewAttribute) -> T,
    ) -> Option<T> {
        let new = self.new_attribute.lock();
        new.as_ref().filter(|new| new.object == object && new.info.name == name).map(known)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }

    /// What an object is.
    pub(crate) fn describe(&self, id: ObjectId, limits: &Limits) -> Result<Arc<Described>> {
        if let Some(known) = self.known().get(&id) {
            return Ok(known.clone());
        }
        let described = Arc::new(Described::load(&*self.store, id, limits)?);
        self.remember(described.clone());
        Ok(described)
    }

    /// What an object is from now on.
    pub(crate) fn remember(&self, described: Arc<Described>) {
        let mut known = self.known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(described.id, described);
    }

    /// Whatever attribute was made last may not be there any more.
    pub(crate) fn forget_new_attribute(&self) {
        *self.new_attribute.lock() = None;
    }

    /// The object is gone.
    pub(crate) fn forget(&self, id: ObjectId) {
        self.forget_new_attribute();
        self.pending.lock().forget(id);
        self.known().remove(&id);
        self.listings.changed(id);
    }

    /// Whatever other processes changed is looked at again.
    pub(crate) fn forget_all(&self) {
        self.forget_new_attribute();
        self.known().clear();
        self.listings.clear();
    }

    /// Elements of all datasets.
    pub(crate) fn elements(&self) -> Elements<'_, Shared> {
        let budget = self.budget.get().cloned().unwrap_or_default();
        Elements { chunks: self, pending: &self.pending, budget }
    }

    /// Makes everything durable, and sees what others made so.
    pub(crate) fn flush(&self) -> Result<()> {
        self.elements().settle_all()?;
        self.store.flush().during("commit container")?;
        if self.is_concurrent {
            self.store.refresh().during("commit container")?;
            self.forget_all();
        }
        Ok(())
    }

    pub(crate) fn is_last(&self) -> bool {
        self.opened.fetch_sub(1, Ordering::SeqCst) == 1
    }
}

fn incomplete(problem: &str) -> Error {
    Error::corrupt("open container").with("problem", problem)
}

fn check_version(found: Option<&[u8]>) -> Result<()> {
    let found = found.ok_or_else(|| incomplete("it has no layout version: it was never completed"))?;
    let bytes: Result<[u8; 4], _> = found.try_into();
    let version =
        bytes.map(u32::from_le_bytes).map_err(|_| incomplete("its layout version makes no sense"))?;
    match version {
        keys::VERSION => Ok(()),
        newer if newer > keys::VERSION => Err(Error::unsupported("open container of a newer layout")
            .with("layout version", newer)
            .with("known", keys::VERSION)),
        older => Err(incomplete("its layout version makes no sense").with("layout version", older)),
    }
}
