//! Objects: made, counted, described to users.

use std::sync::Arc;

use model::properties::ObjectCreate;
use model::{Error, ObjectKind, Result, Token, encode, text};
use objects::{Change, Condition, ObjectId, Phase, Update};
use vol::{ObjectInfo, OpDatatypeCommit, OpGroupCreate, Place};

use crate::described::{Body, Described};
use crate::error::{During, stored};
use crate::identity;
use crate::keys::{self, COMMENT, CREATION, DATATYPE, INTERNAL, REFERENCES};
use crate::opening::Opening;
use crate::shared::Structure;

/// How often a counter that processes share is tried before somebody else always being faster is an error.
const TRIES: u32 = 1000;

/// Akeys of `/Internal Metadata` and their values.
pub(crate) type Entries<'a> = Vec<(&'static [u8], &'a [u8])>;

impl Opening {
    /// An identity for an object that is about to be made.
    pub(crate) fn new_identity(&self, kind: ObjectKind) -> Result<ObjectId> {
        self.shared.numbers.next(self.store(), kind)
    }

    /// Writes what an object is, and links it where it has a place.
    pub(crate) fn insert(
        &self,
        described: Described,
        entries: Entries<'_>,
        committed: Option<Token>,
        place: Option<&Place>,
    ) -> Result<Token> {
        let mut structure = self.shared.structure();
        let group = place.map(|place| self.place_of_new(place)).transpose()?;
        if let Some(committed) = committed {
            self.add_reference(&mut structure, identity::object(committed)?)?;
        }
        let (id, token) = (described.id, described.token());
        let references = keys::number(u64::from(place.is_some()));
        let mut changes: Vec<Change<'_>> =
            entries.into_iter().map(|(akey, value)| Change::Single(akey, value)).collect();
        changes.push(Change::Single(REFERENCES, &references));
        self.describe_as(id, &changes, &[])?;
        self.shared.remember(Arc::new(described));
        match (place, group) {
            (Some(place), Some(group)) => {
                let linked = self.put_link(&group, place, &model::LinkTarget::Hard(token));
                linked.map_err(|error| self.take_back(&mut structure, id, error))?;
            }
            _ => drop(structure.unlinked.insert(id)),
        }
        Ok(token)
    }

    /// An object that did not get its link goes again; what kept it from it is the error.
    fn take_back(&self, structure: &mut Structure, id: ObjectId, error: Error) -> Error {
        let held = self.remove(id);
        let held = held.and_then(|held| held.iter().try_for_each(|id| self.drop_reference(structure, *id)));
        held.err().unwrap_or(error)
    }

    /// Changes akeys of an object's description.
    pub(crate) fn describe_as(
        &self,
        object: ObjectId,
        changes: &[Change<'_>],
        conditions: &[Condition<'_>],
    ) -> Result<()> {
        let phase = Phase::Description;
        let update = Update { object, dkey: INTERNAL, changes, conditions, phase };
        self.store().update(&update).during("describe object")
    }

    pub(crate) fn make_group(&self, op: &OpGroupCreate) -> Result<Token> {
        let creation = encode::group_create(&op.create)?;
        let id = self.new_identity(ObjectKind::Group)?;
        let described = Described { id, body: Body::Group(op.create.clone()) };
        self.insert(described, vec![(CREATION, &creation)], None, op.place.as_ref())
    }

    pub(crate) fn commit_datatype(&self, op: &OpDatatypeCommit) -> Result<Token> {
        let datatype = self.file_type(&op.datatype, None)?;
        let creation = encode::object_create(encode::ObjectClass::Datatype, &op.create)?;
        let bytes = encode::datatype(&datatype)?;
        let id = self.new_identity(ObjectKind::Datatype)?;
        let body = Body::Datatype { datatype, create: op.create.clone() };
        let entries = vec![(CREATION, &creation[..]), (DATATYPE, &bytes[..])];
        self.insert(Described { id, body }, entries, None, op.place.as_ref())
    }

    /// References to an object, as the store has them.
    pub(crate) fn references(&self, id: ObjectId) -> Result<u64> {
        let found = self.store().get(id, INTERNAL, &[REFERENCES]).during("count references")?;
        let bytes = found.into_iter().next().flatten();
        let bytes = bytes.ok_or_else(|| identity::missing(identity::token(id)))?;
        keys::number_of(&bytes, "reference count")
    }

    /// Changes the count of references and returns it; below zero it does not go.
    fn change_references(&self, id: ObjectId, by: i64, phase: Phase) -> Result<u64> {
        let mut wanted = || -> Result<(objects::Result<()>, u64)> {
            let old = self.references(id)?;
            let new = old.checked_add_signed(by).filter(|&new| new <= u64::from(u32::MAX));
            let new = new.ok_or_else(|| {
                Error::invalid("change reference count").with("references", old).with("by", by)
            })?;
            let (old, bytes) = (keys::number(old), keys::number(new));
            let (changes, conditions) =
                ([Change::Single(REFERENCES, &bytes)], [Condition::Equals(REFERENCES, &old)]);
            let update = Update { object: id, dkey: INTERNAL, changes: &changes, conditions: &[], phase };
            let done = match self.shared.is_concurrent {
                true => self.store().update_now(&Update { conditions: &conditions, ..update }),
                false => self.store().update(&update),
            };
            Ok((done, new))
        };
        self.retried("change reference count", &mut wanted)
    }

    /// Tries a change of something that processes share until nobody else was faster.
    pub(crate) fn retried<T>(
        &self,
        operation: &str,
        change: &mut dyn FnMut() -> Result<(objects::Result<()>, T)>,
    ) -> Result<T> {
        let is_concurrent = self.shared.is_concurrent;
        if is_concurrent {
            // What waits here is not yet known to those who test the condition.
            self.store().flush().during(operation)?;
        }
        for _ in 0..TRIES {
            match change()? {
                (Ok(()), answer) => return Ok(answer),
                (Err(objects::Error::Condition(_)), _) if is_concurrent => {
                    self.store().refresh().during(operation)?;
                }
                (Err(error), _) => return Err(stored(operation, &error)),
            }
        }
        Err(Error::busy(operation).with("tries", TRIES))
    }

    /// Counts one more reference to an object.
    pub(crate) fn add_reference(&self, structure: &mut Structure, id: ObjectId) -> Result<()> {
        self.change_references(id, 1, Phase::Description)?;
        structure.unlinked.remove(&id);
        Ok(())
    }

    /// Takes one reference away; with the last reference and handle the object goes, and what it held may follow.
    pub(crate) fn drop_reference(&self, structure: &mut Structure, id: ObjectId) -> Result<()> {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let left = match self.references(id) {
                // Whatever is gone has no count to change.
                Err(error) if error.kind() == model::Kind::NotFound => continue,
                found => found?.saturating_sub(1),
            };
            if left > 0 || structure.handles.contains_key(&id) || self.shared.is_concurrent {
                let left = self.change_references(id, -1, Phase::Removal)?;
                if left > 0 {
                    continue;
                }
            }
            structure.unlinked.insert(id);
            pending.extend(self.remove_if_unused(structure, id)?);
        }
        Ok(())
    }

    /// Gives up handles of an object.
    pub(crate) fn release_handles(&self, structure: &mut Structure, id: ObjectId, times: u32) -> Result<()> {
        if let Some(count) = structure.handles.get_mut(&id) {
            *count = count.saturating_sub(times);
            if *count == 0 {
                structure.handles.remove(&id);
            }
        }
        for held in self.remove_if_unused(structure, id)? {
            self.drop_reference(structure, held)?;
        }
        Ok(())
    }

    /// Removes what has no reference: nobody can reach it once all have closed.
    pub(crate) fn remove_unlinked(&self, structure: &mut Structure) -> Result<()> {
        for id in std::mem::take(&mut structure.unlinked) {
            structure.unlinked.insert(id);
            for held in self.remove_if_unused(structure, id)? {
                self.drop_reference(structure, held)?;
            }
        }
        Ok(())
    }

    /// Removes an object that nothing refers to; returns what it held.
    fn remove_if_unused(&self, structure: &mut Structure, id: ObjectId) -> Result<Vec<ObjectId>> {
        if structure.handles.contains_key(&id) || !structure.unlinked.remove(&id) {
            return Ok(Vec::new());
        }
        self.remove(id)
    }

    pub(crate) fn object_info_of(&self, described: &Described) -> Result<ObjectInfo> {
        let id = described.id;
        let found = self.store().get(id, INTERNAL, &[REFERENCES, COMMENT]).during("read object")?;
        let [references, comment] = <[_; 2]>::try_from(found).map_err(|_| Error::corrupt("read object"))?;
        let references = references.ok_or_else(|| identity::missing(described.token()))?;
        let references = keys::number_of(&references, "reference count")?;
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

    /// Kinds stand in identities; what is asked of the store is whether the objects are there.
    pub(crate) fn kinds(&self, tokens: &[Token]) -> Result<Vec<ObjectKind>> {
        let ids = tokens.iter().map(|token| identity::object(*token)).collect::<Result<Vec<_>>>()?;
        let wanted: Vec<_> = ids.iter().map(|id| (*id, INTERNAL, REFERENCES)).collect();
        let found = self.store().get_many(&wanted).during("read objects")?;
        let kind = |(id, found): (&ObjectId, Option<_>)| match found {
            Some(_) => Ok(identity::kind(*id)),
            None => Err(identity::missing(identity::token(*id))),
        };
        ids.iter().zip(found).map(kind).collect()
    }

    pub(crate) fn set_comment(&self, described: &Described, comment: Option<&str>) -> Result<()> {
        let bytes = comment.map(text::to_bytes);
        let change = match &bytes {
            Some(bytes) => Change::Single(COMMENT, bytes),
            None => Change::Punch(COMMENT),
        };
        self.describe_as(described.id, &[change], &[])
    }

    pub(crate) fn adjust_references(&self, described: &Described, by: i32) -> Result<u32> {
        let mut structure = self.shared.structure();
        let id = described.id;
        let old = self.references(id)?;
        let new = old.checked_add_signed(by.into()).filter(|&new| new > 0 || id != keys::ROOT);
        let new = new.and_then(|new| u32::try_from(new).ok());
        let new =
            new.ok_or_else(|| Error::invalid("adjust references").with("references", old).with("by", by))?;
        self.change_references(id, by.into(), Phase::Description)?;
        if new == 0 {
            structure.unlinked.insert(id);
            for held in self.remove_if_unused(&mut structure, id)? {
                self.drop_reference(&mut structure, held)?;
            }
        } else {
            structure.unlinked.remove(&id);
        }
        Ok(new)
    }
}
