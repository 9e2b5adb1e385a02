//! The mapping: one object of the store for each object of a container, and one of global metadata.

use std::sync::Arc;

use keyed::{AttributeHeader, Dataset, During, Identities, ObjectHeader, Objects, changed_count, stored};
use model::properties::FileCreate;
use model::{Dataspace, Datatype, Error, Limits, ObjectKind, Result, Token, encode, text};
use objects::{Change, Condition, ObjectId, Phase, Store, Update};
use vol::DatasetInfo;

use crate::encoded::{AttributeForm, LastEncoded};
use crate::identity::{self, Numbers};
use crate::keys::{self, COMMENT, DATASPACE, INTERNAL, REFERENCES};

/// A container in an object store.
#[derive(Debug)]
pub struct ObjectMapping {
    pub(crate) store: Arc<dyn Store>,
    /// Whether other processes may write too: then counters are changed with conditions.
    is_concurrent: bool,
    numbers: Numbers,
    pub(crate) last_attribute: LastEncoded<AttributeForm>,
    pub(crate) last_dataset: LastEncoded<Arc<DatasetInfo>>,
}

/// Returns whether a change with conditions was made: not if another process changed the same before.
pub(crate) fn unless_changed(changed: objects::Result<()>, operation: &str) -> Result<bool> {
    match changed {
        Ok(()) => Ok(true),
        Err(objects::Error::Condition(_)) => Ok(false),
        Err(error) => Err(stored(operation, &error)),
    }
}

impl ObjectMapping {
    /// Writes the root group and the global metadata of a new container, and makes them durable.
    pub(crate) fn create(store: Arc<dyn Store>, is_concurrent: bool, create: &FileCreate) -> Result<Self> {
        let (version, one) = (keys::VERSION.to_le_bytes(), keys::number(1));
        let root = encode::group_create(&create.root)?;
        let file = encode::file_create(create)?;
        let header =
            |object, changes, phase| Update { object, dkey: INTERNAL, changes, conditions: &[], phase };
        let root = [Change::Single(keys::CREATION, &root), Change::Single(REFERENCES, &one)];
        store.update(&header(keys::ROOT, &root, Phase::Description)).during("create root group")?;
        // Last, so that a container which was not completed has no version.
        let file = [Change::Single(keys::CREATION, &file), Change::Single(keys::LAYOUT_VERSION, &version)];
        store.update(&header(keys::GLOBAL, &file, Phase::Link)).during("create container")?;
        store.flush().during("create container")?;
        Ok(Self::new(store, is_concurrent))
    }

    /// Opens the container in a store, and returns its creation properties too.
    pub(crate) fn open(store: Arc<dyn Store>, is_concurrent: bool) -> Result<(Self, FileCreate)> {
        let wanted = [keys::LAYOUT_VERSION, keys::CREATION];
        let mut found = store.get(keys::GLOBAL, INTERNAL, &wanted).during("open container")?;
        let (creation, version) = (found.pop().flatten(), found.pop().flatten());
        keyed::check_version(version.as_deref(), keys::VERSION)?;
        let creation = creation.ok_or_else(|| keyed::incomplete("it has no creation properties"))?;
        let create = encode::decode_file_create(&creation)?;
        Ok((Self::new(store, is_concurrent), create))
    }

    fn new(store: Arc<dyn Store>, is_concurrent: bool) -> Self {
        ObjectMapping {
            store,
            is_concurrent,
            numbers: Numbers::default(),
            last_attribute: LastEncoded::default(),
            last_dataset: LastEncoded::default(),
        }
    }

    /// Makes many changes. One alone is not worth what it costs to overlap them.
    pub(crate) fn update_all(&self, updates: &[Update<'_>]) -> objects::Result<()> {
        match updates {
            [] => Ok(()),
            [update] => self.store.update(update),
            updates => self.store.update_many(updates),
        }
    }

    /// Makes a change whose conditions matter only if other processes write too.
    pub(crate) fn update_counted(&self, update: &Update<'_>) -> objects::Result<()> {
        match self.is_concurrent {
            true => self.store.update_now(update),
            false => self.store.update(&Update { conditions: &[], ..*update }),
        }
    }

    /// Tries a change of something that processes share until no other process was faster.
    ///
    /// # Errors
    /// Returns `Busy` if other processes are faster all the time.
    pub(crate) fn retried<T>(
        &self,
        operation: &str,
        change: &mut dyn FnMut() -> Result<(objects::Result<()>, T)>,
    ) -> Result<T> {
        if self.is_concurrent {
            // What waits for a flush here is not known to those who test the condition.
            self.store.flush().during(operation)?;
        }
        keyed::retried(operation, || match change()? {
            (Ok(()), answer) => Ok(Some(answer)),
            (Err(objects::Error::Condition(_)), _) if self.is_concurrent => {
                self.store.refresh().during(operation)?;
                Ok(None)
            }
            (Err(error), _) => Err(stored(operation, &error)),
        })
    }

    /// Changes akeys of an object's `/Internal Metadata`.
    pub(crate) fn update_header(&self, object: ObjectId, changes: &[Change<'_>]) -> Result<()> {
        let phase = Phase::Description;
        let update = Update { object, dkey: INTERNAL, changes, conditions: &[], phase };
        self.store.update(&update).during("write object header")
    }
}

impl Identities for ObjectMapping {
    type Id = ObjectId;
    type BlobId = [u8; 16];

    const ROOT: ObjectId = keys::ROOT;

    fn token(id: ObjectId) -> Token {
        identity::token(id)
    }

    fn id(token: Token) -> Result<ObjectId> {
        identity::object(token)
    }

    fn number(id: ObjectId) -> u64 {
        id.low
    }
}

/// Changes are made when they are requested: the store changes one dkey at a time.
impl Objects for ObjectMapping {
    type Location = ();
    type AttributeLocation = ();
    type Changes = ();

    const NAME: &'static str = "object";
    const VERSION: u32 = keys::VERSION;

    fn is_concurrent(&self) -> bool {
        self.is_concurrent
    }

    fn apply(&self, (): (), _operation: &str) -> Result<()> {
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.store.flush().during("commit container")?;
        match self.is_concurrent {
            true => self.store.refresh().during("commit container"),
            false => Ok(()),
        }
    }

    fn refresh(&self) -> Result<()> {
        self.store.refresh().during("refresh object")
    }

    fn read_header(&self, id: ObjectId, limits: &Limits) -> Result<ObjectHeader<Self>> {
        self.load_header(id, limits)
    }

    /// Kinds stand in IDs: the store is asked only whether the objects exist.
    fn kinds(&self, ids: &[ObjectId]) -> Result<Vec<ObjectKind>> {
        let wanted: Vec<_> = ids.iter().map(|id| (*id, INTERNAL, REFERENCES)).collect();
        let found = self.store.get_many(&wanted).during("read objects")?;
        let kind = |(id, found): (&ObjectId, Option<_>)| match found {
            Some(_) => Ok(identity::kind(*id)),
            None => Err(Self::missing(*id)),
        };
        ids.iter().zip(found).map(kind).collect()
    }

    fn new_object(&self, kind: ObjectKind) -> Result<(ObjectId, ())> {
        Ok((self.numbers.next(&*self.store, kind)?, ()))
    }

    fn automatic_chunks(&self, space: &Dataspace, datatype: &Datatype) -> Vec<u64> {
        keyed::automatic_shape(space.dims(), datatype.size().into())
    }

    fn put_object(&self, (): &mut (), header: &ObjectHeader<Self>, references: u64) -> Result<()> {
        self.store_header(header, references)
    }

    fn remove_object(
        &self,
        (): &mut (),
        header: &ObjectHeader<Self>,
        _attributes: &[Arc<AttributeHeader<Self>>],
    ) -> Result<()> {
        self.store.punch_object(header.id, Phase::Removal).during("remove object")
    }

    fn put_extent(&self, header: &ObjectHeader<Self>, resized: &Dataset) -> Result<bool> {
        let (old, new) = (encode::space(&header.dataset()?.info.space)?, encode::space(&resized.info.space)?);
        let (changes, conditions) = ([Change::Single(DATASPACE, &new)], [Condition::Equals(DATASPACE, &old)]);
        let phase = Phase::Description;
        let update =
            Update { object: header.id, dkey: INTERNAL, changes: &changes, conditions: &conditions, phase };
        unless_changed(self.update_counted(&update), "resize dataset")
    }

    fn references(&self, (): &(), id: ObjectId) -> Result<u64> {
        let found = self.store.get(id, INTERNAL, &[REFERENCES]).during("count references")?;
        let bytes = found.into_iter().next().flatten();
        keys::number_of(&bytes.ok_or_else(|| Self::missing(id))?, "reference count")
    }

    fn change_references(&self, (): &mut (), id: ObjectId, by: i64) -> Result<u64> {
        let phase = if by < 0 { Phase::Removal } else { Phase::Description };
        self.retried("change reference count", &mut || {
            let old = self.references(&(), id)?;
            let new = changed_count(old, by)?;
            let (old, bytes) = (keys::number(old), keys::number(new));
            let changes = [Change::Single(REFERENCES, &bytes)];
            let conditions = &[Condition::Equals(REFERENCES, &old)];
            let update = Update { object: id, dkey: INTERNAL, changes: &changes, conditions, phase };
            Ok((self.update_counted(&update), new))
        })
    }

    fn put_references(&self, id: ObjectId, count: u64) -> Result<()> {
        self.update_header(id, &[Change::Single(REFERENCES, &keys::number(count))])
    }

    fn read_status(&self, header: &ObjectHeader<Self>) -> Result<(u64, Option<String>)> {
        let found = self.store.get(header.id, INTERNAL, &[REFERENCES, COMMENT]).during("read object")?;
        let [references, comment] = <[_; 2]>::try_from(found).map_err(|_| Error::corrupt("read object"))?;
        let references = references.ok_or_else(|| Self::missing(header.id))?;
        let references = keys::number_of(&references, "reference count")?;
        Ok((references, comment.map(|comment| text::from_bytes(&comment))))
    }

    fn put_comment(&self, header: &ObjectHeader<Self>, comment: Option<&str>) -> Result<()> {
        // As in libhdf5, an empty comment is none.
        let bytes = comment.filter(|comment| !comment.is_empty()).map(text::to_bytes);
        let change = match &bytes {
            Some(bytes) => Change::Single(COMMENT, bytes),
            None => Change::Punch(COMMENT),
        };
        self.update_header(header.id, &[change])
    }
}
