//! The conformance suite on the object connector.

use std::sync::Arc;

use hyperslab_object::ObjectConnector;
use testkit::{Subject, conformance};
use vol::{Registry, Result};

fn in_memory() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(ObjectConnector::new()))?;
    Ok(Subject::new("object+memory", registry, |name| format!("object+memory:{name}")))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = conformance::trials("object-memory", in_memory);
    libtest_mimic::run(&arguments, trials).exit();
}
