//! Objects: made, described to users.

use std::sync::Arc;

use iod_storage::{Batch, Id, Kind, ScratchPad};
use model::properties::ObjectCreate;
use model::{Datatype, Error, LinkTarget, ObjectKind, Result, Token, encode, text};
use vol::{ObjectInfo, OpDatatypeCommit, OpGroupCreate, Place};

use crate::blobs::SLOTS;
use crate::described::{Body, Described};
use crate::error::During;
use crate::identity;
use crate::keys::{self, COMMENT, CREATION, LINK_COUNT, SERIALIZED_SIZE, TYPE};
use crate::lives::Changes;
use crate::opening::Opening;

/// An object that is about to be made.
pub(crate) struct New<'n> {
    pub(crate) kind: ObjectKind,
    pub(crate) id: Id,
    /// Its creation properties, encoded.
    pub(crate) creation: Vec<u8>,
    /// What else its metadata says.
    pub(crate) entries: Vec<(&'static [u8], Vec<u8>)>,
    pub(crate) body: Body,
    pub(crate) committed: Option<Token>,
    pub(crate) place: Option<&'n Place>,
    /// Makes the object itself, with its scratch pad.
    pub(crate) make: &'n dyn Fn(&mut Batch<'_>, Id, ScratchPad),
}

impl Opening {
    /// An identity for an object that is about to be made.
    pub(crate) fn new_identity(&self, kind: Kind) -> Result<Id> {
        self.shared.numbers.next(self.storage(), kind)
    }

    /// A type as it is stored; where it is a committed one's, it must be that type.
    pub(crate) fn file_type(&self, given: &Datatype, committed: Option<Token>) -> Result<Datatype> {
        let file_type = keyed::file_type(given, &SLOTS, self.limits())?;
        match committed {
            Some(token) if *self.described(token)?.datatype()? != file_type => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
            _ => Ok(file_type),
        }
    }

    /// Makes an object with its metadata and attributes, and links it where it has a place: one batch.
    pub(crate) fn insert(&self, new: New<'_>) -> Result<Token> {
        let aside = self.shared.numbers.take(self.storage(), Kind::KeyValue, 2)?;
        let &[metadata, attributes] = &aside[..] else {
            return Err(Error::limit("take numbers for objects"));
        };
        let mut structure = self.shared.structure();
        let group = new.place.map(|place| self.check_place(place)).transpose()?;
        let mut changes = Changes::default();
        if let Some(committed) = new.committed {
            self.add_reference(&mut changes, identity::object(committed)?)?;
        }
        let batch = &mut changes.batch;
        (new.make)(batch, new.id, ScratchPad::with(&[metadata, attributes]));
        batch
            .create_kv(attributes, ScratchPad::NULL)
            .create_kv(metadata, ScratchPad::NULL)
            .put(metadata, CREATION, new.creation)
            .put(metadata, TYPE, keys::type_number(new.kind).to_le_bytes().to_vec())
            .put(metadata, LINK_COUNT, keys::number(new.place.is_some().into()).to_vec());
        for (key, value) in new.entries {
            batch.put(metadata, key, value);
        }
        let token = identity::token(new.id);
        if let (Some(place), Some(group)) = (new.place, &group) {
            self.put_link(&mut changes.batch, group, place, &LinkTarget::Hard(token))?;
        }
        self.commit_changes(&mut structure, changes, "make object")?;
        self.shared.remember(Arc::new(Described { id: new.id, metadata, attributes, body: new.body }));
        match group {
            Some(group) => self.links_changed(&group),
            None => drop(structure.unlinked.insert(new.id)),
        }
        Ok(token)
    }

    pub(crate) fn make_group(&self, op: &OpGroupCreate) -> Result<Token> {
        self.insert(New {
            kind: ObjectKind::Group,
            id: self.new_identity(Kind::KeyValue)?,
            creation: encode::group_create(&op.create)?,
            entries: Vec::new(),
            body: Body::Group(op.create.clone()),
            committed: None,
            place: op.place.as_ref(),
            make: &|batch, id, pad| _ = batch.create_kv(id, pad),
        })
    }

    pub(crate) fn commit_datatype(&self, op: &OpDatatypeCommit) -> Result<Token> {
        let datatype = self.file_type(&op.datatype, None)?;
        let bytes = encode::datatype(&datatype)?;
        self.insert(New {
            kind: ObjectKind::Datatype,
            id: self.new_identity(Kind::Blob)?,
            creation: encode::object_create(encode::ObjectClass::Datatype, &op.create)?,
            entries: vec![(SERIALIZED_SIZE, keys::number(bytes.len() as u64).to_vec())],
            body: Body::Datatype { datatype, create: op.create.clone() },
            committed: None,
            place: op.place.as_ref(),
            make: &|batch, id, pad| _ = batch.create_blob(id, pad, bytes.clone()),
        })
    }

    pub(crate) fn object_info_of(&self, described: &Described) -> Result<ObjectInfo> {
        let found = self.storage().get(described.metadata, &[LINK_COUNT, COMMENT]).during("read object")?;
        let [references, comment] = <[_; 2]>::try_from(found).map_err(|_| Error::corrupt("read object"))?;
        let references = references.ok_or_else(|| identity::missing(described.token()))?;
        let references = keys::number_of(&references, "link count")?;
        Ok(ObjectInfo {
            token: described.token(),
            kind: described.kind(),
            references: u32::try_from(references).unwrap_or(u32::MAX),
            attributes: self.attribute_count(described)?,
            times: None,
            create: ObjectCreate::clone(described.object()),
            comment: comment.map(|comment| text::from_bytes(&comment)),
        })
    }

    pub(crate) fn kinds(&self, tokens: &[Token]) -> Result<Vec<ObjectKind>> {
        tokens.iter().map(|token| Ok(self.described(*token)?.kind())).collect()
    }

    pub(crate) fn set_comment(&self, described: &Described, comment: Option<&str>) -> Result<()> {
        let mut batch = Batch::new();
        match comment {
            Some(comment) => batch.put(described.metadata, COMMENT, text::to_bytes(comment)),
            None => batch.remove(described.metadata, COMMENT),
        };
        self.shared.apply(&batch, "set comment")
    }
}
