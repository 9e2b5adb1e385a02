//! The contract on the embedded engine.

mod suite;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use hyperslab_objects::{Pool, embedded};

/// One folder for all tests: each has a container of its own.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

fn pool() -> Arc<dyn Pool> {
    embedded::pool(FOLDER.get().unwrap())
}

fn main() -> std::process::ExitCode {
    let folder = tempfile::tempdir().unwrap();
    FOLDER.set(folder.path().join("pool")).unwrap();
    std::fs::create_dir(FOLDER.get().unwrap()).unwrap();
    suite::run("embedded", pool)
}
