//! Open containers, and the way from one to another along links.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use hyperslab::vol::{Container, FileAccess, Lookup, OpLookup, Resolver, path};
use hyperslab::{Error, FolderResolver, Result, Token, registry};

/// Links that may be followed for one name: libhdf5's default.
const TRAVERSALS_MAX: u32 = 16;

/// An open container.
pub(crate) struct Source {
    pub(crate) container: Arc<dyn Container>,
    pub(crate) root: Token,
    /// Which file of this run it is, from 1.
    pub(crate) number: u64,
    /// Bytes before the container's own, which its addresses do not count.
    pub(crate) userblock_bytes: u64,
    location: String,
    resolver: Option<Arc<FolderResolver>>,
}

/// An object, wherever it is.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) source: Rc<Source>,
    pub(crate) token: Token,
}

impl Source {
    /// Opens what the user named; files that it refers to are opened from its own folder only.
    pub(crate) fn open(location: &str, driver: Option<&str>, number: u64) -> Result<Rc<Self>> {
        let registry = registry();
        let folder = Path::new(location).parent().unwrap_or(Path::new(""));
        let resolver = FolderResolver::new(folder, registry.clone()).ok();
        let mut access = FileAccess::read();
        if let Some(resolver) = &resolver {
            access = access.with_resolver(resolver.clone());
        }
        access.driver = driver.map(str::to_owned);
        let container = registry.open(location, &access)?;
        Self::new(container, location, number, resolver)
    }

    fn new(
        container: Arc<dyn Container>,
        location: &str,
        number: u64,
        resolver: Option<Arc<FolderResolver>>,
    ) -> Result<Rc<Self>> {
        let info = container.info()?;
        let (root, userblock_bytes) = (info.root, info.create.userblock_bytes);
        Ok(Rc::new(Source {
            container,
            root,
            number,
            userblock_bytes,
            location: location.to_owned(),
            resolver,
        }))
    }

    fn elsewhere(&self, file: &str) -> Result<Rc<Source>> {
        let refused = || Error::denied("follow external link").with("file", file);
        let resolver = self.resolver.as_ref().ok_or_else(refused)?;
        let container = resolver.container(file, &self.location)?;
        Source::new(container, file, self.number + 1, self.resolver.clone())
    }
}

impl Place {
    /// The root group.
    pub(crate) fn root(source: &Rc<Source>) -> Self {
        Place { source: source.clone(), token: source.root }
    }

    /// What a path leads to from this group, through other containers where links go there.
    pub(crate) fn find(&self, path: &str) -> Result<Place> {
        let (mut place, mut path) = (self.clone(), path.to_owned());
        for _ in 0..=TRAVERSALS_MAX {
            let op = OpLookup { from: place.token, path: path.clone(), traversals_max: TRAVERSALS_MAX };
            match path::lookup(place.container(), &op)? {
                Lookup::Object(token) => return Ok(Place { token, ..place }),
                Lookup::External { file, path: rest } => {
                    place = Place::root(&place.source.elsewhere(&file)?);
                    path = rest;
                }
                Lookup::User { class, .. } => {
                    return Err(Error::unsupported("follow user-defined link").with("class", class));
                }
            }
        }
        Err(Error::limit("follow links").with("path", path).with("limit", TRAVERSALS_MAX))
    }

    /// The container it is in.
    pub(crate) fn container(&self) -> &dyn Container {
        self.source.container.as_ref()
    }
}
