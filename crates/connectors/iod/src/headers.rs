//! Object headers: the values in the key-value store that an object's scratch pad names first.

use std::sync::Arc;

use iod_storage::{Batch, Id, Kind, ScratchPad};
use keyed::{Body, Dataset, Identities, ObjectHeader};
use model::encode::ObjectClass;
use model::properties::{FillValue, Layout};
use model::{Error, Limits, ObjectKind, Result, Token, encode};
use vol::DatasetInfo;

use crate::IodMapping;
use crate::arrays::{array_of, shape_of};
use crate::error::During;
use crate::identity;
use crate::keys::{
    self, COMMITTED, CREATION, DATASPACE, DATATYPE, FILL_VALUE, KEY_TYPE, LINK_COUNT, OTHER_PROPERTIES,
    SERIALIZED_SIZE, TYPE, VALUE_TYPE,
};
use crate::mapping::ObjectLocation;

pub(crate) fn corrupt(problem: &str) -> Error {
    Error::corrupt("read object").with("problem", problem)
}

fn check_kv(id: Id) -> Result<Id> {
    match id.kind() {
        Some(Kind::KeyValue) => Ok(id),
        _ => Err(corrupt("its scratch pad names something else than a key-value store").with("id", id)),
    }
}

/// Values of a header, by their keys.
pub(crate) struct HeaderValues(Vec<(&'static [u8], Option<Vec<u8>>)>);

impl HeaderValues {
    /// Reads values from the header of an object or an attribute.
    pub(crate) fn read(mapping: &IodMapping, metadata: Id, keys: &[&'static [u8]]) -> Result<Self> {
        let values = mapping.storage.get(metadata, keys).during("read object")?;
        Ok(HeaderValues(keys.iter().copied().zip(values).collect()))
    }

    /// Takes a value, or returns `None` if it is not stored.
    pub(crate) fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.iter_mut().find(|(known, _)| *known == key).and_then(|(_, value)| value.take())
    }

    /// Takes a value.
    ///
    /// # Errors
    /// Returns `Corrupt` if it is not stored.
    pub(crate) fn need(&mut self, key: &[u8]) -> Result<Vec<u8>> {
        let part = || String::from_utf8_lossy(key).into_owned();
        self.get(key).ok_or_else(|| corrupt("a part of it is missing").with("part", part()))
    }

    /// Takes the committed datatype that is shared.
    pub(crate) fn committed(&mut self) -> Result<Option<Token>> {
        let Some(bytes) = self.get(COMMITTED) else { return Ok(None) };
        let id = keys::id_of(&bytes, "committed datatype")?;
        match id.kind() {
            Some(Kind::Blob) => Ok(Some(identity::token(id))),
            _ => Err(corrupt("its committed datatype makes no sense")),
        }
    }
}

/// The keys of object headers.
const ALL: [&[u8]; 9] =
    [TYPE, CREATION, DATATYPE, DATASPACE, KEY_TYPE, VALUE_TYPE, COMMITTED, FILL_VALUE, OTHER_PROPERTIES];

/// The most bytes of a committed datatype: what a datatype message may have.
const DATATYPE_BYTES_MAX: u64 = 16 << 20;

impl IodMapping {
    /// Reads the header of an object.
    pub(crate) fn load_header(&self, id: Id, limits: &Limits) -> Result<ObjectHeader<Self>> {
        let missing = || Self::missing(id);
        let ScratchPad([metadata, attributes, ..]) = self.scratch_pad(id)?.ok_or_else(missing)?;
        // What belongs to an object is no object.
        if metadata.is_undefined() {
            return Err(missing());
        }
        let load = || -> Result<Option<ObjectHeader<Self>>> {
            let mut values = HeaderValues::read(self, check_kv(metadata)?, &ALL)?;
            let number = keys::small_of(&values.need(TYPE)?, "type of an object")?;
            let Some(kind) = keys::kind_of(number) else { return Ok(None) };
            let body = self.decode_body(id, kind, &mut values, limits)?;
            let location = ObjectLocation { metadata, attributes: check_kv(attributes)? };
            Ok(Some(ObjectHeader { id, location, body }))
        };
        load().map_err(|error| error.during("read object").with("object", id))?.ok_or_else(missing)
    }

    fn decode_body(
        &self,
        id: Id,
        kind: ObjectKind,
        values: &mut HeaderValues,
        limits: &Limits,
    ) -> Result<Body> {
        if id.kind() != Some(keys::storage_kind(kind)) {
            return Err(corrupt("it is stored as something else than it says").with("type", kind.name()));
        }
        let creation = values.need(CREATION)?;
        let datatype = |bytes: &[u8]| Self::decode_datatype(bytes, limits);
        Ok(match kind {
            // The creation properties of the file contain those of the root group.
            ObjectKind::Group if id == keys::ROOT => Body::Group(self.root.clone()),
            ObjectKind::Group => Body::Group(encode::decode_group_create(&creation)?),
            ObjectKind::Dataset => Body::Dataset(self.decode_dataset(id, &creation, values, limits)?),
            ObjectKind::Datatype => {
                let bytes = self.storage.read_blobs(&[id], DATATYPE_BYTES_MAX).during("read datatype")?;
                let bytes = bytes.into_iter().next().flatten().unwrap_or_default();
                let create = encode::decode_object_create(ObjectClass::Datatype, &creation)?;
                Body::Datatype { datatype: datatype(&bytes)?, create }
            }
            ObjectKind::Map => Body::Map {
                key: datatype(&values.need(KEY_TYPE)?)?,
                value: datatype(&values.need(VALUE_TYPE)?)?,
                create: encode::decode_object_create(ObjectClass::Map, &creation)?,
            },
        })
    }

    fn decode_dataset(
        &self,
        id: Id,
        creation: &[u8],
        values: &mut HeaderValues,
        limits: &Limits,
    ) -> Result<Dataset> {
        let mut create = encode::decode_dataset_create(creation, limits)?;
        if let Some(other) = values.get(OTHER_PROPERTIES) {
            filters::pipeline::take_other(&other, &mut create)?;
        }
        if let Some(value) = values.get(FILL_VALUE) {
            create.fill.value = FillValue::Value(value);
        }
        let space = encode::decode_space_of(&values.need(DATASPACE)?, limits)?;
        let shape = match &create.layout {
            Layout::Chunked { shape, .. } => shape.clone(),
            _ => shape_of(&self.storage.array(id).during("read dataset")?.block, &space),
        };
        let info = DatasetInfo {
            datatype: Self::decode_datatype(&values.need(DATATYPE)?, limits)?,
            committed: values.committed()?,
            space,
            create,
        };
        let dataset = Dataset { info: Arc::new(info), shape };
        dataset.check(limits)?;
        self.check_array(id, &dataset)?;
        Ok(dataset)
    }

    /// # Errors
    /// Returns `Corrupt` if the array of a dataset does not fit its header.
    fn check_array(&self, id: Id, dataset: &Dataset) -> Result<()> {
        let array = self.storage.array(id).during("read dataset")?;
        let wanted = array_of(dataset);
        // Where a flush is not one commit, a crash may leave an array longer than the extent: its other cells are holes.
        let is_long = |have: &[u64], wanted: &[u64]| match (have, wanted) {
            ([have, rows @ ..], [wanted, others @ ..]) => have >= wanted && rows == others,
            _ => have == wanted,
        };
        let fits =
            array.dims == wanted.dims || !self.storage.is_atomic() && is_long(&array.dims, &wanted.dims);
        let is_same = array.cell_bytes == wanted.cell_bytes && fits && array.chunk == wanted.chunk;
        match is_same {
            true => Ok(()),
            false => Err(corrupt("its array is another one than its datatype and extent say")),
        }
    }

    /// Adds a new object with its header and without attributes to a batch.
    pub(crate) fn store_header(
        &self,
        batch: &mut Batch<'static>,
        header: &ObjectHeader<Self>,
        references: u64,
    ) -> Result<()> {
        let ObjectLocation { metadata, attributes } = header.location;
        let (id, pad) = (header.id, ScratchPad::with(&[metadata, attributes]));
        let creation = match &header.body {
            Body::Group(create) => {
                batch.create_kv(id, pad);
                encode::group_create(create)?
            }
            Body::Dataset(dataset) => {
                let array = array_of(dataset);
                batch.create_array(id, pad, array.cell_bytes, &array.dims, array.chunk.as_deref());
                let info = &dataset.info;
                encode::dataset_create(&info.create, &info.datatype, &info.space)?
            }
            Body::Datatype { datatype, create } => {
                batch.create_blob(id, pad, encode::datatype(datatype)?);
                encode::object_create(ObjectClass::Datatype, create)?
            }
            Body::Map { create, .. } => {
                batch.create_kv(id, pad);
                encode::object_create(ObjectClass::Map, create)?
            }
        };
        batch
            .create_kv(attributes, ScratchPad::NULL)
            .create_kv(metadata, ScratchPad::NULL)
            .put(metadata, CREATION, creation)
            .put(metadata, TYPE, keys::type_number(header.kind()).to_le_bytes().to_vec())
            .put(metadata, LINK_COUNT, keys::number(references).to_vec());
        match &header.body {
            Body::Group(_) => {}
            Body::Dataset(dataset) => put_dataset(batch, metadata, &dataset.info)?,
            Body::Datatype { datatype, .. } => {
                let size = encode::datatype(datatype)?.len() as u64;
                batch.put(metadata, SERIALIZED_SIZE, keys::number(size).to_vec());
            }
            Body::Map { key, value, .. } => {
                batch.put(metadata, KEY_TYPE, encode::datatype(key)?);
                batch.put(metadata, VALUE_TYPE, encode::datatype(value)?);
            }
        }
        Ok(())
    }
}

fn put_dataset(batch: &mut Batch<'static>, metadata: Id, info: &DatasetInfo) -> Result<()> {
    batch.put(metadata, DATATYPE, encode::datatype(&info.datatype)?);
    batch.put(metadata, DATASPACE, encode::space(&info.space)?);
    if let FillValue::Value(value) = &info.create.fill.value {
        batch.put(metadata, FILL_VALUE, value.clone());
    }
    if let Some(committed) = info.committed {
        batch.put(metadata, COMMITTED, identity::object(committed)?.to_bytes().to_vec());
    }
    if let Some(other) = filters::pipeline::other(&info.create)? {
        batch.put(metadata, OTHER_PROPERTIES, other);
    }
    Ok(())
}
