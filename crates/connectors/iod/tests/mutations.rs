//! Mutated files of containers: no panic, no abort, no hang, and bounded memory. One test in a process of its own, since
//! it watches all panics.

use std::sync::Arc;

use hyperslab_iod::IodConnector;
use vol::Registry;

#[test]
fn mutated_files_end_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    registry.register(Arc::new(IodConnector::new())).unwrap();
    testkit::damage::assert_mutated_files_end_well(&registry, "iod", &folder.path().join("c"), 200);
}
