//! A layer over a mirror that compares primary and target whenever the container is closed.

use std::sync::Arc;

use testkit::snapshot::Snapshot;
use vol::{
    Access, Capability, ConnectorInfo, Container, FileAccess, Layer, LayerFactory, Location, Registry,
    Result, Wrap,
};

/// Compares `memory:{}` with `memory:{}-copy`.
pub(crate) struct ProofLayer;

impl LayerFactory for ProofLayer {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "proof", value: 599, version: 1, capability, about: "compares mirrors" }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        let access = FileAccess { access: Access::Read, stack: None, ..op.access.clone() };
        let location = Location::parse(op.location).path;
        Ok(Arc::new(Proof { inner: op.inner.clone(), registry: op.registry.clone(), access, location }))
    }
}

struct Proof {
    inner: Arc<dyn Container>,
    registry: Registry,
    access: FileAccess,
    location: String,
}

impl Proof {
    fn snapshot(&self, location: &str) -> Result<Snapshot> {
        let container = self.registry.open(location, &self.access)?;
        Snapshot::of(&*container, container.info()?.root)
    }
}

impl Layer for Proof {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn close(&self) -> Result<()> {
        self.inner.close()?;
        // A behaviour that failed already has said more than a comparison could.
        if std::thread::panicking() {
            return Ok(());
        }
        // Elements of a container may lie where this one is not allowed to read.
        if let Ok(primary) = self.snapshot(&format!("memory:{}", self.location)) {
            let copy = self.snapshot(&format!("memory:{}-copy", self.location))?;
            assert_eq!(primary.0, copy.0, "the mirror differs");
        }
        Ok(())
    }
}
