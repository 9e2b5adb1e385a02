//! A layer of Rust that forwards everything, and repeats the word in its braces.

use std::sync::Arc;

use model::Result;
use vol::{Capability, ConnectorInfo, Container, Layer, LayerFactory, Wrap};

struct Pass {
    inner: Arc<dyn Container>,
    /// What was in the braces.
    word: String,
}

impl Layer for Pass {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn optional(&self, operation: &str, arguments: &[u8]) -> Result<Vec<u8>> {
        match operation {
            "word" => Ok([self.word.as_bytes(), arguments].concat()),
            _ => self.inner.optional(operation, arguments),
        }
    }
}

struct Passes;

impl LayerFactory for Passes {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "pass", value: 397, version: 1, capability, about: "forwards everything" }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        op.parameters.only(&["word"])?;
        let word = op.parameters.get("word").unwrap_or("none").to_owned();
        Ok(Arc::new(Pass { inner: op.inner.clone(), word }))
    }
}

hyperslab_plugin::export_layer!(Passes);
