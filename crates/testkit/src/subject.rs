//! The subject of a test: it creates containers with unique names, in one registry.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::properties::FileCreate;
use model::{Error, Result, Token};
use system::sync::Mutex;
use vol::{Access, Capability, Container, FileAccess, RawBytes, Registry, Resolver};

use crate::kit::Bytes;

/// Numbers of containers of this process: many subjects may share one directory.
static CONTAINER_NEXT: AtomicU64 = AtomicU64::new(0);

/// A connector or a stack under test.
pub struct Subject {
    name: String,
    registry: Arc<Registry>,
    location: Box<dyn Fn(&str) -> String + Send + Sync>,
    access: FileAccess,
    siblings: Arc<Siblings>,
    /// Keeps what the subject needs alive, such as a temporary directory.
    _kept: Option<Box<dyn std::any::Any + Send + Sync>>,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subject")
            .field("name", &self.name)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}

impl Subject {
    /// Returns a subject whose containers are at `location(unique name)` in `registry`.
    pub fn new(
        name: impl Into<String>,
        registry: Registry,
        location: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        let registry = Arc::new(registry);
        let siblings = Arc::new(Siblings { registry: registry.clone(), files: Mutex::default() });
        let access = FileAccess::write().with_resolver(siblings.clone());
        Subject { name: name.into(), registry, location: Box::new(location), access, siblings, _kept: None }
    }

    /// With other access properties; the suite's own resolver stays.
    #[must_use]
    pub fn with_access(mut self, access: FileAccess) -> Self {
        self.access = FileAccess { access: Access::Write, ..access }.with_resolver(self.siblings.clone());
        self
    }

    /// With something that lives as long as the subject.
    #[must_use]
    pub fn keeping(mut self, kept: impl std::any::Any + Send + Sync) -> Self {
        self._kept = Some(Box::new(kept));
        self
    }

    /// Returns its name in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Access properties for writing, with a resolver that knows the subject's containers by location.
    pub fn access(&self) -> FileAccess {
        self.access.clone()
    }

    /// Access properties for reading.
    pub fn read_access(&self) -> FileAccess {
        FileAccess { access: Access::Read, ..self.access() }
    }

    /// Returns a location where nothing is.
    pub fn unused_location(&self) -> String {
        let number = CONTAINER_NEXT.fetch_add(1, Ordering::Relaxed);
        (self.location)(&format!("case-{}-{number}", std::process::id()))
    }

    /// Returns a new container.
    pub fn fresh(&self) -> Result<Case<'_>> {
        self.fresh_with(&FileCreate::default())
    }

    /// Returns a new container with creation properties.
    pub fn fresh_with(&self, create: &FileCreate) -> Result<Case<'_>> {
        self.fresh_as(create, &self.access)
    }

    /// Returns a new container with creation and access properties.
    pub fn fresh_as(&self, create: &FileCreate, access: &FileAccess) -> Result<Case<'_>> {
        let location = self.unused_location();
        let container = self.registry.create(&location, create, access, false)?;
        Ok(Case { subject: self, location, container })
    }

    /// Returns what its containers can do.
    pub fn capability(&self) -> Result<Capability> {
        Ok(self.fresh()?.info()?.capability)
    }

    /// Returns bytes next to the containers: what external data called `name` lies in.
    pub fn bytes(&self, name: &str) -> Arc<Bytes> {
        self.siblings.get(name)
    }
}

/// One container of a behaviour; removed when the behaviour ends.
pub struct Case<'s> {
    subject: &'s Subject,
    /// Where it is.
    pub location: String,
    /// The container.
    pub container: Arc<dyn Container>,
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Case({})", self.location)
    }
}

impl Deref for Case<'_> {
    type Target = dyn Container;

    fn deref(&self) -> &Self::Target {
        &*self.container
    }
}

impl Case<'_> {
    /// Closes the container and opens it for writing.
    pub fn reopen(&mut self) -> Result<()> {
        self.reopen_as(&self.subject.access())
    }

    /// Closes the container and opens it for reading.
    pub fn reopen_read(&mut self) -> Result<()> {
        self.reopen_as(&self.subject.read_access())
    }

    /// Closes the container and opens it with these properties.
    pub fn reopen_as(&mut self, access: &FileAccess) -> Result<()> {
        self.container.close()?;
        self.container = self.subject.registry.open(&self.location, access)?;
        Ok(())
    }

    /// Drops the container without closing it, and opens it for reading.
    pub fn drop_and_reopen_read(&mut self) -> Result<()> {
        self.container = Arc::new(Gone);
        self.container = self.subject.registry.open(&self.location, &self.subject.read_access())?;
        Ok(())
    }

    /// Returns the root group.
    pub fn root(&self) -> Result<Token> {
        Ok(self.info()?.root)
    }
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        // What is left behind when a behaviour fails half-way is not worth a second failure.
        let _ = self.container.close();
        let _ = self.subject.registry.delete(&self.location, &self.subject.access);
    }
}

/// Stands where a container was that is dropped.
struct Gone;

impl Container for Gone {}

/// The resolver of the suite: containers by location, files by name.
struct Siblings {
    registry: Arc<Registry>,
    files: Mutex<BTreeMap<String, Arc<Bytes>>>,
}

impl Siblings {
    fn get(&self, name: &str) -> Arc<Bytes> {
        self.files.lock().entry(name.to_owned()).or_default().clone()
    }
}

impl Resolver for Siblings {
    fn container(&self, name: &str, _from: &str) -> Result<Arc<dyn Container>> {
        self.registry.open(name, &FileAccess::write())
    }

    fn container_for_writing(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        self.container(name, from)
    }

    fn bytes(&self, name: &str, _from: &str) -> Result<Arc<dyn RawBytes>> {
        match name.is_empty() {
            true => Err(Error::not_found("open file").with("name", name)),
            false => Ok(self.get(name)),
        }
    }
}
