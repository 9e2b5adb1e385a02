//! A layer over a mirror that compares primary and target whenever the container is closed.

use std::sync::Arc;

use testkit::snapshot::Snapshot;
use vol::{
    Access, Capability, ConnectorInfo, Container, FileAccess, Layer, LayerFactory, Location, Registry,
    Result, Wrap,
};

/// `proof{copy=LOCATION}` compares the primary with the container there, in which `{}` stands for the primary's path.
pub(crate) struct ProofLayer;

impl LayerFactory for ProofLayer {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "proof", value: 599, version: 1, capability, about: "compares mirrors" }
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        op.parameters.only(&["copy"])?;
        let access = FileAccess { stack: None, ..op.access.clone() };
        let copy = op.parameters.get("copy").unwrap_or_default();
        let copy = copy.replace("{}", &Location::parse(op.location).path);
        let (primary, inner, registry) = (op.location.to_owned(), op.inner.clone(), op.registry.clone());
        Ok(Arc::new(Proof { inner, registry, access, primary, copy }))
    }
}

struct Proof {
    inner: Arc<dyn Container>,
    registry: Registry,
    access: FileAccess,
    primary: String,
    copy: String,
}

impl Proof {
    fn snapshot(&self, location: &str, access: Access) -> Result<Snapshot> {
        let container = self.registry.open(location, &FileAccess { access, ..self.access.clone() })?;
        let found = Snapshot::of(&*container, container.info()?.root);
        container.close()?;
        found
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
        if let Ok(primary) = self.snapshot(&self.primary, Access::Read) {
            // Reading a wide descriptor keeps a value.
            let copy = self.snapshot(&self.copy, Access::Write)?;
            assert_eq!(primary.difference(&copy), None, "the mirror differs");
        }
        Ok(())
    }
}
