//! Mutated files of containers: no panic, no abort, no hang, and bounded memory. One test in a process of its own, since
//! it watches all panics.

use std::sync::Arc;

use hyperslab_json::JsonConnector;
use memory::MemoryConnector;
use vol::Registry;

#[test]
fn mutated_files_end_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    registry.register(Arc::new(JsonConnector::new())).unwrap();
    let location = format!("json:{}", folder.path().join("c.json").display());
    testkit::damage::assert_mutations_end_well(&registry, &location, folder.path(), 300);
}
