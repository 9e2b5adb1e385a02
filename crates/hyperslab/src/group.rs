//! Groups: links, paths, visits.

use model::{Error, Index, Kind, Link, LinkTarget, ObjectKind, ObjectPath, Order, Reference, Result};
use vol::{GroupInfo, OpList};

use crate::Dataset;
use crate::object::{NamedDatatype, Object, ObjectHandle};

/// Links asked for at a time.
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

    /// Returns the object at a path, whatever it is.
    pub fn object(&self, path: &str) -> Result<ObjectHandle> {
        ObjectHandle::open(self.open(path)?)
    }

    /// Returns the group at a path.
    pub fn group(&self, path: &str) -> Result<Group> {
        self.open_kind(path, ObjectKind::Group).map(Group)
    }

    /// Returns the dataset at a path.
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
    pub fn named_datatype(&self, path: &str) -> Result<NamedDatatype> {
        self.open_kind(path, ObjectKind::Datatype).map(NamedDatatype)
    }

    /// Returns the object that a reference points to or into.
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

    /// Returns the number and storage of links.
    pub fn group_info(&self) -> Result<GroupInfo> {
        self.session.container.group_info(self.token)
    }

    /// Returns how many links there are.
    pub fn len(&self) -> Result<u64> {
        Ok(self.group_info()?.links)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns a link by name.
    pub fn link(&self, name: &str) -> Result<Link> {
        let missing = || Error::not_found("find link").with("name", name).with("group", self.path.shown());
        self.session.container.link_get(self.token, name)?.ok_or_else(missing)
    }

    /// Returns whether a path leads to an object.
    pub fn exists(&self, path: &str) -> Result<bool> {
        match self.session.find(self.token, path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether there is a link of this name; where it leads does not matter.
    pub fn link_exists(&self, name: &str) -> bool {
        matches!(self.session.container.link_get(self.token, name), Ok(Some(_)))
    }

    /// Returns all links, sorted by name.
    pub fn links(&self) -> Result<Vec<Link>> {
        self.links_by(Index::Name, Order::Increasing)
    }

    /// Returns all links in an order of the caller's choice.
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

    /// Names of all links, sorted.
    pub fn member_names(&self) -> Result<Vec<String>> {
        Ok(self.links()?.into_iter().map(|l| l.name).collect())
    }

    /// Returns all objects that hard links of this group point to, sorted by name.
    pub fn members(&self) -> Result<Vec<ObjectHandle>> {
        let hard = self.links()?.into_iter().filter(|l| matches!(l.target, LinkTarget::Hard(_)));
        hard.map(|l| self.object(&l.name)).collect()
    }

    /// Returns all groups in this one.
    pub fn groups(&self) -> Result<Vec<Group>> {
        let pick = |object| if let ObjectHandle::Group(g) = object { Some(g) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }

    /// Returns all datasets in this group.
    pub fn datasets(&self) -> Result<Vec<Dataset>> {
        let pick = |object| if let ObjectHandle::Dataset(d) = object { Some(d) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }

    /// Returns all committed datatypes in this group.
    pub fn named_datatypes(&self) -> Result<Vec<NamedDatatype>> {
        let pick = |object| if let ObjectHandle::Datatype(t) = object { Some(t) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }
}

pub(crate) fn another_kind(path: &str, wanted: ObjectKind, found: ObjectKind) -> Error {
    let error = Error::invalid(format!("open {}", wanted.name())).with("path", path);
    error.with("problem", format!("it is a {}", found.name()))
}
