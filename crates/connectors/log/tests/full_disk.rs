//! A disk that is full at every page of a workload: the log is the old one or the new one, and work goes on.
#![cfg(unix)]

use std::sync::Arc;

use hyperslab_log::LogConnector;
use native::NativeConnector;
use testkit::full::{FullDisk, SmallDisk};
use vol::Registry;

#[test]
fn a_full_disk_leaves_what_was_or_what_is_to_be() {
    let disk = SmallDisk::new("log", 4 << 20);
    let mut registry = Registry::new();
    registry.register(Arc::new(LogConnector::new(Arc::new(NativeConnector)))).unwrap();
    let location = format!("log:{}/c.h5", disk.path().display());
    let full = FullDisk { registry: &registry, location: &location, disk: &disk, is_atomic: true };
    full.assert_nothing_is_lost();
}
