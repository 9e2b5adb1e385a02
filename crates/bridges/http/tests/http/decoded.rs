//! How many chunks a server decodes.

use std::sync::{Arc, Mutex};

use hyperslab::Result;
use hyperslab::vol::{Capability, ConnectorInfo, Container, LayerFactory, Wrap};
use hyperslab_http::Config;

/// The containers that a server opens, each of which counts the chunks that it decodes.
#[derive(Clone, Default)]
pub(crate) struct Decoded(Arc<Mutex<Vec<Arc<dyn Container>>>>);

impl Decoded {
    /// Puts itself between a server and its containers.
    pub(crate) fn watch(config: &mut Config) -> Self {
        let watched = Decoded::default();
        config.registry.register_layer(Arc::new(watched.clone())).unwrap();
        config.access.stack = Some("decoded".to_owned());
        watched
    }

    /// Returns how many chunks were decoded so far.
    pub(crate) fn chunks(&self) -> u64 {
        let containers = self.0.lock().unwrap();
        containers.iter().map(|container| container.chunk_cache_info().unwrap().misses).sum()
    }

    /// Returns how many chunks were decoded while `work` ran.
    pub(crate) fn during(&self, work: impl FnOnce()) -> u64 {
        let before = self.chunks();
        work();
        self.chunks() - before
    }
}

impl LayerFactory for Decoded {
    fn info(&self) -> ConnectorInfo {
        let about = "counts decoded chunks";
        ConnectorInfo { name: "decoded", value: 700, version: 1, capability: Capability::default(), about }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        self.0.lock().unwrap().push(op.inner.clone());
        Ok(op.inner.clone())
    }
}
