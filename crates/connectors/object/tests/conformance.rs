//! The conformance suite on the object connector, on each engine.

use std::sync::Arc;

use hyperslab_object::{ObjectConnector, engine, storage};
use testkit::{Subject, conformance};
use vol::{Registry, Result};

fn in_memory() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(ObjectConnector::new()))?;
    Ok(Subject::new("object+memory", registry, |name| format!("object+memory:{name}")))
}

fn embedded() -> Result<Subject> {
    let folder = tempfile::tempdir().map_err(|e| model::Error::io("create folder", &e))?;
    let mut registry = Registry::new();
    registry.register(Arc::new(ObjectConnector::new()))?;
    let root = folder.path().to_owned();
    let location = move |name: &str| format!("object:{}/{name}/", root.display());
    Ok(Subject::new("object", registry, location).keeping(folder))
}

/// An engine that enumerates in the order of a hash, and offers no more than DAOS has.
fn strict() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(ObjectConnector::new()))?;
    engine::register_engine(&mut registry, "hash", storage::strict::engine())?;
    Ok(Subject::new("object+hash", registry, |name| format!("object+hash:{name}")))
}

/// The configuration of a cluster with a pool `p3`: `scripts/ceph up DIR` makes one.
const CEPH_CONF: &str = "HYPERSLAB_CEPH_CONF";

fn on_ceph() -> Result<Subject> {
    let conf = std::env::var(CEPH_CONF).unwrap_or_default();
    let mut registry = Registry::new();
    registry.register(Arc::new(ObjectConnector::new()))?;
    Ok(Subject::new("object+rados", registry, move |name| format!("object+rados:p3/{name}?conf={conf}")))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("object-memory", in_memory);
    trials.extend(conformance::trials("object", embedded));
    trials.extend(conformance::trials("object-strict", strict));
    match (cfg!(feature = "rados"), std::env::var_os(CEPH_CONF)) {
        (true, Some(_)) => trials.extend(conformance::trials("object-rados", on_ceph)),
        (true, None) => eprintln!("object+rados: skipped, {CEPH_CONF} names no cluster"),
        (false, _) => eprintln!("object+rados: skipped, this build has no Ceph client (feature rados)"),
    }
    libtest_mimic::run(&arguments, trials).exit();
}
