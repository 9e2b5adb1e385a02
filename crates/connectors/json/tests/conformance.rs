//! The conformance suite on the json connector: one test for each behaviour.

use std::sync::Arc;

use hyperslab_json::JsonConnector;
use memory::MemoryConnector;
use testkit::{Folder, Subject, conformance};
use vol::{Registry, Result};

fn json() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    registry.register(Arc::new(JsonConnector::new()))?;
    let kept = Folder::new("json");
    let folder = kept.path().to_owned();
    Ok(Subject::new("json", registry, move |name| format!("json:{}/{name}.json", folder.display()))
        .keeping(kept))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, conformance::trials("json", json)).exit();
}
