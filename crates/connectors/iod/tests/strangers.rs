//! Folders that strangers prepared: whatever stands where the container has a file, nothing outside changes.
#![cfg(unix)]

use std::sync::Arc;

use hyperslab_iod::IodConnector;
use testkit::strangers::Place;
use vol::Registry;

fn with_place(work: impl FnOnce(&Place<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    registry.register(Arc::new(IodConnector::new())).unwrap();
    work(&Place { registry: &registry, connector: "iod", path: &folder.path().join("c") });
}

#[test]
fn links_and_fifos_in_the_place_of_any_file_change_nothing_outside() {
    with_place(|place| place.assert_traps_are_harmless(&[]));
}

#[test]
fn folders_swapped_for_links_all_the_time_change_nothing_outside() {
    with_place(|place| place.assert_swaps_are_harmless(20));
}
