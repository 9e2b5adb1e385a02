//! From the name in a request to an open container.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use hyperslab::vol::{Access, FileAccess, Registry};
use hyperslab::{Error, File, Kind, Result};
use server::{HiddenPaths, Principal, names};
use system::clock::Instant;
use system::sync::Mutex;

use crate::config::{Config, Source};

/// The state of a file on disk: a file that changed has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    bytes: u64,
    modified_ns: u128,
}

impl FileState {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(FileState { bytes: metadata.len(), modified_ns: modified.as_nanos() })
    }

    /// Returns an entity tag of all answers about the file.
    fn etag(self) -> String {
        format!("\"{:x}-{:x}-{}\"", self.modified_ns, self.bytes, env!("CARGO_PKG_VERSION"))
    }
}

/// An open container.
#[derive(Debug, Clone)]
pub(crate) struct OpenContainer {
    pub(crate) file: File,
    /// The name in requests and answers.
    pub(crate) name: String,
    /// The location as clients may see it.
    pub(crate) location: String,
    /// What the file was when it was opened, where the container is one file.
    state: Option<FileState>,
}

impl OpenContainer {
    /// Returns the entity tag of answers, if the state of the container is cheap to know.
    pub(crate) fn etag(&self) -> Option<String> {
        self.state.map(FileState::etag)
    }

    /// Returns the number of bytes of the file, if the container is one.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.state.map(|state| state.bytes)
    }
}

/// A container that is kept open.
#[derive(Debug)]
struct CachedContainer {
    location: String,
    container: OpenContainer,
    used: Instant,
}

/// Where a container is, and how clients call it.
struct ContainerLocation {
    location: String,
    shown: String,
    name: String,
}

/// The containers of a server.
#[derive(Debug)]
pub(crate) struct Containers {
    registry: Registry,
    access: FileAccess,
    source: Source,
    /// The root without links, where containers are under one.
    root: Option<PathBuf>,
    hidden: HiddenPaths,
    cache: Mutex<Vec<CachedContainer>>,
    cached_max: usize,
    idle_max: Duration,
}

impl Containers {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let folder = match &config.source {
            Source::Root { folder, .. } => Some(folder),
            Source::One { .. } => None,
        };
        let real = |folder: &PathBuf| {
            folder
                .canonicalize()
                .map_err(|e| Error::io("find root folder", &e).with("root", folder.display()))
        };
        let root = folder.map(real).transpose()?;
        Ok(Containers {
            registry: config.registry.clone(),
            access: config.access.clone(),
            source: config.source.clone(),
            hidden: HiddenPaths::new(folder.map(PathBuf::as_path), root.as_deref()),
            root,
            cache: Mutex::default(),
            cached_max: config.limits.containers_max,
            idle_max: config.limits.container_idle_max,
        })
    }

    /// Returns the container that a request names, which `who` may read.
    ///
    /// # Errors
    /// Returns `Denied` if the name leaves the root or `who` has no right to it, and `NotFound` if there is none.
    pub(crate) fn open(&self, who: &Principal, name: Option<&str>) -> Result<OpenContainer> {
        let place = self.locate(who, name)?;
        let state =
            self.registry.path_of(&place.location).ok().flatten().and_then(|path| FileState::of(&path));
        if let Some(container) = self.cached(&place.location, state) {
            return Ok(container);
        }
        let file = File::open_in(&self.registry, &place.location, &self.access).map_err(|e| self.hide(e))?;
        let ContainerLocation { location, shown, name } = place;
        let container = OpenContainer { file, name, location: shown, state };
        self.keep(location, &container);
        Ok(container)
    }

    /// Returns an error as clients may see it.
    pub(crate) fn hide(&self, error: Error) -> Error {
        self.hidden.hide(error)
    }

    fn locate(&self, who: &Principal, name: Option<&str>) -> Result<ContainerLocation> {
        match (&self.source, &self.root) {
            (Source::Root { connector, .. }, Some(root)) => {
                let missing =
                    || Error::invalid("find container").with("problem", "the parameter file is missing");
                locate_under(root, connector.as_deref(), who, name.ok_or_else(missing)?)
            }
            (Source::One { location, name }, _) => {
                let shown = hyperslab::vol::model::secrets::without_tokens(location).into_owned();
                Ok(ContainerLocation { location: location.clone(), shown, name: name.clone() })
            }
            (Source::Root { .. }, None) => Err(Error::not_found("find root folder")),
        }
    }

    /// Returns a container that is open already, unless its file changed since.
    fn cached(&self, location: &str, state: Option<FileState>) -> Option<OpenContainer> {
        let mut cache = self.cache.lock();
        let at = cache.iter().position(|cached| cached.location == location)?;
        if cache[at].container.state != state {
            cache.swap_remove(at);
            return None;
        }
        cache[at].used = Instant::now();
        Some(cache[at].container.clone())
    }

    fn keep(&self, location: String, container: &OpenContainer) {
        let mut cache = self.cache.lock();
        cache.retain(|cached| cached.location != location);
        if cache.len() >= self.cached_max.max(1)
            && let Some(oldest) = (0..cache.len()).min_by_key(|&at| cache[at].used)
        {
            cache.swap_remove(oldest);
        }
        cache.push(CachedContainer { location, container: container.clone(), used: Instant::now() });
    }

    /// Closes containers that were not used for a while.
    pub(crate) fn close_idle(&self) {
        let idle = |cached: &mut CachedContainer| cached.used.elapsed() >= self.idle_max;
        // They are closed after the lock is released: a close may take long.
        let closed: Vec<CachedContainer> = self.cache.lock().extract_if(.., idle).collect();
        drop(closed);
    }
}

/// Returns the container of this name under the root, where the caller may read it: by the name that it says, and by
/// the one that this leads to.
fn locate_under(
    root: &Path,
    connector: Option<&str>,
    who: &Principal,
    name: &str,
) -> Result<ContainerLocation> {
    let denied = || Error::denied("read container").with("name", name);
    if !who.may(Access::Read, names::checked(name)?) {
        return Err(denied());
    }
    let real = names::under(root, name)?;
    if !who.may(Access::Read, &real.name) {
        return Err(denied());
    }
    let path = real.path.to_string_lossy().into_owned();
    if !real.path.exists() {
        return Err(Error::new(Kind::NotFound, "find container").with("name", name));
    }
    let location = connector.map_or(path.clone(), |connector| format!("{connector}:{path}"));
    Ok(ContainerLocation { location, shown: name.to_owned(), name: name.to_owned() })
}
