//! The conformance suite on the iod connector, on each engine.

use std::sync::Arc;

use hyperslab_iod::{IodConnector, engine, storage};
use testkit::{Subject, conformance};
use vol::{Registry, Result};

fn in_memory() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(IodConnector::new()))?;
    Ok(Subject::new("iod+memory", registry, |name| format!("iod+memory:{name}")))
}

fn in_folder() -> Result<Subject> {
    let folder = tempfile::tempdir().map_err(|e| model::Error::io("create folder", &e))?;
    let mut registry = Registry::new();
    registry.register(Arc::new(IodConnector::new()))?;
    let root = folder.path().to_owned();
    let location = move |name: &str| format!("iod:{}/{name}/", root.display());
    Ok(Subject::new("iod", registry, location).keeping(folder))
}

/// An engine that enumerates in the order of a hash, and offers no more than DAOS has.
fn strict() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(IodConnector::new()))?;
    engine::register_engine(&mut registry, "hash", storage::strict::engine())?;
    Ok(Subject::new("iod+hash", registry, |name| format!("iod+hash:{name}")))
}

/// The configuration of a cluster with a pool `p3`: `scripts/ceph up DIR` makes one.
const CEPH_CONF: &str = "HYPERSLAB_CEPH_CONF";

fn on_ceph() -> Result<Subject> {
    let conf = std::env::var(CEPH_CONF).unwrap_or_default();
    let mut registry = Registry::new();
    registry.register(Arc::new(IodConnector::new()))?;
    Ok(Subject::new("iod+rados", registry, move |name| format!("iod+rados:p3/{name}?conf={conf}")))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("iod-memory", in_memory);
    trials.extend(conformance::trials("iod", in_folder));
    trials.extend(conformance::trials("iod-strict", strict));
    match (cfg!(feature = "rados"), std::env::var_os(CEPH_CONF)) {
        (true, Some(_)) => trials.extend(conformance::trials("iod-rados", on_ceph)),
        (true, None) => eprintln!("iod+rados: skipped, {CEPH_CONF} names no cluster"),
        (false, _) => eprintln!("iod+rados: skipped, this build has no Ceph client (feature rados)"),
    }
    libtest_mimic::run(&arguments, trials).exit();
}
