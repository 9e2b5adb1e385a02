//! What an object is.

use model::properties::{GroupCreate, ObjectCreate};
use model::{Datatype, Error, ObjectKind, Result, Token};

use crate::Dataset;

/// What only one kind of object has.
#[derive(Debug)]
pub enum Body {
    /// A group.
    Group(GroupCreate),
    /// A dataset.
    Dataset(Dataset),
    /// A committed datatype.
    Datatype {
        /// The type.
        datatype: Datatype,
        /// Its creation properties.
        create: ObjectCreate,
    },
    /// A map.
    Map {
        /// The type of its keys.
        key: Datatype,
        /// The type of its values.
        value: Datatype,
        /// Its creation properties.
        create: ObjectCreate,
    },
}

impl Body {
    /// Which kind it is.
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        match self {
            Body::Group(_) => ObjectKind::Group,
            Body::Dataset(_) => ObjectKind::Dataset,
            Body::Datatype { .. } => ObjectKind::Datatype,
            Body::Map { .. } => ObjectKind::Map,
        }
    }

    /// The creation properties that every object has.
    #[must_use]
    pub fn object(&self) -> &ObjectCreate {
        match self {
            Body::Group(create) => &create.object,
            Body::Dataset(dataset) => &dataset.info.create.object,
            Body::Datatype { create, .. } | Body::Map { create, .. } => create,
        }
    }

    fn wrong(&self, wanted: ObjectKind, token: Token) -> Error {
        Error::invalid(format!("use {} as {}", self.kind().name(), wanted.name())).with("token", token)
    }

    /// The group that the object of this token is.
    pub fn group(&self, token: Token) -> Result<&GroupCreate> {
        match self {
            Body::Group(create) => Ok(create),
            _ => Err(self.wrong(ObjectKind::Group, token)),
        }
    }

    /// The dataset that the object of this token is.
    pub fn dataset(&self, token: Token) -> Result<&Dataset> {
        match self {
            Body::Dataset(dataset) => Ok(dataset),
            _ => Err(self.wrong(ObjectKind::Dataset, token)),
        }
    }

    /// The committed datatype that the object of this token is.
    pub fn datatype(&self, token: Token) -> Result<&Datatype> {
        match self {
            Body::Datatype { datatype, .. } => Ok(datatype),
            _ => Err(self.wrong(ObjectKind::Datatype, token)),
        }
    }

    /// The key and value types of the map that the object of this token is.
    pub fn map(&self, token: Token) -> Result<(&Datatype, &Datatype)> {
        match self {
            Body::Map { key, value, .. } => Ok((key, value)),
            _ => Err(self.wrong(ObjectKind::Map, token)),
        }
    }
}
