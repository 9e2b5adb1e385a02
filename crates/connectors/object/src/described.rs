//! What an object is, decoded from its `/Internal Metadata`.

use std::sync::Arc;

pub(crate) use keyed::{Body, Dataset};
use model::properties::{FillValue, GroupCreate, Layout, ObjectCreate};
use model::{Datatype, Error, Limits, ObjectKind, Result, Token, encode};
use objects::{ObjectId, Store};
use vol::DatasetInfo;

use crate::error::During;
use crate::keys::{self, COMMITTED, CREATION, DATASPACE, DATATYPE, FILL_VALUE, INTERNAL};
use crate::{identity, slots};

/// An object, without what changes often: counts, comments, links, attributes.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) id: ObjectId,
    pub(crate) body: Body,
}

fn corrupt(problem: &str) -> Error {
    Error::corrupt("read object").with("problem", problem)
}

/// Values of one dkey, in the order they were asked for.
struct Found(Vec<Option<Vec<u8>>>);

impl Found {
    fn get(&mut self, at: usize) -> Option<Vec<u8>> {
        self.0.get_mut(at).and_then(Option::take)
    }

    fn need(&mut self, at: usize, what: &str) -> Result<Vec<u8>> {
        self.get(at).ok_or_else(|| corrupt("a part of it is missing").with("part", what))
    }
}

impl Described {
    /// Reads what an object is.
    pub(crate) fn load(store: &dyn Store, id: ObjectId, limits: &Limits) -> Result<Self> {
        let wanted: &[&[u8]] = match identity::kind(id) {
            ObjectKind::Group => &[CREATION],
            ObjectKind::Dataset => &[
                CREATION,
                DATATYPE,
                DATASPACE,
                FILL_VALUE,
                COMMITTED,
                keys::CHUNK_SHAPE,
                keys::OTHER_PROPERTIES,
            ],
            ObjectKind::Datatype => &[CREATION, DATATYPE],
            ObjectKind::Map => &[CREATION, keys::KEY_DATATYPE, keys::VALUE_DATATYPE],
        };
        let mut found = Found(store.get(id, INTERNAL, wanted).during("read object")?);
        let creation = found.get(0).ok_or_else(|| identity::missing(identity::token(id)))?;
        let body = body(id, &creation, &mut found, limits);
        let body = body.map_err(|error| error.during("read object").with("object", id))?;
        Ok(Described { id, body })
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

fn body(id: ObjectId, creation: &[u8], found: &mut Found, limits: &Limits) -> Result<Body> {
    Ok(match identity::kind(id) {
        ObjectKind::Group => Body::Group(encode::decode_group_create(creation)?),
        ObjectKind::Dataset => Body::Dataset(dataset(creation, found, limits)?),
        ObjectKind::Datatype => Body::Datatype {
            datatype: slots::decode_type(&found.need(1, "datatype")?, limits)?,
            create: encode::decode_object_create(encode::ObjectClass::Datatype, creation)?,
        },
        ObjectKind::Map => Body::Map {
            key: slots::decode_type(&found.need(1, "key datatype")?, limits)?,
            value: slots::decode_type(&found.need(2, "value datatype")?, limits)?,
            create: encode::decode_object_create(encode::ObjectClass::Map, creation)?,
        },
    })
}

fn dataset(creation: &[u8], found: &mut Found, limits: &Limits) -> Result<Dataset> {
    let mut create = encode::decode_dataset_create(creation, limits)?;
    if let Some(other) = found.get(6) {
        filters::pipeline::take_other(&other, &mut create)?;
    }
    if let Some(value) = found.get(3) {
        create.fill.value = FillValue::Value(value);
    }
    let shape = match (&create.layout, found.get(5)) {
        (Layout::Chunked { shape, .. }, _) => shape.clone(),
        (_, Some(shape)) => keys::shape_of(&shape)?,
        (_, None) => return Err(corrupt("its chunk dimensions are missing")),
    };
    let committed = found.get(4).map(|token| committed(&token)).transpose()?;
    let info = DatasetInfo {
        datatype: slots::decode_type(&found.need(1, "datatype")?, limits)?,
        committed,
        space: encode::decode_space_of(&found.need(2, "dataspace")?, limits)?,
        create,
    };
    let dataset = Dataset { info: Arc::new(info), shape };
    dataset.check(limits)?;
    Ok(dataset)
}

/// The token of a committed datatype.
pub(crate) fn committed(bytes: &[u8]) -> Result<Token> {
    let token = bytes.try_into().map(Token).map_err(|_| corrupt("its committed datatype makes no sense"))?;
    match identity::object(token).map(identity::kind) {
        Ok(ObjectKind::Datatype) => Ok(token),
        _ => Err(corrupt("its committed datatype makes no sense")),
    }
}
