//! A layer that carries every operation as bytes to the inner container, as a connection or a plugin would.

use std::sync::Arc;

use protocol::wire::{Answer, Client, Request, Transport, respond};
use vol::{Capability, ConnectorInfo, Container, LayerFactory, Result, Wrap};

/// Carries operations to a container in the same process.
struct Loopback(Arc<dyn Container>);

impl Transport for Loopback {
    fn call(&self, request: Request<'_>, answer: &mut Answer) -> Result<()> {
        respond(&*self.0, request, answer);
        Ok(())
    }
}

pub(crate) struct LoopbackLayer;

impl LayerFactory for LoopbackLayer {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo {
            name: "loopback",
            value: 595,
            version: 1,
            capability,
            about: "there and back as bytes",
        }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        op.parameters.only(&[])?;
        Ok(Arc::new(Client::new(Loopback(op.inner.clone()))))
    }
}
