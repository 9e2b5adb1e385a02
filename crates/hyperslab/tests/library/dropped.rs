//! What is left of a file that is dropped without being closed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use hyperslab::{Durability, File, FileAccess};
use model::properties::FileCreate;
use testkit::Folder;

/// Returns a location in a folder.
fn location_in(folder: &Folder, prefix: &str, name: &str) -> String {
    format!("{prefix}{}", folder.at(name))
}

fn create(location: &str) -> File {
    File::create_with(location, &FileCreate::default(), &FileAccess::write(), false).unwrap()
}

fn names(location: &str) -> Vec<String> {
    File::open_with(location, &FileAccess::read()).unwrap().member_names().unwrap()
}

#[test]
fn a_file_is_whole_when_its_last_handle_goes() {
    let scratch = Folder::new("dropped-last");
    let path = scratch.path().join("a.h5");
    let dataset = {
        let file = File::create(&path).unwrap();
        let dataset = file.new_dataset::<i32>().shape(3).create("d").unwrap();
        dataset.write_raw(&[1, 2, 3]).unwrap();
        dataset
    };
    // A dataset keeps its file open.
    dataset.write_raw(&[4, 5, 6]).unwrap();
    drop(dataset);
    let read = File::open(&path).unwrap().dataset("d").unwrap().read_raw::<i32>().unwrap();
    assert_eq!(read, [4, 5, 6]);
}

#[test]
fn a_thread_that_unwinds_does_not_commit() {
    let scratch = Folder::new("dropped-panic");
    for (prefix, name) in [("", "a.h5"), ("log:", "l.h5"), ("raw:", "r"), ("json:", "j.json")] {
        let location = location_in(&scratch, prefix, name);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let file = create(&location);
            file.create_group("before").unwrap();
            file.commit(Durability::Full).unwrap();
            file.create_group("half").unwrap();
            panic!("while something is half done");
        }));
        assert!(unwound.is_err());
        assert_eq!(names(&location), ["before"], "{location}");
        // It is not locked either.
        File::open_with(&location, &FileAccess::write()).unwrap().create_group("after").unwrap();
        assert_eq!(names(&location), ["after", "before"], "{location}");
    }
}

#[test]
fn a_close_that_fails_as_a_file_is_dropped_goes_to_the_hook() {
    let scratch = Folder::new("dropped-hook");
    let reported = Arc::new(Mutex::new(Vec::new()));
    let hook = reported.clone();
    let access =
        FileAccess::write().with_close_error_hook(move |error| hook.lock().unwrap().push(error.to_string()));
    // A text is written into a folder that is gone by then.
    let folder = scratch.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let location = format!("json:{}", folder.join("a.json").display());
    let file = File::create_with(&location, &FileCreate::default(), &access, false).unwrap();
    file.create_group("g").unwrap();
    remove(&folder);
    drop(file);
    let reported = reported.lock().unwrap();
    assert!(reported.len() == 1 && reported[0].contains("a.json"), "{reported:?}");
}

fn remove(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
}
