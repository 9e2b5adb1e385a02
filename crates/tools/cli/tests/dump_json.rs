//! `hyperslab dump --json`: what it prints is a document that `json:` opens.

use std::path::Path;
use std::process::{Command, Output};

use hyperslab::{File, H5Type, Reference};

#[derive(H5Type, Clone)]
struct Station {
    id: i32,
    name: String,
}

fn hyperslab(words: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hyperslab")).args(words).current_dir(folder).output().unwrap()
}

fn text(words: &[&str], folder: &Path) -> String {
    let output = hyperslab(words, folder);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn write(path: &Path) {
    let file = File::create(path).unwrap();
    let grid = file.new_dataset::<f64>().shape((2, 3)).chunk((1, 3)).deflate(4).create("a/grid").unwrap();
    grid.write(&ndarray::arr2(&[[0.1, -0.0, f64::NAN], [f64::INFINITY, 1e300, 5e-324]])).unwrap();
    grid.set_attr("unit", "K").unwrap();
    let stations = [Station { id: 1, name: "Oslo \"north\"".to_owned() }];
    file.write_array("a/b/stations", &stations).unwrap();
    file.write_array("reference", &[Reference::object(grid.token())]).unwrap();
    file.link_soft("/a/grid", "soft").unwrap();
    let ids = file.create_map::<String, u64>("ids").unwrap();
    ids.put(&"Alice".to_owned(), &u64::MAX).unwrap();
    file.close().unwrap();
}

#[test]
fn what_is_printed_opens_as_a_document() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("f.h5"));
    let document = text(&["dump", "--json", "f.h5"], folder.path());
    std::fs::write(folder.path().join("f.json"), &document).unwrap();
    text(&["diff", "f.h5", "json:f.json"], folder.path());
    // The same text that a copy writes.
    text(&["copy", "f.h5", "json:copy.json"], folder.path());
    assert_eq!(std::fs::read_to_string(folder.path().join("copy.json")).unwrap(), document);
}

#[test]
fn only_what_is_named_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("f.h5"));
    let document = text(&["dump", "--json", "-d", "/a/grid", "f.h5"], folder.path());
    std::fs::write(folder.path().join("grid.json"), &document).unwrap();
    let part = File::open("json:".to_owned() + folder.path().join("grid.json").to_str().unwrap()).unwrap();
    assert_eq!(part.member_names().unwrap(), ["a"]);
    assert_eq!(part.group("a").unwrap().member_names().unwrap(), ["grid"]);
    assert_eq!(part.dataset("a/grid").unwrap().read_raw::<f64>().unwrap()[4], 1e300);
    let refused = hyperslab(&["dump", "--json", "-d", "/not there", "f.h5"], folder.path());
    assert!(!refused.status.success() && refused.stdout.is_empty());
    let headers = text(&["dump", "--json", "-H", "f.h5"], folder.path());
    assert!(headers.contains("H5T_IEEE_F64LE") && !headers.contains("1e300"), "{headers}");
}
