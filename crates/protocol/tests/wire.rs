//! The conformance suite on a container behind bytes: every operation goes through its form and back.

use std::sync::Arc;

use hyperslab_protocol::wire::{Answer, Client, Request, Transport, respond};
use memory::MemoryConnector;
use testkit::{Subject, conformance};
use vol::{Capability, ConnectorInfo, Container, FileAccess, LayerFactory, Registry, Result, Wrap};

/// Carries operations to a container in the same process.
struct Loopback(Arc<dyn Container>);

impl Transport for Loopback {
    fn call(&self, request: Request<'_>, answer: &mut Answer) -> Result<()> {
        respond(&*self.0, request, answer);
        Ok(())
    }
}

struct Loopbacks;

impl LayerFactory for Loopbacks {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo {
            name: "loopback",
            value: 511,
            version: 1,
            capability,
            about: "there and back as bytes",
        }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Client::new(Loopback(op.inner.clone()))))
    }
}

fn loopback() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    registry.register_layer(Arc::new(Loopbacks))?;
    let subject = Subject::new("loopback-memory", registry, |name| format!("memory:{name}"));
    Ok(subject.with_access(FileAccess::write().with_stack("loopback | loopback")))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, conformance::trials("loopback-loopback-memory", loopback)).exit();
}
