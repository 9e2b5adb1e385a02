//! What all openings of one container in this process share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use iod_storage::{Batch, Container, Id, Mode, ScratchPad};
use keyed::{Elements, Listings, Pending};
use model::properties::FileCreate;
use model::{Budget, Error, Limits, ObjectKind, Result, encode};
use system::sync::{Mutex, MutexGuard, RwLock};

use crate::attributes::Attribute;
use crate::described::Described;
use crate::error::{During, stored};
use crate::identity::Numbers;
use crate::keys::{self, ROOT, ROOT_ATTRIBUTES, ROOT_METADATA};
use crate::lives::Structure;

/// One container that is open in this process.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) storage: Container,
    pub(crate) create: FileCreate,
    pub(crate) mode: Mode,
    pub(crate) numbers: Numbers,
    pub(crate) listings: Listings<Id>,
    /// Blobs that were released, and that readers may still need.
    pub(crate) released: vol::Released<[u8; crate::blobs::ID_BYTES]>,
    /// What memory for its content is charged to: the account of whoever opened it first.
    pub(crate) budget: OnceLock<Budget>,
    /// How often it is open.
    pub(crate) opened: AtomicU64,
    /// Held while links, attributes, counts and handles change.
    structure: Mutex<Structure>,
    /// Elements of one dataset change under its lock; datasets share locks by their numbers.
    elements: Vec<RwLock<()>>,
    /// Chunks that changed in part.
    pending: Mutex<Pending<Id>>,
    /// What was decoded of objects, and of attributes.
    known: Mutex<HashMap<Id, Arc<Described>>>,
    known_attributes: Mutex<HashMap<Id, Arc<Attribute>>>,
}

/// Locks of datasets: more than threads that write at once.
const LOCKS: usize = 64;
/// Objects that stay decoded; with more, all are forgotten.
const KNOWN_MAX: usize = 1 << 16;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// The first number of key-value stores that clients may take.
const FIRST_KV: u64 = 3;

impl Shared {
    /// A container that was just made in the storage: its root group is written and durable.
    pub(crate) fn create(storage: Container, create: &FileCreate) -> Result<Self> {
        let mut batch = Batch::new();
        batch
            .create_kv(ROOT, ScratchPad::with(&[ROOT_METADATA, ROOT_ATTRIBUTES]))
            .create_kv(ROOT_ATTRIBUTES, ScratchPad::NULL)
            .create_kv(ROOT_METADATA, ScratchPad::NULL)
            .put(ROOT_METADATA, keys::CREATION, encode::file_create(create)?)
            .put(ROOT_METADATA, keys::TYPE, keys::type_number(ObjectKind::Group).to_le_bytes().to_vec())
            .put(ROOT_METADATA, keys::LINK_COUNT, keys::number(1).to_vec())
            .put(ROOT_METADATA, keys::KV_INDEX, keys::number(FIRST_KV).to_vec())
            .put(ROOT_METADATA, keys::ARRAY_INDEX, keys::number(0).to_vec())
            .put(ROOT_METADATA, keys::BLOB_INDEX, keys::number(0).to_vec())
            .put(ROOT_METADATA, keys::LAYOUT_VERSION, keys::VERSION.to_le_bytes().to_vec());
        storage.apply(&batch).during("make container")?;
        storage.flush().during("make container")?;
        Ok(Self::new(storage, create.clone(), Mode::ReadWrite))
    }

    /// A container that is in the storage.
    pub(crate) fn open(storage: Container, mode: Mode) -> Result<Self> {
        let missing = |error: &iod_storage::Error| match error {
            iod_storage::Error::NotFound(_) => incomplete("it has no root group: it was never completed"),
            error => stored("open container", error),
        };
        storage.open(ROOT).map_err(|error| missing(&error))?;
        let wanted = [keys::LAYOUT_VERSION, keys::CREATION];
        let mut found = storage.get(ROOT_METADATA, &wanted).during("open container")?;
        let (creation, version) = (found.pop().flatten(), found.pop().flatten());
        check_version(version.as_deref())?;
        let creation = creation.ok_or_else(|| incomplete("it has no creation properties"))?;
        let create = encode::decode_file_create(&creation)?;
        Ok(Self::new(storage, create, mode))
    }

    fn new(storage: Container, create: FileCreate, mode: Mode) -> Self {
        Shared {
            storage,
            create,
            mode,
            numbers: Numbers::default(),
            listings: Listings::default(),
            released: vol::Released::default(),
            budget: OnceLock::new(),
            opened: AtomicU64::new(0),
            structure: Mutex::default(),
            elements: (0..LOCKS).map(|_| RwLock::default()).collect(),
            pending: Mutex::default(),
            known: Mutex::default(),
            known_attributes: Mutex::default(),
        }
    }

    pub(crate) fn structure(&self) -> MutexGuard<'_, Structure> {
        locked(&self.structure)
    }

    /// The lock of a dataset's elements.
    pub(crate) fn lock_of(&self, dataset: Id) -> &RwLock<()> {
        // There are LOCKS of them.
        &self.elements[dataset.number() as usize % LOCKS]
    }

    /// Elements of all datasets.
    pub(crate) fn elements(&self) -> Elements<'_, Shared> {
        let budget = self.budget.get().cloned().unwrap_or_default();
        Elements { chunks: self, pending: &self.pending, budget }
    }

    /// Does a batch.
    pub(crate) fn apply(&self, batch: &Batch<'_>, operation: &str) -> Result<()> {
        match batch.is_empty() {
            true => Ok(()),
            false => self.storage.apply(batch).during(operation),
        }
    }

    /// What an object is.
    pub(crate) fn describe(&self, id: Id, limits: &Limits) -> Result<Arc<Described>> {
        if let Some(known) = locked(&self.known).get(&id) {
            return Ok(known.clone());
        }
        let described = Arc::new(Described::load(self, id, limits)?);
        self.remember(described.clone());
        Ok(described)
    }

    /// What an object is from now on.
    pub(crate) fn remember(&self, described: Arc<Described>) {
        insert(&mut locked(&self.known), described.id, described);
    }

    /// What an attribute is.
    pub(crate) fn describe_attribute(&self, id: Id, limits: &Limits) -> Result<Arc<Attribute>> {
        if let Some(known) = locked(&self.known_attributes).get(&id) {
            return Ok(known.clone());
        }
        let attribute = Arc::new(Attribute::load(&self.storage, id, limits)?);
        self.remember_attribute(attribute.clone());
        Ok(attribute)
    }

    /// What an attribute is from now on.
    pub(crate) fn remember_attribute(&self, attribute: Arc<Attribute>) {
        insert(&mut locked(&self.known_attributes), attribute.id, attribute);
    }

    /// The object or attribute is gone.
    pub(crate) fn forget(&self, id: Id) {
        locked(&self.pending).forget(id);
        locked(&self.known).remove(&id);
        locked(&self.known_attributes).remove(&id);
        self.listings.changed(id);
    }

    /// Whatever was decoded is looked at again.
    pub(crate) fn forget_all(&self) {
        locked(&self.known).clear();
        locked(&self.known_attributes).clear();
        self.listings.clear();
    }

    /// Makes everything durable.
    pub(crate) fn flush(&self) -> Result<()> {
        self.elements().settle_all()?;
        self.storage.flush().during("commit container")
    }

    pub(crate) fn is_last(&self) -> bool {
        self.opened.fetch_sub(1, Ordering::SeqCst) == 1
    }
}

fn insert<T>(known: &mut HashMap<Id, T>, id: Id, value: T) {
    if known.len() >= KNOWN_MAX {
        known.clear();
    }
    known.insert(id, value);
}

fn incomplete(problem: &str) -> Error {
    Error::corrupt("open container").with("problem", problem)
}

fn check_version(found: Option<&[u8]>) -> Result<()> {
    let found = found.ok_or_else(|| incomplete("it has no layout version"))?;
    match keys::small_of(found, "layout version")? {
        keys::VERSION => Ok(()),
        newer if newer > keys::VERSION => Err(Error::unsupported("open container of a newer layout")
            .with("layout version", newer)
            .with("known", keys::VERSION)),
        older => Err(incomplete("its layout version makes no sense").with("layout version", older)),
    }
}
