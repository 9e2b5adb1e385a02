//! Folders that strangers prepared: whatever stands where the container has a file, nothing outside changes.
#![cfg(unix)]

mod common;

use testkit::strangers::HostileFolder;

fn each_place(work: impl Fn(&HostileFolder<'_>)) {
    common::each(|subject, path| {
        work(&HostileFolder { registry: &subject.registry(), connector: subject.name, path });
    });
}

#[test]
fn links_and_fifos_in_the_place_of_any_file_change_nothing_outside() {
    each_place(|place| place.assert_traps_are_harmless(&[]));
}

#[test]
fn folders_swapped_for_links_all_the_time_change_nothing_outside() {
    each_place(|place| place.assert_swaps_are_harmless(20));
}
