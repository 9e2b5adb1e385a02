//! A layer of the program's own: chunked datasets that are created without filters are compressed (docs/layers.md).

use std::sync::Arc;

use hyperslab::filter_names::id;
use hyperslab::vol::model::properties::{FilterSpec, Layout};
use hyperslab::vol::{
    Capability, ConnectorInfo, Container, Layer, LayerFactory, OpDatasetCreate, Wrap, WrapCheck,
};
use hyperslab::{File, FileAccess, Result, Token, registry};

/// Forwards every operation but one to the inner container.
struct Compressing {
    inner: Arc<dyn Container>,
    level: u32,
}

impl Layer for Compressing {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let mut op = op.clone();
        if matches!(op.create.layout, Layout::Chunked { .. }) && op.create.filters.is_empty() {
            let deflate =
                FilterSpec { id: id::DEFLATE, name: None, optional: true, values: vec![self.level] };
            op.create.filters.push(deflate);
        }
        self.inner.dataset_create(&op)
    }
}

/// Puts the layer over containers whose stack names it: `compress`, or `compress{level=9}`.
struct CompressLayer;

impl LayerFactory for CompressLayer {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo {
            name: "compress",
            value: 600,
            version: 1,
            capability,
            about: "compresses new datasets",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        op.parameters.only(&["level"])?;
        op.parameters.parsed("level", 6u32).map(drop)
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        let level = op.parameters.parsed("level", 6)?;
        Ok(Arc::new(Compressing { inner: op.inner.clone(), level }))
    }
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("extend-layer-{}.h5", std::process::id()));
    let path = path.to_string_lossy();
    let mut registry = registry();
    registry.register_layer(Arc::new(CompressLayer))?;

    let access = FileAccess::write().with_stack("compress{level=9}");
    let file = File::create_in(&registry, &path, &Default::default(), &access, true)?;
    let zeros = file.new_dataset::<f64>().shape(100_000).chunk(10_000).create("zeros")?;
    zeros.write_raw(&vec![0.0; 100_000])?;
    drop(zeros);
    file.close()?;

    // The result is an HDF5 file like any other, and is read without the layer.
    let file = File::open(&*path)?;
    let zeros = file.dataset("zeros")?;
    assert_eq!(zeros.read_raw::<f64>()?, vec![0.0; 100_000]);
    println!("800000 bytes of elements take {} in the file", zeros.storage_size());
    assert!(zeros.storage_size() < 10_000);
    // A parameter that the layer does not have is an error, before anything is created.
    let wrong = FileAccess::write().with_stack("compress{speed=9}");
    assert!(File::create_in(&registry, "not-created.h5", &Default::default(), &wrong, true).is_err());
    std::fs::remove_file(&*path).ok();
    Ok(())
}
