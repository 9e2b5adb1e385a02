//! `hyperslab dump` against h5dump, on files that h5py makes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FILES: &[&str] = &["numbers.h5", "texts.h5", "nested.h5", "linked.h5", "user_links.h5"];

const OPTIONS: &[&[&str]] = &[
    &[],
    &["-H"],
    &["-p", "-H"],
    &["-A"],
    &["-r"],
    &["-e"],
    &["-y"],
    &["-w", "40"],
    &["-w", "0"],
    &["-m", "%.3f"],
    &["-n"],
    &["-n", "1"],
    &["-B", "-H"],
    &["-R"],
    &["-q", "creation_order"],
    &["-z", "descending"],
    &["--xml", "-H"],
];

const SELECTED: &[(&str, &[&str])] = &[
    ("numbers.h5", &["-d", "chunked", "-s", "5", "-S", "10", "-c", "7", "-k", "3"]),
    ("numbers.h5", &["-d", "/u1[1,2;2,3;3,4;1,2]"]),
    ("linked.h5", &["-d", "/z/y/x/data", "-s", "0,1,1", "-c", "2,2,2", "-k", "1,1,2", "-S", "1,1,2"]),
    ("linked.h5", &["-g", "/z/y", "-t", "/type", "-l", "soft"]),
    ("user_links.h5", &["-l", "/first", "-d", "/group/second"]),
    ("texts.h5", &["-a", "/note", "-N", "fixed"]),
    ("numbers.h5", &["-d", "i1", "-M", "0,2,4,3"]),
];

fn golden_folder() -> Option<PathBuf> {
    let folder = std::env::temp_dir().join(format!("hyperslab-dump-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/make_golden.py");
    let made = Command::new("python3").arg(script).arg(&folder).output().ok()?;
    let known = Command::new("h5dump").arg("-V").output().ok()?;
    (made.status.success() && known.status.success()).then_some(folder)
}

fn run(program: &str, first: &[&str], options: &[&str], file: &str, folder: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(first).args(options).arg(file).current_dir(folder);
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Lines without the blanks at their end.
fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_owned()).collect()
}

fn compare(options: &[&str], file: &str, folder: &Path) {
    let theirs = run("h5dump", &[], options, file, folder);
    let ours = run(env!("CARGO_BIN_EXE_hyperslab"), &["--raw-output", "dump"], options, file, folder);
    assert_eq!(lines(&ours), lines(&theirs), "{options:?} {file}");
    assert_eq!(ours.status.code(), theirs.status.code(), "{options:?} {file}");
}

#[test]
fn prints_what_h5dump_prints() {
    let Some(folder) = golden_folder() else {
        return testkit::oracles::missing("python3 with h5py, and h5dump");
    };
    for file in FILES {
        for options in OPTIONS {
            compare(options, file, &folder);
        }
    }
    for (file, options) in SELECTED {
        compare(options, file, &folder);
    }
    // Nothing is kept after a success; after a failure the files are there to look at.
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_missing_file_is_a_message_and_a_failure() {
    let ours = run(env!("CARGO_BIN_EXE_hyperslab"), &["dump"], &[], "no-such-file.h5", &std::env::temp_dir());
    assert_eq!(ours.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ours.stderr).starts_with("hyperslab dump: no-such-file.h5"));
}
