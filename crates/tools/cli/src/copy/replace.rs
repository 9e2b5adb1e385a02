//! A file or folder that takes its place when it is whole: written under another name next to it, then renamed.

use std::cell::OnceCell;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use dir::{Dir, EntryKind, Open};
use hyperslab::{Error, Result};

/// Links that are followed to where a file really is, and names that are tried for one.
const ATTEMPTS_MAX: usize = 40;

/// A container to come, and what it replaces.
pub(super) struct Replacement {
    /// Where it goes: what symbolic links lead to, and not a link itself.
    path: PathBuf,
    /// The folder that it goes to, once it is there: what is next to it is reached without following links.
    dir: OnceCell<Dir>,
    old: Option<Metadata>,
}

/// The remains of an earlier run, open: a link that is put in their place leads nowhere.
pub(super) enum LeftOver {
    /// A file, in its folder.
    File { file: File, dir: Dir, name: PathBuf },
    /// A folder.
    Dir(Dir),
}

impl LeftOver {
    /// Returns the path by which it is opened.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            LeftOver::Dir(dir) => dir.pinned(),
            LeftOver::File { file, dir, name } => dir.pinned_file(name, file),
        }
    }
}

fn failed(e: &io::Error, path: &Path) -> Error {
    Error::io("replace file", e).with("path", path.display())
}

/// Returns the file that a path means, also where nothing is there yet.
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
        Ok(Replacement { path, dir: OnceCell::new(), old })
    }

    /// Returns whether something is there already.
    pub(super) fn is_there(&self) -> bool {
        self.old.is_some()
    }

    /// Returns where it is written, in the order in which names are tried.
    pub(super) fn temporaries(&self) -> Vec<PathBuf> {
        let process = std::process::id();
        let name = |n| match n {
            0 => self.named(&format!(".{process}.partial")),
            n => self.named(&format!(".{process}-{n}.partial")),
        };
        (0..ATTEMPTS_MAX).map(name).collect()
    }

    /// Returns where several runs write it, one after another.
    pub(super) fn resumed(&self) -> PathBuf {
        self.named(".partial")
    }

    /// Returns the path with something after its name.
    fn named(&self, end: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    }

    fn dir(&self) -> io::Result<&Dir> {
        if let Some(dir) = self.dir.get() {
            return Ok(dir);
        }
        let (dir, _) = Dir::of_file(&self.path)?;
        Ok(self.dir.get_or_init(|| dir))
    }

    /// Returns the name of what lies in the same folder.
    fn name(path: &Path) -> io::Result<&Path> {
        path.file_name().map(Path::new).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Returns a file in the same folder, to change it.
    pub(super) fn file(&self, path: &Path) -> io::Result<File> {
        self.dir()?.file(Self::name(path)?, Open::Write)
    }

    /// Returns what an earlier run left under a name in the same folder, or `None` where nothing is there. A link is an error.
    pub(super) fn left(&self, path: &Path) -> Result<Option<LeftOver>> {
        let left = || {
            let (dir, name) = (self.dir()?, Self::name(path)?);
            let Some(found) = dir.find(name)? else { return Ok(None) };
            Ok(Some(match found.kind {
                EntryKind::Dir => LeftOver::Dir(dir.dir(name)?),
                _ => LeftOver::File {
                    file: dir.file(name, Open::Write)?,
                    dir: dir.clone(),
                    name: name.to_owned(),
                },
            }))
        };
        left().map_err(|e: io::Error| Error::io("go on with a copy", &e).with("path", path.display()))
    }

    /// Removes what a copy left under a name in the same folder. A file or a link goes itself, whatever it leads to; a folder
    /// as [`Replacement::remove_old`] says.
    pub(super) fn remove_left(&self, path: &Path, delete: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let io = |e: io::Error| failed(&e, path);
        let (dir, name) = (self.dir().map_err(io)?, Self::name(path).map_err(io)?);
        match dir.find(name).map_err(io)? {
            None => Ok(()),
            Some(found) if found.is_dir() => self.remove_old(path, delete),
            Some(_) => dir.remove_file(name).map_err(io),
        }
    }

    /// Removes a container that was replaced. A folder is opened first and emptied by `delete`, which gets a path that leads to
    /// this very folder; then its name goes. What is no folder is left to `delete`, which knows whether it is a container.
    pub(super) fn remove_old(&self, path: &Path, delete: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let io = |e: io::Error| failed(&e, path);
        let (dir, name) = (self.dir().map_err(io)?, Self::name(path).map_err(io)?);
        if !dir.is_dir(name) {
            return delete(path);
        }
        let folder = dir.dir(name).map_err(io)?;
        delete(&folder.pinned())?;
        match dir.remove_dir(name) {
            // A connector may remove its folder, too.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(io),
        }
    }

    /// Gives what is written the permissions of what it replaces, from the start.
    pub(super) fn keep_mode(&self, temporary: &Path) -> Result<()> {
        let kept = || {
            let (dir, name) = (self.dir()?, Self::name(temporary)?);
            match self.old.as_ref().filter(|old| old.is_dir() == dir.is_dir(name)) {
                Some(old) => dir.set_owner_of(name, old),
                None => Ok(()),
            }
        };
        kept().map_err(|e| failed(&e, &self.path))
    }

    /// Gives it its name, so that a crash does not take it away again. Returns where the old one is now, unless it is gone.
    pub(super) fn put(&self, temporary: &Path) -> Result<Option<PathBuf>> {
        let put = || {
            let (dir, from, to) = (self.dir()?, Self::name(temporary)?, Self::name(&self.path)?);
            let is_file = dir.is_file(from) && self.old.as_ref().is_none_or(Metadata::is_file);
            let old = match is_file || self.old.is_none() {
                true => dir.rename(from, to).map(|()| None),
                false => self.exchange(dir, from, to).map(Some),
            }?;
            // A name is part of its folder.
            dir.sync("")?;
            Ok(old)
        };
        put().map_err(|e: io::Error| failed(&e, &self.path))
    }

    /// Renames a folder over another one. The old one is moved out of the way first; returns where it is.
    fn exchange(&self, dir: &Dir, from: &Path, to: &Path) -> io::Result<PathBuf> {
        let names = (0..ATTEMPTS_MAX).map(|n| match n {
            0 => self.named(&format!(".{}.old", std::process::id())),
            n => self.named(&format!(".{}-{n}.old", std::process::id())),
        });
        let is_free = |path: &PathBuf| Self::name(path).is_ok_and(|name| dir.info(name).is_err());
        let aside = names.into_iter().find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
        let old = Self::name(&aside)?;
        dir.rename(to, old)?;
        if let Err(e) = dir.rename(from, to) {
            // The old one comes back; should that fail too, the error that is reported still names the place.
            let _ = dir.rename(old, to);
            return Err(e);
        }
        Ok(aside)
    }
}

/// Returns an error where a symbolic link stands in the way of a file that is written.
pub(super) fn refuse_link(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            let error = Error::denied("write file").with("path", path.display());
            Err(error.with("problem", "a symbolic link stands there; remove it"))
        }
        _ => Ok(()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_is_put_in_the_place_of_a_folder_is_not_followed_when_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (partial, other) = (at("x.partial"), at("other"));
        for path in [&partial, &other] {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("data"), "data").unwrap();
        }
        let replacement = Replacement::new(at("x")).unwrap();
        let removed = replacement.remove_left(&partial, |pinned| {
            std::fs::rename(&partial, at("aside")).unwrap();
            symlink(&other, &partial).unwrap();
            std::fs::remove_file(pinned.join("data")).unwrap();
            Ok(())
        });
        assert!(removed.is_err(), "what was put there stays");
        assert!(other.join("data").exists() && !at("aside").join("data").exists());
    }

    #[test]
    fn a_link_is_removed_itself() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("other")).unwrap();
        symlink(at("other"), at("x.partial")).unwrap();
        let replacement = Replacement::new(at("x")).unwrap();
        replacement.remove_left(&at("x.partial"), |_| panic!("no folder is there")).unwrap();
        assert!(at("other").is_dir() && !at("x.partial").is_symlink());
    }
}
