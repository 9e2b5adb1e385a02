//! Groups: links, paths, visits.

use std::collections::HashSet;
use std::ops::ControlFlow;

use model::spread::Spread;
use model::{Error, Index, Kind, Link, LinkTarget, ObjectKind, Order, Reference, Result, Token};
use vol::{GroupInfo, OpList};

use crate::Dataset;
use crate::object::{NamedDatatype, Object, ObjectHandle};

/// Links asked for at a time.
const PAGE: u64 = 4096;

/// A group. It dereferences to [`Object`].
#[derive(Debug, Clone)]
pub struct Group(pub(crate) Object);

impl std::ops::Deref for Group {
    type Target = Object;
    fn deref(&self) -> &Object {
        &self.0
    }
}

/// One stop of a visit.
#[derive(Debug)]
pub struct Visit<'a> {
    /// Path from the group where the visit began.
    pub path: &'a str,
    /// The link that led there.
    pub link: &'a Link,
    /// The object, where the link is a hard one. [`ObjectHandle::open`] gives it by its kind.
    pub object: Option<&'a Object>,
    /// What the object is.
    pub kind: Option<ObjectKind>,
    /// Whether the object was met before, under another path.
    pub again: bool,
}

impl Group {
    fn open(&self, path: &str) -> Result<Object> {
        let (session, token) = self.session.find(self.token, path)?;
        let full = if model::link::is_absolute(path) {
            path.to_owned()
        } else {
            model::link::join(&self.path, path)
        };
        Ok(Object::new(session, token, full))
    }

    pub(crate) fn open_kind(&self, path: &str, kind: ObjectKind) -> Result<Object> {
        let object = self.open(path)?;
        let found = object.info()?.kind;
        if found == kind { Ok(object) } else { Err(another_kind(path, kind, found)) }
    }

    /// The object at a path, whatever it is.
    pub fn object(&self, path: &str) -> Result<ObjectHandle> {
        ObjectHandle::open(self.open(path)?)
    }

    /// The group at a path.
    pub fn group(&self, path: &str) -> Result<Group> {
        self.open_kind(path, ObjectKind::Group).map(Group)
    }

    /// The dataset at a path.
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

    /// The committed datatype at a path.
    pub fn named_datatype(&self, path: &str) -> Result<NamedDatatype> {
        self.open_kind(path, ObjectKind::Datatype).map(NamedDatatype)
    }

    /// What a reference points to or into.
    pub fn dereference(&self, reference: &Reference) -> Result<ObjectHandle> {
        let token = reference
            .token()
            .ok_or_else(|| Error::invalid("dereference").with("problem", "reference is null"))?;
        let session = match &reference.file {
            None => self.session.clone(),
            Some(file) => self.session.elsewhere(file)?,
        };
        ObjectHandle::open(Object::new(session, token, String::new()))
    }

    /// Number and storage of links.
    pub fn group_info(&self) -> Result<GroupInfo> {
        self.session.container.group_info(self.token)
    }

    /// How many links there are.
    pub fn len(&self) -> Result<u64> {
        Ok(self.group_info()?.links)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// A link by name.
    pub fn link(&self, name: &str) -> Result<Link> {
        let missing = || Error::not_found("find link").with("name", name).with("group", &self.path);
        self.session.container.link_get(self.token, name)?.ok_or_else(missing)
    }

    /// Whether a path leads to an object.
    pub fn exists(&self, path: &str) -> Result<bool> {
        match self.session.find(self.token, path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether there is a link of this name; where it leads does not matter.
    pub fn link_exists(&self, name: &str) -> bool {
        matches!(self.session.container.link_get(self.token, name), Ok(Some(_)))
    }

    /// All links, sorted by name.
    pub fn links(&self) -> Result<Vec<Link>> {
        self.links_by(Index::Name, Order::Increasing)
    }

    /// All links in an order of the caller's choice.
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

    /// All objects that hard links of this group point to, sorted by name.
    pub fn members(&self) -> Result<Vec<ObjectHandle>> {
        let hard = self.links()?.into_iter().filter(|l| matches!(l.target, LinkTarget::Hard(_)));
        hard.map(|l| self.object(&l.name)).collect()
    }

    /// All groups in this one.
    pub fn groups(&self) -> Result<Vec<Group>> {
        let pick = |object| if let ObjectHandle::Group(g) = object { Some(g) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }

    /// All datasets in this group.
    pub fn datasets(&self) -> Result<Vec<Dataset>> {
        let pick = |object| if let ObjectHandle::Dataset(d) = object { Some(d) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }

    /// All committed datatypes in this group.
    pub fn named_datatypes(&self) -> Result<Vec<NamedDatatype>> {
        let pick = |object| if let ObjectHandle::Datatype(t) = object { Some(t) } else { None };
        Ok(self.members()?.into_iter().filter_map(pick).collect())
    }

    /// Calls `f` with every link below this group, depth first and sorted by name; each object is entered once.
    pub fn visit(&self, mut f: impl FnMut(&Visit<'_>) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut seen = HashSet::<Token, Spread>::default();
        seen.insert(self.token);
        let mut stack = vec![Level::new(self.clone(), 0)?];
        // The path of the group that is visited, and then of what is in it.
        let mut path = String::new();
        while let Some(level) = stack.last_mut() {
            path.truncate(level.path_bytes);
            let Some(link) = level.links.next() else {
                stack.pop();
                continue;
            };
            if level.path_bytes > 0 {
                path.push('/');
            }
            path.push_str(&link.name);
            let (mut object, mut kind, mut again) = (None, None, false);
            if let LinkTarget::Hard(token) = link.target {
                again = !seen.insert(token);
                kind = Some(level.kind(token)?);
                let full = model::link::join(&level.group.path, &link.name);
                object = Some(Object::new(level.group.session.clone(), token, full));
            }
            if f(&Visit { path: &path, link: &link, object: object.as_ref(), kind, again })?.is_break() {
                return Ok(());
            }
            if let (Some(object), Some(ObjectKind::Group), false) = (object, kind, again) {
                stack.push(Level::new(Group(object), path.len())?);
            }
        }
        Ok(())
    }
}

/// Objects whose kinds are asked for together.
const KINDS: usize = 1024;

/// A group on the way of a visit, with what is left of its links.
struct Level {
    group: Group,
    /// Bytes of its path.
    path_bytes: usize,
    links: std::vec::IntoIter<Link>,
    /// Kinds of the next objects.
    kinds: std::vec::IntoIter<ObjectKind>,
    /// So many objects are asked for one by one, since all together gave an error.
    singly: usize,
}

impl Level {
    fn new(group: Group, path_bytes: usize) -> Result<Level> {
        let links = group.links()?.into_iter();
        Ok(Level { group, path_bytes, links, kinds: Vec::new().into_iter(), singly: 0 })
    }

    /// The kind of the object that the link just taken points to.
    fn kind(&mut self, object: Token) -> Result<ObjectKind> {
        if let Some(kind) = self.kinds.next() {
            return Ok(kind);
        }
        let container = &self.group.session.container;
        if self.singly == 0 {
            let hard =
                |link: &Link| if let LinkTarget::Hard(token) = link.target { Some(token) } else { None };
            let next = self.links.as_slice().iter().filter_map(hard);
            let objects: Vec<Token> = std::iter::once(object).chain(next).take(KINDS).collect();
            if let Some(mut kinds) = container.object_kinds(&objects).ok().map(Vec::into_iter)
                && kinds.len() == objects.len()
                && let Some(kind) = kinds.next()
            {
                self.kinds = kinds;
                return Ok(kind);
            }
            self.singly = objects.len();
        }
        self.singly -= 1;
        Ok(container.object_info(object)?.kind)
    }
}

fn another_kind(path: &str, wanted: ObjectKind, found: ObjectKind) -> Error {
    let error = Error::invalid(format!("open {}", wanted.name())).with("path", path);
    error.with("problem", format!("it is a {}", found.name()))
}
