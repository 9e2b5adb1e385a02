//! A connector that keeps its containers in those of another one, which it finds through the host's registry.

use std::sync::Arc;

use model::Result;
use vol::{Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen};

struct Onto;

impl Connector for Onto {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability { persistent: false, ..Capability::ALL };
        ConnectorInfo {
            name: "onto",
            value: 398,
            version: 1,
            capability,
            about: "onto:memory:name is memory:name",
        }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        op.registry.create(op.path, op.create, op.access, op.truncate)
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        op.registry.open(op.path, op.access)
    }

    fn is_accessible(&self, _: &ContainerOpen<'_>) -> Result<bool> {
        Ok(false)
    }
}

hyperslab_plugin::export!(Onto);
