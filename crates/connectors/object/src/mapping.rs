//! The mapping: one object of the store for each object of a container, and one of global metadata.

use std::sync::Arc;

use keyed::{
    AttributeHeader, Body, Dataset, During, Identities, ObjectHeader, Objects, changed_count, stored,
};
use model::properties::{DatasetCreate, FileCreate, Layout};
use model::{Dataspace, Datatype, Error, Limits, ObjectKind, Result, Token, encode, text};
use objects::{Change, Condition, ObjectClass, ObjectId, Phase, Store, Update};
use vol::DatasetInfo;

use crate::encoded::{AttributeForm, LastEncoded};
use crate::identity::{self, Numbers, class_of_name};
use crate::keys::{self, COMMENT, DATASPACE, INTERNAL, Spelling};

/// A container in an object store.
#[derive(Debug)]
pub struct ObjectMapping {
    pub(crate) store: Arc<dyn Store>,
    /// Whether other processes may write too: then counters are changed with conditions.
    is_concurrent: bool,
    numbers: Numbers,
    pub(crate) spelling: Spelling,
    /// The class of new objects whose creation properties name none.
    class: Option<ObjectClass>,
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

/// Returns whether a container without a layout version is one of the connector for DAOS: its root group has creation
/// properties, and no reference count as we spell it.
fn is_of_daos(store: &dyn Store) -> Result<bool> {
    let found =
        store.get(keys::ROOT, INTERNAL, &[keys::CREATION, keys::REFERENCES]).during("open container")?;
    Ok(matches!(found[..], [Some(_), None]))
}

impl ObjectMapping {
    /// Returns the mapping with a class for new objects whose creation properties name none.
    pub(crate) fn with_class(self, class: Option<ObjectClass>) -> Self {
        ObjectMapping { class, ..self }
    }

    /// Returns the reference count of an object from its creation properties and the stored count.
    fn counted(&self, id: ObjectId, creation: Option<&[u8]>, count: Option<&[u8]>) -> Result<u64> {
        match (count, creation, self.spelling) {
            (Some(count), ..) => keys::number_of(count, "reference count"),
            // Older versions of the connector for DAOS count none: such an object has the link that led here.
            (None, Some(_), Spelling::Daos) => Ok(1),
            _ => Err(Self::missing(id)),
        }
    }

    /// Writes the root group and the global metadata of a new container, and makes them durable.
    pub(crate) fn create(
        store: Arc<dyn Store>,
        is_concurrent: bool,
        create: &FileCreate,
        spelling: Spelling,
    ) -> Result<Self> {
        let (version, one) = (keys::VERSION.to_le_bytes(), keys::number(1));
        let root = encode::group_create(&create.root)?;
        let file = encode::file_create(create)?;
        let header =
            |object, changes, phase| Update { object, dkey: INTERNAL, changes, conditions: &[], phase };
        let root = [Change::Single(keys::CREATION, &root), Change::Single(spelling.references(), &one)];
        store.update(&header(keys::ROOT, &root, Phase::Description)).during("create root group")?;
        // Last, so that a container which was not completed has no creation properties.
        let mut changes = vec![Change::Single(keys::CREATION, &file)];
        if spelling == Spelling::Design {
            changes.push(Change::Single(keys::LAYOUT_VERSION, &version));
        }
        store.update(&header(keys::GLOBAL, &changes, Phase::Link)).during("create container")?;
        store.flush().during("create container")?;
        Ok(Self::new(store, is_concurrent, spelling))
    }

    /// Opens the container in a store, and returns its creation properties too.
    pub(crate) fn open(store: Arc<dyn Store>, is_concurrent: bool) -> Result<(Self, FileCreate)> {
        let wanted = [keys::LAYOUT_VERSION, keys::CREATION];
        let mut found = store.get(keys::GLOBAL, INTERNAL, &wanted).during("open container")?;
        let (creation, version) = (found.pop().flatten(), found.pop().flatten());
        let spelling = match (&version, &creation) {
            (None, Some(_)) if is_of_daos(&*store)? => Spelling::Daos,
            _ => Spelling::Design,
        };
        if spelling == Spelling::Design {
            keyed::check_version(version.as_deref(), keys::VERSION)?;
        }
        let creation = creation.ok_or_else(|| keyed::incomplete("it has no creation properties"))?;
        let create = encode::decode_file_create(&creation)?;
        Ok((Self::new(store, is_concurrent, spelling), create))
    }

    fn new(store: Arc<dyn Store>, is_concurrent: bool, spelling: Spelling) -> Self {
        ObjectMapping {
            store,
            is_concurrent,
            numbers: Numbers::default(),
            spelling,
            class: None,
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

/// Returns the shape of a chunk that is a whole extent.
pub(crate) fn whole_extent(space: &Dataspace) -> Vec<u64> {
    space.dims().iter().map(|dim| (*dim).max(1)).collect()
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
        let wanted: Vec<_> = ids.iter().map(|id| (*id, INTERNAL, keys::CREATION)).collect();
        let found = self.store.get_many(&wanted).during("read objects")?;
        let kind = |(id, found): (&ObjectId, Option<_>)| match found {
            Some(_) => Ok(identity::kind(*id)),
            None => Err(Self::missing(*id)),
        };
        ids.iter().zip(found).map(kind).collect()
    }

    fn new_object(&self, body: &mut Body) -> Result<(ObjectId, ())> {
        let class = match &body.object().object_class {
            Some(name) => class_of_name(name)?,
            None => self.class,
        };
        let id = self.numbers.next(&*self.store, body.kind(), class)?;
        if let Some(class) = identity::class(id) {
            body.set_object_class(Some(class.to_string()));
        }
        Ok((id, ()))
    }

    fn automatic_chunks(&self, space: &Dataspace, datatype: &Datatype) -> Vec<u64> {
        match self.spelling {
            Spelling::Design => keyed::automatic_shape(space.dims(), datatype.size().into()),
            // What is larger than a chunk was made a chunked one.
            Spelling::Daos => whole_extent(space),
        }
    }

    /// The connector for DAOS has one chunk for a contiguous dataset, and makes a large one chunked.
    fn adapt_dataset(&self, create: &mut DatasetCreate, space: &Dataspace, datatype: &Datatype) {
        let shape = keyed::automatic_shape(space.dims(), datatype.size().into());
        let fits = shape.iter().zip(space.dims()).all(|(len, dim)| len >= dim);
        if self.spelling == Spelling::Daos && !fits && !matches!(create.layout, Layout::Chunked { .. }) {
            create.layout = Layout::chunked(&shape);
        }
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
        let wanted = [keys::CREATION, self.spelling.references()];
        let found = self.store.get(id, INTERNAL, &wanted).during("count references")?;
        let [creation, count] = &found[..] else { return Err(Error::corrupt("count references")) };
        self.counted(id, creation.as_deref(), count.as_deref())
    }

    fn change_references(&self, (): &mut (), id: ObjectId, by: i64) -> Result<u64> {
        let phase = if by < 0 { Phase::Removal } else { Phase::Description };
        self.retried("change reference count", &mut || {
            let old = self.references(&(), id)?;
            let new = changed_count(old, by)?;
            let (old, bytes) = (keys::number(old), keys::number(new));
            let akey = self.spelling.references();
            let changes = [Change::Single(akey, &bytes)];
            let conditions = &[Condition::Equals(akey, &old)];
            let update = Update { object: id, dkey: INTERNAL, changes: &changes, conditions, phase };
            Ok((self.update_counted(&update), new))
        })
    }

    fn put_references(&self, id: ObjectId, count: u64) -> Result<()> {
        self.update_header(id, &[Change::Single(self.spelling.references(), &keys::number(count))])
    }

    fn read_status(&self, header: &ObjectHeader<Self>) -> Result<(u64, Option<String>)> {
        let wanted = [keys::CREATION, self.spelling.references(), COMMENT];
        let found = self.store.get(header.id, INTERNAL, &wanted).during("read object")?;
        let [creation, count, comment] =
            <[_; 3]>::try_from(found).map_err(|_| Error::corrupt("read object"))?;
        let references = self.counted(header.id, creation.as_deref(), count.as_deref())?;
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
