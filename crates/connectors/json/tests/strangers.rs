//! Documents in folders of strangers: links and FIFOs around them, and in their place.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_json::JsonConnector;
use memory::MemoryConnector;
use model::Kind;
use model::properties::FileCreate;
use testkit::strangers::{Outside, Trap};
use vol::*;

struct Scene {
    folder: PathBuf,
    registry: Registry,
    outside: Outside,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let folder = std::env::temp_dir().join(format!("hyperslab-json-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut registry = Registry::new();
        registry.register(Arc::new(MemoryConnector::new())).unwrap();
        registry.register(Arc::new(JsonConnector::new())).unwrap();
        Scene { folder, registry, outside: Outside::new() }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("d.json")
    }

    fn location(&self) -> String {
        format!("json:{}", self.path().display())
    }

    fn create(&self) -> Result<Arc<dyn Container>> {
        self.registry.create(&self.location(), &FileCreate::default(), &FileAccess::write(), true)
    }

    fn open(&self) -> Result<Arc<dyn Container>> {
        self.registry.open(&self.location(), &FileAccess::write())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Changes a document and commits.
fn change(c: &dyn Container, comment: &str) -> Result<()> {
    c.object_set_comment(c.info()?.root, Some(comment))?;
    c.commit(Durability::Full)
}

#[test]
fn a_fifo_in_the_place_of_a_document_is_an_error_and_does_not_hang() {
    let scene = Scene::new("fifo");
    scene.outside.set(Trap::Fifo, &scene.path());
    assert_eq!(scene.open().err().unwrap().kind(), Kind::Denied);
    let path = scene.path().display().to_string();
    assert!(!JsonConnector::new().is_accessible(&ContainerOpen::new(&path, &FileAccess::read())).unwrap());
    assert!(scene.registry.delete(&scene.location(), &FileAccess::write()).is_err());
}

#[test]
fn links_that_have_the_names_of_temporary_files_are_passed_by() {
    let scene = Scene::new("temporary");
    let c = scene.create().unwrap();
    for n in 0..40 {
        let name = format!(".hyperslab-{}-{n}.tmp", std::process::id());
        scene
            .outside
            .set(if n % 2 == 0 { Trap::LinkToFile } else { Trap::LinkToNothing }, &scene.folder.join(name));
    }
    change(&*c, "changed").unwrap();
    c.close().unwrap();
    scene.outside.assert_unchanged("temporary files");
    assert!(fs::read_to_string(scene.path()).unwrap().contains("changed"));
}

#[test]
fn a_document_swapped_for_a_link_all_the_time_changes_nothing_outside() {
    let scene = Scene::new("swapped");
    let c = scene.create().unwrap();
    c.close().unwrap();
    drop(c);
    let good = fs::read(scene.path()).unwrap();
    scene.outside.while_swapping(&scene.path(), || {
        for n in 0..200 {
            if let Ok(c) = scene.open() {
                let _ = change(&*c, &n.to_string());
                drop(c);
            }
            fs::write(scene.folder.join("again"), &good).unwrap();
            fs::rename(scene.folder.join("again"), scene.path()).unwrap();
        }
    });
    scene.outside.assert_unchanged("swapped");
}

#[test]
fn a_dangling_link_is_replaced_and_not_followed() {
    let scene = Scene::new("dangling");
    scene.outside.set(Trap::LinkToNothing, &scene.path());
    if let Ok(c) = scene.create() {
        c.close().unwrap();
        assert!(is_plain(&scene.path()));
    }
    scene.outside.assert_unchanged("dangling");
}

fn is_plain(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}
