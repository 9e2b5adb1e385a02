//! Whether something can be created at a path, for connectors that keep containers in a file system.

use std::path::Path;

use files::probe;
use model::{Error, Result};

/// Returns an error if nothing can be created at `path`: its folder does not exist or cannot be written. What already is
/// at `path` is left alone.
pub fn check_can_create(path: &Path) -> Result<()> {
    probe::check_can_create(path).map_err(|e| Error::io("create", &e).with("path", path.display()))
}

/// Does what [`check_can_create`] does, for those who create missing folders too.
pub fn check_can_create_folders(path: &Path) -> Result<()> {
    probe::check_can_create_folders(path).map_err(|e| Error::io("create", &e).with("path", path.display()))
}
