//! A disk that is full at every page of a workload: the document is the old one or the new one, and work goes on.
#![cfg(unix)]

use std::sync::Arc;

use hyperslab_json::JsonConnector;
use memory::MemoryConnector;
use testkit::full::{FullDisk, SmallDisk};
use vol::Registry;

#[test]
fn a_full_disk_leaves_what_was_or_what_is_to_be() {
    let disk = SmallDisk::new("json", 4 << 20);
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    registry.register(Arc::new(JsonConnector::new())).unwrap();
    let location = format!("json:{}/c.json", disk.path().display());
    let full = FullDisk { registry: &registry, location: &location, disk: &disk, is_atomic: true };
    full.assert_nothing_is_lost();
}
