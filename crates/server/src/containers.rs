//! Making, opening and removing containers for clients.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::{Budget, Error, Kind, Limits, Result};
use protocol::wire::OpenRequest;
use protocol::{Begin, Whereabouts};
use system::sync::Mutex;
use vol::{Access, Container, ContainerOpen, Durability, FileAccess, Registry, Writers};

use crate::config::Config;
use crate::direct::Direct;
use crate::hidden::HiddenPaths;
use crate::locks::Locks;
use crate::mark::ServerMark;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::names;
use crate::nodes::{NodeSession, SharedStore};
use crate::rights::Principal;
use crate::session::{Beginning, Session};
use crate::stand::Stand;

/// Connectors whose containers, opened twice in one process, are one.
const SHARED: [&str; 4] = ["native", "memory", "object", "iod"];

/// Returns the client's limits, where they are below the server's own. Nothing that a file sizes is larger than what the server has
/// memory for.
fn lower(wanted: &Limits, memory: &Budget) -> Limits {
    let mut limits = Limits::default();
    let most = memory.limit() / 2;
    for bytes in [&mut limits.chunk_bytes_max, &mut limits.blob_bytes_max, &mut limits.metadata_bytes_max] {
        *bytes = most.min(*bytes);
    }
    macro_rules! lower {
        ($($field:ident),+) => { $( limits.$field = limits.$field.min(wanted.$field); )+ };
    }
    lower!(metadata_bytes_max, element_bytes_max, chunk_bytes_max, blob_bytes_max, result_bytes_max);
    lower!(depth_max, link_traversals_max, entries_max, selection_blocks_max);
    limits
}

/// The resources of the server that a new session may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) metrics: &'a Arc<Metrics>,
    pub(crate) memory: &'a Memory,
    /// Bytes of each cache of its container.
    pub(crate) cache_bytes: u64,
}

/// Where containers are, and who writes to them.
#[derive(Debug)]
pub(crate) struct Containers {
    registry: Registry,
    /// Extensions that clients without the right to write may call.
    readable: Arc<[&'static str]>,
    root: Option<PathBuf>,
    /// Paths that errors do not name.
    pub(crate) hidden: Arc<HiddenPaths>,
    layers: Option<String>,
    /// The connector of all containers, and where they are.
    stand: Option<Stand>,
    /// Whether several servers may share the store of all containers.
    has_several_nodes: bool,
    /// Containers in such a store, by location.
    stores: Mutex<HashMap<String, Arc<SharedStore>>>,
    shared_writers: bool,
    objects_max: usize,
    /// Sessions that write, by location.
    writers: Mutex<HashMap<String, usize>>,
    /// Where clients may use files themselves.
    direct: Option<ServerMark>,
    /// How long locks are good, and how long they are waited for.
    lock_times: (Duration, Duration),
    /// The locks of containers, by location.
    locks: Mutex<HashMap<String, Arc<Locks>>>,
}

/// Returns whether several servers may stand in front of a store. Where one of them at a time writes to a container, clients go
/// to that one.
fn has_several_nodes(registry: &Registry, stand: &Stand) -> bool {
    let connector = registry.by_name(&stand.connector);
    connector.is_ok_and(|connector| connector.writers(stand.engine.as_deref(), registry) != Writers::One)
}

/// A store that was not reached yet is asked by opening the container.
fn is_openable(opened: Result<Arc<dyn Container>>) -> Result<bool> {
    match opened {
        Err(error) if matches!(error.kind(), Kind::NotFound | Kind::Corrupt) => Ok(false),
        opened => opened.map(|_| true),
    }
}

/// Returns the names of the extensions that only read.
fn readable_extensions(registry: &Registry) -> Arc<[&'static str]> {
    registry.extensions().filter(|known| known.access == Access::Read).map(|known| known.name).collect()
}

impl Containers {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let root = config.root.as_ref().map(|root| {
            root.canonicalize().map_err(|e| Error::io("find root folder", &e).with("root", root.display()))
        });
        let (layers, stand) = (config.split_stack().0, config.stand());
        let root = root.transpose()?;
        let lease = config.limits.lock_lease;
        let direct = root.as_ref().filter(|_| config.direct).map(|root| ServerMark::new(root, lease));
        Ok(Containers {
            readable: readable_extensions(&config.registry),
            registry: config.registry.clone(),
            direct: direct.transpose()?,
            lock_times: (lease, config.limits.lock_patience),
            locks: Mutex::default(),
            hidden: Arc::new(HiddenPaths::new(config.root.as_deref(), root.as_deref())),
            root,
            layers,
            has_several_nodes: stand.as_ref().is_some_and(|stand| has_several_nodes(&config.registry, stand)),
            stand,
            stores: Mutex::default(),
            shared_writers: config.shared_writers,
            objects_max: config.limits.objects_max,
            writers: Mutex::default(),
        })
    }

    /// Returns where the container of this name is, where the client may use it so: by the name that it says, and by the one that
    /// this leads to.
    fn location(&self, who: &Principal, name: &str, access: Access) -> Result<String> {
        names::checked(name)?;
        let denied = || {
            let wanted = if access == Access::Write { "write" } else { "read" };
            Error::denied("use container").with("name", name).with("wanted", wanted)
        };
        if !who.may(access, name) {
            return Err(denied());
        }
        // What follows a question mark says how a store is reached: that is the server's to say.
        if name.contains('?') && self.stand.as_ref().is_some_and(|stand| stand.engine.is_some()) {
            return Err(Error::denied("use container")
                .with("name", name)
                .with("problem", "it has an option"));
        }
        let path = match &self.root {
            None => name.to_owned(),
            Some(root) => {
                let real = names::under(root, name)?;
                if !who.may(access, &real.name) {
                    return Err(denied());
                }
                real.path.to_string_lossy().into_owned()
            }
        };
        Ok(match &self.stand {
            Some(stand) => stand.location(&path),
            None => path,
        })
    }

    /// Returns what the sessions of a container share, where several servers share its store.
    fn store(&self, location: &str, name: &str) -> Option<Arc<SharedStore>> {
        let stand = self.stand.as_ref().filter(|_| self.has_several_nodes)?;
        // A client cannot name it: names have no backslash.
        let new = || Arc::new(SharedStore::new(stand.location(&format!("{name}\\sessions"))));
        let mut stores = self.stores.lock();
        stores.retain(|_, store| Arc::strong_count(store) > 1);
        Some(stores.entry(location.to_owned()).or_insert_with(new).clone())
    }

    /// Begins the part of a session that goes on at other nodes.
    fn begin_node(
        &self,
        begin: &Begin,
        store: Option<&SharedStore>,
        container: &dyn Container,
        writable: bool,
    ) -> Result<Option<NodeSession>> {
        if !begin.nodes {
            return Ok(None);
        }
        let problem =
            "several servers cannot share its storage: that needs `--vol` with a store like object+rados:";
        let alone = || Error::unsupported("open container through several nodes").with("problem", problem);
        let store = store.ok_or_else(alone)?;
        if !writable {
            return Ok(None);
        }
        let session = NodeSession::begin(store, &self.registry, begin.session, begin.resumed)?;
        // What another node stored is seen from now on.
        let _order = store.ordered();
        container.commit(Durability::Full)?;
        Ok(Some(session))
    }

    /// Opens or makes a container for a client.
    pub(crate) fn begin(
        &self,
        who: &Principal,
        begin: &Begin,
        request: &OpenRequest,
        Means { metrics, memory, cache_bytes }: Means<'_>,
    ) -> Result<Session> {
        let writable = request.create.is_some() || request.access.access == Access::Write;
        let wanted = if writable { Access::Write } else { Access::Read };
        let location = self.location(who, &request.path, wanted)?;
        let access = FileAccess {
            chunk_cache_bytes: Some(cache_bytes),
            metadata_cache_bytes: Some(cache_bytes),
            ..self.access(request, wanted, memory.container())?
        };
        if let Some(marks) = &self.direct {
            marks.wait();
        }
        self.enter(&location, writable)?;
        let container = match &request.create {
            Some(create) => self.registry.create(&location, create, &access, request.truncate),
            None => self.registry.open(&location, &access),
        };
        let store = self.store(&location, &request.path);
        let container = container
            .and_then(|container| self.check_shared(&location, container, writable))
            .and_then(|container| {
                let nodes = self.begin_node(begin, store.as_deref(), &*container, writable)?;
                Ok((container, nodes))
            });
        match container {
            Ok((container, nodes)) => {
                let direct = self.direct.is_some().then(|| {
                    Arc::new(Direct::new(
                        container.clone(),
                        self.locks(&location),
                        begin.session,
                        self.lock_times,
                    ))
                });
                let container = direct.clone().map_or(container, |direct| direct as Arc<dyn Container>);
                let of = Beginning {
                    id: begin.session,
                    owner: who.name.clone(),
                    name: request.path.clone(),
                    writable,
                    queued: begin.queued,
                    objects_max: self.objects_max,
                    metrics: metrics.clone(),
                    budget: memory.session(&who.name),
                    hidden: self.hidden.clone(),
                    readable: self.readable.clone(),
                    store,
                    nodes,
                };
                Ok(Session::new(container, direct, of))
            }
            Err(error) => {
                self.leave(&location, writable);
                Err(self.hidden.hide(error))
            }
        }
    }

    /// Returns the locks of a container. Those that no one holds any more go.
    fn locks(&self, location: &str) -> Arc<Locks> {
        let mut all = self.locks.lock();
        all.retain(|_, locks| Arc::strong_count(locks) > 1 || !locks.is_empty());
        all.entry(location.to_owned()).or_default().clone()
    }

    /// Returns where the file of a session is, for a client that sees the same file system.
    pub(crate) fn whereabouts(&self, session: &Session) -> Result<Whereabouts> {
        let refused = |problem: &str| Error::unsupported("use file directly").with("problem", problem);
        let marks = self.direct.as_ref();
        let marks = marks.ok_or_else(|| refused("the server was not started for direct access"))?;
        let path = names::under(marks.root(), &session.name)?.path;
        let inode =
            path.is_file().then(|| system::file::identity_at(&path).ok()).flatten().map(|(_, inode)| inode);
        let inode = inode.ok_or_else(|| refused("the container is not one file"))?;
        let (mark, proof) = marks.mark()?;
        let root = marks.root().to_string_lossy().into_owned();
        Ok(Whereabouts { root, name: session.name.clone(), inode, mark, proof })
    }

    /// Returns what of the client's wishes holds here: nothing that names files, layers or locks of the server.
    fn access(&self, request: &OpenRequest, access: Access, budget: Budget) -> Result<FileAccess> {
        if let Some(driver) = &request.access.driver {
            return Err(Error::denied("use container").with("driver", driver));
        }
        let wanted = &request.access;
        Ok(FileAccess {
            access,
            limits: lower(&wanted.limits, &budget),
            budget: Some(budget),
            stack: self.layers.clone(),
            version_low: wanted.version_low,
            durability: wanted.durability,
            swmr: wanted.swmr,
            ..FileAccess::default()
        })
    }

    fn enter(&self, location: &str, writable: bool) -> Result<()> {
        if writable {
            *self.writers.lock().entry(location.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    fn leave(&self, location: &str, writable: bool) {
        let mut writers = self.writers.lock();
        if writable && let Some(count) = writers.get_mut(location) {
            *count -= 1;
            if *count == 0 {
                writers.remove(location);
            }
        }
    }

    /// Returns a second writer, where two do not see each other, is refused.
    fn check_shared(
        &self,
        location: &str,
        container: Arc<dyn Container>,
        writable: bool,
    ) -> Result<Arc<dyn Container>> {
        let count = self.writers.lock().get(location).copied().unwrap_or(0);
        if !writable || count <= 1 || self.shared_writers {
            return Ok(container);
        }
        let connector = container.info()?.connector.clone();
        match SHARED.contains(&connector.as_str()) {
            true => Ok(container),
            false => Err(Error::busy("open container").with("problem", "another client writes to it")),
        }
    }

    /// A session is over, or closed its container.
    pub(crate) fn ended(&self, session: &Session) {
        if !session.uncount() {
            return;
        }
        let location = self.location(&Principal::trusted("server"), &session.name, Access::Write);
        if let Ok(location) = location {
            self.leave(&location, session.writable);
        }
    }

    pub(crate) fn delete(&self, who: &Principal, name: &str) -> Result<()> {
        let location = self.location(who, name, Access::Write)?;
        if self.writers.lock().contains_key(&location) {
            return Err(Error::busy("delete container").with("name", name));
        }
        self.delete_at(&location, name).map_err(|error| self.hidden.hide(error))
    }

    /// Removes a container, and then the journal of its sessions.
    fn delete_at(&self, location: &str, name: &str) -> Result<()> {
        self.registry.delete(location, &FileAccess::read())?;
        match self.store(location, name) {
            Some(store) => store.delete_journal(&self.registry),
            None => Ok(()),
        }
    }

    pub(crate) fn is_accessible(&self, who: &Principal, name: &str) -> Result<bool> {
        self.is_accessible_at(who, name).map_err(|error| self.hidden.hide(error))
    }

    fn is_accessible_at(&self, who: &Principal, name: &str) -> Result<bool> {
        let location = self.location(who, name, Access::Read)?;
        let place = vol::Location::parse(&location);
        let access = FileAccess::read();
        if place.engine.is_some() {
            return is_openable(self.registry.open(&location, &access));
        }
        let op = ContainerOpen { registry: &self.registry, ..ContainerOpen::new(&place.path, &access) };
        match &place.connector {
            Some(connector) => self.registry.by_name(connector)?.is_accessible(&op),
            None => Ok(self
                .registry
                .connectors()
                .filter(|connector| connector.info().name != protocol::CONNECTOR)
                .any(|connector| connector.is_accessible(&op).unwrap_or(false))),
        }
    }
}

impl Drop for Containers {
    /// Locks may outlive a server: the next one finds the mark.
    fn drop(&mut self) {
        let is_locked = self.locks.lock().values().any(|locks| !locks.is_empty());
        if let Some(marks) = self.direct.as_ref().filter(|_| is_locked) {
            marks.leave();
        }
    }
}
