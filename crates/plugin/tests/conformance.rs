//! The conformance suite on plugins: a connector and a layer of Rust, a layer of C, and all of them together.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use hyperslab_plugin::load;
use memory::MemoryConnector;
use testkit::{Subject, conformance};
use vol::{FileAccess, Registry, Result};

/// The memory connector from a shared library: every capability passes the boundary.
fn memory_plugin() -> Result<Subject> {
    let mut registry = Registry::new();
    load(common::example("memory_plugin"))?.register(&mut registry)?;
    Ok(Subject::new("memory plugin", registry, |name| format!("memory:{name}")))
}

/// The layer of C over the memory connector.
fn count_calls(layer: &PathBuf) -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    load(layer)?.register(&mut registry)?;
    let subject = Subject::new("count-calls over memory", registry, |name| format!("memory:{name}"));
    Ok(subject.with_access(FileAccess::write().with_stack("count-calls")))
}

/// A connector from a shared library that finds its own containers through this side's registry, below a layer of Rust.
fn onto() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    load(common::example("onto_plugin"))?.register(&mut registry)?;
    load(common::example("pass_plugin"))?.register(&mut registry)?;
    let subject = Subject::new("pass over onto over memory", registry, |name| format!("onto:memory:{name}"));
    Ok(subject.with_access(FileAccess::write().with_stack("pass")))
}

/// The layer of C twice over the connector from a shared library.
fn stacked(layer: &PathBuf) -> Result<Subject> {
    let mut registry = Registry::new();
    load(common::example("memory_plugin"))?.register(&mut registry)?;
    load(layer)?.register(&mut registry)?;
    let subject = Subject::new("plugins over plugins", registry, |name| format!("memory:{name}"));
    Ok(subject.with_access(FileAccess::write().with_stack("count-calls | count-calls")))
}

fn conforms(subject: &Subject) {
    conforms_but_for(subject, &[]);
}

/// One test for a whole suite: a process for each behaviour would load the library as often.
fn conforms_but_for(subject: &Subject, known: &[&str]) {
    let report = conformance::run(subject).unwrap();
    println!("{}: {} passed, {} unsupported", subject.name(), report.passed.len(), report.unsupported.len());
    let failed: Vec<_> = report.failed.iter().filter(|(shown, _)| !known.contains(&shown.name)).collect();
    assert!(failed.is_empty(), "{}: {failed:#?}", subject.name());
    assert!(report.passed.len() > 100);
}

#[test]
fn a_connector_with_every_capability_conforms() {
    conforms(&memory_plugin().unwrap());
}

#[test]
fn a_connector_on_top_of_another_conforms() {
    // A connector is given no registry to delete or to look for containers with.
    let known = ["deleted_container_is_gone", "accessible_only_while_it_exists"];
    conforms_but_for(&onto().unwrap(), &known);
}

#[test]
fn a_layer_of_c_conforms() {
    let Some(layer) = common::count_calls(&common::folder("a_layer_of_c_conforms")) else { return };
    conforms(&count_calls(&layer).unwrap());
}

#[test]
fn plugins_over_plugins_conform() {
    let Some(layer) = common::count_calls(&common::folder("plugins_over_plugins_conform")) else { return };
    conforms(&stacked(&layer).unwrap());
}
