//! `hyperslab dump --json`: what it prints is a document that `json:` opens.

use std::path::Path;
use std::process::{Command, Output};

use hyperslab::vol::FileAccess;
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::{File, H5Type, Reference};
use testkit::generate::Generator;

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

/// Opens what is printed, and compares it with the file and with the document that a copy writes.
fn assert_printed_whole(name: &str, folder: &Path) {
    let document = text(&["dump", "--json", name], folder);
    std::fs::write(folder.join("printed.json"), &document).unwrap();
    text(&["diff", name, "json:printed.json"], folder);
    text(&["copy", "--overwrite", name, "json:copy.json"], folder);
    assert_eq!(std::fs::read_to_string(folder.join("copy.json")).unwrap(), document, "{name}");
    // The document as a file again is printed the same.
    assert_eq!(text(&["dump", "--json", "json:printed.json"], folder), document, "{name}");
}

#[test]
fn random_files_are_printed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let first = testkit::generate::announced_seed("random_files_are_printed_whole");
    for seed in (0..8).map(|n| first.wrapping_add(n)) {
        let name = format!("{seed}.h5");
        let path = folder.path().join(&name);
        let access = FileAccess::write();
        let made =
            hyperslab::registry().create(path.to_str().unwrap(), &FileCreate::default(), &access, false);
        let container = made.unwrap();
        Generator::new(seed).fill(&*container, container.info().unwrap().root, 25).unwrap();
        container.close().unwrap();
        assert_printed_whole(&name, folder.path());
    }
}

#[test]
fn properties_of_the_file_and_a_user_block_do_not_harm_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.h5");
    let create = FileCreate { userblock_bytes: 512, chunk_k: 64, ..FileCreate::default() };
    let made = hyperslab::registry().create(path.to_str().unwrap(), &create, &FileAccess::write(), false);
    made.unwrap().close().unwrap();
    let document = text(&["dump", "--json", "f.h5"], folder.path());
    assert!(
        document.contains("\"userblockBytes\": 512") && document.contains("\"chunkK\": 64"),
        "{document}"
    );
    assert_printed_whole("f.h5", folder.path());
}

#[test]
fn documents_in_other_folders_find_what_they_refer_to() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let (whole, source) = (folder.path().join("sub/whole.h5"), folder.path().join("sub/source.h5"));
    let file = File::create(&source).unwrap();
    file.new_dataset::<i32>().shape([3]).create("data").unwrap().write_raw(&[1, 2, 3]).unwrap();
    file.close().unwrap();
    let file = File::create(&whole).unwrap();
    file.link_external("source.h5", "/data", "outside").unwrap();
    file.close().unwrap();
    let document = text(&["dump", "--json", "sub/whole.h5"], folder.path());
    std::fs::write(folder.path().join("sub/whole.json"), document).unwrap();
    let listed = text(&["ls", "-r", "-E", "json:sub/whole.json"], folder.path());
    assert!(listed.contains("Dataset {3}"), "{listed}");
}
