//! Runs every program of this crate: each checks its own results.

use std::process::Command;

fn run(program: &str) {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.stdout.is_empty());
}

#[test]
fn a_driver_of_the_program() {
    run(env!("CARGO_BIN_EXE_driver"));
}

#[test]
fn a_filter_of_the_program() {
    run(env!("CARGO_BIN_EXE_filter"));
}

#[test]
fn a_conversion_of_the_program() {
    run(env!("CARGO_BIN_EXE_conversion"));
}

#[test]
fn a_class_of_links_of_the_program() {
    run(env!("CARGO_BIN_EXE_link_class"));
}

#[test]
fn a_layer_of_the_program() {
    run(env!("CARGO_BIN_EXE_layer"));
}

#[test]
fn a_storage_engine_of_the_program() {
    run(env!("CARGO_BIN_EXE_engine"));
}
