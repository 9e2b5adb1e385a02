//! One change of a session that goes on at other nodes: noted, run, and stored before it is answered.

use model::datatype::ReferenceKind;
use model::{Error, Kind, LinkTarget, Reference, Result, Token};
use vol::*;

use super::intent::Counted;
use super::recover::{self, Outcome};
use super::{Intent, NodeSession};

/// The container for one operation. The turn of the operation has come ([`super::SharedStore::order`]).
pub(crate) struct NodeChange<'a> {
    pub(crate) session: &'a NodeSession,
    pub(crate) inner: &'a dyn Container,
    /// The number of the operation, and those below which all were answered.
    pub(crate) number: u64,
    pub(crate) acknowledged: u64,
}

impl NodeChange<'_> {
    fn note(&self, intent: &Intent) -> Result<()> {
        self.session.note(self.number, self.acknowledged, intent)
    }

    fn store(&self) -> Result<()> {
        self.inner.commit(Durability::Full)
    }

    /// Completes or undoes what another node did of this operation; its answer, where it is done.
    fn recovered(&self) -> Result<Option<Outcome>> {
        let Some(intent) = self.session.unfinished(self.number) else { return Ok(None) };
        let outcome = recover::recover(self.inner, &intent)?;
        self.store()?;
        self.session.finished(self.number);
        Ok(outcome)
    }

    /// Notes an operation, runs it and stores what it did. If it fails, what it did is undone.
    fn run<T>(&self, intent: &Intent, change: impl FnOnce(&dyn Container) -> Result<T>) -> Result<T> {
        self.note(intent)?;
        let done = change(self.inner).and_then(|value| self.store().map(|()| value));
        done.inspect_err(|_| self.undo(intent))
    }

    fn undo(&self, intent: &Intent) {
        let undone = recover::recover(self.inner, intent).and_then(|_| self.store());
        if let Err(error) = undone {
            tracing::warn!(why = %error, "could not undo an operation that failed");
        }
    }

    /// Runs an operation that stores the same when it is run again, and stores what it did.
    fn run_stored<T>(&self, change: impl FnOnce(&dyn Container) -> Result<T>) -> Result<T> {
        change(self.inner).and_then(|value| self.store().map(|()| value))
    }

    fn counted(&self, object: Token) -> Result<Counted> {
        Ok((object, self.inner.object_info(object)?.references))
    }

    fn check_free(&self, place: &LinkLocation) -> Result<()> {
        match self.inner.link_get(place.group, &place.name)? {
            Some(_) => Err(Error::exists("create link").with("name", &place.name)),
            None => Ok(()),
        }
    }

    /// Creates an object, then links it: its token is in the journal before the object can be in the store.
    fn create(
        &self,
        place: Option<&LinkLocation>,
        datatype: Option<Token>,
        make: impl FnOnce(&dyn Container) -> Result<Token>,
    ) -> Result<Token> {
        if let Some(Outcome::Object(object)) = self.recovered()? {
            return Ok(object);
        }
        place.map_or(Ok(()), |place| self.check_free(place))?;
        let datatype = datatype.map(|datatype| self.counted(datatype)).transpose()?;
        let mut intent = Intent::Create { object: None, place: place.cloned(), datatype };
        if datatype.is_some() {
            self.note(&intent)?;
        }
        let created = make(self.inner).inspect_err(|_| self.undo(&intent))?;
        if let Intent::Create { object, .. } = &mut intent {
            *object = Some(created);
        }
        self.run(&intent, |container| {
            let target = LinkTarget::Hard(created);
            let link = |place: &LinkLocation| OpLinkCreate { place: place.clone(), target };
            place.map_or(Ok(()), |place| container.link_create(&link(place)))
        })
        .inspect_err(|_| self.undo(&intent))
        .map(|()| created)
    }

    /// Makes and removes links. `target` is what all of them lead to.
    fn relink(
        &self,
        target: LinkTarget,
        added: Option<LinkLocation>,
        removed: Option<(Token, String)>,
        change: impl FnOnce(&dyn Container) -> Result<()>,
    ) -> Result<()> {
        let references = match &target {
            LinkTarget::Hard(object) => self.counted(*object)?.1,
            _ => 0,
        };
        self.run(&Intent::Relink { target, references, added, removed }, change)
    }

    fn link(&self, group: Token, name: &str) -> Result<LinkTarget> {
        let link = self.inner.link_get(group, name)?;
        let missing = || Error::not_found("find link").with("name", name);
        link.map(|link| link.target).ok_or_else(missing)
    }

    fn attribute(&self, object: Token, name: &str) -> Result<AttributeInfo> {
        let missing = || Error::not_found("find attribute").with("name", name);
        self.inner.attribute_info(object, name)?.ok_or_else(missing)
    }

    fn change_attribute(
        &self,
        (object, name): (Token, &str),
        renamed: Option<&str>,
        change: impl FnOnce(&dyn Container) -> Result<()>,
    ) -> Result<()> {
        if self.recovered()?.is_some() {
            return Ok(());
        }
        let shared = self.attribute(object, name)?.committed;
        let datatype = shared.map(|datatype| self.counted(datatype)).transpose()?;
        if let Some(to) = renamed
            && self.inner.attribute_info(object, to)?.is_some()
        {
            return Err(Error::exists("rename attribute").with("name", to));
        }
        let (name, renamed) = (name.to_owned(), renamed.map(str::to_owned));
        self.run(&Intent::OldAttribute { object, name, renamed, datatype }, change)
    }
}

impl Layer for NodeChange<'_> {
    fn inner(&self) -> &dyn Container {
        self.inner
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        let make = |c: &dyn Container| c.group_create(&OpGroupCreate { place: None, ..op.clone() });
        self.create(op.place.as_ref(), None, make)
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let make = |c: &dyn Container| c.dataset_create(&OpDatasetCreate { place: None, ..op.clone() });
        self.create(op.place.as_ref(), op.committed, make)
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        let make = |c: &dyn Container| c.datatype_commit(&OpDatatypeCommit { place: None, ..op.clone() });
        self.create(op.place.as_ref(), None, make)
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        let make = |c: &dyn Container| c.map_create(&OpMapCreate { place: None, ..op.clone() });
        self.create(op.place.as_ref(), None, make)
    }

    /// The client copies by operations of its own, each of which is noted.
    fn object_copy(&self, _op: &OpObjectCopy) -> Result<Token> {
        Err(Error::unsupported("copy object through several nodes"))
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        if self.recovered()?.is_some() {
            return Ok(());
        }
        self.check_free(&op.place)?;
        self.relink(op.target.clone(), Some(op.place.clone()), None, |c| c.link_create(op))
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        if self.recovered()?.is_some() {
            return Ok(());
        }
        let target = self.link(group, name)?;
        self.relink(target, None, Some((group, name.to_owned())), |c| c.link_delete(group, name))
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        if self.recovered()?.is_some() {
            return Ok(());
        }
        let target = self.link(op.from, &op.name)?;
        self.check_free(&op.to)?;
        let removed = (!op.copy).then(|| (op.from, op.name.clone()));
        self.relink(target, Some(op.to.clone()), removed, |c| c.link_move(op))
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        if self.recovered()?.is_some() {
            return Ok(());
        }
        let (object, name) = (op.object, op.name.clone());
        if self.inner.attribute_info(object, &name)?.is_some() {
            return Err(Error::exists("create attribute").with("name", &name));
        }
        let datatype = op.committed.map(|datatype| self.counted(datatype)).transpose()?;
        self.run(&Intent::NewAttribute { object, name, datatype }, |c| c.attribute_create(op))
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        self.change_attribute((object, name), None, |c| c.attribute_delete(object, name))
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        self.change_attribute((object, from), Some(to), |c| c.attribute_rename(object, from, to))
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        if let Some(Outcome::Count(count)) = self.recovered()? {
            return Ok(count);
        }
        let object = self.counted(object)?;
        let after = object.1.saturating_add_signed(by);
        self.run(&Intent::Count { object, after }, |c| c.object_adjust_references(object.0, by))
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.run_stored(|c| c.dataset_resize(dataset, dims))
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        if let Some(Outcome::Pair(was_there)) = self.recovered()? {
            self.run_stored(|c| c.map_delete(map, key))?;
            return Ok(was_there);
        }
        let is_there = self.inner.map_get(map, &[key])?.iter().any(Option::is_some);
        match is_there {
            true => self.run(&Intent::Pair { is_there }, |c| c.map_delete(map, key)),
            false => Ok(false),
        }
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        self.recovered()?;
        let ids = self.inner.blob_put(values)?;
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
        self.run(&Intent::Blobs { ids: ids.clone(), count }, |_| Ok(ids))
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        let is_again = self.recovered()?.is_some();
        let done = self.run(&Intent::RemovedBlobs, |c| c.blob_delete(ids));
        match done {
            // It was done at the other node.
            Err(error) if is_again && error.kind() == Kind::NotFound => Ok(()),
            done => done,
        }
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        self.run_stored(|c| c.reference_put(kind, references))
    }

    fn storage_repair(&self) -> Result<Vec<StorageFinding>> {
        self.run_stored(|c| c.storage_repair())
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        self.run_stored(|c| c.optional(name, request))
    }

    /// The node that died knew that an object without links is to be removed. Here that is found out.
    fn release(&self, object: Token) -> Result<()> {
        self.inner.release(object)?;
        if !self.session.is_resumed {
            return Ok(());
        }
        match self.inner.object_info(object) {
            // Where another handle retains it, it stays until that one releases it.
            Ok(info) if info.references == 0 => self.inner.object_adjust_references(object, 0).map(drop),
            Err(error) if error.kind() != Kind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
