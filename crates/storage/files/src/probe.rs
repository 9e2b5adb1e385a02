//! Checks whether something can be created at a path.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks that something can be created at `path`. What already is at `path` is left alone.
///
/// # Errors
/// Returns the error of the file system if the folder does not exist or cannot be written.
pub fn check_can_create(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => probe(folder_of(path)),
    }
}

/// Checks that a file can be created, as [`check_can_create`] does, by a caller that creates missing folders too.
pub fn check_can_create_folders(path: &Path) -> io::Result<()> {
    let exists = |folder: &&Path| folder.symlink_metadata().is_ok();
    match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => probe(path.ancestors().skip(1).find(exists).unwrap_or(Path::new("."))),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Only the file system itself knows: a file is created and removed.
fn probe(folder: &Path) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = folder.join(format!(".hyperslab-probe-{}-{number}", system::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&name);
    made.and_then(|_| std::fs::remove_file(&name))
}
