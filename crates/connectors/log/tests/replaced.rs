//! Files that are replaced while they are created or opened.

mod common;

use std::sync::Arc;

use common::{Folder, create, ints};
use hyperslab_log::LogConnector;
use model::Kind;
use model::properties::FileCreate;
use native::NativeConnector;
use vol::{Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess, Result};

/// Creates and opens HDF5 files, and puts another file in the place of each.
struct Replacing {
    other: String,
}

impl Connector for Replacing {
    fn info(&self) -> ConnectorInfo {
        NativeConnector.info()
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let created = NativeConnector.create(op)?;
        std::fs::rename(&self.other, op.path).unwrap();
        Ok(created)
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let opened = NativeConnector.open(op)?;
        std::fs::rename(&self.other, op.path).unwrap();
        Ok(opened)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        NativeConnector.is_accessible(op)
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_opened_is_an_error() {
    let folder = Folder::new();
    let (path, other) = (folder.path("a.h5"), folder.path("b.h5"));
    for path in [&path, &other] {
        let c = create(path, &FileAccess::write());
        ints(&*c, "d", &[4, 4]);
        c.close().unwrap();
    }
    let before = std::fs::read(&other).unwrap();
    let connector = LogConnector::new(Arc::new(Replacing { other }));
    let refused = connector.open_log(&ContainerOpen::new(&path, &FileAccess::write()));
    assert_eq!(refused.err().map(|error| error.kind()), Some(Kind::Busy));
    assert_eq!(std::fs::read(&path).unwrap(), before, "the other file is as it was");
}

#[test]
fn a_file_that_is_replaced_while_it_is_created_is_an_error() {
    let folder = Folder::new();
    let (path, other) = (folder.path("a.h5"), folder.path("b.h5"));
    std::fs::write(&other, b"of somebody else").unwrap();
    let connector = LogConnector::new(Arc::new(Replacing { other }));
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let refused = connector.create_log(&ContainerCreate::new(&path, &create, &access));
    assert_eq!(refused.err().map(|error| error.kind()), Some(Kind::Busy));
    assert_eq!(std::fs::read(&path).unwrap(), b"of somebody else", "the other file is as it was");
}
