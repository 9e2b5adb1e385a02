//! What layers cost: `cargo run --release -p layers`.
//!
//! Each figure is the least of many rounds, and the stacks take turns, so that a busy machine disturbs all of them alike.

mod overhead;
mod overlap;

use std::sync::Arc;

use memory::MemoryConnector;
use model::properties::{DatasetCreate, FileCreate};
use model::{Dataspace, Datatype, Result, Token};
use vol::{
    Capability, ConnectorInfo, Container, FileAccess, Layer, LayerFactory, LinkLocation, OpDatasetCreate,
    Registry, Wrap,
};

/// A layer that does nothing: what forwarding alone costs.
struct Pass(Arc<dyn Container>);

impl Layer for Pass {
    fn inner(&self) -> &dyn Container {
        &*self.0
    }
}

struct PassLayer;

impl LayerFactory for PassLayer {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "pass", value: 598, version: 1, capability, about: "forwards everything" }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Pass(op.inner.clone())))
    }
}

fn registry() -> Result<Registry> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    registry.register_layer(Arc::new(PassLayer))?;
    layers::all().into_iter().try_for_each(|layer| registry.register_layer(layer))?;
    Ok(registry)
}

/// A new container in memory under a stack.
fn container(stack: &str) -> Result<Arc<dyn Container>> {
    let access = FileAccess { stack: Some(stack.to_owned()), ..FileAccess::write() };
    registry()?.create("memory:bench", &FileCreate::default(), &access, false)
}

/// A dataset of so many bytes.
fn dataset(container: &dyn Container, name: &str, bytes: u64) -> Result<Token> {
    container.dataset_create(&OpDatasetCreate {
        place: Some(LinkLocation::new(container.info()?.root, name)),
        datatype: Datatype::native_int(1),
        committed: None,
        space: Dataspace::simple(&[bytes])?,
        create: DatasetCreate::default(),
    })
}

fn main() -> Result<()> {
    overhead::calls()?;
    overhead::transfers()?;
    overlap::run()
}
