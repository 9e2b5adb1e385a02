//! The example in Rust, built as its guide says, loaded, and put to the suite for what it claims.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use hyperslab_plugin::{SearchPath, load};
use testkit::{Subject, conformance};
use vol::{FileAccess, Registry};

/// Builds the example into the folder that these tests were built into.
fn folder_of_json() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let manifest =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins/folder-of-json/Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--lib", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target);
    assert!(cargo.status().unwrap().success(), "the example does not build");
    common::library(&target.join("debug"), "folder_of_json")
}

fn conforms(subject: &Subject) {
    let report = conformance::run(subject).unwrap();
    println!("{}: {} passed, {} unsupported", subject.name(), report.passed.len(), report.unsupported.len());
    assert!(report.failed.is_empty(), "{}: {:#?}", subject.name(), report.failed);
    assert!(report.passed.len() > 200);
}

fn subject(name: &str, registry: Registry, folder: &Path) -> Subject {
    let place = folder.display().to_string();
    Subject::new(name, registry, move |name| format!("folder-of-json:{place}/{name}"))
}

#[test]
fn the_example_in_rust_conforms_alone_and_under_the_example_in_c() {
    let folder = common::folder("examples");
    let plugins = folder.join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    std::fs::copy(folder_of_json(), common::library(&plugins, "folder_of_json")).unwrap();
    let path = SearchPath::new([&plugins]);
    let mut registry = Registry::new();
    path.by_name("folder-of-json").unwrap().register(&mut registry).unwrap();
    assert_eq!(path.by_value(401).unwrap().info.name, "folder-of-json");
    conforms(&subject("folder-of-json", registry.clone(), &folder));
    if let Some(layer) = common::count_calls(&plugins) {
        load(layer).unwrap().register(&mut registry).unwrap();
        let stacked = subject("count-calls over folder-of-json", registry, &folder);
        conforms(&stacked.with_access(FileAccess::write().with_stack("count-calls")));
    }
}
