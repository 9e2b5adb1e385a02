//! From the name in a request to an open container.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use hyperslab::vol::model::properties::FileCreate;
use hyperslab::vol::{Access, FileAccess, Registry};
use hyperslab::{Error, File, Kind, Result};
use server::{HiddenPaths, Principal, names};
use system::clock::Instant;
use system::sync::Mutex;

use crate::config::{Config, Source};

/// A request that changes a file waits for those who read it for this long.
const READERS_TIME_MAX: Duration = Duration::from_secs(5);
/// How often it looks whether they are done.
const READERS_POLL: Duration = Duration::from_millis(5);

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
    fn etag(self, commits: u64) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("\"{:x}-{:x}-{commits:x}-{version}\"", self.modified_ns, self.bytes)
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
    /// What the file was when it was opened, where the container is one file; of one that may be changed, what it is now.
    state: Option<FileState>,
    /// Whether it may be changed.
    access: Access,
    /// Commits through this handle: a file may change twice within one tick of its clock.
    commits: Arc<AtomicU64>,
}

impl OpenContainer {
    /// Returns the entity tag of answers, if the state of the container is cheap to know.
    pub(crate) fn etag(&self) -> Option<String> {
        self.state.map(|state| state.etag(self.commits.load(Ordering::Acquire)))
    }

    /// Returns when the file was changed last, in seconds since 1970; 0 where that is not known.
    pub(crate) fn modified(&self) -> f64 {
        self.state.map_or(0.0, |state| state.modified_ns as f64 / 1e9)
    }

    /// Makes all changes durable.
    pub(crate) fn commit(&self) -> Result<()> {
        self.file.flush()?;
        self.commits.fetch_add(1, Ordering::AcqRel);
        Ok(())
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
    changed_idle_max: Duration,
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
            changed_idle_max: config.limits.changed_idle_max,
        })
    }

    /// Returns the container that a request names, which `who` may use in this way.
    ///
    /// # Errors
    /// Returns `Denied` if the name leaves the root or `who` has no right to it, `NotFound` if there is none, and `Busy` if
    /// it is to be changed and someone else has it open.
    pub(crate) fn open(&self, who: &Principal, name: Option<&str>, access: Access) -> Result<OpenContainer> {
        let place = self.locate(who, name, access)?;
        if !self.exists(&place.location) {
            return Err(Error::not_found("find container").with("name", &place.name));
        }
        if let Some(container) = self.cached(&place.location, access) {
            return Ok(container);
        }
        let state = self.state(&place.location);
        let file = self.open_file(&place.location, access).map_err(|e| self.hide(e))?;
        Ok(self.keep(place, file, state, access))
    }

    /// Creates a container, which must not be there yet.
    ///
    /// # Errors
    /// Returns `Exists` if there is something of this name, and what `open` returns.
    pub(crate) fn create(&self, who: &Principal, name: &str, create: &FileCreate) -> Result<OpenContainer> {
        let place = self.locate(who, Some(name), Access::Write)?;
        if self.exists(&place.location) {
            return Err(Error::new(Kind::Exists, "create container").with("name", name));
        }
        let file = File::create_in(&self.registry, &place.location, create, &self.changing(), false)
            .map_err(|e| self.hide(e))?;
        let state = self.state(&place.location);
        Ok(self.keep(place, file, state, Access::Write))
    }

    /// Removes a container.
    pub(crate) fn delete(&self, who: &Principal, name: &str) -> Result<()> {
        let place = self.locate(who, Some(name), Access::Write)?;
        if !self.exists(&place.location) {
            return Err(Error::not_found("find container").with("name", name));
        }
        // Opened for writing, it waits for those who read, and keeps out other programs.
        let file = self.open_file(&place.location, Access::Write).map_err(|e| self.hide(e))?;
        self.forget(&place.location);
        drop(file);
        self.registry.delete(&place.location, &self.changing()).map_err(|e| self.hide(e))
    }

    /// Returns the location of a container that `who` may use in this way.
    pub(crate) fn location(&self, who: &Principal, name: &str, access: Access) -> Result<String> {
        self.locate(who, Some(name), access).map(|place| place.location)
    }

    /// Returns whether a connector knows the file or folder at a location.
    pub(crate) fn is_container(&self, location: &str) -> bool {
        self.registry.is_accessible(location, &self.access).unwrap_or(false)
    }

    /// Returns the root, where containers are under one.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    fn exists(&self, location: &str) -> bool {
        // What is not at a path is found out when it is opened.
        self.registry.path_of(location).ok().flatten().is_none_or(|path| path.exists())
    }

    fn state(&self, location: &str) -> Option<FileState> {
        self.registry.path_of(location).ok().flatten().and_then(|path| FileState::of(&path))
    }

    fn changing(&self) -> FileAccess {
        FileAccess { access: Access::Write, ..self.access.clone() }
    }

    /// Opens a file. One that requests read cannot be changed: they are waited for.
    fn open_file(&self, location: &str, access: Access) -> Result<File> {
        if access == Access::Read {
            return File::open_in(&self.registry, location, &self.access);
        }
        let started = Instant::now();
        loop {
            self.forget_reader(location);
            match File::open_in(&self.registry, location, &self.changing()) {
                Err(error) if error.kind() == Kind::Busy && started.elapsed() < READERS_TIME_MAX => {
                    system::thread::sleep(READERS_POLL);
                }
                opened => return opened,
            }
        }
    }

    /// Returns an error as clients may see it.
    pub(crate) fn hide(&self, error: Error) -> Error {
        self.hidden.hide(error)
    }

    fn locate(&self, who: &Principal, name: Option<&str>, access: Access) -> Result<ContainerLocation> {
        match (&self.source, &self.root) {
            (Source::Root { connector, .. }, Some(root)) => {
                let missing =
                    || Error::invalid("find container").with("problem", "the parameter file is missing");
                let caller = Caller { who, access };
                locate_under(root, connector.as_deref(), caller, name.ok_or_else(missing)?)
            }
            // It is there to be looked at.
            (Source::One { .. }, _) if access == Access::Write => Err(Error::denied("change container")),
            (Source::One { location, name }, _) => {
                let shown = hyperslab::vol::model::secrets::without_tokens(location).into_owned();
                Ok(ContainerLocation { location: location.clone(), shown, name: name.clone() })
            }
            (Source::Root { .. }, None) => Err(Error::not_found("find root folder")),
        }
    }

    /// Returns a container that is open already, unless its file changed since.
    fn cached(&self, location: &str, access: Access) -> Option<OpenContainer> {
        let state = self.state(location);
        let mut cache = self.cache.lock();
        let at = cache.iter().position(|cached| cached.location == location)?;
        let container = &cache[at].container;
        // A file that we may change is changed by no one else.
        let is_fit = match container.access {
            Access::Write => true,
            Access::Read => access == Access::Read && container.state == state,
        };
        if !is_fit {
            cache.swap_remove(at);
            return None;
        }
        cache[at].used = Instant::now();
        Some(OpenContainer { state, ..cache[at].container.clone() })
    }

    fn keep(
        &self,
        place: ContainerLocation,
        file: File,
        state: Option<FileState>,
        access: Access,
    ) -> OpenContainer {
        let ContainerLocation { location, shown, name } = place;
        let commits = Arc::default();
        let container = OpenContainer { file, name, location: shown, state, access, commits };
        let mut cache = self.cache.lock();
        cache.retain(|cached| cached.location != location);
        if cache.len() >= self.cached_max.max(1)
            && let Some(oldest) = (0..cache.len()).min_by_key(|&at| cache[at].used)
        {
            cache.swap_remove(oldest);
        }
        let (container, used) = (container, Instant::now());
        cache.push(CachedContainer { location, container: container.clone(), used });
        container
    }

    fn forget(&self, location: &str) {
        self.cache.lock().retain(|cached| cached.location != location);
    }

    fn forget_reader(&self, location: &str) {
        let is_reader =
            |cached: &CachedContainer| cached.location == location && cached.container.access == Access::Read;
        self.cache.lock().retain(|cached| !is_reader(cached));
    }

    /// Closes containers that were not used for a while.
    pub(crate) fn close_idle(&self) {
        let idle = |cached: &mut CachedContainer| {
            let is_changed = cached.container.access == Access::Write;
            cached.used.elapsed() >= if is_changed { self.changed_idle_max } else { self.idle_max }
        };
        // They are closed after the lock is released: a close may take long.
        let closed: Vec<CachedContainer> = self.cache.lock().extract_if(.., idle).collect();
        drop(closed);
    }
}

/// Who asks, and what for.
#[derive(Clone, Copy)]
struct Caller<'a> {
    who: &'a Principal,
    access: Access,
}

/// Returns the container of this name under the root, where the caller may use it: by the name that it says, and by
/// the one that this leads to.
fn locate_under(
    root: &Path,
    connector: Option<&str>,
    caller: Caller<'_>,
    name: &str,
) -> Result<ContainerLocation> {
    let denied = || Error::denied("use container").with("name", name);
    if !caller.who.may(caller.access, names::checked(name)?) {
        return Err(denied());
    }
    let real = names::under(root, name)?;
    if !caller.who.may(caller.access, &real.name) {
        return Err(denied());
    }
    let path = real.path.to_string_lossy().into_owned();
    let location = connector.map_or(path.clone(), |connector| format!("{connector}:{path}"));
    Ok(ContainerLocation { location, shown: name.to_owned(), name: name.to_owned() })
}
