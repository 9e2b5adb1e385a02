//! The conformance suite on the raw connector: one test for each behaviour.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_raw::RawConnector;
use memory::MemoryConnector;
use testkit::{Subject, conformance};
use vol::{Registry, Result};

/// Numbers of subjects: many run at the same time.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder that goes with the subject.
struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind in a temporary folder is not worth a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn raw() -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new()))?;
    registry.register(Arc::new(RawConnector::new()))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("hyperslab-raw-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).map_err(|e| vol::Error::io("make folder", &e))?;
    let kept = Folder(folder.clone());
    Ok(Subject::new("raw", registry, move |name| format!("raw:{}/{name}", folder.display())).keeping(kept))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, conformance::trials("raw", raw)).exit();
}
