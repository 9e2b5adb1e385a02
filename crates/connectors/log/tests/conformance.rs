//! The conformance suite on the log connector: one test for each behaviour, with both versions of its tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_log::LogConnector;
use native::NativeConnector;
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

fn subject(prefix: &'static str) -> Result<Subject> {
    let mut registry = Registry::new();
    registry.register(Arc::new(LogConnector::new(Arc::new(NativeConnector))))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("hyperslab-log-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| vol::Error::io("make folder", &e))?;
    let kept = Folder(folder.clone());
    Ok(Subject::new(prefix, registry, move |name| format!("{prefix}:{}/{name}.h5", folder.display()))
        .keeping(kept))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("log", || subject("log"));
    trials.extend(conformance::trials("log+v1", || subject("log+v1")));
    libtest_mimic::run(&arguments, trials).exit();
}
