//! The conformance suite on the raw connector: one test for each behaviour.

use std::sync::Arc;

use hyperslab_raw::RawConnector;
use memory::MemoryConnector;
use testkit::{Folder, Subject, conformance};
use vol::{Registry, Result};

fn raw() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    registry.register(Arc::new(RawConnector::new()))?;
    let kept = Folder::new("raw");
    let folder = kept.path().to_owned();
    Ok(Subject::new("raw", registry, move |name| format!("raw:{}/{name}", folder.display())).keeping(kept))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, conformance::trials("raw", raw)).exit();
}
