//! What several tests need.
#![allow(dead_code, unused_imports, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;

use hyperslab_iod::IodConnector;
use iod_storage::{Mode, Service};
use model::Result;
use model::properties::FileCreate;
pub(crate) use testkit::ints::{dataset, int, problems, read, repair, write};
use vol::{Connector, Container, ContainerCreate, ContainerOpen, FileAccess};

/// A new container in a folder.
pub(crate) fn create(folder: &Path, create: &FileCreate) -> Result<Arc<dyn Container>> {
    let access = FileAccess::write();
    let path = folder.display().to_string();
    IodConnector::new().create(&ContainerCreate::new(&path, create, &access))
}

/// The container in a folder.
pub(crate) fn open(folder: &Path, access: &FileAccess) -> Result<Arc<dyn Container>> {
    IodConnector::new().open(&ContainerOpen::new(&folder.display().to_string(), access))
}

/// The inner storage a container that is closed.
pub(crate) fn storage(folder: &Path, mode: Mode) -> iod_storage::Container {
    let name = folder.file_name().unwrap().to_str().unwrap();
    Service::folder(folder.parent().unwrap()).open(name, mode).unwrap()
}
