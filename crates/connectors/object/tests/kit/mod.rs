//! What several tests need.
#![allow(dead_code, unused_imports, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;

use hyperslab_object::ObjectConnector;
use model::Result;
use model::properties::FileCreate;
pub(crate) use testkit::ints::{dataset, int, problems, read, repair, write};
use vol::{Connector, Container, ContainerCreate, ContainerOpen, FileAccess};

/// A new container in a folder.
pub(crate) fn create(folder: &Path, create: &FileCreate) -> Result<Arc<dyn Container>> {
    let access = FileAccess::write();
    let path = folder.display().to_string();
    ObjectConnector::new().create(&ContainerCreate::new(&path, create, &access))
}

/// The container in a folder.
pub(crate) fn open(folder: &Path, access: &FileAccess) -> Result<Arc<dyn Container>> {
    ObjectConnector::new().open(&ContainerOpen::new(&folder.display().to_string(), access))
}

/// The inner store a container that is closed.
pub(crate) fn store(folder: &Path, mode: objects::Mode) -> Arc<dyn objects::Store> {
    let pool = objects::embedded::pool(folder);
    let id = pool.list().unwrap()[0];
    pool.open(id, mode).unwrap()
}
