//! The conformance suite on the object connector, on each engine.

use std::sync::Arc;

use hyperslab_object::ObjectConnector;
use testkit::{Subject, conformance};
use vol::{Registry, Result};

fn in_memory() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(ObjectConnector::new()))?;
    Ok(Subject::new("object+memory", registry, |name| format!("object+memory:{name}")))
}

fn embedded() -> Result<Subject> {
    let folder = tempfile::tempdir().map_err(|e| model::Error::io("make folder", &e))?;
    let mut registry = Registry::new();
    registry.register(Arc::new(ObjectConnector::new()))?;
    let root = folder.path().to_owned();
    let location = move |name: &str| format!("object:{}/{name}/", root.display());
    Ok(Subject::new("object", registry, location).keeping(folder))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("object-memory", in_memory);
    trials.extend(conformance::trials("object", embedded));
    libtest_mimic::run(&arguments, trials).exit();
}
