//! The registry of this build, and the resolver of files in a folder.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};

use model::text::{from_path, to_path};
use model::{Error, Result};
use system::sync::Mutex;
use vol::{Container, FileAccess, RawBytes, Registry, Resolver};

use crate::work::{self, Work};

/// Returns a registry with every connector and layer of this build. The native connector is the default.
///
/// Connectors are the same in all such registries of a process: a container that one creates as `memory:name`, another opens.
pub fn registry() -> Registry {
    built_in().clone()
}

/// Returns the registry of [`registry`] without a copy.
pub(crate) fn built_in() -> &'static Registry {
    static BUILT_IN: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = Registry::new();
        // Names and numbers of our own differ.
        connectors().into_iter().for_each(|connector| drop(registry.register(connector)));
        layers::all().into_iter().for_each(|layer| drop(registry.register_layer(layer)));
        #[cfg(feature = "cloud")]
        cloud::drivers().into_iter().for_each(|driver| drop(registry.register_driver(driver)));
        #[cfg(not(feature = "cloud"))]
        ["http", "https", "s3", "gs", "az"]
            .iter()
            .for_each(|scheme| registry.register_absent(scheme, "cloud"));
        ABSENT.iter().for_each(|name| registry.register_absent(name, name));
        registry
    });
    &BUILT_IN
}

/// Returns the connectors of this build. The first is the default.
fn connectors() -> Vec<Arc<dyn vol::Connector>> {
    vec![
        #[cfg(feature = "native")]
        Arc::new(native::NativeConnector),
        #[cfg(feature = "memory")]
        Arc::new(memory::MemoryConnector::default()),
        #[cfg(feature = "raw")]
        Arc::new(raw::RawConnector::new()),
        #[cfg(feature = "json")]
        Arc::new(json::JsonConnector::new()),
        #[cfg(feature = "object")]
        Arc::new(object::ObjectConnector::new()),
        #[cfg(feature = "iod")]
        Arc::new(iod::IodConnector::new()),
        #[cfg(feature = "log")]
        Arc::new(log::LogConnector::new(Arc::new(native::NativeConnector))),
        #[cfg(feature = "remote")]
        Arc::new(remote::RemoteConnector),
    ]
}

/// Connectors and layers that this build lacks. A feature of the same name adds each of them.
const ABSENT: &[&str] = &[
    #[cfg(not(feature = "native"))]
    "native",
    #[cfg(not(feature = "memory"))]
    "memory",
    #[cfg(not(feature = "raw"))]
    "raw",
    #[cfg(not(feature = "json"))]
    "json",
    #[cfg(not(feature = "object"))]
    "object",
    #[cfg(not(feature = "iod"))]
    "iod",
    #[cfg(not(feature = "log"))]
    "log",
    #[cfg(not(feature = "remote"))]
    "remote",
    #[cfg(not(feature = "async"))]
    "async",
    #[cfg(not(feature = "check"))]
    "check",
    #[cfg(not(feature = "mirror"))]
    "mirror",
    #[cfg(not(feature = "readonly"))]
    "readonly",
    #[cfg(not(feature = "stats"))]
    "stats",
    #[cfg(not(feature = "trace"))]
    "trace",
];

/// Opens the files under one folder that other files refer to: targets of external links, external raw data, sources
/// of virtual datasets.
///
/// A name is tried next to the file that uses it, then in the folder itself. What lies outside of the folder,
/// by `..` or by an absolute name, is refused.
#[derive(Debug)]
pub struct FolderResolver {
    root: PathBuf,
    registry: Registry,
    /// Open containers, because the sources of a virtual dataset are opened many times.
    open: Mutex<Vec<(PathBuf, Weak<dyn Container>)>>,
    /// The most recently used containers, which stay open.
    recent: Mutex<Vec<Arc<dyn Container>>>,
    /// The account of work: bytes that are stored in opened files raise its limit, and bytes that are read are charged
    /// to it.
    work: Option<Work>,
}

/// Containers that stay open between two uses.
const RECENT_MAX: usize = 16;

impl FolderResolver {
    /// Returns a resolver that opens everything under `root`.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such folder.
    pub fn new(root: impl AsRef<Path>, registry: Registry) -> Result<Arc<Self>> {
        Self::metered(root, registry, None)
    }

    /// Returns a resolver as [`new`](Self::new) does, whose reads are charged to an account of work.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such folder.
    pub fn metered(root: impl AsRef<Path>, registry: Registry, work: Option<Work>) -> Result<Arc<Self>> {
        let root = root.as_ref();
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let root =
            root.canonicalize().map_err(|e| Error::io("find folder", &e).with("path", root.display()))?;
        let (open, recent) = (Mutex::default(), Mutex::default());
        Ok(Arc::new(FolderResolver { root, registry, open, recent, work }))
    }

    /// Opens a file for reading.
    fn open_metered(&self, path: &Path) -> Result<Arc<dyn Container>> {
        let resolver = FolderResolver::metered(&self.root, self.registry.clone(), self.work.clone())?;
        let access = FileAccess::read().with_resolver(resolver);
        let location = from_path(path);
        let Some(work) = &self.work else { return self.registry.open(&location, &access) };
        work.add_file(path);
        let chunk_cache_bytes = Some(work::CHUNK_CACHE_BYTES);
        let opened = self.registry.open(&location, &FileAccess { chunk_cache_bytes, ..access })?;
        Ok(work.metered(opened))
    }

    /// Returns the file that a file at `from` calls `name`.
    fn find(&self, name: &str, from: &str) -> Result<PathBuf> {
        let missing = || Error::not_found("open other file").with("file", name).with("from", from);
        let (path, from_file) = (&*to_path(name), to_path(from));
        let folder = from_file.parent().unwrap_or(Path::new(""));
        let candidates =
            [path.to_path_buf(), folder.join(path), folder.join(last(path)), self.root.join(path)];
        let found = candidates.iter().skip(usize::from(!path.is_absolute())).find(|p| p.is_file());
        let found = found.ok_or_else(missing)?.canonicalize().map_err(|_| missing())?;
        if found.starts_with(&self.root) {
            return Ok(found);
        }
        let error = Error::denied("open other file").with("file", name);
        Err(error.with("problem", format!("it is outside of {}", self.root.display())))
    }
}

/// Returns the file name of a path, because libhdf5 also looks for it next to the referring file.
fn last(path: &Path) -> &Path {
    path.components().rfind(|c| matches!(c, Component::Normal(_))).map_or(path, |c| Path::new(c.as_os_str()))
}

impl Resolver for FolderResolver {
    fn container(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        let path = self.find(name, from)?;
        let mut open = self.open.lock();
        open.retain(|(_, container)| container.strong_count() > 0);
        if let Some(container) = open.iter().find(|(p, _)| *p == path).and_then(|(_, c)| c.upgrade()) {
            return Ok(container);
        }
        let container = self.open_metered(&path)?;
        open.push((path, Arc::downgrade(&container)));
        let mut recent = self.recent.lock();
        recent.truncate(RECENT_MAX - 1);
        recent.insert(0, container.clone());
        Ok(container)
    }

    fn container_for_writing(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        let path = self.find(name, from)?;
        if to_path(from).canonicalize().is_ok_and(|from| from == path) {
            let error = Error::denied("open other file to write").with("file", name);
            return Err(error.with("problem", "it is the file that asks"));
        }
        let mut open = self.open.lock();
        // One that reads must not stay next to one that writes.
        let here = open.iter().position(|(p, _)| *p == path);
        if let Some(container) = here.map(|at| open.swap_remove(at)).and_then(|(_, c)| c.upgrade()) {
            if container.info().is_ok_and(|info| info.writable) {
                open.push((path, Arc::downgrade(&container)));
                return Ok(container);
            }
            self.recent.lock().retain(|c| !Arc::ptr_eq(c, &container));
        }
        let resolver = FolderResolver::new(&self.root, self.registry.clone())?;
        let access = FileAccess::write().with_resolver(resolver);
        let container = self.registry.open(&from_path(&path), &access)?;
        open.push((path, Arc::downgrade(&container)));
        Ok(container)
    }

    fn bytes(&self, name: &str, from: &str) -> Result<Arc<dyn RawBytes>> {
        let path = self.find(name, from)?;
        if let Some(work) = &self.work {
            work.add_file(&path);
        }
        let file = files::Posix::open(&path, files::Mode::Read);
        let file = file.map_err(|e| Error::io("open external data", &e).with("file", name))?;
        Ok(Arc::new(ExternalData(Arc::new(file))))
    }
}

/// A file of raw data. Bytes past its end read as zeros.
struct ExternalData(files::Handle);

impl RawBytes for ExternalData {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let failed = |e: std::io::Error| Error::io("read external data", &e);
        let have = self.0.len().map_err(failed)?.saturating_sub(offset);
        let len = usize::try_from(have).unwrap_or(usize::MAX).min(buf.len());
        let (there, missing) = buf.split_at_mut(len);
        missing.fill(0);
        if there.is_empty() { Ok(()) } else { self.0.read_at(offset, there).map_err(failed) }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.0.write_at(offset, data).map_err(|e| Error::io("write external data", &e))
    }
}
