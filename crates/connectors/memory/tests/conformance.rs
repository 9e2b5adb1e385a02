//! The conformance suite on the memory connector, alone and under a layer: one test for each behaviour.

use std::sync::Arc;

use hyperslab_memory::MemoryConnector;
use testkit::{Subject, conformance};
use vol::{Capability, ConnectorInfo, Container, FileAccess, Layer, LayerFactory, Registry, Result, Wrap};

/// A layer that changes nothing: what the suite asks goes through every forwarded operation.
struct PassThrough(Arc<dyn Container>);

impl Layer for PassThrough {
    fn inner(&self) -> &dyn Container {
        &*self.0
    }
}

struct PassThroughs;

impl LayerFactory for PassThroughs {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "pass", value: 511, version: 1, capability, about: "forwards everything" }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(PassThrough(op.inner.clone())))
    }
}

fn memory() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    registry.register_layer(Arc::new(PassThroughs))?;
    Ok(Subject::new("memory", registry, |name| format!("memory:{name}")))
}

fn stacked() -> Result<Subject> {
    Ok(memory()?.with_access(FileAccess::write().with_stack("pass | pass")))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("memory", memory);
    trials.extend(conformance::trials("pass-pass-memory", stacked));
    libtest_mimic::run(&arguments, trials).exit();
}
