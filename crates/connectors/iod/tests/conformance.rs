//! The conformance suite on the iod connector, in memory and in a folder.

use std::sync::Arc;

use hyperslab_iod::IodConnector;
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

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("iod-memory", in_memory);
    trials.extend(conformance::trials("iod", in_folder));
    libtest_mimic::run(&arguments, trials).exit();
}
