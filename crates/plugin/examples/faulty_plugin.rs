//! A plugin that panics wherever it can.

use std::sync::Arc;

use model::{Error, Result};
use vol::{Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen};

struct Faulty;

impl Connector for Faulty {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "faulty", value: 399, version: 3, capability, about: "panics" }
    }

    fn create(&self, _: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Faulty))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        panic!("cannot open {}", op.path);
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Err(Error::busy("look").at(7).with("path", path).during("ask the faulty one"))
    }
}

impl Container for Faulty {
    fn commit(&self, _: vol::Durability) -> Result<()> {
        panic!("cannot commit");
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        panic!("cannot even end");
    }
}

hyperslab_plugin::export!(Faulty);
