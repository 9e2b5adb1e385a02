//! Checks whether something can be created at a path, for connectors that store containers in a file system.

use std::path::Path;

use files::probe;
use model::{Error, Result};

/// Checks that something can be created at `path`. What already is at `path` is not changed.
///
/// # Errors
/// Returns an error if the folder of `path` does not exist or cannot be written.
pub fn check_can_create(path: &Path) -> Result<()> {
    probe::check_can_create(path).map_err(|e| Error::io("create", &e).with("path", path.display()))
}

/// Checks that something can be created at `path` by a caller that creates missing folders too.
///
/// # Errors
/// Returns an error if the first folder above `path` that exists cannot be written.
pub fn check_can_create_folders(path: &Path) -> Result<()> {
    probe::check_can_create_folders(path).map_err(|e| Error::io("create", &e).with("path", path.display()))
}
