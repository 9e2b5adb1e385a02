//! Containers that are opened and deleted by the path of an open directory or file: whatever was put in their place since, no
//! other container is reached.
#![cfg(target_os = "linux")]

use std::os::unix::fs::symlink;
use std::path::Path;

use dir::{Dir, Open};
use hyperslab::{File, FileAccess, registry};

use testkit::Folder;

fn create(location: &str, number: i32) {
    let file = File::create(location).unwrap();
    file.write_array("number", &[number]).unwrap();
    file.close().unwrap();
}

fn number(location: &str) -> i32 {
    File::open(location).unwrap().dataset("number").unwrap().read_raw::<i32>().unwrap()[0]
}

/// Renames what is at `path`, and puts a link to another container in its place.
fn swap(folder: &Folder, path: &str) {
    std::fs::rename(path, folder.at("aside")).unwrap();
    symlink(folder.at("other"), path).unwrap();
}

#[test]
fn a_link_that_is_put_in_the_place_of_an_open_folder_leads_to_no_other_container() {
    for connector in ["raw", "object", "iod"] {
        let folder = Folder::new(&format!("pinned-{connector}"));
        let location = |path: &str| format!("{connector}:{path}");
        let path = folder.at("mine");
        create(&location(&path), 1);
        create(&location(&folder.at("other")), 2);
        let dir = Dir::open(Path::new(&path)).unwrap();
        swap(&folder, &path);
        let pinned = location(dir.pinned().to_str().unwrap());
        assert_eq!((number(&pinned), number(&location(&path))), (1, 2), "{connector}");
        registry().delete(&pinned, &FileAccess::write()).unwrap();
        assert_eq!(number(&location(&folder.at("other"))), 2, "{connector}");
        assert!(File::open(location(&folder.at("aside"))).is_err(), "{connector}: it is gone");
    }
}

#[test]
fn a_link_that_is_put_in_the_place_of_an_open_document_leads_to_no_other_one() {
    let folder = Folder::new("pinned-json");
    let path = folder.at("mine");
    create(&format!("json:{path}"), 1);
    create(&format!("json:{}", folder.at("other")), 2);
    let (dir, name) = Dir::of_file(Path::new(&path)).unwrap();
    let file = dir.file(&name, Open::Write).unwrap();
    swap(&folder, &path);
    let pinned = format!("json:{}", dir.pinned_file(&name, &file).display());
    File::open_rw(&pinned).unwrap().write_array("more", &[3]).unwrap();
    let members =
        |name: &str| File::open(format!("json:{}", folder.at(name))).unwrap().member_names().unwrap();
    assert_eq!(members("aside"), ["more", "number"]);
    assert_eq!(members("other"), ["number"]);
    registry().delete(&pinned, &FileAccess::write()).unwrap_err();
    assert_eq!(members("other"), ["number"]);
}
