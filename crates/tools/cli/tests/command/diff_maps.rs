//! `hyperslab diff` on maps: what differs is found, and the exit code says so.

use std::path::Path;
use std::process::Command;

use hyperslab::{File, Reference};

/// What `diff` prints and how it exits.
fn diff(options: &[&str], first: &Path, second: &Path) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperslab"));
    let output = command.arg("diff").args(options).arg(first).arg(second).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

fn write(path: &Path, pairs: &[(&str, u64)]) {
    let file = File::create(path).unwrap();
    let map = file.create_map::<String, u64>("ids").unwrap();
    for (key, value) in pairs {
        map.put(&(*key).to_owned(), value).unwrap();
    }
    let words = file.create_map::<u32, String>("words").unwrap();
    words.put(&1, &"one".to_owned()).unwrap();
    let target = file.write_array("target", &[1, 2, 3]).unwrap();
    let references = file.create_map::<u8, Reference>("references").unwrap();
    references.put(&7, &Reference::object(target.token())).unwrap();
    file.close().unwrap();
}

#[test]
fn differing_maps_are_found_and_equal_ones_are_equal() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("a.h5"), &[("Alice", 1), ("Bob", 2), ("Carol", 3)]);
    // Other order, same pairs.
    write(&at("same.h5"), &[("Carol", 3), ("Alice", 1), ("Bob", 2)]);
    write(&at("value.h5"), &[("Alice", 1), ("Bob", 5), ("Carol", 3)]);
    write(&at("keys.h5"), &[("Alice", 1), ("Dora", 2)]);
    assert_eq!(diff(&[], &at("a.h5"), &at("same.h5")), (String::new(), Some(0)));
    let (text, code) = diff(&["-v"], &at("a.h5"), &at("value.h5"));
    assert_eq!(code, Some(1));
    assert!(
        text.contains("map    : </ids> and </ids>\n1 differences found\n1 keys with different values"),
        "{text}"
    );
    let (text, code) = diff(&["-v"], &at("a.h5"), &at("keys.h5"));
    assert_eq!(code, Some(1));
    assert!(text.contains("2 keys only in the first\n1 keys only in the second\n"), "{text}");
    let (text, code) = diff(&[], &at("keys.h5"), &at("a.h5"));
    assert_eq!((text.contains("map    : </ids> and </ids>"), code), (true, Some(1)));
}

#[test]
fn maps_of_different_types_are_not_comparable() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    File::create(at("a.h5")).unwrap().create_map::<String, u64>("m").unwrap();
    File::create(at("b.h5")).unwrap().create_map::<String, f32>("m").unwrap();
    let (text, _) = diff(&["-v"], &at("a.h5"), &at("b.h5"));
    assert!(text.contains("maps of different types"), "{text}");
}
