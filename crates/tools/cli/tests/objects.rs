//! `hyperslab objects`: what containers keep in storage.

use std::process::{Command, Output};

fn hyperslab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hyperslab")).args(arguments).output().unwrap()
}

#[test]
fn key_value_stores_arrays_and_blobs_are_shown() {
    let folder = std::env::temp_dir().join(format!("hyperslab-objects-{}", std::process::id()));
    let location = format!("iod:{}/c/", folder.display());
    {
        let file = hyperslab::File::create(&location).unwrap();
        let group = file.create_group("G1").unwrap();
        group.set_attr("unit", String::from("metre")).unwrap();
        group.new_dataset::<i32>().shape([2, 2]).create("D1").unwrap().write_raw(&[1, 2, 3, 4]).unwrap();
        file.close().unwrap();
    }
    let output = hyperslab(&["objects", &location]);
    let _ = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "KV 0 scratch pad [KV 1, KV 2, UNDEFINED, UNDEFINED]",
        "  \"object_type\" = H5I_GROUP",
        "  \"D1\" = array",
        "  [2, 2] cells of 4 bytes",
        "blob",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}
