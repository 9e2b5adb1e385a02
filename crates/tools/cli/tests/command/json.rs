//! `stat --json` and `diff --json`.

use std::process::Command;

use hyperslab::File;
use serde_json::{Value, json};
use tempfile::TempDir;

fn run(arguments: &[&str], folder: &TempDir) -> (Value, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_hyperslab"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")), output.status.code())
}

fn pair() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, last, extra) in [("a.h5", 3, "left"), ("b.h5", 4, "right")] {
        let file = File::create(folder.path().join(name)).unwrap();
        file.new_dataset_builder().with_data(&[1, 2, last]).create("run/x").unwrap();
        file.new_dataset_builder().with_data(&[1.5]).create("same").unwrap();
        file.create_group(extra).unwrap();
        file.close().unwrap();
    }
    folder
}

#[test]
fn diff_names_the_objects_that_differ() {
    let folder = pair();
    let (found, code) = run(&["diff", "--json", "a.h5", "b.h5"], &folder);
    assert_eq!(code, Some(1));
    let object = json!({ "first": "/run/x", "second": "/run/x", "kind": "dataset", "differences": 1 });
    assert_eq!((&found["objects"], &found["equal"]), (&json!([object]), &json!(false)));
    assert_eq!((&found["only_first"], &found["only_second"]), (&json!(["/left"]), &json!(["/right"])));
    let (found, code) = run(&["diff", "--json", "-v", "a.h5", "a.h5"], &folder);
    assert_eq!((code, &found["equal"], &found["differences"]), (Some(0), &json!(true), &json!(0)));
}

#[test]
fn stat_counts_what_a_file_has() {
    let (found, code) = run(&["stat", "--json", "a.h5"], &pair());
    assert_eq!((code, &found["file"]), (Some(0), &json!("a.h5")));
    assert_eq!((&found["groups"]["count"], &found["datasets"]["count"]), (&json!(3), &json!(2)));
    assert_eq!(found["datasets"]["raw_bytes"], json!(3 * 4 + 8));
}
