//! A file or folder that takes its place when it is whole: written under another name beside it, then renamed.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use hyperslab::{Error, Result};

/// Links that are followed to where a file really is, and names that are tried for one.
const ATTEMPTS_MAX: usize = 40;

/// A container to come, and what it replaces.
pub(super) struct Replacement {
    /// Where it goes: what symbolic links lead to, and not a link itself.
    path: PathBuf,
    old: Option<Metadata>,
}

fn failed(e: &io::Error, path: &Path) -> Error {
    Error::io("replace file", e).with("path", path.display())
}

/// The file that a path means, also where nothing is there yet.
fn resolved(mut path: PathBuf) -> Result<PathBuf> {
    for _ in 0..ATTEMPTS_MAX {
        match std::fs::read_link(&path) {
            // A relative link counts from its own folder.
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::limit("follow symbolic links").with("path", path.display()))
}

impl Replacement {
    pub(super) fn new(path: PathBuf) -> Result<Self> {
        let path = resolved(path)?;
        let old = match std::fs::metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            found => Some(found.map_err(|e| failed(&e, &path))?),
        };
        Ok(Replacement { path, old })
    }

    /// Whether something is there already.
    pub(super) fn is_there(&self) -> bool {
        self.old.is_some()
    }

    /// Where it is written, in the order in which names are tried.
    pub(super) fn temporaries(&self) -> Vec<PathBuf> {
        let process = std::process::id();
        let name = |n| match n {
            0 => self.named(&format!(".{process}.partial")),
            n => self.named(&format!(".{process}-{n}.partial")),
        };
        (0..ATTEMPTS_MAX).map(name).collect()
    }

    /// Where several runs write it, one after another.
    pub(super) fn resumed(&self) -> PathBuf {
        self.named(".partial")
    }

    /// The path with something after its name.
    fn named(&self, end: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    }

    /// What is written may be seen by those who may see what it replaces, from the start.
    pub(super) fn keep_mode(&self, temporary: &Path) -> Result<()> {
        let Some(old) = self.old.as_ref().filter(|old| old.is_dir() == temporary.is_dir()) else {
            return Ok(());
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            // Only the superuser may give a file away; the mode comes after, since a new owner may clear some of it.
            let _ = std::os::unix::fs::chown(temporary, Some(old.uid()), Some(old.gid()));
        }
        std::fs::set_permissions(temporary, old.permissions()).map_err(|e| failed(&e, &self.path))
    }

    /// Gives it its name, so that a crash does not take it away again. Returns where the old one is now, unless it is gone.
    pub(super) fn put(&self, temporary: &Path) -> Result<Option<PathBuf>> {
        let is_file = temporary.is_file() && self.old.as_ref().is_none_or(Metadata::is_file);
        let done = match is_file || self.old.is_none() {
            true => std::fs::rename(temporary, &self.path).map(|()| None),
            false => self.exchange(temporary).map(Some),
        };
        let done = done.and_then(|old| sync_folder(&self.path).map(|()| old));
        done.map_err(|e| failed(&e, &self.path))
    }

    /// A folder cannot be renamed over another one: the old one goes out of the way first.
    fn exchange(&self, temporary: &Path) -> io::Result<PathBuf> {
        let aside = self.named(&format!(".{}.old", std::process::id()));
        std::fs::rename(&self.path, &aside)?;
        if let Err(e) = std::fs::rename(temporary, &self.path) {
            // The old one comes back; should that fail too, the error that is told still names the place.
            let _ = std::fs::rename(&aside, &self.path);
            return Err(e);
        }
        Ok(aside)
    }
}

/// Writes the folder of a file to the medium: a name is part of its folder.
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// An error where a symbolic link stands in the way of a file that is written.
pub(super) fn refuse_link(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            let error = Error::denied("write file").with("path", path.display());
            Err(error.with("problem", "a symbolic link stands there; remove it"))
        }
        _ => Ok(()),
    }
}
