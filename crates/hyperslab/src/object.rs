//! Functions that all objects share: a path, attributes, a comment, times.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use model::datatype::Datatype;
use model::{Error, Index, LinkTarget, ObjectKind, ObjectPath, Order, Result, Token};
use vol::{ObjectInfo, OpList};

use crate::session::Session;
use crate::{Attribute, Dataset, Group, Map};

/// Entries in a page of a listing.
const PAGE: u64 = 4096;

/// A handle to an object of any kind. Groups, datasets and committed datatypes dereference to it.
#[derive(Clone)]
pub struct Object(Arc<Handle>);

/// The state that all copies of a handle share.
pub struct Handle {
    pub(crate) session: Arc<Session>,
    pub(crate) token: Token,
    /// The path that the object was opened by, which is empty if it was found otherwise.
    pub(crate) path: ObjectPath,
    /// The path as text, or after the first search one that leads to an object that was opened without a path.
    name: OnceLock<String>,
}

impl std::ops::Deref for Object {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        &self.0
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{} ({})", self.session.location, self.path.shown(), self.token)
    }
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the container forgets its objects when it closes.
        let _ = self.session.container.release(self.token);
    }
}

impl Object {
    pub(crate) fn new(session: Arc<Session>, token: Token, path: ObjectPath) -> Self {
        // A container that does not count handles answers `Unsupported`; it keeps objects anyway.
        let _ = session.container.retain(token);
        Object(Arc::new(Handle { session, token, path, name: OnceLock::new() }))
    }

    /// Returns the path that the object was opened by. For an object that was opened by a reference, it is the first
    /// path to it from the root, as `H5Rget_name` finds it, or empty if there is none.
    pub fn name(&self) -> &str {
        self.name.get_or_init(|| match self.path.is_empty() {
            true => self.search_path().unwrap_or_default(),
            false => self.path.to_string(),
        })
    }

    /// Returns the full path of `path`, relative to this object.
    pub(crate) fn path_to(&self, path: &str) -> ObjectPath {
        if self.path.is_empty() { ObjectPath::start(path) } else { self.path.join(path) }
    }

    /// Returns the first path from the root, sorted by name, that leads to this object.
    fn search_path(&self) -> Result<String> {
        let root = Object::new(self.session.clone(), self.session.root, ObjectPath::root());
        if self.token == root.token {
            return Ok("/".to_owned());
        }
        let mut found = String::new();
        Group(root).visit(|visit| {
            Ok(match visit.link.target {
                LinkTarget::Hard(token) if token == self.token => {
                    found = format!("/{}", visit.path);
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            })
        })?;
        Ok(found)
    }

    /// Returns the token, which identifies the object in its container.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Returns the container of the object.
    pub fn container(&self) -> &Arc<dyn vol::Container> {
        &self.session.container
    }

    /// Returns the kind, reference count, times and number of attributes.
    ///
    /// # Errors
    /// Returns the error of reading the object's header.
    pub fn info(&self) -> Result<ObjectInfo> {
        self.session.container.object_info(self.token)
    }

    /// Returns the comment, if there is one.
    pub fn comment(&self) -> Option<String> {
        self.info().ok()?.comment
    }

    /// Returns the attribute named `name`.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such attribute.
    pub fn attr(&self, name: &str) -> Result<Attribute> {
        let info = self.session.container.attribute_info(self.token, name)?;
        let missing =
            || Error::not_found("open attribute").with("name", name).with("object", self.path.shown());
        Ok(Attribute::new(self.clone(), info.ok_or_else(missing)?))
    }

    /// Returns the names of all attributes, sorted.
    ///
    /// # Errors
    /// Returns the error of reading the object.
    pub fn attr_names(&self) -> Result<Vec<String>> {
        Ok(self.attrs()?.into_iter().map(|a| a.name().to_owned()).collect())
    }

    /// Returns all attributes, sorted by name.
    ///
    /// # Errors
    /// Returns the error of reading the object.
    pub fn attrs(&self) -> Result<Vec<Attribute>> {
        self.attrs_by(Index::Name, Order::Increasing)
    }

    /// Returns all attributes, sorted by an index.
    ///
    /// # Errors
    /// Returns `Invalid` if the object does not track the order of creation that `index` asks for, and otherwise the
    /// error of reading the object.
    pub fn attrs_by(&self, index: Index, order: Order) -> Result<Vec<Attribute>> {
        let mut all = Vec::new();
        loop {
            let op = OpList { index, order, skip: all.len() as u64, count_max: PAGE };
            let page = self.session.container.attribute_list(self.token, &op)?;
            all.extend(page.entries.into_iter().map(|info| Attribute::new(self.clone(), info)));
            if !page.more {
                return Ok(all);
            }
        }
    }
}

/// A committed datatype.
#[derive(Debug, Clone)]
pub struct NamedDatatype(pub(crate) Object);

impl std::ops::Deref for NamedDatatype {
    type Target = Object;
    fn deref(&self) -> &Object {
        &self.0
    }
}

impl NamedDatatype {
    /// Returns the type.
    ///
    /// # Errors
    /// Returns the error of reading the datatype.
    pub fn datatype(&self) -> Result<Datatype> {
        self.0.session.container.datatype_get(self.0.token)
    }
}

/// An object of any kind.
#[derive(Debug, Clone)]
pub enum ObjectHandle {
    /// A group.
    Group(Group),
    /// A dataset.
    Dataset(Dataset),
    /// A committed datatype.
    Datatype(NamedDatatype),
    /// A map.
    Map(Map),
}

impl ObjectHandle {
    /// Returns the object as its kind.
    ///
    /// # Errors
    /// Returns the error of reading the object's header.
    pub fn open(object: Object) -> Result<Self> {
        Ok(match object.info()?.kind {
            ObjectKind::Group => ObjectHandle::Group(Group(object)),
            ObjectKind::Dataset => ObjectHandle::Dataset(Dataset::open(object)?),
            ObjectKind::Datatype => ObjectHandle::Datatype(NamedDatatype(object)),
            ObjectKind::Map => ObjectHandle::Map(Map::open(object)?),
        })
    }

    /// Returns the object without its kind.
    pub fn object(&self) -> &Object {
        match self {
            ObjectHandle::Group(g) => g,
            ObjectHandle::Dataset(d) => d,
            ObjectHandle::Datatype(t) => t,
            ObjectHandle::Map(m) => m,
        }
    }
}
