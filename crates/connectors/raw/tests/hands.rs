//! Changes by hand, while a container is open and while it is closed; and metadata that no one vouches for.

mod place;

use std::fs;

use model::{Kind, Limits, Selection};
use place::*;
use testkit::generate::Generator;
use testkit::snapshot::Snapshot;
use vol::*;

#[test]
fn edited_elements_are_read() {
    let place = Folder::new();
    let c = place.create();
    let d = ints(&*c, c.info().unwrap().root, "d", &[4]);
    put(&*c, d, &[1, 2, 3, 4]);
    c.commit(Durability::None).unwrap();
    let file = place.path.join("d.bin");
    fs::write(&file, [9i32, 8, 7, 6].map(i32::to_ne_bytes).concat()).unwrap();
    assert_eq!(get(&*c, d), [9, 8, 7, 6]);
    // Shorter than the extent: the rest reads as the fill value, even from the middle of an element.
    fs::write(&file, &[9i32, 8].map(i32::to_ne_bytes).concat()[..6]).unwrap();
    let half = i32::from_ne_bytes([8i32.to_ne_bytes()[0], 8i32.to_ne_bytes()[1], 0, 0]);
    assert_eq!(get(&*c, d), [9, half, 0, 0]);
    // Longer: the extent in the metadata wins.
    fs::write(&file, [5i32; 9].map(i32::to_ne_bytes).concat()).unwrap();
    assert_eq!(get(&*c, d), [5; 4]);
    fs::remove_file(&file).unwrap();
    assert_eq!(get(&*c, d), [0; 4]);
}

#[test]
fn edited_metadata_is_read_anew() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let d = ints(&*c, root, "d", &[6]);
    put(&*c, d, &[1, 2, 3, 4, 5, 6]);
    attribute(&*c, d, "unit", 5);
    c.commit(Durability::None).unwrap();
    let text = place
        .text("d.json")
        .replace("\"dims\": [6]", "\"dims\": [2, 3]")
        .replace("\"value\": 5", "\"value\": 77");
    fs::write(place.path.join("d.json"), &text).unwrap();
    assert_eq!(c.dataset_info(d).unwrap().space.dims(), [2, 3]);
    assert_eq!(c.attribute_read(d, &["unit"]).unwrap(), [77i32.to_ne_bytes().to_vec()]);
    let column = &Selection::block(&[0, 1], &[2, 1]).unwrap();
    let mut into = vec![0; 8];
    c.dataset_read(&mut [OpRead { dataset: d, selection: column, into: &mut into }]).unwrap();
    assert_eq!(into, [2i32, 5].map(i32::to_ne_bytes).concat());
    c.object_set_comment(root, Some("something else changed")).unwrap();
    c.close().unwrap();
    // The edit is still there, and no one overwrote it.
    assert_eq!(place.text("d.json"), text);
    let c = place.open(&FileAccess::read()).unwrap();
    assert_eq!(c.dataset_info(d).unwrap().space.dims(), [2, 3]);
}

#[test]
fn new_folders_and_files_are_objects() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    c.commit(Durability::None).unwrap();
    fs::create_dir_all(place.path.join("by hand/deeper")).unwrap();
    fs::write(place.path.join("by hand/picture.png"), [1, 2, 3]).unwrap();
    fs::write(place.path.join("plain.bin"), [4, 5]).unwrap();
    assert_eq!(names(&*c, root), ["by hand", "plain"]);
    let made = path::token(&*c, root, "by hand", 9).unwrap();
    assert_eq!(names(&*c, made), ["deeper", "picture.png"]);
    let picture = path::token(&*c, made, "picture.png", 9).unwrap();
    assert_eq!(bytes(&*c, picture), [1, 2, 3]);
    // One more while it is known already.
    fs::write(place.path.join("by hand/late.dat"), [6]).unwrap();
    assert_eq!(names(&*c, made), ["deeper", "late.dat", "picture.png"]);
    fs::remove_file(place.path.join("by hand/late.dat")).unwrap();
    assert_eq!(names(&*c, made), ["deeper", "picture.png"]);
    // A commit gives them metadata, so that they can have attributes and keep their identity.
    attribute(&*c, picture, "size", 3);
    c.close().unwrap();
    assert_eq!(place.names("by hand"), [".group.json", "deeper", "picture.png.bin", "picture.png.json"]);
    let c = place.open(&FileAccess::read()).unwrap();
    assert_eq!(path::token(&*c, root, "by hand/picture.png", 9).unwrap(), picture);
    assert_eq!(bytes(&*c, picture), [1, 2, 3]);
}

#[test]
fn json_of_others_is_a_dataset_of_bytes() {
    let place = Folder::new();
    place.create().close().unwrap();
    fs::write(place.path.join("package.json"), "{\"name\": 1}").unwrap();
    fs::write(place.path.join("list.json"), "[1, 2]").unwrap();
    let c = place.open(&FileAccess::write()).unwrap();
    let root = c.info().unwrap().root;
    assert_eq!(names(&*c, root), ["list.json", "package.json"]);
    assert_eq!(bytes(&*c, path::token(&*c, root, "list.json", 9).unwrap()), b"[1, 2]");
    attribute(&*c, root, "a", 1);
    c.close().unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    assert_eq!(names(&*c, root), ["list.json", "package.json"]);
    assert_eq!(bytes(&*c, path::token(&*c, root, "package.json", 9).unwrap()), b"{\"name\": 1}");
}

#[test]
fn a_folder_moved_by_hand_keeps_its_identity() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let g = group(&*c, root, "old");
    let d = ints(&*c, g, "d", &[1]);
    put(&*c, d, &[3]);
    c.close().unwrap();
    fs::rename(place.path.join("old"), place.path.join("new")).unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    assert_eq!(path::token(&*c, root, "/new/d", 9).unwrap(), d);
    assert_eq!(get(&*c, d), [3]);
}

#[test]
fn a_copy_made_by_hand_is_another_object() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let d = ints(&*c, root, "d", &[1]);
    put(&*c, d, &[3]);
    c.close().unwrap();
    for ending in ["bin", "json"] {
        fs::copy(place.path.join(format!("d.{ending}")), place.path.join(format!("e.{ending}"))).unwrap();
    }
    let c = place.open(&FileAccess::write()).unwrap();
    let e = path::token(&*c, root, "e", 9).unwrap();
    assert_eq!(path::token(&*c, root, "d", 9).unwrap(), d);
    assert_ne!(e, d);
    put(&*c, e, &[4]);
    assert_eq!((get(&*c, d), get(&*c, e)), (vec![3], vec![4]));
}

#[cfg(unix)]
#[test]
fn links_of_the_file_system_are_not_followed() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let d = ints(&*c, root, "d", &[1]);
    put(&*c, d, &[3]);
    c.commit(Durability::None).unwrap();
    let outside = place.path.with_extension("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret"), [1, 2, 3, 4]).unwrap();
    std::os::unix::fs::symlink(&outside, place.path.join("folder")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret"), place.path.join("file.bin")).unwrap();
    assert_eq!(names(&*c, root), ["d"]);
    fs::remove_file(place.path.join("d.bin")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret"), place.path.join("d.bin")).unwrap();
    let mut into = vec![0; 4];
    let read = OpRead { dataset: d, selection: &Selection::All, into: &mut into };
    assert_eq!(c.dataset_read(&mut [read]).unwrap_err().kind(), Kind::Denied);
    let write = OpWrite { dataset: d, selection: &Selection::All, from: &[0; 4] };
    assert_eq!(c.dataset_write(&[write]).unwrap_err().kind(), Kind::Denied);
    c.close().unwrap();
    // Links are not the container's: they stay, and are named.
    let error = place.registry.delete(&place.location(), &FileAccess::write()).unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
    assert_eq!(place.names(""), ["d.bin", "file.bin", "folder"]);
    assert_eq!(fs::read(outside.join("secret")).unwrap(), [1, 2, 3, 4]);
    fs::remove_dir_all(&outside).unwrap();
}

#[test]
fn what_is_changed_on_both_sides_is_the_containers() {
    let place = Folder::new();
    let c = place.create();
    let d = ints(&*c, c.info().unwrap().root, "d", &[1]);
    attribute(&*c, d, "a", 1);
    c.commit(Durability::None).unwrap();
    c.attribute_write(d, "a", &2i32.to_ne_bytes()).unwrap();
    fs::write(place.path.join("d.json"), place.text("d.json").replace("\"value\": 1", "\"value\": 333"))
        .unwrap();
    assert_eq!(c.attribute_read(d, &["a"]).unwrap(), [2i32.to_ne_bytes().to_vec()]);
    c.commit(Durability::None).unwrap();
    assert!(place.text("d.json").contains("\"value\": 2"));
}

#[test]
fn broken_metadata_names_its_file() {
    let place = Folder::new();
    let c = place.create();
    let d = ints(&*c, c.info().unwrap().root, "d", &[1]);
    c.commit(Durability::None).unwrap();
    let good = place.text("d.json");
    fs::write(place.path.join("d.json"), "{\"kind\": \"dataset\",").unwrap();
    let error = c.dataset_info(d).unwrap_err();
    assert!(error.kind() == Kind::Corrupt && error.to_string().contains("d.json"), "{error}");
    fs::write(place.path.join("d.json"), &good).unwrap();
    c.dataset_info(d).unwrap();
}

#[test]
fn mutated_metadata_ends_well() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let g = group(&*c, root, "g");
    texts(&*c, g, "t", &["one", "two"]);
    attribute(&*c, g, "a", 1);
    put(&*c, ints(&*c, g, "d", &[2, 2]), &[1, 2, 3, 4]);
    link(&*c, g, "l", model::LinkTarget::Hard(root));
    c.close().unwrap();
    let files =
        [".group.json", "g/.group.json", "g/t.json", "g/d.json", "g/l.link", "g/t.bin", ".hyperslab/heap"];
    let good: Vec<Vec<u8>> = files.iter().map(|file| fs::read(place.path.join(file)).unwrap()).collect();
    let mut random = Generator::new(11);
    let pieces: Vec<&[u8]> = vec![
        b"[",
        b"]",
        b"{",
        b"}",
        b"null",
        b"99999999999999999999",
        b"-1",
        b"\"",
        b"4294967295",
        b",",
        b"../..",
        b"\xff",
    ];
    for _ in 0..600 {
        let n = random.below(files.len() as u64) as usize;
        let mut bad = good[n].clone();
        for _ in 0..random.between(1, 3) {
            let at = random.below(bad.len() as u64) as usize;
            let end = (at + random.below(12) as usize).min(bad.len());
            bad.splice(at..end, random.one_of(&pieces).to_vec());
        }
        fs::write(place.path.join(files[n]), &bad).unwrap();
        if let Ok(c) = place.open(&FileAccess::read().with_limits(Limits::strict())) {
            let _ = Snapshot::of(&*c, c.info().unwrap().root);
        }
        fs::write(place.path.join(files[n]), &good[n]).unwrap();
    }
    place.open(&FileAccess::read()).unwrap();
}
