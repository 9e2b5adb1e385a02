//! Paths that are checked before they are used, where the system has no directory descriptors. What stands there when a
//! program comes is not followed; a stranger who swaps a directory for a link between the check and the use is not kept out.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Entries, Entry, EntryKind, Info, Open, in_use, is_a_link, not_a_file};

/// The path of a directory.
#[derive(Debug)]
pub(super) struct Handle(PathBuf);

fn info_at(path: &Path) -> io::Result<Info> {
    let found = fs::symlink_metadata(path)?;
    Ok(Info {
        kind: EntryKind::of(found.file_type()),
        bytes: found.len(),
        modified: found.modified().ok(),
        permissions: Some(found.permissions()),
    })
}

/// Returns an error unless a directory, and no link to one, stands at a path.
fn check_dir(path: &Path) -> io::Result<()> {
    match info_at(path)?.kind {
        EntryKind::Dir => Ok(()),
        EntryKind::Link => Err(is_a_link()),
        _ => Err(ErrorKind::NotADirectory.into()),
    }
}

impl Handle {
    pub(super) fn pinned(&self) -> Option<std::path::PathBuf> {
        None
    }

    pub(super) fn real_path(&self) -> Option<std::path::PathBuf> {
        None
    }

    pub(super) fn pinned_file(_: &File) -> Option<std::path::PathBuf> {
        None
    }

    pub(super) fn open(path: &Path) -> io::Result<Handle> {
        let path = fs::canonicalize(path)?;
        check_dir(&path)?;
        Ok(Handle(path))
    }

    /// Returns the whole path of something, whose directories on the way are no links.
    fn whole(&self, path: &Path) -> io::Result<PathBuf> {
        let mut here = self.0.clone();
        for part in path.parent().into_iter().flat_map(Path::components) {
            here.push(part);
            check_dir(&here)?;
        }
        here.extend(path.file_name());
        Ok(here)
    }

    pub(super) fn dir(&self, path: &Path) -> io::Result<Handle> {
        let path = self.whole(path)?;
        check_dir(&path)?;
        Ok(Handle(path))
    }

    pub(super) fn file(&self, path: &Path, how: Open) -> io::Result<File> {
        let path = self.whole(path)?;
        // Before it is opened: a pipe would wait for its other end.
        match info_at(&path) {
            Ok(found) if how == Open::CreateNew || found.is_file() => {}
            Ok(found) if found.kind == EntryKind::Link => return Err(is_a_link()),
            Ok(_) => return Err(not_a_file()),
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            Err(_) => {}
        }
        let mut options = OpenOptions::new();
        options.read(true).write(how.is_writable());
        options.create(how == Open::CreateOrOpen).create_new(how == Open::CreateNew);
        options.open(path)
    }

    pub(super) fn info(&self, path: &Path) -> io::Result<Info> {
        info_at(&self.whole(path)?)
    }

    pub(super) fn make_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(self.whole(path)?)
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.whole(from)?, self.whole(to)?);
        in_use::retry(|| fs::rename(&from, &to))
    }

    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        let path = self.whole(path)?;
        in_use::retry(|| fs::remove_file(&path))
    }

    pub(super) fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let path = self.whole(path)?;
        in_use::retry(|| fs::remove_dir(&path))
    }

    pub(super) fn entries(&self, path: &Path) -> io::Result<Entries> {
        let path = self.whole(path)?;
        check_dir(&path)?;
        Ok(Box::new(fs::read_dir(path)?.map(|entry| {
            let entry = entry?;
            Ok(Entry { name: entry.file_name(), kind: EntryKind::of(entry.file_type()?) })
        })))
    }

    pub(super) fn set_owner_of(&self, path: &Path, other: &Metadata) -> io::Result<()> {
        let path = self.whole(path)?;
        match info_at(&path)?.kind {
            EntryKind::File | EntryKind::Dir => fs::set_permissions(path, other.permissions()),
            _ => Err(not_a_file()),
        }
    }

    /// Names are as durable as the system makes them, where it syncs no directories.
    pub(super) fn sync(&self, path: &Path) -> io::Result<()> {
        check_dir(&self.whole(path)?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn files_and_directories_are_created_renamed_listed_and_removed() {
        let base = std::env::temp_dir().join(format!("hyperslab-checked-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let handle = Handle::open(&base).unwrap();
        handle.make_dir(Path::new("sub")).unwrap();
        handle.file(Path::new("sub/one"), Open::CreateNew).unwrap().write_all(b"text").unwrap();
        let again = handle.file(Path::new("sub/one"), Open::CreateNew).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        handle.file(Path::new("two"), Open::CreateOrOpen).unwrap();
        handle.rename(Path::new("sub/one"), Path::new("two")).unwrap();
        let mut text = String::new();
        handle.file(Path::new("two"), Open::Read).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), handle.info(Path::new("two")).unwrap().bytes), ("text", 4));
        assert!(handle.file(Path::new("sub"), Open::Read).is_err(), "a directory is no file");
        assert_eq!(handle.entries(Path::new("")).unwrap().count(), 2);
        handle.sync(Path::new("sub")).unwrap();
        handle.remove_file(Path::new("two")).unwrap();
        handle.remove_dir(Path::new("sub")).unwrap();
        assert_eq!(handle.entries(Path::new("")).unwrap().count(), 0);
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn a_file_that_is_open_is_replaced_at_once_or_when_it_is_closed() {
        let base = std::env::temp_dir().join(format!("hyperslab-in-use-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let handle = Handle::open(&base).unwrap();
        let (old, new) = (Path::new("old"), Path::new("new"));
        for round in 0..3 {
            handle.file(old, Open::CreateOrOpen).unwrap();
            handle.file(new, Open::CreateNew).unwrap().write_all(&[round]).unwrap();
            let in_use = handle.file(old, Open::Read).unwrap();
            let user = std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                drop(in_use);
            });
            handle.rename(new, old).unwrap();
            assert_eq!(fs::read(base.join(old)).unwrap(), [round]);
            user.join().unwrap();
        }
        handle.remove_file(old).unwrap();
        fs::remove_dir_all(&base).unwrap();
    }
}
