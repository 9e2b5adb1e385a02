//! Elements that are overwritten where they are, by choice of their dataset.

use std::sync::Arc;

use files::{Memory, Meter};
use hyperslab::{Durability, File, FileAccess, Kind, LibVersion, Selection};
use model::properties::FileCreate;

use crate::others::{Folder, assert_read_by_all, has_h5py};

const COUNT: usize = 20_000;

fn make(file: &File) {
    let zeros = vec![0i32; COUNT];
    file.new_dataset::<i32>().shape(COUNT).create("contiguous").unwrap().write_raw(&zeros).unwrap();
    file.new_dataset::<i32>().shape(COUNT).chunk(1000).create("chunked").unwrap().write_raw(&zeros).unwrap();
    file.flush().unwrap();
}

fn put(file: &File, name: &str, start: usize, count: usize, value: i32) {
    let selection = Selection::block(&[start as u64], &[count as u64]).unwrap();
    file.dataset(name).unwrap().write_selection(&selection, &vec![value; count]).unwrap();
}

fn expected() -> Vec<i32> {
    let mut values = vec![0; COUNT];
    values[10..15_010].fill(1);
    values[2500..2600].fill(2);
    values
}

#[test]
fn elements_are_what_was_written_last_here_and_in_libhdf5() {
    for low in [LibVersion::Earliest, LibVersion::LATEST] {
        let folder = Folder::new(&format!("in place {low:?}"));
        let path = folder.at("in place.h5");
        let access = FileAccess { version_low: low, ..FileAccess::write() };
        let file = File::create_with(&path, &FileCreate::default(), &access, true).unwrap();
        make(&file);
        let before = std::fs::metadata(&path).unwrap().len();
        for name in ["contiguous", "chunked"] {
            // What waits for the commit is older than what goes to its place at once.
            put(&file, name, 10, 500, 7);
            file.dataset(name).unwrap().overwrite_in_place(true).unwrap();
            put(&file, name, 10, 15_000, 1);
            put(&file, name, 2500, 100, 2);
            assert_eq!(file.dataset(name).unwrap().read_raw::<i32>().unwrap(), expected());
        }
        file.flush().unwrap();
        let after = std::fs::metadata(&path).unwrap().len();
        assert!(after < before + 9000, "{before} bytes became {after}");
        file.close().unwrap();
        let file = File::open(&path).unwrap();
        for name in ["contiguous", "chunked"] {
            assert_eq!(file.dataset(name).unwrap().read_raw::<i32>().unwrap(), expected(), "{name}");
        }
        drop(file);
        if has_h5py() {
            assert_read_by_all(&path);
        }
    }
}

#[test]
fn bytes_are_written_once_and_without_the_choice_twice() {
    let meter = Arc::new(Meter::new(Arc::new(Memory::from_image(Vec::new()))));
    let access = FileAccess::write();
    let c = hyperslab_native::create_handle(meter.clone(), "metered", &FileCreate::default(), &access);
    let file = File::from_container(c.unwrap(), "metered", &access).unwrap();
    make(&file);
    let bytes = 4 * 15_000;
    let written = |name: &str, in_place: bool| {
        file.dataset(name).unwrap().overwrite_in_place(in_place).unwrap();
        meter.reset();
        put(&file, name, 10, 15_000, 1 + i32::from(in_place));
        file.flush().unwrap();
        meter.reset().bytes_written
    };
    assert!(written("contiguous", false) >= 2 * bytes);
    let in_place = written("contiguous", true);
    assert!((bytes..bytes + 4000).contains(&in_place), "{in_place} bytes for {bytes}");
}

#[test]
fn a_commit_without_syncs_and_a_handle_that_is_dropped_keep_what_was_written() {
    let folder = Folder::new("in place dropped");
    let path = folder.at("dropped.h5");
    let file = File::create_with(&path, &FileCreate::default(), &FileAccess::write(), true).unwrap();
    make(&file);
    file.dataset("contiguous").unwrap().overwrite_in_place(true).unwrap();
    put(&file, "contiguous", 0, COUNT, 3);
    file.container().commit(Durability::None).unwrap();
    put(&file, "contiguous", 0, 10, 4);
    drop(file);
    let found = File::open(&path).unwrap().dataset("contiguous").unwrap().read_raw::<i32>().unwrap();
    assert!(found[..10].iter().all(|&n| n == 4) && found[10..].iter().all(|&n| n == 3));
}

#[test]
fn what_has_no_place_of_its_own_is_refused() {
    let folder = Folder::new("in place refused");
    let file = File::create(folder.at("refused.h5")).unwrap();
    let kind = |name: &str| file.dataset(name).unwrap().overwrite_in_place(true).unwrap_err().kind();
    file.new_dataset::<String>().shape(2).create("texts").unwrap();
    file.new_dataset::<i32>().shape(10).chunk(5).deflate(1).create("deflated").unwrap();
    assert_eq!((kind("texts"), kind("deflated")), (Kind::Invalid, Kind::Invalid));
    file.close().unwrap();
    let file = File::open(folder.at("refused.h5")).unwrap();
    assert_eq!(file.dataset("deflated").unwrap().overwrite_in_place(true).unwrap_err().kind(), Kind::Denied);
}
