//! Mutated files of containers: no panic, no abort, no hang, and bounded memory. One test in a process of its own, since
//! it watches all panics.

mod common;

#[test]
fn mutated_files_end_in_errors() {
    common::each(|subject, path| {
        testkit::damage::assert_mutated_files_end_well(&subject.registry(), subject.name, path, 200);
    });
}
