//! What h5py with hdf5plugin makes of filters that were given no, some and all parameters.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program that must succeed; what it printed is shown where it does not.
fn run(program: &str, words: &[&str], folder: &Path) {
    let output = Command::new(program).args(words).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {}\n{text}", output.status);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hyperslab-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Values, stored parameters, and sizes within 5 % of those that hdf5plugin itself comes to.
#[test]
fn h5py_reads_every_filter_given_no_some_and_all_parameters() {
    let folder = folder("filters");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filters.py");
    let (script, hyperslab) = (script.to_str().unwrap(), env!("CARGO_BIN_EXE_hyperslab"));
    run("python3", &[script, "make", "."], &folder);
    let cases = std::fs::read_to_string(folder.join("cases.txt")).unwrap();
    for (number, case) in cases.lines().enumerate() {
        let (filter, ours) = (format!("UD={case}"), format!("ours-{number}.h5"));
        run(hyperslab, &["repack", "-f", &filter, "source.h5", &ours], &folder);
    }
    run("python3", &[script, "check", "."], &folder);
    std::fs::remove_dir_all(folder).unwrap();
}
