//! The connectors that the tests run on.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::properties::FileCreate;
use objects::{Mode, ObjectId, Store};
use vol::{Connector, Container, ContainerCreate, ContainerOpen, FileAccess, Registry};

/// A key of a store: object, dkey and akey.
pub(crate) type Key = (ObjectId, Vec<u8>, Vec<u8>);

/// A connector on keys.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    connector: fn() -> Arc<dyn Connector>,
    /// The key of the layout version: object, dkey and akey.
    layout_version: (u64, &'static [u8], &'static [u8]),
}

pub(crate) const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "object",
        connector: || Arc::new(object::ObjectConnector::new()),
        layout_version: (0, b"/Internal Metadata", b"Layout Version"),
    },
    Subject {
        name: "iod",
        connector: || Arc::new(iod::IodConnector::new()),
        layout_version: (1, b"\0", b"\x01layout_version"),
    },
];

impl Subject {
    /// Returns the connector of a container in the folder `path`, which has the connector's name.
    pub(crate) fn of(path: &Path) -> &'static Subject {
        let name = path.file_name().unwrap();
        SUBJECTS.iter().find(|subject| subject.name == name).unwrap()
    }

    pub(crate) fn registry(&self) -> Registry {
        let mut registry = Registry::new();
        registry.register((self.connector)()).unwrap();
        registry
    }

    /// Creates a container in a folder.
    pub(crate) fn create(&self, path: &Path) -> Result<Arc<dyn Container>> {
        let (create, access) = (FileCreate::default(), FileAccess::write());
        (self.connector)().create(&ContainerCreate::new(&path.display().to_string(), &create, &access))
    }

    /// Opens the container in a folder.
    pub(crate) fn open(&self, path: &Path, access: &FileAccess) -> Result<Arc<dyn Container>> {
        (self.connector)().open(&ContainerOpen::new(&path.display().to_string(), access))
    }

    /// Returns the key of the layout version.
    pub(crate) fn layout_version(&self) -> Key {
        let (low, dkey, akey) = self.layout_version;
        (ObjectId { high: 0, low }, dkey.to_vec(), akey.to_vec())
    }
}

/// Runs `work` for every connector, with the path of a folder that does not exist and has the connector's name.
pub(crate) fn each(work: impl Fn(&Subject, &Path)) {
    for subject in &SUBJECTS {
        println!("{}", subject.name);
        let folder = tempfile::tempdir().unwrap();
        work(subject, &folder.path().join(subject.name));
    }
}

/// Opens the store of a closed container: there nothing is checked.
pub(crate) fn store(path: &Path, mode: Mode) -> Arc<dyn Store> {
    let pool = objects::embedded::pool(path);
    pool.open(pool.list().unwrap()[0], mode).unwrap()
}
