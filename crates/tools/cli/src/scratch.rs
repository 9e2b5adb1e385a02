//! A folder for temporary files, which was made in this run and goes with it.

use std::path::{Path, PathBuf};

use hyperslab::{Error, Result};

/// Names that are tried.
const ATTEMPTS_MAX: u32 = 1000;

/// A folder of our own, which goes when this does.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(purpose: &str) -> Result<Self> {
        let name = format!("hyperslab-{purpose}-{}", std::process::id());
        let mut folder = std::env::temp_dir().join(&name);
        // What stands there already is not ours, a symbolic link among others.
        for attempt in 0..ATTEMPTS_MAX {
            match std::fs::create_dir(&folder) {
                Ok(()) => return Ok(Scratch(folder)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    folder = std::env::temp_dir().join(format!("{name}-{attempt}"));
                }
                Err(error) => return Err(Error::io("create folder", &error).with("path", folder.display())),
            }
        }
        Err(Error::busy("create folder").with("path", folder.display()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which clears the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
