//! Removal of a container, file by file. Other files in its folder stay.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dir::{Dir, Entry, EntryKind, is_temporary};
use model::{Error, Result};

use crate::folder::{heap_path, lock_path};
use crate::homes::{GROUP_FILE, OWN_FOLDER, TYPES_FOLDER};
use crate::recover;
use crate::save::failed;

/// Where things of others are that stood in a group which is gone.
const ASIDE_FOLDER: &str = "left";
/// Names that are tried for one of them.
const ATTEMPTS_MAX: u32 = 1000;

fn ends_with(name: &OsStr, ending: &str) -> bool {
    name.as_encoded_bytes().ends_with(ending.as_bytes())
}

/// Returns whether a file of a group's folder belongs to the container. A plain file without metadata is a dataset.
fn is_of_group(name: &OsStr) -> bool {
    name == GROUP_FILE || is_temporary(name) || !name.as_encoded_bytes().starts_with(b".")
}

/// Returns whether a file of the folder of a group without objects belongs to the container.
pub(crate) fn is_of_empty_group(name: &OsStr) -> bool {
    name == GROUP_FILE || is_temporary(name) || ends_with(name, ".link")
}

/// Returns whether a file in the folder of waiting elements is one.
pub(crate) fn is_of_waiting(name: &OsStr) -> bool {
    ends_with(name, ".bin") || ends_with(name, ".tmp")
}

/// Returns whether the container has a file or folder of this path.
fn is_ours(path: &Path, kind: EntryKind) -> bool {
    let name = path.file_name().unwrap_or_default();
    let is_own = path.starts_with(OWN_FOLDER);
    match (kind, path.parent()) {
        (EntryKind::Link | EntryKind::Other, _) | (_, None) => false,
        (EntryKind::Dir, _) if path == Path::new(OWN_FOLDER) => true,
        (EntryKind::Dir, Some(folder)) if is_own && folder == Path::new(OWN_FOLDER) => {
            [recover::waiting_folder(), recover::moving_folder(), types_folder()].contains(&path.to_owned())
        }
        (EntryKind::File, Some(folder)) if is_own && folder == Path::new(OWN_FOLDER) => {
            is_temporary(name) || [heap_path(), lock_path(), recover::note_path()].contains(&path.to_owned())
        }
        (EntryKind::File, Some(folder)) if folder == recover::waiting_folder() => is_of_waiting(name),
        (EntryKind::File, Some(folder)) if folder == types_folder() => {
            ends_with(name, ".json") || is_temporary(name)
        }
        // Groups, and groups that were moving.
        (EntryKind::File, _) => is_of_group(name),
        (EntryKind::Dir, _) => !name.as_encoded_bytes().starts_with(b"."),
    }
}

fn types_folder() -> PathBuf {
    Path::new(OWN_FOLDER).join(TYPES_FOLDER)
}

/// Goes through a container: its files are given to `work`, folders are returned before those in them, with the first
/// path that is not the container's.
fn walk(dir: &Dir, mut work: impl FnMut(PathBuf) -> Result<()>) -> Result<(Vec<PathBuf>, Option<PathBuf>)> {
    let (mut folders, mut foreign, mut next) = (vec![PathBuf::new()], None, 0);
    while let Some(folder) = folders.get(next).cloned() {
        next += 1;
        let listing = |e: std::io::Error| failed("list folder", dir, &folder, &e);
        for entry in dir.entries(&folder).map_err(listing)? {
            let Entry { name, kind } = entry.map_err(listing)?;
            let path = folder.join(name);
            match kind {
                _ if !is_ours(&path, kind) => foreign = foreign.or(Some(path)),
                EntryKind::Dir => folders.push(path),
                _ => work(path)?,
            }
        }
    }
    Ok((folders, foreign))
}

/// Something in the folder of a container that is not the container's.
pub(crate) fn foreign(dir: &Dir) -> Result<Option<PathBuf>> {
    Ok(walk(dir, |_| Ok(()))?.1.map(|path| dir.path(path)))
}

/// Returns the error for what stays.
pub(crate) fn not_ours(operation: &str, path: &Path) -> Error {
    let error = Error::denied(operation).with("problem", "it holds what is not the container's");
    error.with("path", path.display()).with("help", "move that away, or remove it yourself")
}

/// Removes the files of a container, then its empty folders; its own folder stays. What is not the container's stays too,
/// and is named in an error. Stopped in the middle, it can be done again: what makes it a container goes last.
pub(crate) fn clear(dir: &Dir, operation: &str) -> Result<()> {
    let root = Path::new(GROUP_FILE);
    let remove = |path: &Path| crate::moves::remove_file(dir, path);
    let (folders, foreign) = walk(dir, |path| if path == root { Ok(()) } else { remove(&path) })?;
    for folder in folders.iter().skip(1).rev() {
        match dir.remove_dir(folder) {
            Err(e) if e.kind() == std::io::ErrorKind::DirectoryNotEmpty && foreign.is_some() => {}
            removed => removed.map_err(|e| failed("remove folder", dir, folder, &e))?,
        }
    }
    remove(root)?;
    foreign.map_or(Ok(()), |path| Err(not_ours(operation, &dir.path(path))))
}

/// Moves a folder with things of others out of the way; where it is now.
pub(crate) fn keep_aside(dir: &Dir, folder: &Path, name: &str) -> Result<PathBuf> {
    let aside = Path::new(OWN_FOLDER).join(ASIDE_FOLDER);
    dir.make_dirs(&aside).map_err(|e| failed("create folder", dir, &aside, &e))?;
    let names = (0..ATTEMPTS_MAX).map(|n| aside.join(format!("{name}-{n}")));
    let free = names.into_iter().find(|path| dir.info(path).is_err()).unwrap_or_else(|| aside.join(name));
    dir.rename(folder, &free).map_err(|e| failed("move", dir, folder, &e))?;
    Ok(free)
}
