//! From a location and a name to an object: links of every kind, mounts, other files.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use hyperslab::vol::model::link::{components, is_absolute, join, split_last};
use hyperslab::vol::{Container, LinkLocation, Lookup, OpGroupCreate, OpList, OpLookup, path};
use hyperslab::{Error, Kind, LinkTarget, ObjectKind, Token};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;
use crate::h5f::{ExternalTarget, FileHandle, open_external};
use crate::h5p::values::{LinkAccessValues, LinkCreateValues};
use crate::handles::{Object, ObjectHandle};
use crate::ids;

/// An object that a path led to.
#[derive(Debug, Clone)]
pub(crate) struct FoundObject {
    pub(crate) file: Arc<FileHandle>,
    pub(crate) token: Token,
    /// Its path in its file, as the program wrote it.
    pub(crate) path: Option<String>,
}

impl FoundObject {
    /// Returns the object itself as what was found.
    pub(crate) fn of(object: &ObjectHandle) -> Self {
        FoundObject { file: object.file.clone(), token: object.token, path: object.path.read().clone() }
    }

    /// Returns the kind of the object.
    pub(crate) fn kind(&self) -> Fallible<ObjectKind> {
        let kinds = self.container().object_kinds(&[self.token])?;
        kinds.first().copied().ok_or_else(|| Error::not_found("find object").into())
    }

    /// Opens the object.
    pub(crate) fn open(self) -> Fallible<Arc<ObjectHandle>> {
        let kind = self.kind()?;
        ObjectHandle::open(self.file, self.token, kind, self.path)
    }

    /// Opens the object, which must be of a kind.
    pub(crate) fn open_kind(self, kind: ObjectKind) -> Fallible<Arc<ObjectHandle>> {
        if self.kind()? != kind {
            let major = if kind == ObjectKind::Dataset { Major::DATASET } else { Major::ARGS };
            return Err(Failure::new(major, Minor::BADTYPE, format!("not a {}", kind.name())));
        }
        ObjectHandle::open(self.file, self.token, kind, self.path)
    }

    pub(crate) fn container(&self) -> &Arc<dyn Container> {
        self.file.container()
    }
}

/// Returns the path of `name` from an object, as the program wrote it, without doubled slashes.
fn written_path(base: Option<&str>, name: &str) -> Option<String> {
    let start = if is_absolute(name) { "/" } else { base? };
    let path = components(name).fold(start.to_owned(), |path, part| join(&path, part));
    Some(path)
}

fn missing(name: &str, cause: Error) -> Failure {
    let text = match cause.facts().find(|(key, _)| *key == "missing") {
        Some((_, part)) => format!("object '{part}' doesn't exist"),
        None => format!("object '{name}' doesn't exist"),
    };
    Failure { cause: Some(Box::new(cause)), ..Failure::new(Major::SYM, Minor::NOTFOUND, text) }
}

/// Follows a path from an object, through links of every kind, mounts and other files.
pub(crate) fn find(base: &ObjectHandle, name: &str, access: &LinkAccessValues) -> Fallible<FoundObject> {
    let mut walk = Walk { left: access.traversals_max, access };
    let found = walk.follow(FoundObject::of(base), name)?;
    Ok(found)
}

struct Walk<'a> {
    left: usize,
    access: &'a LinkAccessValues,
}

impl Walk<'_> {
    fn count(&mut self) -> Fallible<()> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| Failure::new(Major::LINK, Minor::NLINKS, "too many links"))?;
        Ok(())
    }

    fn follow(&mut self, base: FoundObject, name: &str) -> Fallible<FoundObject> {
        // What is mounted is seen by components only.
        match base.file.has_mounts() || base.file.mounted_on.read().is_some() {
            true => self.step(base, name),
            false => self.look_up(base, name),
        }
    }

    /// Follows a path in one call, as far as the container knows it.
    fn look_up(&mut self, base: FoundObject, name: &str) -> Fallible<FoundObject> {
        let traversals_max = u32::try_from(self.left).unwrap_or(u32::MAX);
        let op = OpLookup { from: base.token, path: name.to_owned(), traversals_max };
        let path = written_path(base.path.as_deref(), name);
        match path::lookup(&**base.container(), &op) {
            Ok(Lookup::Object(token)) => Ok(FoundObject { token, path, ..base }),
            // The link itself is needed to go on: it is found by components.
            Ok(Lookup::External { .. } | Lookup::User { .. }) => self.step(base, name),
            Err(error) if error.kind() == Kind::NotFound => Err(missing(name, error)),
            Err(error) if error.kind() == Kind::Limit => {
                Err(Failure::new(Major::LINK, Minor::NLINKS, format!("too many links: {error}")))
            }
            Err(error) => Err(Failure::from(error).as_major(Major::SYM)),
        }
    }

    /// Follows a path component by component.
    fn step(&mut self, base: FoundObject, name: &str) -> Fallible<FoundObject> {
        let mut here = match is_absolute(name) {
            true => top(&base),
            false => base,
        };
        for part in components(name) {
            let link = here
                .container()
                .link_get(here.token, part)
                .map_err(|e| Failure::from(e).as_major(Major::SYM))?;
            let link =
                link.ok_or_else(|| missing(part, Error::not_found("look up path").with("missing", part)))?;
            let path = written_path(here.path.as_deref(), part);
            here = match link.target {
                LinkTarget::Hard(token) => FoundObject { token, path, ..here },
                LinkTarget::Soft(target) => {
                    self.count()?;
                    FoundObject { path, ..self.follow(here, &target)? }
                }
                LinkTarget::External { file, path } => {
                    self.count()?;
                    self.external(&here, &file, &path)?
                }
                LinkTarget::User { class, data } => {
                    self.count()?;
                    crate::h5l::traverse(&here, part, (class, &data), self.access)?
                }
            };
            here = mounted(here);
        }
        Ok(here)
    }

    fn external(&mut self, here: &FoundObject, file: &str, object: &str) -> Fallible<FoundObject> {
        let group = here.path.clone().unwrap_or_default();
        let target = ExternalTarget { from: &here.file, group, file, object };
        let other = open_external(&target, self.access)?;
        let root = FoundObject { token: other.root_token(), path: Some("/".to_owned()), file: other };
        self.follow(root, object).map_err(|failure| Failure {
            text: format!("unable to open object: {}", failure.text).into(),
            ..failure
        })
    }
}

/// Returns the root group that an absolute path starts from: that of the outermost file.
fn top(base: &FoundObject) -> FoundObject {
    let mut file = base.file.clone();
    loop {
        let parent = file.mounted_on.read().as_ref().and_then(|(parent, _)| parent.upgrade());
        match parent {
            Some(parent) => file = parent,
            None => return FoundObject { token: file.root_token(), path: Some("/".to_owned()), file },
        }
    }
}

/// Returns the root group of the file that is mounted on a group, or the group itself.
fn mounted(mut here: FoundObject) -> FoundObject {
    while let Some(child) = here.file.mounted_at(here.token) {
        here = FoundObject { token: child.root_token(), path: here.path, file: child };
    }
    here
}

/// A place for a new link: the file and the group, and the name in it.
#[derive(Debug)]
pub(crate) struct NewLink {
    pub(crate) file: Arc<FileHandle>,
    pub(crate) location: LinkLocation,
    /// The path of the link.
    pub(crate) path: Option<String>,
}

/// Returns the group that a path's last component is in, and that component.
pub(crate) fn parent<'n>(
    base: &ObjectHandle,
    name: &'n str,
    access: &LinkAccessValues,
) -> Fallible<(FoundObject, &'n str)> {
    let (before, last) = split_last(name).map_err(|error| Failure {
        cause: Some(Box::new(error)),
        ..Failure::argument("no name specified")
    })?;
    match before {
        "" => Ok((mounted(FoundObject::of(base)), last)),
        before => Ok((find(base, before, access)?, last)),
    }
}

/// Returns the place of a new link. Groups on the way are created where the list says so.
pub(crate) fn new_link(
    base: &ObjectHandle,
    name: &str,
    create: &LinkCreateValues,
    access: &LinkAccessValues,
) -> Fallible<NewLink> {
    if let Ok((".", _)) | Err(_) = split_last(name).map(|(_, last)| (last, ())) {
        return Err(Failure::new(Major::ARGS, Minor::BADVALUE, format!("'{name}' is no name for a link")));
    }
    let found = match create.intermediate_groups {
        true => intermediate_groups(base, name, access),
        false => parent(base, name, access).map(|(group, _)| group),
    };
    let group = found?;
    let (_, last) = split_last(name)?;
    let path = written_path(group.path.as_deref(), last);
    let mut location = LinkLocation::new(group.token, last);
    if create.encoding == 1 {
        location.charset = hyperslab::vol::model::CharacterSet::Utf8;
    }
    Ok(NewLink { file: group.file, location, path })
}

/// Creates the groups that are missing on the way to a path's last component.
fn intermediate_groups(base: &ObjectHandle, name: &str, access: &LinkAccessValues) -> Fallible<FoundObject> {
    let (before, _) = split_last(name)?;
    let start = if is_absolute(name) { top(&FoundObject::of(base)) } else { mounted(FoundObject::of(base)) };
    components(before).try_fold(start, |here, part| {
        let there = here.container().link_get(here.token, part)?;
        if there.is_some() {
            let group =
                ObjectHandle::open(here.file.clone(), here.token, ObjectKind::Group, here.path.clone())?;
            return find(&group, part, access);
        }
        let place = Some(LinkLocation::new(here.token, part));
        let token = here.container().group_create(&OpGroupCreate { place, ..OpGroupCreate::default() })?;
        let path = written_path(here.path.as_deref(), part);
        Ok(FoundObject { token, path, ..here })
    })
}

/// Returns the location of an identifier, and the object that `name` leads to from there.
pub(crate) fn find_from(id: hid_t, name: &str, lapl: hid_t) -> Fallible<FoundObject> {
    let base = crate::handles::location(id)?;
    let access = crate::h5p::link_access(lapl)?;
    match name {
        "." => Ok(mounted(FoundObject::of(&base))),
        name => find(&base, name, &access),
    }
}

/// Returns the path that a name means from an object.
pub(crate) fn path_from(base: &ObjectHandle, name: &str) -> Option<String> {
    written_path(base.path.read().as_deref(), name)
}

/// Returns the path of an object, if it has one.
pub(crate) fn name_of(object: &ObjectHandle) -> Option<String> {
    let path = object.path.read().clone().or_else(|| search(object));
    let path = path?;
    // In a file that is mounted, names go on from where it is.
    let mut full = path;
    let mut file = object.file.clone();
    loop {
        let mount = file.mounted_on.read().clone();
        let Some((parent, at)) = mount else { return Some(full) };
        let parent = parent.upgrade()?;
        if !full.starts_with(&at) {
            full = components(&full).fold(at, |path, part| join(&path, part));
        }
        file = parent;
    }
}

/// Looks for a path of an object that was not opened by one.
fn search(object: &ObjectHandle) -> Option<String> {
    let container = object.container();
    let root = object.file.root_token();
    if object.token == root {
        return Some("/".to_owned());
    }
    let mut seen = HashSet::from([root]);
    let mut groups = VecDeque::from([(root, "/".to_owned())]);
    while let Some((group, path)) = groups.pop_front() {
        let mut op = OpList::default();
        loop {
            let page = container.link_list(group, &op).ok()?;
            op.skip += page.entries.len() as u64;
            for link in &page.entries {
                let LinkTarget::Hard(token) = link.target else { continue };
                if token == object.token {
                    return Some(join(&path, &link.name));
                }
                let is_group =
                    || matches!(container.object_kinds(&[token]).as_deref(), Ok([ObjectKind::Group]));
                if seen.insert(token) && is_group() {
                    groups.push_back((token, join(&path, &link.name)));
                }
            }
            if !page.more {
                break;
            }
        }
    }
    None
}

/// Changes the names of open objects after a link was moved (`to`) or removed (`None`).
pub(crate) fn renamed(file: &FileHandle, from: &str, to: Option<&str>) {
    let is_below =
        |path: &str| path.strip_prefix(from).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let affected = ids::find(|object| {
        let Some(object) = named(object) else { return false };
        object.file.is_same(file) && object.path.read().as_deref().is_some_and(is_below)
    });
    for id in affected {
        let Some(object) = ids::object(id).ok().as_ref().and_then(named) else { continue };
        let mut path = object.path.write();
        *path = match (to, path.as_deref()) {
            (Some(to), Some(old)) => Some(format!("{to}{}", &old[from.len()..])),
            _ => None,
        };
    }
}

/// Returns the object whose name an identifier shows.
fn named(object: &Object) -> Option<Arc<ObjectHandle>> {
    match object {
        Object::File(_) | Object::Attribute(_) => None,
        object => object.location(),
    }
}
