//! The conformance suite on the memory connector: one test for each behaviour.

use std::sync::Arc;

use hyperslab_memory::MemoryConnector;
use testkit::{Subject, conformance};
use vol::{Registry, Result};

fn subject() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    Ok(Subject::new("memory", registry, |name| format!("memory:{name}")))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, conformance::trials("memory", subject)).exit();
}
