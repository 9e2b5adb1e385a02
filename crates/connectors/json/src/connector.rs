//! The connector: documents by path, and which of them are open.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use dir::{Dir, Open};
use json_text::files::check_access;
use model::text::to_path;
use model::{Error, Result};
use system::sync::{Mutex, MutexGuard};
use vol::{
    Access, Capability, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess,
};

use crate::container::JsonContainer;
use crate::document::{Document, folder_of};

/// Everything that the memory connector has, and it lasts. Times are left out: they would differ in every diff.
pub(crate) const CAPABILITY: Capability = Capability { times: false, ..Capability::ALL };

/// Name in locations.
pub(crate) const NAME: &str = "json";

/// Bytes at the start of a file that show whether it is a document.
const HEAD_BYTES: u64 = 4096;

/// Stores containers as JSON documents. Clones share the open ones.
#[derive(Clone, Default)]
pub struct JsonConnector {
    open: Arc<Mutex<HashMap<PathBuf, Weak<Document>>>>,
}

impl std::fmt::Debug for JsonConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonConnector").field("open", &self.table().len()).finish()
    }
}

impl JsonConnector {
    /// Returns a connector without open documents.
    pub fn new() -> Self {
        Self::default()
    }

    fn table(&self) -> MutexGuard<'_, HashMap<PathBuf, Weak<Document>>> {
        let mut table = self.open.lock();
        table.retain(|_, document| document.strong_count() > 0);
        table
    }
}

/// Returns one path for one file, however it is written; it may not exist yet.
fn absolute(path: &str) -> Result<PathBuf> {
    let path = &*to_path(path);
    let failed = |e: std::io::Error| Error::io("find document", &e).with("path", path.display());
    if let Ok(found) = dir::real_path(path) {
        return Ok(found);
    }
    let name =
        path.file_name().ok_or_else(|| Error::invalid("find document").with("path", path.display()))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(dir::real_path(folder).map_err(failed)?.join(name))
}

/// Returns where a new document goes, if nothing is in the way.
fn free(table: &HashMap<PathBuf, Weak<Document>>, op: &ContainerCreate<'_>) -> Result<PathBuf> {
    check_access(op.engine, op.access)?;
    let path = absolute(op.path)?;
    if path.exists() && !op.truncate {
        return Err(Error::exists("create document").with("path", op.path));
    }
    match table.contains_key(&path) {
        true => Err(Error::busy("replace document").with("path", op.path)),
        false => Ok(path),
    }
}

/// Returns whether a text starts as documents do. A file that is none does not hang a caller that asks.
fn is_document(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = Dir::of_file(path).and_then(|(dir, name)| dir.file(name, Open::Read));
    let read = file.and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).is_ok();
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    read && text.starts_with('{') && text.contains("\"apiVersion\"")
}

impl Connector for JsonConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: NAME,
            value: 531,
            version: 1,
            capability: CAPABILITY,
            about: "one HDF5/JSON text that people can diff, for small data",
        }
    }

    fn check_create(&self, op: &ContainerCreate<'_>) -> Result<()> {
        vol::places::check_can_create(&free(&self.table(), op)?)
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let mut table = self.table();
        let path = free(&table, op)?;
        let document = Document::create(&path, op)?;
        table.insert(path, Arc::downgrade(&document));
        // A new document can be written, whatever the access asked for: there is nothing to read in it.
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        Ok(Arc::new(JsonContainer::new(document, op.path, &access)?))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        check_access(op.engine, op.access)?;
        let path = absolute(op.path)?;
        // The table is held while a document is read: two who open one at the same time get the same one.
        let mut table = self.table();
        let document = match table.get(&path).and_then(Weak::upgrade) {
            Some(document) => document,
            None => {
                let document = Document::open(&path, op)?;
                table.insert(path, Arc::downgrade(&document));
                document
            }
        };
        drop(table);
        Ok(Arc::new(JsonContainer::new(document, op.path, op.access)?))
    }

    fn is_at_path(&self, engine: Option<&str>) -> bool {
        engine.is_none()
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        let found = absolute(path)?;
        if self.table().contains_key(&found) {
            return Err(Error::busy("delete document").with("path", path));
        }
        if found.symlink_metadata().is_ok() && !is_document(&found) {
            return Err(Error::invalid("delete document")
                .with("problem", "not a document")
                .with("path", path));
        }
        let (dir, name) = folder_of(&found)?;
        dir.remove_file(name).map_err(|e| Error::io("delete document", &e).with("path", path))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Ok(absolute(path).is_ok_and(|found| is_document(&found)))
    }
}
