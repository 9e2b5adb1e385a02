//! The conformance suite, for what the connector claims: one test for each behaviour.

use std::sync::Arc;

use folder_of_json::FolderOfJson;
use testkit::{Folder, Subject, conformance};
use vol::{Registry, Result};

fn subject() -> Result<Subject> {
    let folder = Folder::new("folder-of-json");
    let mut registry = Registry::new();
    registry.register(Arc::new(FolderOfJson::new()))?;
    let place = folder.path().display().to_string();
    let location = move |name: &str| format!("folder-of-json:{place}/{name}");
    Ok(Subject::new("folder-of-json", registry, location).keeping(folder))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, conformance::trials("folder-of-json", subject)).exit();
}
