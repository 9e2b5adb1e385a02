//! A disk that is full at every page of a workload: the folder opens, each element is old or new, and work goes on.
#![cfg(unix)]

use std::sync::Arc;

use hyperslab_raw::RawConnector;
use memory::MemoryConnector;
use testkit::full::{FullDisk, SmallDisk};
use vol::Registry;

#[test]
fn a_full_disk_leaves_what_was_or_what_is_to_be() {
    let disk = SmallDisk::new("raw", 4 << 20);
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    registry.register(Arc::new(RawConnector::new())).unwrap();
    let location = format!("raw:{}/c", disk.path().display());
    let full = FullDisk { registry: &registry, location: &location, disk: &disk, is_atomic: false };
    full.assert_nothing_is_lost();
}
