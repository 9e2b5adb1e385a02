//! The connector: files by path, and which of them are open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use comm::{Comm, Single};
use files::{Identity, Posix};
use model::{Error, Result, Token};
use protocol::wire::{self, Client};
use system::sync::{Mutex, MutexGuard, RwLock};
use vol::{
    Access, Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, Extension,
    ExtensionInfo, FileAccess,
};

use crate::collective::Collective;
use crate::container::LogContainer;
use crate::extensions::{CheckRepack, CompactLog, LogEntriesText, LogStatisticsText};
use crate::inner_file::{Inner, open_file};
use crate::load::{self, Loaded};
use crate::message::{from_bytes, to_bytes};
use crate::state::{LogState, Settings, Shared};
use crate::subfiles::{SUBFILES_MAX, Subfiles};
use crate::table::TableVersion;

/// Elements have no chunks as they are stored, and what virtual datasets are created of would be anchors to the inner file.
pub(crate) const CAPABILITY: Capability =
    Capability { maps: false, raw_chunks: false, virtual_datasets: false, ..Capability::ALL };

/// Name in locations.
pub const NAME: &str = "log";

/// Bytes of elements that may wait, unless the caller says otherwise.
const BUFFER_BYTES_MAX: u64 = 256 << 20;

/// Stores containers as HDF5 files with logs in them. Clones share the open ones.
#[derive(Clone)]
pub struct LogConnector {
    inner: Arc<dyn Connector>,
    /// Which files are open: one file has one state, whatever path leads to it.
    open: Arc<Mutex<HashMap<Identity, Weak<Shared>>>>,
}

impl std::fmt::Debug for LogConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogConnector").field("inner", &self.inner.info().name).finish_non_exhaustive()
    }
}

fn check_access(access: &FileAccess) -> Result<()> {
    match (&access.driver, access.swmr) {
        (None, false) => Ok(()),
        (Some(driver), _) => Err(Error::unsupported("keep a log on a driver").with("driver", driver)),
        (None, true) => Err(Error::unsupported("read a log while it is written")),
    }
}

/// `log+v1:` writes tables of version 1, `log+sub4:` logs to four subfiles.
fn settings(engine: Option<&str>, access: &FileAccess) -> Result<Settings> {
    let refused = || Error::unsupported("write a log").with("engine", engine.unwrap_or_default());
    let (mut version, mut subfiles) = (TableVersion::V2, 0);
    for word in engine.into_iter().flat_map(|engine| engine.split('-')) {
        match (word, word.strip_prefix("sub").and_then(|number| number.parse().ok())) {
            ("v1", _) => version = TableVersion::V1,
            ("v2", _) => {}
            (_, Some(number)) if number <= SUBFILES_MAX => subfiles = number,
            _ => return Err(refused()),
        }
    }
    if subfiles > 0 && version == TableVersion::V1 {
        return Err(refused().with("problem", "tables of version 1 have no words for other files"));
    }
    let buffer_bytes_max = access.write_buffer_bytes.unwrap_or(BUFFER_BYTES_MAX);
    let when_full = access.write_buffer_full;
    Ok(Settings { version, subfiles, buffer_bytes_max, when_full, is_shared: false })
}

/// The arguments with which a file is opened.
struct LogOpen<'a> {
    path: &'a str,
    settings: Settings,
    access: &'a FileAccess,
    registry: &'a vol::Registry,
    comm: Arc<dyn Comm>,
}

impl LogOpen<'_> {
    /// Returns what all who have a file open share, with a handle of it.
    fn shared(
        &self,
        file: Arc<Posix>,
        leader: Option<Arc<dyn Container>>,
        (root, group): (Token, Token),
        state: LogState,
    ) -> Shared {
        Shared {
            state: RwLock::new(state),
            file,
            subfiles: Subfiles::new(self.path, self.access.access == Access::Write),
            path: self.path.to_owned(),
            comm: self.comm.clone(),
            leader,
            root,
            group,
            settings: self.settings,
            limits: self.access.limits.clone(),
            filters: self.registry.registered().filters.clone(),
            handles: AtomicUsize::new(0),
            decoded: Mutex::new(None),
            read_buffer: Mutex::default(),
        }
    }
}

/// A file that was opened.
enum OpenedFile {
    Log(Arc<LogContainer>),
    /// It has no log in it: the inner connector has everything.
    Plain(Arc<dyn Container>),
}

fn not_a_log(path: &str) -> Error {
    Error::invalid("open log").with("path", path).with("problem", "the file has no log in it")
}

fn load_state(inner: &Inner, group: Token, access: &FileAccess) -> Result<LogState> {
    Loaded::read(&*inner.container, group, &access.limits)?.into_state(&inner.file, &access.limits)
}

impl LogConnector {
    /// Logs in files of the inner connector, which must keep contiguous datasets in one file at a path.
    pub fn new(inner: Arc<dyn Connector>) -> Self {
        LogConnector { inner, open: Arc::default() }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Identity, Weak<Shared>>> {
        let mut table = self.open.lock();
        table.retain(|_, shared| shared.strong_count() > 0);
        table
    }

    /// Creates the file, with an empty group of logs.
    fn create_inner(&self, op: &ContainerCreate<'_>, access: &FileAccess) -> Result<(Inner, Token)> {
        let inner = Inner::create(&*self.inner, &ContainerCreate { access, ..op.clone() })?;
        let group = load::create(&*inner.container)?;
        inner.container.commit(vol::Durability::None)?;
        Ok((inner, group))
    }

    /// Creates a file for this process alone.
    pub fn create_log(&self, op: &ContainerCreate<'_>) -> Result<Arc<LogContainer>> {
        check_access(op.access)?;
        let settings = settings(op.engine, op.access)?;
        // A new file can be written, whatever the access asked for.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        let mut table = self.table();
        let (inner, group) = self.create_inner(op, &access)?;
        let log_open = LogOpen {
            path: op.path,
            settings,
            access: &access,
            registry: op.registry,
            comm: Arc::new(Single),
        };
        let tokens = (inner.container.info()?.root, group);
        let shared = Arc::new(log_open.shared(inner.file, None, tokens, LogState::default()));
        table.insert(shared.file.identity(), Arc::downgrade(&shared));
        Ok(Arc::new(LogContainer::new(inner.container, shared, &access)?))
    }

    /// Opens a file for this process alone.
    pub fn open_log(&self, op: &ContainerOpen<'_>) -> Result<Arc<LogContainer>> {
        match self.open_file(op, false)? {
            OpenedFile::Log(log) => Ok(log),
            OpenedFile::Plain(_) => Err(not_a_log(op.path)),
        }
    }

    /// Opens a file for this process; `is_shared` says that other processes do the same.
    fn open_file(&self, op: &ContainerOpen<'_>, is_shared: bool) -> Result<OpenedFile> {
        check_access(op.access)?;
        let settings = Settings { is_shared, ..settings(op.engine, op.access)? };
        // Held while a file is read: two who open one at the same time get the same one.
        let mut table = self.table();
        let inner = Inner::open(&*self.inner, op)?;
        let known = table.get(&inner.file.identity()).and_then(Weak::upgrade);
        let known = known.filter(|shared| shared.handles.load(Ordering::Acquire) > 0);
        let shared = match known {
            Some(shared) => shared,
            None => {
                let Some(group) = load::find(&*inner.container)? else {
                    return Ok(OpenedFile::Plain(inner.container));
                };
                let state = load_state(&inner, group, op.access)?;
                let log_open = LogOpen {
                    path: op.path,
                    settings,
                    access: op.access,
                    registry: op.registry,
                    comm: Arc::new(Single),
                };
                let root = inner.container.info()?.root;
                Arc::new(log_open.shared(inner.file, None, (root, group), state))
            }
        };
        table.insert(shared.file.identity(), Arc::downgrade(&shared));
        Ok(OpenedFile::Log(Arc::new(LogContainer::new(inner.container, shared, op.access)?)))
    }

    /// Creates a file that all members of a group write. All of them call this.
    pub fn create_shared(&self, comm: Arc<dyn Comm>, op: &ContainerCreate<'_>) -> Result<Arc<LogContainer>> {
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        let make = || {
            check_access(op.access)?;
            self.create_inner(op, &access).map(Some)
        };
        let settings = Settings { is_shared: comm.size() > 1, ..settings(op.engine, op.access)? };
        let log_open = LogOpen { path: op.path, settings, access: &access, registry: op.registry, comm };
        self.begin(&log_open, make)?.ok_or_else(|| not_a_log(op.path))
    }

    /// Opens a file for all members of a group. All of them call this. To read it, each opens it for itself.
    pub fn open_shared(&self, comm: Arc<dyn Comm>, op: &ContainerOpen<'_>) -> Result<Arc<LogContainer>> {
        self.find_shared(comm, op)?.ok_or_else(|| not_a_log(op.path))
    }

    /// Opens a file as [`LogConnector::open_shared`] does, if it has a log in it.
    pub(crate) fn find_shared(
        &self,
        comm: Arc<dyn Comm>,
        op: &ContainerOpen<'_>,
    ) -> Result<Option<Arc<LogContainer>>> {
        if op.access.access == Access::Read {
            return match self.open_file(op, comm.size() > 1)? {
                OpenedFile::Log(log) => Ok(Some(log)),
                OpenedFile::Plain(inner) => inner.close().map(|()| None),
            };
        }
        let make = || {
            check_access(op.access)?;
            let inner = Inner::open(&*self.inner, op)?;
            match load::find(&*inner.container)? {
                Some(group) => Ok(Some((inner, group))),
                None => inner.container.close().map(|()| None),
            }
        };
        let settings = settings(op.engine, op.access)?;
        self.begin(&LogOpen { path: op.path, settings, access: op.access, registry: op.registry, comm }, make)
    }

    /// The leader creates or opens the file, and tells the others what is in it; `None` where there is no log.
    fn begin(
        &self,
        log_open: &LogOpen<'_>,
        make: impl FnOnce() -> Result<Option<(Inner, Token)>>,
    ) -> Result<Option<Arc<LogContainer>>> {
        let leads = log_open.comm.rank() == 0;
        let made = leads.then(|| {
            let Some((inner, group)) = make()? else { return Ok(None) };
            let loaded = Loaded::read(&*inner.container, group, &log_open.access.limits)?;
            let bytes = to_bytes(&*inner.container, group, &loaded)?;
            Ok(Some((inner, bytes)))
        });
        let mut message = match &made {
            None => Vec::new(),
            Some(Ok(None)) => vec![2],
            Some(Ok(Some((_, bytes)))) => [&[1], bytes.as_slice()].concat(),
            Some(Err(error)) => [wire::to_bytes(&false)?, wire::to_bytes::<Error>(error)?].concat(),
        };
        log_open.comm.bcast(0, &mut message)?;
        let (root, group, loaded) = match message.split_first() {
            Some((1, bytes)) => from_bytes(bytes)?,
            Some((2, _)) => return Ok(None),
            Some((0, error)) => return Err(wire::from_bytes(error)?),
            _ => return Err(Error::invalid("open log").with("problem", "no word from the leader")),
        };
        let (leader, file) = match made.transpose()?.flatten() {
            Some((inner, _)) => (Some(inner.container), inner.file),
            None => (None, Arc::new(open_file(log_open.path, log_open.access)?)),
        };
        let state = loaded.into_state(&file, &log_open.access.limits)?;
        let shared = Arc::new(log_open.shared(file, leader.clone(), (root, group), state));
        let inner: Arc<dyn Container> = match leader {
            Some(alone) if log_open.comm.size() == 1 => alone,
            leader => Arc::new(Client::new(Collective { comm: log_open.comm.clone(), leader })),
        };
        Ok(Some(Arc::new(LogContainer::new(inner, shared, log_open.access)?)))
    }
}

impl Connector for LogConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: NAME,
            // The number under which a log-based connector is registered with The HDF Group.
            value: 514,
            version: 1,
            capability: CAPABILITY,
            about: "HDF5 files in which writes are appended to logs",
        }
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        check_access(op.access)?;
        settings(op.engine, op.access)?;
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        self.inner.check_create(&ContainerCreate { engine: None, access: &access, ..op.clone() })
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        Ok(self.create_log(op)?)
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        match self.open_file(op, false)? {
            OpenedFile::Log(log) => Ok(log),
            OpenedFile::Plain(inner) => Ok(inner),
        }
    }

    fn is_at_path(&self, _engine: Option<&str>) -> bool {
        true
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let access = FileAccess { access: Access::Read, ..op.access.clone() };
        let opened = self.open_log(&ContainerOpen { access: &access, ..op.clone() });
        let subfiles = opened.as_ref().map_or(Vec::new(), |log| log.shared().read().logs.subfiles());
        opened.map_or(Ok(()), |log| Container::close(&*log))?;
        self.inner.delete(op)?;
        Subfiles::new(op.path, true).remove(&subfiles)
    }

    fn recover(&self, op: &ContainerOpen<'_>) -> Result<Vec<String>> {
        self.inner.recover(op)
    }

    fn extensions(&self) -> &'static [ExtensionInfo] {
        &[LogStatisticsText::INFO, LogEntriesText::INFO, CheckRepack::INFO, CompactLog::INFO]
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let (path, access) = (op.path, op.access);
        if !self.inner.is_accessible(op)? {
            return Ok(false);
        }
        let access = FileAccess { access: Access::Read, ..access.clone() };
        let inner = self.inner.open(&ContainerOpen { path, access: &access, ..op.clone() })?;
        let found = load::find(&*inner);
        inner.close()?;
        Ok(found?.is_some())
    }
}
