//! The connector: containers by folder, and which of them are open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use dir::Dir;
use json_text::files::check_access;
use model::text::to_path;
use model::{Error, Result};
use system::sync::{Mutex, MutexGuard};
use vol::{
    Access, Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess,
    Limits,
};

use crate::container::RawContainer;
use crate::folder::Folder;
use crate::homes::GROUP_FILE;
use crate::load::check_format;
use crate::removal;
use crate::scan::read_metadata;

/// Elements are plain, so there are no chunks as they are stored; and times are those of the files.
pub(crate) const CAPABILITY: Capability = Capability { raw_chunks: false, times: false, ..Capability::ALL };

/// Name in locations.
pub(crate) const NAME: &str = "raw";

/// Stores containers as folders. Clones share the open ones.
#[derive(Clone, Default)]
pub struct RawConnector {
    open: Arc<Mutex<HashMap<PathBuf, Weak<Folder>>>>,
}

impl std::fmt::Debug for RawConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawConnector").field("open", &self.table().len()).finish()
    }
}

impl RawConnector {
    /// Returns a connector without open containers.
    pub fn new() -> Self {
        Self::default()
    }

    fn table(&self) -> MutexGuard<'_, HashMap<PathBuf, Weak<Folder>>> {
        let mut table = self.open.lock();
        table.retain(|_, folder| folder.strong_count() > 0);
        table
    }
}

/// A container that is open is not replaced.
fn check_closed(table: &HashMap<PathBuf, Weak<Folder>>, op: &ContainerCreate<'_>) -> Result<()> {
    match found(op.path).is_ok_and(|dir| table.contains_key(&dir.path(""))) {
        true if op.truncate => Err(Error::busy("replace folder").with("path", op.path)),
        true => Err(Error::exists("create folder").with("path", op.path)),
        false => Ok(()),
    }
}

fn failed(operation: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::io(operation, e).with("path", path.display())
}

/// Opens the folder of a container, whose path may be a link: the user gave it. One folder has one path, however it is written,
/// and is followed once.
fn found(path: &str) -> Result<Dir> {
    let path = &*to_path(path);
    Dir::open_real(path).map_err(|e| failed("find folder", path, &e))
}

/// Returns whether a folder is a container of ours.
fn is_container(dir: &Dir) -> bool {
    let metadata = read_metadata(dir, Path::new(GROUP_FILE), &Limits::strict());
    metadata.is_ok_and(|(value, _)| check_format(&value).is_ok())
}

fn is_empty_folder(path: &Path) -> bool {
    Dir::open(path).and_then(|dir| dir.entries("")).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns the container that must be replaced, if it may be.
fn check_space(path: &Path, truncate: bool) -> Result<Option<Dir>> {
    if path.symlink_metadata().is_err() || is_empty_folder(path) {
        return Ok(None);
    }
    if !truncate {
        return Err(Error::exists("create folder").with("path", path.display()));
    }
    let refused =
        |problem| Error::invalid("replace folder").with("path", path.display()).with("problem", problem);
    let dir = Dir::open(path).ok().filter(is_container).ok_or_else(|| refused("it is no raw container"))?;
    match removal::foreign(&dir)? {
        // Before anything is removed.
        Some(foreign) => Err(removal::not_ours("replace folder", &foreign)),
        None => Ok(Some(dir)),
    }
}

/// An empty folder in the place of what may be there.
fn make_space(path: &Path, truncate: bool) -> Result<()> {
    match check_space(path, truncate)? {
        Some(dir) => removal::clear(&dir, "replace folder"),
        None if path.is_dir() => Ok(()),
        None => std::fs::create_dir(path).map_err(|e| failed("create folder", path, &e)),
    }
}

impl Connector for RawConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: NAME,
            value: 530,
            version: 1,
            capability: CAPABILITY,
            about: "folders and plain binary files, with readable metadata next to them",
        }
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        check_access(op.engine, op.access)?;
        check_closed(&self.table(), op)?;
        let path = to_path(op.path);
        check_space(&path, op.truncate)?;
        vol::places::check_can_create(&path)
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        check_access(op.engine, op.access)?;
        let mut table = self.table();
        check_closed(&table, op)?;
        make_space(&to_path(op.path), op.truncate)?;
        let dir = found(op.path)?;
        let path = dir.path("");
        let folder = Folder::create(dir, op)?;
        table.insert(path, Arc::downgrade(&folder));
        drop(table);
        // A new container can be written, whatever the access asked for: there is nothing to read in it.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        RawContainer::open(folder, op.path, &access)
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        check_access(op.engine, op.access)?;
        let dir = found(op.path)?;
        let path = dir.path("");
        // The table is held while a folder is read: two who open one at the same time get the same one.
        let mut table = self.table();
        let folder = match table.get(&path).and_then(Weak::upgrade) {
            Some(folder) => folder,
            None => {
                let folder = Folder::open(dir, op)?;
                table.insert(path, Arc::downgrade(&folder));
                folder
            }
        };
        drop(table);
        RawContainer::open(folder, op.path, op.access)
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        engine.is_none()
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        let dir = found(path)?;
        let folder = dir.path("");
        if self.table().contains_key(&folder) {
            return Err(Error::busy("delete folder").with("path", path));
        }
        if !is_container(&dir) {
            return Err(Error::invalid("delete folder")
                .with("problem", "it is no raw container")
                .with("path", path));
        }
        removal::clear(&dir, "delete folder")?;
        let removed = Dir::of_file(&folder).and_then(|(parent, name)| parent.remove_dir(name));
        removed.map_err(|e| failed("delete folder", &folder, &e))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Ok(Dir::open(&to_path(path)).is_ok_and(|dir| is_container(&dir)))
    }
}
