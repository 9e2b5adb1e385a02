//! What an object is, decoded from its metadata.

use std::sync::Arc;

use iod_storage::{Container, Id, Kind, ScratchPad};
pub(crate) use keyed::Body;
use keyed::Dataset;
use model::properties::{FillValue, GroupCreate, Layout, ObjectCreate};
use model::{Dataspace, Datatype, Error, Limits, ObjectKind, Result, Token, encode};
use vol::DatasetInfo;

use crate::blobs::decode_type;
use crate::error::{During, stored};
use crate::identity;
use crate::keys::{self, COMMITTED, CREATION, DATASPACE, DATATYPE, FILL_VALUE, OTHER_PROPERTIES, TYPE};
use crate::shared::Shared;

/// An object, without what changes often: counts, comments, links, attributes.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) id: Id,
    /// The key-value stores on its scratch pad: what it is, and its attributes.
    pub(crate) metadata: Id,
    pub(crate) attributes: Id,
    pub(crate) body: Body,
}

pub(crate) fn corrupt(problem: &str) -> Error {
    Error::corrupt("read object").with("problem", problem)
}

/// The scratch pad of what an identity leads to; `None` where that is nothing.
pub(crate) fn pad_of(storage: &Container, id: Id) -> Result<Option<ScratchPad>> {
    match storage.open(id) {
        Ok(pad) => Ok(Some(pad)),
        Err(iod_storage::Error::NotFound(_)) => Ok(None),
        Err(error) => Err(stored("read object", &error)),
    }
}

fn check_kv(id: Id) -> Result<Id> {
    match id.kind() {
        Some(Kind::KeyValue) => Ok(id),
        _ => Err(corrupt("its scratch pad names something else than a key-value store").with("id", id)),
    }
}

/// Values of metadata, by what they are for.
pub(crate) struct Found(Vec<(&'static [u8], Option<Vec<u8>>)>);

impl Found {
    /// Reads values of an object's metadata.
    pub(crate) fn read(storage: &Container, metadata: Id, keys: &[&'static [u8]]) -> Result<Found> {
        let values = storage.get(metadata, keys).during("read object")?;
        Ok(Found(keys.iter().copied().zip(values).collect()))
    }

    pub(crate) fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.iter_mut().find(|(known, _)| *known == key).and_then(|(_, value)| value.take())
    }

    pub(crate) fn need(&mut self, key: &[u8]) -> Result<Vec<u8>> {
        let part = || String::from_utf8_lossy(key).into_owned();
        self.get(key).ok_or_else(|| corrupt("a part of it is missing").with("part", part()))
    }

    /// The committed datatype that is shared.
    pub(crate) fn committed(&mut self) -> Result<Option<Token>> {
        let Some(bytes) = self.get(COMMITTED) else { return Ok(None) };
        let id = keys::id_of(&bytes, "committed datatype")?;
        match id.kind() {
            Some(Kind::Blob) => Ok(Some(identity::token(id))),
            _ => Err(corrupt("its committed datatype makes no sense")),
        }
    }
}

impl Described {
    /// Reads what an object is.
    pub(crate) fn load(shared: &Shared, id: Id, limits: &Limits) -> Result<Self> {
        let missing = || identity::missing(identity::token(id));
        let ScratchPad([metadata, attributes, ..]) = pad_of(&shared.storage, id)?.ok_or_else(missing)?;
        // Whatever belongs to an object is none itself.
        if metadata.is_undefined() {
            return Err(missing());
        }
        let load = || -> Result<Option<Self>> {
            let mut found = Found::read(&shared.storage, check_kv(metadata)?, &ALL)?;
            let number = keys::small_of(&found.need(TYPE)?, "type of an object")?;
            let Some(kind) = keys::kind_of(number) else { return Ok(None) };
            let body = body(shared, id, kind, &mut found, limits)?;
            Ok(Some(Described { id, metadata, attributes: check_kv(attributes)?, body }))
        };
        load().map_err(|error| error.during("read object").with("object", id))?.ok_or_else(missing)
    }

    pub(crate) fn token(&self) -> Token {
        identity::token(self.id)
    }

    pub(crate) fn kind(&self) -> ObjectKind {
        self.body.kind()
    }

    /// The creation properties that every object has.
    pub(crate) fn object(&self) -> &ObjectCreate {
        self.body.object()
    }

    pub(crate) fn group(&self) -> Result<&GroupCreate> {
        self.body.group(self.token())
    }

    pub(crate) fn dataset(&self) -> Result<&Dataset> {
        self.body.dataset(self.token())
    }

    pub(crate) fn datatype(&self) -> Result<&Datatype> {
        self.body.datatype(self.token())
    }

    pub(crate) fn map(&self) -> Result<(&Datatype, &Datatype)> {
        self.body.map(self.token())
    }
}

/// Everything that says what an object is.
const ALL: [&[u8]; 9] = [
    TYPE,
    CREATION,
    DATATYPE,
    DATASPACE,
    keys::KEY_TYPE,
    keys::VALUE_TYPE,
    COMMITTED,
    FILL_VALUE,
    OTHER_PROPERTIES,
];

/// The most bytes of a committed datatype: what a datatype's message may have.
const DATATYPE_BYTES_MAX: u64 = 16 << 20;

fn body(shared: &Shared, id: Id, kind: ObjectKind, found: &mut Found, limits: &Limits) -> Result<Body> {
    let wanted = match kind {
        ObjectKind::Group | ObjectKind::Map => Kind::KeyValue,
        ObjectKind::Dataset => Kind::Array,
        ObjectKind::Datatype => Kind::Blob,
    };
    if id.kind() != Some(wanted) {
        return Err(corrupt("it is stored as something else than it says").with("type", kind.name()));
    }
    let creation = found.need(CREATION)?;
    Ok(match kind {
        // The file's creation properties hold those of the root group.
        ObjectKind::Group if id == keys::ROOT => Body::Group(shared.create.root.clone()),
        ObjectKind::Group => Body::Group(encode::decode_group_create(&creation)?),
        ObjectKind::Dataset => Body::Dataset(dataset(&shared.storage, id, &creation, found, limits)?),
        ObjectKind::Datatype => {
            let bytes = shared.storage.read_blobs(&[id], DATATYPE_BYTES_MAX).during("read datatype")?;
            let bytes = bytes.into_iter().next().flatten().unwrap_or_default();
            let create = encode::decode_object_create(encode::ObjectClass::Datatype, &creation)?;
            Body::Datatype { datatype: decode_type(&bytes, limits)?, create }
        }
        ObjectKind::Map => Body::Map {
            key: decode_type(&found.need(keys::KEY_TYPE)?, limits)?,
            value: decode_type(&found.need(keys::VALUE_TYPE)?, limits)?,
            create: encode::decode_object_create(encode::ObjectClass::Map, &creation)?,
        },
    })
}

fn dataset(
    storage: &Container,
    id: Id,
    creation: &[u8],
    found: &mut Found,
    limits: &Limits,
) -> Result<Dataset> {
    let mut create = encode::decode_dataset_create(creation, limits)?;
    if let Some(other) = found.get(OTHER_PROPERTIES) {
        filters::pipeline::take_other(&other, &mut create)?;
    }
    if let Some(value) = found.get(FILL_VALUE) {
        create.fill.value = FillValue::Value(value);
    }
    let space = encode::decode_space_of(&found.need(DATASPACE)?, limits)?;
    let shape = match &create.layout {
        Layout::Chunked { shape, .. } => shape.clone(),
        _ => shape_of(&storage.array(id).during("read dataset")?.block, &space),
    };
    let info = DatasetInfo {
        datatype: decode_type(&found.need(DATATYPE)?, limits)?,
        committed: found.committed()?,
        space,
        create,
    };
    let dataset = Dataset { info: Arc::new(info), shape };
    dataset.check(limits)?;
    check_array(storage, id, &dataset)?;
    Ok(dataset)
}

/// The chunks of a dataset that has none: the blocks of its array, cut to the extent where there is only one.
pub(crate) fn shape_of(block: &[u64], space: &Dataspace) -> Vec<u64> {
    let dims = space.dims();
    let cut = |(len, dim): (&u64, &u64)| (*len).min((*dim).max(1));
    block.iter().zip(dims).map(cut).collect()
}

/// An error unless the array of a dataset is as the dataset says.
fn check_array(storage: &Container, id: Id, dataset: &Dataset) -> Result<()> {
    let array = storage.array(id).during("read dataset")?;
    let wanted = crate::datasets::array_of(dataset);
    let is_same =
        array.cell_bytes == wanted.cell_bytes && array.dims == wanted.dims && array.chunk == wanted.chunk;
    match is_same {
        true => Ok(()),
        false => Err(corrupt("its array is another one than its datatype and extent say")),
    }
}
