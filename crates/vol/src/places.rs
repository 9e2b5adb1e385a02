//! Whether something can be created at a path, for connectors that keep containers in a file system.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Error, Result};

/// Returns an error if nothing can be created at `path`: its folder does not exist or cannot be written. What already is
/// at `path` is left alone.
pub fn check_can_create(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => probe(folder_of(path), path),
    }
}

/// As [`check_can_create`], for those who create missing folders too.
pub fn check_can_create_folders(path: &Path) -> Result<()> {
    let exists = |folder: &&Path| folder.symlink_metadata().is_ok();
    match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => probe(path.ancestors().skip(1).find(exists).unwrap_or(Path::new(".")), path),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Only the file system itself knows: a file is created and removed.
fn probe(folder: &Path, path: &Path) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = folder.join(format!(".hyperslab-probe-{}-{number}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&name);
    let made = made.and_then(|_| std::fs::remove_file(&name));
    made.map_err(|e| Error::io("create", &e).with("path", path.display()))
}
