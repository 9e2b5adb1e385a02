//! A layer that notes every operation that passes it.

use std::sync::{Arc, Mutex};

use hyperslab::vol::*;

/// What passed, in order: the operation and its bytes.
pub(crate) type Notes = Arc<Mutex<Vec<(Operation, u64)>>>;

/// A layer with a name of its own, so that two of them may stand in one stack.
pub(crate) struct WitnessLayer {
    pub(crate) name: &'static str,
    pub(crate) value: u32,
    pub(crate) notes: Notes,
}

impl LayerFactory for WitnessLayer {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo {
            name: self.name,
            value: self.value,
            version: 1,
            capability,
            about: "notes operations",
        }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Observed::new(op.inner.clone(), Witness(self.notes.clone()))))
    }
}

struct Witness(Notes);

impl Observer for Witness {
    type Begun = ();

    fn begin(&self, _call: &Call) -> Result<()> {
        Ok(())
    }

    fn end(&self, call: &Call, _begun: (), _error: Option<&Error>) -> Result<()> {
        self.0.lock().unwrap().push((call.operation, call.bytes));
        Ok(())
    }
}

/// Adds a witness to a registry.
pub(crate) fn witness(registry: &mut Registry, name: &'static str) -> Notes {
    let notes = Notes::default();
    // Each has a number of its own.
    let value = 490 + registry.layers().count() as u32;
    registry.register_layer(Arc::new(WitnessLayer { name, value, notes: notes.clone() })).unwrap();
    notes
}
