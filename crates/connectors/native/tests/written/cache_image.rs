//! Metadata cache images: files of libhdf5 that have one are changed, and libhdf5 reads and changes ours.

use std::sync::Arc;

use hyperslab_native::{MetadataCache, NativeConnector};
use model::properties::{DatasetCreate, FileCreate, SpaceStrategy};
use model::{Kind, Selection};
use vol::{Access, Connector, Container, ContainerOpen, FileAccess, LibVersion, call};

use crate::life::{attribute, dataset, group, ints, put, simple};
use crate::others::{Folder, assert_same, has_h5py, open, ours, python, theirs};

/// How the space of a file is managed, and whether it remembers what is free.
const SPACES: [(&str, &str); 4] = [("fsm", "false"), ("fsm", "true"), ("page", "false"), ("page", "true")];

fn access(with_image: bool) -> FileAccess {
    FileAccess { metadata_cache_image: with_image, version_low: LibVersion::V110, ..FileAccess::write() }
}

fn fill(c: &dyn Container, name: &str) {
    let g = group(c, c.info().unwrap().root, name).unwrap();
    for n in 0..30 {
        let name = format!("dataset {n}");
        let d = dataset(c, (g, &name), ints(), simple(&[5]), DatasetCreate::default()).unwrap();
        put(c, d, &Selection::All, &[n; 5]).unwrap();
        attribute(c, d, "n", n).unwrap();
    }
}

fn change(path: &str, name: &str, with_image: bool) {
    let c = NativeConnector.open(&ContainerOpen::new(path, &access(with_image))).unwrap();
    fill(&*c, name);
    c.close().unwrap();
}

fn create(path: &str, (strategy, persist): (&str, &str)) {
    let space_strategy = if strategy == "page" { SpaceStrategy::Page } else { SpaceStrategy::FsmAggregate };
    let create = FileCreate { space_strategy, space_persist: persist == "true", ..FileCreate::default() };
    let access = access(true);
    let file = hyperslab::File::create_with(path, &create, &access, true).unwrap();
    fill(&**file.container(), "ours");
    file.close().unwrap();
}

/// Returns the bytes of a file's image, which both libraries find in the same place.
fn image_bytes(path: &str) -> u64 {
    let c = open(path, Access::Read).unwrap();
    let cache = call::<MetadataCache>(&*c, &()).unwrap();
    let address = if cache.image_bytes == 0 { -1 } else { cache.image_address as i64 };
    c.close().unwrap();
    assert_eq!(python("cache_image.py", &["about", path]), format!("{address} {}\n", cache.image_bytes));
    cache.image_bytes
}

#[track_caller]
fn assert_read(path: &str, has_image: bool) {
    let found = ours(path);
    assert!(found.len() >= 60, "{path}");
    assert_same(path, &theirs(path), &found);
    assert_eq!(image_bytes(path) > 0, has_image, "{path}");
}

#[test]
fn a_file_of_libhdf5_with_an_image_is_changed_and_may_get_another() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("cache_image_theirs");
    for (strategy, persist) in SPACES {
        let path = folder.at(&format!("{strategy}-{persist}.h5"));
        python("cache_image.py", &["make", &path, strategy, persist]);
        assert_read(&path, true);
        change(&path, "without", false);
        assert_read(&path, false);
        python("cache_image.py", &["change", &path, "1", "1"]);
        assert_read(&path, true);
        change(&path, "with", true);
        assert_read(&path, true);
        python("cache_image.py", &["change", &path, "2", "0"]);
        assert_read(&path, false);
    }
}

#[test]
fn libhdf5_reads_and_changes_a_file_with_an_image_of_ours() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("cache_image_ours");
    for space in SPACES {
        let path = folder.at(&format!("{}-{}.h5", space.0, space.1));
        create(&path, space);
        assert_read(&path, true);
        python("cache_image.py", &["change", &path, "1", "1"]);
        assert_read(&path, true);
        change(&path, "again", true);
        // Opening it to write is enough to give the image up, and closing it to write another.
        let c = NativeConnector.open(&ContainerOpen::new(&path, &access(true))).unwrap();
        c.close().unwrap();
        assert_read(&path, true);
    }
}

#[test]
fn removed_objects_are_not_in_an_image() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("cache_image_removed");
    let path = folder.at("removed.h5");
    create(&path, ("fsm", "true"));
    change(&path, "more", false);
    let file = hyperslab::File::open_with(&path, &access(true)).unwrap();
    for n in 0..30 {
        assert_eq!(file.dataset(&format!("ours/dataset {n}")).unwrap().read_raw::<i32>().unwrap(), [n; 5]);
    }
    file.unlink("ours").unwrap();
    file.close().unwrap();
    assert!(image_bytes(&path) > 0);
    // libhdf5 uses the space that is free again.
    python("cache_image.py", &["change", &path, "1", "0"]);
    assert_read(&path, false);
}

#[test]
fn a_damaged_image_is_refused_and_the_file_stays_as_it_is() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("cache_image_broken");
    let path = folder.at("broken.h5");
    create(&path, ("fsm", "false"));
    let image = std::fs::read(&path).unwrap();
    let at = image.windows(4).position(|bytes| bytes == b"MDCI").unwrap();
    let mut broken = image.clone();
    broken[at + 40] ^= 1;
    std::fs::write(&path, &broken).unwrap();
    let opened: model::Result<Arc<dyn Container>> = open(&path, Access::Write);
    assert_eq!(opened.unwrap_err().kind(), Kind::Corrupt);
    assert_eq!(std::fs::read(&path).unwrap(), broken);
}
