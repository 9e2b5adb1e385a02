//! Open containers, and the way from one to another along links.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use hyperslab::vol::{Container, LinkContext, Lookup, OpLookup, Resolver, path};
use hyperslab::{Error, Result, Token};

use crate::open::{OpenContainer, open};
use crate::settings::registry;

/// Links that may be followed for one name: libhdf5's default.
const TRAVERSALS_MAX: u32 = 16;

/// An open container.
pub(crate) struct Source {
    pub(crate) root: Token,
    /// Which file of this run it is, from 1.
    pub(crate) number: u64,
    /// Bytes before the container's own, which its addresses do not count.
    pub(crate) userblock_bytes: u64,
    /// The identity of its file, whatever it is called.
    identity: PathBuf,
    opened: OpenContainer,
    /// Other files that links led to, by the name they have there: each is opened once.
    others: RefCell<HashMap<String, Rc<Source>>>,
}

/// An object, wherever it is.
#[derive(Clone)]
pub(crate) struct ObjectAt {
    pub(crate) source: Rc<Source>,
    pub(crate) token: Token,
}

impl Source {
    /// Opens what the user named.
    pub(crate) fn open(location: &str, driver: Option<&str>, number: u64) -> Result<Rc<Self>> {
        let opened = open(location, driver)?;
        let mut identity = opened.identity().into_os_string();
        // Revisions of one file are different files.
        if let Some(driver) = driver.filter(|driver| driver.starts_with("onion")) {
            identity.push(driver);
        }
        Self::of(opened, number, identity.into())
    }

    fn new(opened: OpenContainer, number: u64) -> Result<Rc<Self>> {
        let identity = opened.identity();
        Self::of(opened, number, identity)
    }

    fn of(opened: OpenContainer, number: u64, identity: PathBuf) -> Result<Rc<Self>> {
        let info = opened.container.info()?;
        let (root, userblock_bytes) = (info.root, info.create.userblock_bytes);
        let others = RefCell::default();
        Ok(Rc::new(Source { root, number, userblock_bytes, identity, opened, others }))
    }

    fn external(&self, file: &str) -> Result<Rc<Source>> {
        if let Some(other) = self.others.borrow().get(file) {
            return Ok(other.clone());
        }
        let other = self.opened.follow(file)?;
        let is_same = other.identity() == self.identity;
        let other = Source::new(other, self.number + u64::from(!is_same))?;
        self.others.borrow_mut().insert(file.to_owned(), other.clone());
        Ok(other)
    }
}

impl ObjectAt {
    /// Returns the root group.
    pub(crate) fn root(source: &Rc<Source>) -> Self {
        ObjectAt { source: source.clone(), token: source.root }
    }

    /// Returns what a path leads to from this group, through other containers where links go there.
    pub(crate) fn find(&self, path: &str) -> Result<ObjectAt> {
        let (mut place, mut path) = (self.clone(), path.to_owned());
        for _ in 0..=TRAVERSALS_MAX {
            let op = OpLookup { from: place.token, path: path.clone(), traversals_max: TRAVERSALS_MAX };
            match path::lookup(place.container(), &op)? {
                Lookup::Object(token) => return Ok(ObjectAt { token, ..place }),
                Lookup::External { file, path: rest } => {
                    place = place.next_to(&file)?;
                    path = rest;
                }
                Lookup::User { .. } => {
                    let opened = &place.source.opened;
                    let resolver = opened.resolver.clone().map(|resolver| resolver as Arc<dyn Resolver>);
                    let (container, location) = (&*opened.container, opened.location.as_str());
                    let context = LinkContext { container, location, resolver: resolver.as_ref() };
                    let followed = registry().registered().link_classes.follow(context, &op)?;
                    if let Some((container, location)) = followed.other {
                        let other = OpenContainer { container, resolver: opened.resolver.clone(), location };
                        place = ObjectAt::root(&Source::new(other, place.source.number)?);
                    }
                    place.token = followed.lookup.from;
                    path = followed.lookup.path;
                }
            }
        }
        Err(Error::limit("follow links").with("path", path).with("limit", TRAVERSALS_MAX))
    }

    /// Returns the root group of another file that this one refers to.
    pub(crate) fn next_to(&self, file: &str) -> Result<ObjectAt> {
        Ok(ObjectAt::root(&self.source.external(file)?))
    }

    /// Returns whether both are the same object of the same file.
    pub(crate) fn is_same(&self, other: &ObjectAt) -> bool {
        self.token == other.token && self.is_next_to(other)
    }

    /// Returns whether both are in the same file.
    pub(crate) fn is_next_to(&self, other: &ObjectAt) -> bool {
        self.source.identity == other.source.identity
    }

    /// Returns the container, to keep.
    pub(crate) fn shared(&self) -> &Arc<dyn Container> {
        &self.source.opened.container
    }

    /// Returns the container it is in.
    pub(crate) fn container(&self) -> &dyn Container {
        self.source.opened.container.as_ref()
    }
}
