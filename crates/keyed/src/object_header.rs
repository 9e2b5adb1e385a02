//! Object headers: what an object is, without what changes often (counts, comments, links, attributes).

use std::sync::Arc;

use model::properties::{GroupCreate, ObjectCreate};
use model::{Datatype, Error, ObjectKind, Result, Token};

use crate::Dataset;
use crate::mapping::Objects;

/// The header of an object.
#[derive(Debug)]
pub struct ObjectHeader<M: Objects> {
    /// The object.
    pub id: M::Id,
    /// Where its parts are stored.
    pub location: M::Location,
    /// The part that depends on the kind of the object.
    pub body: Body,
}

impl<M: Objects> ObjectHeader<M> {
    /// Returns the token of the object.
    pub fn token(&self) -> Token {
        M::token(self.id)
    }

    /// Returns the kind of the object.
    pub fn kind(&self) -> ObjectKind {
        self.body.kind()
    }

    /// Returns the creation properties that every object has.
    pub fn object(&self) -> &ObjectCreate {
        self.body.object()
    }

    /// Returns the creation properties of the group.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is no group.
    pub fn group(&self) -> Result<&GroupCreate> {
        match &self.body {
            Body::Group(create) => Ok(create),
            _ => Err(self.wrong(ObjectKind::Group)),
        }
    }

    /// Returns the dataset.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is no dataset.
    pub fn dataset(&self) -> Result<&Dataset> {
        match &self.body {
            Body::Dataset(dataset) => Ok(dataset),
            _ => Err(self.wrong(ObjectKind::Dataset)),
        }
    }

    /// Returns the committed datatype.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is no committed datatype.
    pub fn datatype(&self) -> Result<&Datatype> {
        match &self.body {
            Body::Datatype { datatype, .. } => Ok(datatype),
            _ => Err(self.wrong(ObjectKind::Datatype)),
        }
    }

    /// Returns the datatypes of the map's keys and values.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is no map.
    pub fn map(&self) -> Result<(&Datatype, &Datatype)> {
        match &self.body {
            Body::Map { key, value, .. } => Ok((key, value)),
            _ => Err(self.wrong(ObjectKind::Map)),
        }
    }

    fn wrong(&self, wanted: ObjectKind) -> Error {
        let operation = format!("use {} as {}", self.kind().name(), wanted.name());
        Error::invalid(operation).with("token", self.token())
    }
}

/// The part of an object header that depends on the object's kind.
#[derive(Debug)]
pub enum Body {
    /// A group.
    Group(GroupCreate),
    /// A dataset.
    Dataset(Dataset),
    /// A committed datatype.
    Datatype {
        /// The datatype.
        datatype: Datatype,
        /// Its creation properties.
        create: ObjectCreate,
    },
    /// A map.
    Map {
        /// The datatype of its keys.
        key: Datatype,
        /// The datatype of its values.
        value: Datatype,
        /// Its creation properties.
        create: ObjectCreate,
    },
}

impl Body {
    /// Returns the kind of the object.
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        match self {
            Body::Group(_) => ObjectKind::Group,
            Body::Dataset(_) => ObjectKind::Dataset,
            Body::Datatype { .. } => ObjectKind::Datatype,
            Body::Map { .. } => ObjectKind::Map,
        }
    }

    /// Returns the creation properties that every object has.
    #[must_use]
    pub fn object(&self) -> &ObjectCreate {
        match self {
            Body::Group(create) => &create.object,
            Body::Dataset(dataset) => &dataset.info.create.object,
            Body::Datatype { create, .. } | Body::Map { create, .. } => create,
        }
    }

    /// Sets the object class of the object.
    pub fn set_object_class(&mut self, class: Option<String>) {
        let create = match self {
            Body::Group(create) => &mut create.object,
            Body::Dataset(dataset) => &mut Arc::make_mut(&mut dataset.info).create.object,
            Body::Datatype { create, .. } | Body::Map { create, .. } => create,
        };
        create.object_class = class;
    }
}
