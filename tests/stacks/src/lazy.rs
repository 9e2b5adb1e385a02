//! A layer whose changes let others go first, so that what async queues is still queued when the next call comes.

use std::sync::Arc;

use model::{Result, Token};
use vol::{Capability, ConnectorInfo, Container, Layer, LayerFactory, OpWrite, Wrap};

/// Enough for another thread to make some calls.
const YIELDS: usize = 500;

pub(crate) struct LazyLayer;

impl LayerFactory for LazyLayer {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "lazy", value: 596, version: 1, capability, about: "lets others go first" }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Lazy(op.inner.clone())))
    }
}

struct Lazy(Arc<dyn Container>);

impl Lazy {
    fn late(&self) -> &dyn Container {
        (0..YIELDS).for_each(|_| std::thread::yield_now());
        &*self.0
    }
}

impl Layer for Lazy {
    fn inner(&self) -> &dyn Container {
        &*self.0
    }

    fn release(&self, object: Token) -> Result<()> {
        self.late().release(object)
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        self.late().attribute_write(object, name, data)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        self.late().dataset_write(writes)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.late().dataset_resize(dataset, dims)
    }
}
