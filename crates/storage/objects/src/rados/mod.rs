//! Containers in a pool of a Ceph cluster, for many processes at once.
//!
//! A container is a RADOS namespace. Its object `container` has the layout's version and counters. An object's dkeys
//! and akeys are keys of its head, or of its head's shards (see `heads`); what is large is in data objects of 4 MiB,
//! which are never written again once a flush has made them found: a change takes a new one. So one operation on one
//! head makes an update whole. A crash may leave data objects that nothing points to, never a key that points to
//! nothing.

mod core;
mod far;
mod ffi;
mod flight;
mod flush;
mod heads;
mod keys;
mod known;
mod listing;
mod orphans;
mod pending;
mod store;
mod update;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{ContainerId, Error, Mode, Pool, Result, Store};
use core::Core;
use ffi::{Ask, CANCELED, Cluster, Code, Guard, NOT_FOUND, NOT_PERMITTED, Names, Step, Write};
use store::RadosStore;

/// Bytes of a data object.
const STRIPE_BYTES: u64 = 4 << 20;
/// Operations in flight.
const AT_ONCE: usize = 64;
/// Keys of a page: the cluster gives no more.
const PAGE: u64 = 1024;
/// Ceph warns at 200,000.
const HEAD_KEYS_MAX: usize = 100_000;

/// The object that creates a container, in its namespace.
const CONTAINER: &str = "container";
/// The object that lists containers, in the namespace without a name.
const CONTAINERS: &str = "hyperslab.containers";
const LAYOUT_KEY: &[u8] = b"layout";
const LAYOUT: &[u8] = b"1";
/// Is there while a container is being destroyed.
const DYING_KEY: &[u8] = b"dying";

/// Without an answer of the monitors for so long there is no cluster.
const CONNECT_SECONDS: &str = "10";

/// Returns the pool of a cluster. Without a configuration file the one is taken that Ceph's own tools take (`CEPH_CONF`,
/// `/etc/ceph/ceph.conf`).
pub fn pool(pool: &str, conf: Option<&Path>) -> Result<Arc<dyn Pool>> {
    pool_with_heads_of(pool, conf, HEAD_KEYS_MAX)
}

/// Returns the pool of a cluster as [`pool`] does, with another limit of keys in a head, for tests of what happens
/// beyond it.
#[doc(hidden)]
pub fn pool_with_heads_of(pool: &str, conf: Option<&Path>, head_keys_max: usize) -> Result<Arc<dyn Pool>> {
    let cluster = Arc::new(connect(conf)?);
    let names = Names::new(&cluster, pool, "").map_err(|code| match code {
        NOT_FOUND => Error::NotFound(format!("the cluster has no pool {pool}")),
        code => failed("open a pool of the cluster")(code),
    })?;
    Ok(Arc::new(RadosPool { cluster, names, pool: pool.to_owned(), head_keys_max }))
}

/// Returns an error of librados.
fn failed(what: &str) -> impl Fn(Code) -> Error + '_ {
    move |code| match code {
        NOT_PERMITTED | -13 => Error::Refused(format!("{what}: the cluster does not permit it")),
        NOT_FOUND => Error::NotFound(format!("{what}: it is gone")),
        code => Error::Io { what: what.to_owned(), source: ffi::explain(code) },
    }
}

fn connect(conf: Option<&Path>) -> Result<Cluster> {
    let place = conf.map_or_else(|| PathBuf::from("the usual places"), Path::to_path_buf);
    let place = place.display();
    let text =
        conf.map(|conf| conf.to_str().ok_or_else(|| Error::NotFound(format!("{place} is no path for Ceph"))));
    let options = [
        ("rados_mon_op_timeout", CONNECT_SECONDS),
        ("client_mount_timeout", CONNECT_SECONDS),
        // Errors are ours to tell.
        ("log_to_stderr", "false"),
        ("err_to_stderr", "false"),
        ("log_file", ""),
    ];
    Cluster::connect(text.transpose()?, &options).map_err(|(step, code)| match (step, code) {
        (Step::Configuration, _) => {
            Error::NotFound(format!("no configuration of a Ceph cluster in {place}: {}", ffi::explain(code)))
        }
        (Step::Connection, NOT_PERMITTED | -13) => {
            Error::Refused(format!("the Ceph cluster of {place} refuses the client's key"))
        }
        (Step::Connection, NOT_FOUND) => {
            Error::Refused(format!("the client's key for the Ceph cluster of {place} is missing"))
        }
        (Step::Connection, _) => {
            Error::NotFound(format!("no Ceph cluster answers as {place} says: {}", ffi::explain(code)))
        }
    })
}

#[derive(Debug)]
struct RadosPool {
    cluster: Arc<Cluster>,
    /// The namespace without a name.
    names: Arc<Names>,
    pool: String,
    head_keys_max: usize,
}

/// The status of a container.
enum ContainerStatus {
    Missing,
    /// It is being destroyed, or that was interrupted.
    Dying,
    Live,
}

impl RadosPool {
    fn namespace(&self, id: ContainerId) -> Result<Arc<Names>> {
        Names::new(&self.cluster, &self.pool, &id.to_string()).map_err(failed("open a container"))
    }

    fn missing(&self, id: ContainerId) -> Error {
        Error::NotFound(format!("there is no container {id} in pool {}", self.pool))
    }

    fn state(&self, names: &Arc<Names>) -> Result<ContainerStatus> {
        let keys = vec![LAYOUT_KEY.to_vec(), DYING_KEY.to_vec()];
        let answer = names.ask(&[Ask { name: CONTAINER.into(), keys, after: None }], 1);
        let pairs =
            answer.map_err(failed("look at a container"))?.into_iter().flat_map(|answer| answer.pairs);
        let mut state = ContainerStatus::Missing;
        for (key, value) in pairs {
            match (key.as_slice(), value.as_slice()) {
                (DYING_KEY, _) => return Ok(ContainerStatus::Dying),
                (_, LAYOUT) => state = ContainerStatus::Live,
                (_, other) => {
                    let (other, known) = (other.escape_ascii(), LAYOUT.escape_ascii());
                    return Err(Error::Corrupt(format!(
                        "the container has layout version {other}, and this program knows {known}: use a newer one"
                    )));
                }
            }
        }
        Ok(state)
    }

    /// Notes in the list of containers that one is there, or not.
    fn register(&self, id: ContainerId, there: bool) -> Result<()> {
        let key = id.to_string().into_bytes();
        let mut write = Write { create: Some(false), ..Write::default() };
        if there {
            write.set.push((key, vec![1]));
        } else {
            write.unset.push(key);
        }
        self.names.write(CONTAINERS, &write).map_err(failed("change the list of containers"))
    }

    /// Removes all objects of a container, the one that makes it last.
    fn clear(&self, names: &Arc<Names>) -> Result<()> {
        let what = "remove a container";
        let dying = Write { set: vec![(DYING_KEY.to_vec(), vec![1])], ..Write::default() };
        names.write(CONTAINER, &dying).map_err(failed(what))?;
        let remove = Write { remove: true, ..Write::default() };
        let all: Vec<String> = names.list().map_err(failed(what))?;
        let others: Vec<&String> = all.iter().filter(|name| *name != CONTAINER).collect();
        for part in others.chunks(AT_ONCE) {
            let begun: Vec<_> = part.iter().map(|name| names.begin(name, &remove)).collect();
            for begun in begun {
                match begun.map_or_else(|code| code, |begun| begun.wait()) {
                    0.. | NOT_FOUND => {}
                    code => return Err(failed(what)(code)),
                }
            }
        }
        match names.write(CONTAINER, &remove) {
            Ok(()) | Err(NOT_FOUND) => Ok(()),
            Err(code) => Err(failed(what)(code)),
        }
    }

    fn store(&self, names: Arc<Names>, mode: Mode, created: bool) -> Arc<dyn Store> {
        Arc::new(RadosStore { core: Core::new(names, created, self.head_keys_max), mode })
    }
}

impl Pool for RadosPool {
    fn create(&self, id: ContainerId) -> Result<Arc<dyn Store>> {
        let names = self.namespace(id)?;
        if matches!(self.state(&names)?, ContainerStatus::Dying) {
            self.clear(&names)?;
        }
        self.register(id, true)?;
        let write = Write {
            create: Some(false),
            guards: vec![(LAYOUT_KEY.to_vec(), Guard::Equals(Vec::new()))],
            set: vec![(LAYOUT_KEY.to_vec(), LAYOUT.to_vec())],
            ..Write::default()
        };
        match names.write(CONTAINER, &write) {
            Ok(()) => Ok(self.store(names, Mode::ReadWrite, true)),
            Err(CANCELED) => Err(Error::Exists(format!("container {id} is in pool {} already", self.pool))),
            Err(code) => Err(failed("create a container")(code)),
        }
    }

    fn open(&self, id: ContainerId, mode: Mode) -> Result<Arc<dyn Store>> {
        let names = self.namespace(id)?;
        match self.state(&names)? {
            ContainerStatus::Live => Ok(self.store(names, mode, false)),
            ContainerStatus::Missing | ContainerStatus::Dying => Err(self.missing(id)),
        }
    }

    fn destroy(&self, id: ContainerId) -> Result<()> {
        let names = self.namespace(id)?;
        if matches!(self.state(&names)?, ContainerStatus::Missing) {
            return Err(self.missing(id));
        }
        self.clear(&names)?;
        self.register(id, false)
    }

    fn list(&self) -> Result<Vec<ContainerId>> {
        let (mut found, mut after) = (Vec::new(), Vec::new());
        loop {
            let ask = Ask { name: CONTAINERS.into(), keys: Vec::new(), after: Some((after, PAGE)) };
            let answer = self.names.ask(&[ask], 1).map_err(failed("list containers"))?.into_iter().next();
            let Some(answer) = answer else { break };
            let names = answer.behind.iter().filter_map(|(key, _)| std::str::from_utf8(key).ok());
            found.extend(names.filter_map(ContainerId::parse));
            match answer.behind.into_iter().next_back().filter(|_| answer.more) {
                Some((last, _)) => after = last,
                None => break,
            }
        }
        let live = |id: &ContainerId| {
            matches!(self.namespace(*id).and_then(|names| self.state(&names)), Ok(ContainerStatus::Live))
        };
        found.retain(live);
        found.sort();
        Ok(found)
    }
}
