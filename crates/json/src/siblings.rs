//! Files next to a container, which the container under it opens in the name of the one above.

use std::sync::{Arc, Weak};

use model::{Error, Result};
use system::sync::Mutex;
use vol::{Container, Durability, FileAccess, Layer, OpWrite, RawBytes, Resolver};

/// A resolver that tells where the container really is, and writes to others so that it stays.
pub struct SiblingResolver {
    resolver: Option<Arc<dyn Resolver>>,
    place: String,
    durability: Durability,
    /// The container that [`SiblingResolver::OWN`] names.
    own: Mutex<Option<Weak<dyn Container>>>,
}

impl std::fmt::Debug for SiblingResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SiblingResolver").field("place", &self.place).finish_non_exhaustive()
    }
}

impl SiblingResolver {
    /// The name under which the container above can be asked for. No file is called like this.
    pub const OWN: &'static str = "\0own";

    /// Returns the resolver of a container at `place` that a user opens with `access`.
    pub fn new(access: &FileAccess, place: &str) -> Arc<Self> {
        let (resolver, durability) = (access.resolver.clone(), access.durability);
        Arc::new(SiblingResolver { resolver, place: place.to_owned(), durability, own: Mutex::new(None) })
    }

    /// Says which container is the one above.
    pub fn set_own(&self, own: Weak<dyn Container>) {
        *self.own.lock() = Some(own);
    }

    fn asked(&self, name: &str) -> Result<&Arc<dyn Resolver>> {
        let resolver = self.resolver.as_ref();
        resolver.ok_or_else(|| Error::denied("open a file next to the container").with("name", name))
    }
}

impl Resolver for SiblingResolver {
    fn container(&self, name: &str, _from: &str) -> Result<Arc<dyn Container>> {
        if name == Self::OWN {
            let own = self.own.lock().as_ref().and_then(Weak::upgrade);
            return own.ok_or_else(|| Error::invalid("use container").with("problem", "it is closed"));
        }
        let resolver = self.asked(name)?.clone();
        let opened = resolver.container(name, &self.place)?;
        let (name, place, durability) = (name.to_owned(), self.place.clone(), self.durability);
        Ok(Arc::new(LentContainer { opened, resolver, name, place, durability }))
    }

    fn container_for_writing(&self, name: &str, _from: &str) -> Result<Arc<dyn Container>> {
        self.asked(name)?.container_for_writing(name, &self.place)
    }

    fn bytes(&self, name: &str, _from: &str) -> Result<Arc<dyn RawBytes>> {
        self.asked(name)?.bytes(name, &self.place)
    }
}

/// Another container. A caller that writes to it through a virtual dataset does not commit it.
struct LentContainer {
    opened: Arc<dyn Container>,
    resolver: Arc<dyn Resolver>,
    name: String,
    place: String,
    durability: Durability,
}

impl Layer for LentContainer {
    fn inner(&self) -> &dyn Container {
        &*self.opened
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let container = self.resolver.container_for_writing(&self.name, &self.place)?;
        container.dataset_write(writes)?;
        container.commit(self.durability)?;
        container.close()
    }
}
