//! A layer of Rust that forwards everything, and repeats the word in its braces.

use std::sync::Arc;

use model::Result;
use vol::{Capability, ConnectorInfo, Container, Layer, LayerFactory, Optional, Wrap};

vol::extension! {
    /// Returns the word that was in the braces, and what the caller adds.
    struct Word = "pass.word": Read, String => String;
}

struct Pass {
    inner: Arc<dyn Container>,
    /// What was in the braces.
    word: String,
}

impl Layer for Pass {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        Optional::new(name, request).on::<Word>(|end| Ok(self.word.clone() + &end)).or_ask(&*self.inner)
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
