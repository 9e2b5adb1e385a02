//! The conformance suite, for what the connector claims: one test for each behaviour.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folder_of_json::FolderOfJson;
use testkit::{Subject, conformance};
use vol::{Registry, Result};

/// A folder that goes with the subject it is for.
struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn subject() -> Result<Subject> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("folder-of-json-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).map_err(|e| model::Error::io("make folder", &e))?;
    let mut registry = Registry::new();
    registry.register(Arc::new(FolderOfJson::new()))?;
    let place = folder.display().to_string();
    let location = move |name: &str| format!("folder-of-json:{place}/{name}");
    Ok(Subject::new("folder-of-json", registry, location).keeping(Folder(folder)))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, conformance::trials("folder-of-json", subject)).exit();
}
