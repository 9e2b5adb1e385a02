//! Files that only their owner may read.
//!
//! On Windows a file has the rights of its folder, and folders of a user's profile are the user's own: there is nothing to set,
//! and nothing to check.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Creates a folder and its parents, which only the user may enter.
pub fn create_dir_all(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    of_system::restrict_dir(&mut builder);
    builder.recursive(true).create(path)
}

/// Creates a file that only the user may read, to write it.
///
/// # Errors
/// Returns `AlreadyExists` if something has this name.
pub fn create_new(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    of_system::restrict(&mut options);
    options.write(true).create_new(true).open(path)
}

/// Opens a file to append to it. A new file is one that only the user may read.
pub fn append(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    of_system::restrict(&mut options);
    options.append(true).create(true).open(path)
}

/// Opens a regular file to read it.
///
/// # Errors
/// Returns `PermissionDenied` if it belongs to another user or if others may read it, and an error if it is a link.
pub fn open_own(path: &Path) -> Result<File> {
    let file = of_system::open_no_link(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() && of_system::is_own(&metadata) && !is_shared(&metadata) {
        true => Ok(file),
        false => Err(ErrorKind::PermissionDenied.into()),
    }
}

/// Returns whether others than its owner may use a file.
pub fn is_shared(metadata: &std::fs::Metadata) -> bool {
    of_system::is_shared(metadata)
}

#[cfg(unix)]
mod of_system {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io::Result;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    pub(super) fn restrict_dir(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    pub(super) fn restrict(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    /// Opens a file without following a link, which could lead to a file of someone else.
    pub(super) fn open_no_link(path: &Path) -> Result<File> {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
        OpenOptions::new().read(true).custom_flags(flags).open(path)
    }

    pub(super) fn is_own(metadata: &Metadata) -> bool {
        metadata.uid() == rustix::process::geteuid().as_raw()
    }

    pub(super) fn is_shared(metadata: &Metadata) -> bool {
        metadata.mode() & 0o077 != 0
    }
}

#[cfg(not(unix))]
mod of_system {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io::{ErrorKind, Result};
    use std::path::Path;

    pub(super) fn restrict_dir(_: &mut DirBuilder) {}

    pub(super) fn restrict(_: &mut OpenOptions) {}

    pub(super) fn open_no_link(path: &Path) -> Result<File> {
        match path.symlink_metadata()?.is_symlink() {
            true => Err(ErrorKind::PermissionDenied.into()),
            false => File::open(path),
        }
    }

    pub(super) fn is_own(_: &Metadata) -> bool {
        true
    }

    pub(super) fn is_shared(_: &Metadata) -> bool {
        false
    }
}
