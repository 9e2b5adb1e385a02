//! Object headers: the values under `/Internal Metadata`.

use std::sync::Arc;

use keyed::{Body, Dataset, During, Identities, ObjectHeader};
use model::encode::ObjectClass;
use model::properties::{FillValue, Layout};
use model::{Error, Limits, ObjectKind, Result, Token, encode};
use objects::{Change, ObjectId};
use vol::DatasetInfo;

use crate::ObjectMapping;
use crate::identity;
use crate::keys::{
    self, CHUNK_SHAPE, COMMITTED, CREATION, DATASPACE, DATATYPE, FILL_VALUE, INTERNAL, KEY_DATATYPE,
    OTHER_PROPERTIES, Spelling, VALUE_DATATYPE,
};
use crate::mapping::whole_extent;

fn corrupt(problem: &str) -> Error {
    Error::corrupt("read object").with("problem", problem)
}

/// Values of one dkey, in the order in which they were requested.
struct Values(Vec<Option<Vec<u8>>>);

impl Values {
    fn get(&mut self, at: usize) -> Option<Vec<u8>> {
        self.0.get_mut(at).and_then(Option::take)
    }

    fn need(&mut self, at: usize, what: &str) -> Result<Vec<u8>> {
        self.get(at).ok_or_else(|| corrupt("a part of it is missing").with("part", what))
    }
}

/// Returns the akeys of an object's header.
fn akeys_of(kind: ObjectKind) -> &'static [&'static [u8]] {
    match kind {
        ObjectKind::Group => &[CREATION],
        ObjectKind::Dataset => {
            &[CREATION, DATATYPE, DATASPACE, FILL_VALUE, COMMITTED, CHUNK_SHAPE, OTHER_PROPERTIES]
        }
        ObjectKind::Datatype => &[CREATION, DATATYPE],
        ObjectKind::Map => &[CREATION, KEY_DATATYPE, VALUE_DATATYPE],
    }
}

impl ObjectMapping {
    /// Reads the header of an object.
    pub(crate) fn load_header(&self, id: ObjectId, limits: &Limits) -> Result<ObjectHeader<Self>> {
        let wanted = akeys_of(identity::kind(id));
        let mut values = Values(self.store.get(id, INTERNAL, wanted).during("read object")?);
        let creation = values.get(0).ok_or_else(|| Self::missing(id))?;
        let body = decode_body(id, self.spelling, &creation, &mut values, limits);
        let body = body.map_err(|error| error.during("read object").with("object", id))?;
        Ok(ObjectHeader { id, location: (), body })
    }

    /// Writes the header of a new object, and its reference count.
    pub(crate) fn store_header(&self, header: &ObjectHeader<Self>, references: u64) -> Result<()> {
        let put = |entries: &[(&[u8], &[u8])]| {
            let references = keys::number(references);
            let mut changes: Vec<Change<'_>> =
                entries.iter().map(|(akey, value)| Change::Single(akey, value)).collect();
            changes.push(Change::Single(self.spelling.references(), &references));
            self.update_header(header.id, &changes)
        };
        match &header.body {
            Body::Group(create) => put(&[(CREATION, &encode::group_create(create)?)]),
            Body::Dataset(dataset) => self.put_dataset(dataset, put),
            Body::Datatype { datatype, create } => {
                let creation = encode::object_create(ObjectClass::Datatype, create)?;
                put(&[(CREATION, &creation), (DATATYPE, &encode::datatype(datatype)?)])
            }
            Body::Map { key, value, create } => {
                let creation = encode::object_create(ObjectClass::Map, create)?;
                let (key, value) = (encode::datatype(key)?, encode::datatype(value)?);
                put(&[(CREATION, &creation), (KEY_DATATYPE, &key), (VALUE_DATATYPE, &value)])
            }
        }
    }

    fn put_dataset(
        &self,
        dataset: &Dataset,
        put: impl FnOnce(&[(&[u8], &[u8])]) -> Result<()>,
    ) -> Result<()> {
        let info = &dataset.info;
        let encoded = self.last_dataset.dataset(info)?;
        let mut entries = vec![
            (CREATION, &encoded.creation[..]),
            (DATATYPE, &encoded.datatype),
            (DATASPACE, &encoded.space),
        ];
        if let FillValue::Value(value) = &info.create.fill.value {
            entries.push((FILL_VALUE, value));
        }
        let committed = info.committed.map(|token| token.0);
        entries.extend(committed.as_ref().map(|token| (COMMITTED, &token[..])));
        let other = filters::pipeline::other(&info.create)?;
        entries.extend(other.as_ref().map(|other| (OTHER_PROPERTIES, &other[..])));
        let shape = keys::shape(&dataset.shape);
        // A scalar has no dimensions, and a store no empty value.
        let is_chunked = matches!(info.create.layout, Layout::Chunked { .. });
        if !is_chunked && !shape.is_empty() && self.spelling == Spelling::Design {
            entries.push((CHUNK_SHAPE, &shape));
        }
        put(&entries)
    }
}

fn decode_body(
    id: ObjectId,
    spelling: Spelling,
    creation: &[u8],
    values: &mut Values,
    limits: &Limits,
) -> Result<Body> {
    let datatype = |bytes: &[u8]| ObjectMapping::decode_datatype(bytes, limits);
    let mut body = match identity::kind(id) {
        ObjectKind::Group => Body::Group(encode::decode_group_create(creation)?),
        ObjectKind::Dataset => Body::Dataset(decode_dataset(spelling, creation, values, limits)?),
        ObjectKind::Datatype => Body::Datatype {
            datatype: datatype(&values.need(1, "datatype")?)?,
            create: encode::decode_object_create(ObjectClass::Datatype, creation)?,
        },
        ObjectKind::Map => Body::Map {
            key: datatype(&values.need(1, "key datatype")?)?,
            value: datatype(&values.need(2, "value datatype")?)?,
            create: encode::decode_object_create(ObjectClass::Map, creation)?,
        },
    };
    if let Some(class) = identity::class(id) {
        body.set_object_class(Some(class.to_string()));
    }
    Ok(body)
}

fn decode_dataset(
    spelling: Spelling,
    creation: &[u8],
    values: &mut Values,
    limits: &Limits,
) -> Result<Dataset> {
    let mut create = encode::decode_dataset_create(creation, limits)?;
    if let Some(other) = values.get(6) {
        filters::pipeline::take_other(&other, &mut create)?;
    }
    if let Some(value) = values.get(3) {
        create.fill.value = FillValue::Value(value);
    }
    let space = encode::decode_space_of(&values.need(2, "dataspace")?, limits)?;
    let shape = match (&create.layout, values.get(5)) {
        (Layout::Chunked { shape, .. }, _) => shape.clone(),
        (_, Some(shape)) => keys::shape_of(&shape)?,
        (_, None) if spelling == Spelling::Daos || space.dims().is_empty() => whole_extent(&space),
        (_, None) => return Err(corrupt("its chunk dimensions are missing")),
    };
    let committed = values.get(4).map(|token| committed(&token)).transpose()?;
    let info = DatasetInfo {
        datatype: ObjectMapping::decode_datatype(&values.need(1, "datatype")?, limits)?,
        committed,
        space,
        create,
    };
    let dataset = Dataset { info: Arc::new(info), shape };
    dataset.check(limits)?;
    Ok(dataset)
}

/// Decodes the token of a committed datatype.
///
/// # Errors
/// Returns `Corrupt` if the bytes are no token of a committed datatype.
pub(crate) fn committed(bytes: &[u8]) -> Result<Token> {
    let token = bytes.try_into().map(Token).map_err(|_| corrupt("its committed datatype makes no sense"))?;
    match identity::object(token).map(identity::kind) {
        Ok(ObjectKind::Datatype) => Ok(token),
        _ => Err(corrupt("its committed datatype makes no sense")),
    }
}
