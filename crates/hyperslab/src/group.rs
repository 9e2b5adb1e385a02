//! Groups: links, paths, visits.

use model::{Error, Index, Kind, Link, LinkTarget, ObjectKind, ObjectPath, Order, Reference, Result};
use vol::{GroupInfo, OpList};

use crate::Dataset;
use crate::object::{NamedDatatype, Object, ObjectHandle};

/// Links in a page of a listing.
pub(crate) const PAGE: u64 = 4096;

/// A group. It dereferences to [`Object`].
#[derive(Debug, Clone)]
pub struct Group(pub(crate) Object);

impl std::ops::Deref for Group {
    type Target = Object;
    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Group {
    fn open(&self, path: &str) -> Result<Object> {
        let (session, token) = self.session.find(self.token, path)?;
        Ok(Object::new(session, token, self.full_path(path)))
    }

    /// Returns the path from the root of what `path` leads to.
    pub(crate) fn full_path(&self, path: &str) -> ObjectPath {
        if model::link::is_absolute(path) { ObjectPath::start(path) } else { self.path_to(path) }
    }

    pub(crate) fn open_kind(&self, path: &str, kind: ObjectKind) -> Result<Object> {
        let object = self.open(path)?;
        let found = object.info()?.kind;
        if found == kind { Ok(object) } else { Err(another_kind(path, kind, found)) }
    }

    /// Returns the object at a path, of any kind.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads to no object, `Limit` if there are too many links to follow, and `Denied`
    /// if an external link leads out of the file and the file was opened without a resolver.
    pub fn object(&self, path: &str) -> Result<ObjectHandle> {
        ObjectHandle::open(self.open(path)?)
    }

    /// Returns the group at a path.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is not a group, and the errors of [`Group::object`].
    pub fn group(&self, path: &str) -> Result<Group> {
        self.open_kind(path, ObjectKind::Group).map(Group)
    }

    /// Returns the dataset at a path.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is not a dataset, and the errors of [`Group::object`].
    pub fn dataset(&self, path: &str) -> Result<Dataset> {
        let object = self.open(path)?;
        // As a rule it is one, and then nothing else need be asked.
        Dataset::open(object.clone()).map_err(|error| match object.info() {
            Ok(info) if info.kind != ObjectKind::Dataset => {
                another_kind(path, ObjectKind::Dataset, info.kind)
            }
            _ => error,
        })
    }

    /// Returns the committed datatype at a path.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is not a committed datatype, and the errors of [`Group::object`].
    pub fn named_datatype(&self, path: &str) -> Result<NamedDatatype> {
        self.open_kind(path, ObjectKind::Datatype).map(NamedDatatype)
    }

    /// Returns the object that a reference points to, or whose elements or attribute it points to.
    ///
    /// # Errors
    /// Returns `Invalid` if the reference is null, `NotFound` if the object was removed, and `Denied` if it is in
    /// another file and the file was opened without a resolver.
    pub fn dereference(&self, reference: &Reference) -> Result<ObjectHandle> {
        let token = reference
            .token()
            .ok_or_else(|| Error::invalid("dereference").with("problem", "reference is null"))?;
        let session = match &reference.file {
            None => self.session.clone(),
            Some(file) => self.session.external(file)?,
        };
        ObjectHandle::open(Object::new(session, token, ObjectPath::start("")))
    }

    /// Returns the info of the group.
    ///
    /// # Errors
    /// Returns the error of reading the group.
    pub fn group_info(&self) -> Result<GroupInfo> {
        self.session.container.group_info(self.token)
    }

    /// Returns the number of links.
    ///
    /// # Errors
    /// Returns the errors of [`Group::group_info`].
    pub fn len(&self) -> Result<u64> {
        Ok(self.group_info()?.links)
    }

    /// Returns whether there are no links.
    ///
    /// # Errors
    /// Returns the errors of [`Group::group_info`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns the link named `name`.
    ///
    /// # Errors
    /// Returns `NotFound` if the group has no such link.
    pub fn link(&self, name: &str) -> Result<Link> {
        let missing = || Error::not_found("find link").with("name", name).with("group", self.path.shown());
        self.session.container.link_get(self.token, name)?.ok_or_else(missing)
    }

    /// Returns whether a path leads to an object.
    ///
    /// # Errors
    /// Returns the errors of following the path, except `NotFound`.
    pub fn exists(&self, path: &str) -> Result<bool> {
        match self.session.find(self.token, path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the group has a link named `name`, even if it leads to no object.
    pub fn link_exists(&self, name: &str) -> bool {
        matches!(self.session.container.link_get(self.token, name), Ok(Some(_)))
    }

    /// Returns all links, sorted by name.
    ///
    /// # Errors
    /// Returns the error of reading the group.
    pub fn links(&self) -> Result<Vec<Link>> {
        self.links_by(Index::Name, Order::Increasing)
    }

    /// Returns all links, sorted by an index.
    ///
    /// # Errors
    /// Returns `Invalid` if the group does not track the order of creation that `index` asks for, and otherwise the
    /// error of reading the group.
    pub fn links_by(&self, index: Index, order: Order) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        loop {
            let op = OpList { index, order, skip: links.len() as u64, count_max: PAGE };
            let page = self.session.container.link_list(self.token, &op)?;
            match links.is_empty() {
                true => links = page.entries,
                false => links.extend(page.entries),
            }
            if !page.more {
                return Ok(links);
            }
        }
    }

    /// Returns the names of all links, sorted.
    ///
    /// # Errors
    /// Returns the error of reading the group.
    pub fn member_names(&self) -> Result<Vec<String>> {
        Ok(self.links()?.into_iter().map(|l| l.name).collect())
    }

    /// Returns all objects that hard links of this group point to, sorted by name.
    ///
    /// # Errors
    /// Returns the error of reading the group or of opening one of the objects.
    pub fn members(&self) -> Result<Vec<ObjectHandle>> {
        let hard = self.links()?.into_iter().filter(|l| matches!(l.target, LinkTarget::Hard(_)));
        hard.map(|l| self.object(&l.name)).collect()
    }

    /// Returns all groups that hard links of this group point to, sorted by name.
    ///
    /// # Errors
    /// Returns the errors of [`Group::members`].
    pub fn groups(&self) -> Result<Vec<Group>> {
        let pick = |object| if let ObjectHandle::Group(g) = object { Some(g) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }

    /// Returns all datasets that hard links of this group point to, sorted by name.
    ///
    /// # Errors
    /// Returns the errors of [`Group::members`].
    pub fn datasets(&self) -> Result<Vec<Dataset>> {
        let pick = |object| if let ObjectHandle::Dataset(d) = object { Some(d) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }

    /// Returns all committed datatypes that hard links of this group point to, sorted by name.
    ///
    /// # Errors
    /// Returns the errors of [`Group::members`].
    pub fn named_datatypes(&self) -> Result<Vec<NamedDatatype>> {
        let pick = |object| if let ObjectHandle::Datatype(t) = object { Some(t) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }
}

pub(crate) fn another_kind(path: &str, wanted: ObjectKind, found: ObjectKind) -> Error {
    let error = Error::invalid(format!("open {}", wanted.name())).with("path", path);
    error.with("problem", format!("it is a {}", found.name()))
}
