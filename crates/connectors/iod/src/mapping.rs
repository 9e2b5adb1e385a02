//! The mapping: a key-value store, an array or a blob for each object, and two key-value stores for its header and its
//! attributes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use iod_storage::{Batch, Container, Id, Kind, Phase, ScratchPad};
use keyed::{AttributeHeader, Body, Dataset, Identities, ObjectHeader, Objects, changed_count};
use model::properties::{FileCreate, GroupCreate};
use model::{Dataspace, Datatype, Error, Limits, ObjectKind, Result, Token, encode, text};
use system::sync::Mutex;

use crate::arrays::{array_of, automatic_chunks};
use crate::attributes::AttributeLocation;
use crate::error::{During, stored};
use crate::identity::{self, Numbers};
use crate::keys::{self, COMMENT, DATASPACE, LINK_COUNT, ROOT, ROOT_ATTRIBUTES, ROOT_METADATA};

/// The first number of key-value stores that clients may take.
const FIRST_KV: u64 = 3;

/// A container of key-value stores, arrays and blobs.
#[derive(Debug)]
pub struct IodMapping {
    pub(crate) storage: Container,
    /// The creation properties of the root group, which are stored with those of the file.
    pub(crate) root: GroupCreate,
    pub(crate) numbers: Numbers,
    /// Headers of attributes, by their arrays.
    pub(crate) attribute_headers: Mutex<HashMap<Id, Arc<AttributeHeader<IodMapping>>>>,
}

/// Where the parts of an object are: the key-value stores that its scratch pad names.
#[derive(Debug, Clone, Copy)]
pub struct ObjectLocation {
    /// The header.
    pub(crate) metadata: Id,
    /// The attributes.
    pub(crate) attributes: Id,
}

/// Changes that are made together, by one batch of the storage.
#[derive(Debug, Default)]
pub struct Changes {
    pub(crate) batch: Batch<'static>,
    counts: HashMap<Id, ChangedCount>,
    removed: HashSet<Id>,
}

/// A reference count that changes.
#[derive(Debug)]
struct ChangedCount {
    /// The key-value store with it.
    metadata: Id,
    /// The new count.
    count: u64,
    by: i64,
}

impl IodMapping {
    /// Writes the root group of a new container, and makes it durable.
    pub(crate) fn create(storage: Container, create: &FileCreate) -> Result<Self> {
        let mut batch = Batch::new();
        batch
            .create_kv(ROOT, ScratchPad::with(&[ROOT_METADATA, ROOT_ATTRIBUTES]))
            .create_kv(ROOT_ATTRIBUTES, ScratchPad::NULL)
            .create_kv(ROOT_METADATA, ScratchPad::NULL)
            .put(ROOT_METADATA, keys::CREATION, encode::file_create(create)?)
            .put(ROOT_METADATA, keys::TYPE, keys::type_number(ObjectKind::Group).to_le_bytes().to_vec())
            .put(ROOT_METADATA, LINK_COUNT, keys::number(1).to_vec())
            .put(ROOT_METADATA, keys::KV_INDEX, keys::number(FIRST_KV).to_vec())
            .put(ROOT_METADATA, keys::ARRAY_INDEX, keys::number(0).to_vec())
            .put(ROOT_METADATA, keys::BLOB_INDEX, keys::number(0).to_vec())
            .put(ROOT_METADATA, keys::LAYOUT_VERSION, keys::VERSION.to_le_bytes().to_vec());
        storage.apply(&batch).during("create container")?;
        storage.flush().during("create container")?;
        Ok(Self::new(storage, create))
    }

    /// Opens the container in a storage, and returns its creation properties too.
    pub(crate) fn open(storage: Container) -> Result<(Self, FileCreate)> {
        storage.open(ROOT).map_err(|error| match error {
            iod_storage::Error::NotFound(_) => {
                keyed::incomplete("it has no root group: it was never completed")
            }
            error => stored("open container", &error),
        })?;
        let wanted = [keys::LAYOUT_VERSION, keys::CREATION];
        let mut found = storage.get(ROOT_METADATA, &wanted).during("open container")?;
        let (creation, version) = (found.pop().flatten(), found.pop().flatten());
        keyed::check_version(version.as_deref(), keys::VERSION)?;
        let creation = creation.ok_or_else(|| keyed::incomplete("it has no creation properties"))?;
        let create = encode::decode_file_create(&creation)?;
        Ok((Self::new(storage, &create), create))
    }

    fn new(storage: Container, create: &FileCreate) -> Self {
        let (numbers, attribute_headers) = (Numbers::default(), Mutex::default());
        IodMapping { storage, root: create.root.clone(), numbers, attribute_headers }
    }

    /// Applies a batch.
    pub(crate) fn apply_batch(&self, batch: &Batch<'_>, operation: &str) -> Result<()> {
        match batch.is_empty() {
            true => Ok(()),
            false => self.storage.apply(batch).during(operation),
        }
    }

    /// Returns the scratch pad of an object, or `None` if there is no such object.
    pub(crate) fn scratch_pad(&self, id: Id) -> Result<Option<ScratchPad>> {
        match self.storage.open(id) {
            Ok(pad) => Ok(Some(pad)),
            Err(iod_storage::Error::NotFound(_)) => Ok(None),
            Err(error) => Err(stored("read object", &error)),
        }
    }

    /// Returns the key-value store with the header of an object.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such object.
    pub(crate) fn metadata_of(&self, id: Id) -> Result<Id> {
        match self.scratch_pad(id)? {
            // What belongs to an object is no object.
            Some(ScratchPad([metadata, ..])) if !metadata.is_undefined() => Ok(metadata),
            _ => Err(Self::missing(id)),
        }
    }

    /// Returns one value of a key-value store, or `None` if it has no such key.
    pub(crate) fn value(&self, kv: Id, key: &[u8], operation: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.storage.get(kv, &[key]).during(operation)?.pop().flatten())
    }

    /// Returns a counter in the header of an object; one that is not stored is 0.
    pub(crate) fn counter(&self, object: &ObjectHeader<Self>, key: &[u8]) -> Result<u64> {
        let found = self.value(object.location.metadata, key, "read order")?;
        found.map_or(Ok(0), |bytes| keys::number_of(&bytes, "order of creation"))
    }

    /// Visits all pairs of a key-value store.
    pub(crate) fn each_pair(&self, kv: Id, mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        for keys in self.storage.keys_with_prefix(kv, b"").during("read values")?.chunks(keyed::PAGE) {
            let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let values = self.storage.get(kv, &wanted).during("read values")?;
            // A pair that went in between is none.
            let there = keys.iter().zip(values).filter_map(|(key, value)| Some((key, value?)));
            there.into_iter().try_for_each(|(key, value)| visit(key, &value))?;
        }
        Ok(())
    }
}

impl Identities for IodMapping {
    type Id = Id;
    type BlobId = [u8; 8];

    const ROOT: Id = keys::ROOT;

    fn token(id: Id) -> Token {
        identity::token(id)
    }

    fn id(token: Token) -> Result<Id> {
        identity::object(token)
    }

    fn number(id: Id) -> u64 {
        id.number()
    }
}

impl Objects for IodMapping {
    type Location = ObjectLocation;
    type AttributeLocation = AttributeLocation;
    type Changes = Changes;

    const NAME: &'static str = "iod";
    const VERSION: u32 = keys::VERSION;

    fn apply(&self, mut changes: Changes, operation: &str) -> Result<()> {
        for (id, ChangedCount { metadata, count, by }) in changes.counts {
            if !changes.removed.contains(&id) {
                // A count that is too high is the harmless error.
                changes.batch.phase(if by < 0 { Phase::Removal } else { Phase::Description });
                changes.batch.put(metadata, LINK_COUNT, keys::number(count).to_vec());
            }
        }
        self.apply_batch(&changes.batch, operation)
    }

    fn flush(&self) -> Result<()> {
        self.storage.flush().during("commit container")
    }

    fn refresh(&self) -> Result<()> {
        self.attribute_headers.lock().clear();
        self.storage.refresh().during("refresh object")
    }

    fn before_close(&self) -> Result<()> {
        self.numbers.give_back(&self.storage)
    }

    fn read_header(&self, id: Id, limits: &Limits) -> Result<ObjectHeader<Self>> {
        self.load_header(id, limits)
    }

    fn kinds(&self, ids: &[Id]) -> Result<Vec<ObjectKind>> {
        let kind = |id: &Id| {
            let found = self.value(self.metadata_of(*id)?, keys::TYPE, "read object")?;
            let number = keys::small_of(&found.unwrap_or_default(), "type of an object")?;
            keys::kind_of(number).ok_or_else(|| Self::missing(*id))
        };
        ids.iter().map(kind).collect()
    }

    fn new_object(&self, body: &mut Body) -> Result<(Id, ObjectLocation)> {
        let id = self.numbers.next(&self.storage, keys::storage_kind(body.kind()))?;
        match self.numbers.take(&self.storage, Kind::KeyValue, 2)?[..] {
            [metadata, attributes] => Ok((id, ObjectLocation { metadata, attributes })),
            _ => Err(Error::limit("allocate object numbers")),
        }
    }

    fn automatic_chunks(&self, space: &Dataspace, datatype: &Datatype) -> Vec<u64> {
        automatic_chunks(space, datatype)
    }

    fn put_object(&self, changes: &mut Changes, header: &ObjectHeader<Self>, references: u64) -> Result<()> {
        self.store_header(&mut changes.batch, header, references)
    }

    fn remove_object(
        &self,
        changes: &mut Changes,
        header: &ObjectHeader<Self>,
        attributes: &[Arc<AttributeHeader<Self>>],
    ) -> Result<()> {
        for attribute in attributes {
            self.remove_array(&mut changes.batch, &attribute.location);
        }
        let ObjectLocation { metadata, attributes } = header.location;
        changes.batch.delete(header.id).delete(metadata).delete(attributes);
        changes.removed.insert(header.id);
        Ok(())
    }

    fn put_extent(&self, header: &ObjectHeader<Self>, resized: &Dataset) -> Result<bool> {
        let mut batch = Batch::new();
        batch.phase(Phase::Link);
        batch.put(header.location.metadata, DATASPACE, encode::space(&resized.info.space)?);
        if let Some(len) = array_of(resized).dims.first() {
            // Where a flush is not one commit, the array is at no moment shorter than the extent says.
            let grows = Some(len) > array_of(header.dataset()?).dims.first();
            batch.phase(if grows { Phase::Description } else { Phase::Removal });
            batch.resize(header.id, *len);
        }
        self.apply_batch(&batch, "resize dataset").map(|()| true)
    }

    fn references(&self, changes: &Changes, id: Id) -> Result<u64> {
        if let Some(changed) = changes.counts.get(&id) {
            return Ok(changed.count);
        }
        let found = self.value(self.metadata_of(id)?, LINK_COUNT, "count links")?;
        keys::number_of(&found.unwrap_or_default(), "link count")
    }

    fn change_references(&self, changes: &mut Changes, id: Id, by: i64) -> Result<u64> {
        let count = changed_count(self.references(changes, id)?, by)?;
        let before = changes.counts.get(&id).map_or(0, |changed| changed.by);
        let changed = ChangedCount { metadata: self.metadata_of(id)?, count, by: before + by };
        changes.counts.insert(id, changed);
        Ok(count)
    }

    fn put_references(&self, id: Id, count: u64) -> Result<()> {
        let count = keys::number(count);
        self.storage.put(self.metadata_of(id)?, &[(LINK_COUNT, &count)]).during("repair link count")
    }

    fn read_status(&self, header: &ObjectHeader<Self>) -> Result<(u64, Option<String>)> {
        let found = self.storage.get(header.location.metadata, &[LINK_COUNT, COMMENT]);
        let found = found.during("read object")?;
        let [references, comment] = <[_; 2]>::try_from(found).map_err(|_| Error::corrupt("read object"))?;
        let references = references.ok_or_else(|| Self::missing(header.id))?;
        let references = keys::number_of(&references, "link count")?;
        Ok((references, comment.map(|comment| text::from_bytes(&comment))))
    }

    fn put_comment(&self, header: &ObjectHeader<Self>, comment: Option<&str>) -> Result<()> {
        let mut batch = Batch::new();
        match comment {
            Some(comment) => batch.put(header.location.metadata, COMMENT, text::to_bytes(comment)),
            None => batch.remove(header.location.metadata, COMMENT),
        };
        self.apply_batch(&batch, "set comment")
    }
}
