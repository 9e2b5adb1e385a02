//! The conformance suite on the log connector: one test for each behaviour, with both versions of its tables.

use std::sync::Arc;

use hyperslab_log::LogConnector;
use native::NativeConnector;
use testkit::{Folder, Subject, conformance};
use vol::{Registry, Result};

fn subject(prefix: &'static str) -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(LogConnector::new(Arc::new(NativeConnector))))?;
    let kept = Folder::new("log");
    let folder = kept.path().to_owned();
    Ok(Subject::new(prefix, registry, move |name| format!("{prefix}:{}/{name}.h5", folder.display()))
        .keeping(kept))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("log", || subject("log"));
    trials.extend(conformance::trials("log+v1", || subject("log+v1")));
    libtest_mimic::run(&arguments, trials).exit();
}
