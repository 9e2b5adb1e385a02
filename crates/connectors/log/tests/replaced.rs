//! Files whose path leads to another file while they are created or opened.
#![cfg(unix)]

mod common;

use std::os::unix::fs::symlink;
use std::sync::Arc;

use common::{Folder, create, find, get, ints, open, put};
use hyperslab_log::LogConnector;
use model::Selection;
use model::properties::FileCreate;
use native::NativeConnector;
use vol::{Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess, Result};

/// Creates and opens HDF5 files, renames each, and puts a link to another file in its place.
struct Swapping {
    aside: String,
    other: String,
}

impl Swapping {
    fn swap(&self, path: &str) {
        std::fs::rename(path, &self.aside).unwrap();
        symlink(&self.other, path).unwrap();
    }
}

impl Connector for Swapping {
    fn info(&self) -> ConnectorInfo {
        NativeConnector.info()
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        NativeConnector.create(op).inspect(|_| self.swap(op.path))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        NativeConnector.open(op).inspect(|_| self.swap(op.path))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        NativeConnector.is_accessible(op)
    }
}

fn connector(folder: &Folder) -> LogConnector {
    let (aside, other) = (folder.at("aside.h5"), folder.at("other.h5"));
    LogConnector::new(Arc::new(Swapping { aside, other }))
}

/// Writes elements, and checks that they went to the file that was created or opened and to no other.
fn assert_written_to_its_own_file(folder: &Folder, container: &dyn Container, before: &[u8]) {
    let dataset = match container.link_get(container.info().unwrap().root, "d").unwrap() {
        Some(_) => find(container, "d"),
        None => ints(container, "d", &[4]),
    };
    put(container, dataset, &Selection::All, &[1, 2, 3, 4]).unwrap();
    container.close().unwrap();
    assert_eq!(std::fs::read(folder.at("other.h5")).unwrap(), before, "the other file is as it was");
    let aside = open(&folder.at("aside.h5"), &FileAccess::read()).unwrap();
    assert_eq!(get(&*aside, find(&*aside, "d"), &Selection::All).unwrap(), [1, 2, 3, 4]);
}

#[test]
fn a_link_that_is_put_in_the_place_of_an_opened_file_is_not_followed() {
    let folder = Folder::new("log");
    let (path, other) = (folder.at("a.h5"), folder.at("other.h5"));
    for path in [&path, &other] {
        let c = create(path, &FileAccess::write());
        ints(&*c, "d", &[4]);
        c.close().unwrap();
    }
    let before = std::fs::read(&other).unwrap();
    let opened = connector(&folder).open_log(&ContainerOpen::new(&path, &FileAccess::write())).unwrap();
    assert_written_to_its_own_file(&folder, &*opened, &before);
}

#[test]
fn a_link_that_is_put_in_the_place_of_a_created_file_is_not_followed() {
    let folder = Folder::new("log");
    let before = b"of another program";
    std::fs::write(folder.at("other.h5"), before).unwrap();
    let (path, create, access) = (folder.at("a.h5"), FileCreate::default(), FileAccess::write());
    let created = connector(&folder).create_log(&ContainerCreate::new(&path, &create, &access)).unwrap();
    assert_written_to_its_own_file(&folder, &*created, before);
}
