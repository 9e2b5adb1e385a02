//! What becomes of an operation that a node did in part: it is completed where others may have seen something of it, and
//! undone where only counts and objects without a name are left.

use model::{Error, Kind, LinkTarget, Result, Token};
use vol::{Container, LinkLocation, ObjectInfo, OpLinkCreate};

use super::Intent;
use super::intent::Counted;

/// What an operation answers that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Nothing,
    Object(Token),
    Count(u32),
    Pair(bool),
}

/// Returns the answer of an operation that another node began, or `None` if nothing of it is left.
pub(crate) fn recover(container: &dyn Container, intent: &Intent) -> Result<Option<Outcome>> {
    match intent {
        Intent::Create { object: Some(object), place, .. } => created(container, *object, place.as_ref()),
        Intent::Create { object: None, datatype, .. } => uncount(container, *datatype),
        Intent::Relink { target, references, added, removed } => {
            let links = Links { container, target, added: added.as_ref(), removed: removed.as_ref() };
            links.recover(*references)
        }
        Intent::NewAttribute { object, name, datatype } => match has_attribute(container, *object, name)? {
            true => Ok(Some(Outcome::Nothing)),
            false => uncount(container, *datatype),
        },
        Intent::OldAttribute { object, name, datatype, .. } => {
            match has_attribute(container, *object, name)? {
                true => Ok(None),
                false => removed_attribute(container, intent, *datatype).map(|()| Some(Outcome::Nothing)),
            }
        }
        Intent::Count { object: (object, before), after } => match found(container.object_info(*object))? {
            Some(info) if info.references == *before && before != after => Ok(None),
            _ => Ok(Some(Outcome::Count(*after))),
        },
        Intent::Blobs { ids, count } => remove_blobs(container, ids, *count).map(|()| None),
        Intent::Pair { is_there } => Ok(Some(Outcome::Pair(*is_there))),
        Intent::RemovedBlobs => Ok(Some(Outcome::Nothing)),
    }
}

/// Returns `None` for what does not exist.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == Kind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

fn link_target(container: &dyn Container, group: Token, name: &str) -> Result<Option<LinkTarget>> {
    let link = found(container.link_get(group, name))?;
    Ok(link.flatten().map(|link| link.target))
}

fn has_attribute(container: &dyn Container, object: Token, name: &str) -> Result<bool> {
    Ok(found(container.attribute_info(object, name))?.flatten().is_some())
}

/// An object that its link leads to is done: it was counted before. Without the link no one has seen it, and it is removed.
fn created(
    container: &dyn Container,
    object: Token,
    place: Option<&LinkLocation>,
) -> Result<Option<Outcome>> {
    if let Some(place) = place
        && link_target(container, place.group, &place.name)? == Some(LinkTarget::Hard(object))
    {
        return Ok(Some(Outcome::Object(object)));
    }
    if let Some(info) = found(container.object_info(object))? {
        set_count(container, &info, 0)?;
    }
    Ok(None)
}

/// Sets the reference count of an object; with 0 the object is removed.
fn set_count(container: &dyn Container, info: &ObjectInfo, count: u32) -> Result<()> {
    if info.references == count && count > 0 {
        return Ok(());
    }
    let by = i64::from(count) - i64::from(info.references);
    let by = i32::try_from(by).map_err(|_| Error::limit("recover reference count"))?;
    container.object_adjust_references(info.token, by).map(drop)
}

/// A committed datatype was counted for an operation that did nothing else.
fn uncount(container: &dyn Container, datatype: Option<Counted>) -> Result<Option<Outcome>> {
    let Some((datatype, before)) = datatype else { return Ok(None) };
    if let Some(info) = found(container.object_info(datatype))?
        && info.references == before + 1
    {
        set_count(container, &info, before)?;
    }
    Ok(None)
}

/// An attribute is gone that used a committed datatype; with another name it still uses it.
fn removed_attribute(container: &dyn Container, intent: &Intent, datatype: Option<Counted>) -> Result<()> {
    let Intent::OldAttribute { renamed: None, .. } = intent else { return Ok(()) };
    let Some((datatype, before)) = datatype else { return Ok(()) };
    match found(container.object_info(datatype))? {
        Some(info) if info.references == before => set_count(container, &info, before.saturating_sub(1)),
        _ => Ok(()),
    }
}

fn remove_blobs(container: &dyn Container, ids: &[u8], count: u32) -> Result<()> {
    let bytes = ids.len() / count.max(1) as usize;
    for id in ids.chunks_exact(bytes.max(1)) {
        found(container.blob_delete(&[id]))?;
    }
    Ok(())
}

/// Links that an operation makes and removes.
struct Links<'a> {
    container: &'a dyn Container,
    target: &'a LinkTarget,
    added: Option<&'a LinkLocation>,
    removed: Option<&'a (Token, String)>,
}

impl Links<'_> {
    fn is_there(&self, group: Token, name: &str) -> Result<bool> {
        Ok(link_target(self.container, group, name)?.as_ref() == Some(self.target))
    }

    fn object(&self) -> Result<Option<ObjectInfo>> {
        match self.target {
            LinkTarget::Hard(object) => found(self.container.object_info(*object)),
            _ => Ok(None),
        }
    }

    /// The links are as before, or else as after the operation; then the count follows.
    fn recover(&self, before: u32) -> Result<Option<Outcome>> {
        let is_added = self.added.map(|place| self.is_there(place.group, &place.name)).transpose()?;
        let is_removed = self.removed.map(|(group, name)| Ok(!self.is_there(*group, name)?)).transpose()?;
        if is_added != Some(true) && is_removed != Some(true) {
            return self.undo(before).map(|()| None);
        }
        if let (Some(place), Some(false)) = (self.added, is_added) {
            // A count of 0 would keep it from being linked again.
            let (place, target) = (place.clone(), self.target.clone());
            self.container.link_create(&OpLinkCreate { place, target })?;
        }
        if let (Some((group, name)), Some(false)) = (self.removed, is_removed) {
            self.container.link_delete(*group, name)?;
        }
        let after = before + u32::from(self.added.is_some()) - u32::from(self.removed.is_some()).min(before);
        if let Some(info) = self.object()? {
            set_count(self.container, &info, after)?;
        }
        Ok(Some(Outcome::Nothing))
    }

    /// A new link is counted before it is there.
    fn undo(&self, before: u32) -> Result<()> {
        match self.object()? {
            Some(info) if self.added.is_some() && info.references == before + 1 => {
                set_count(self.container, &info, before)
            }
            _ => Ok(()),
        }
    }
}
