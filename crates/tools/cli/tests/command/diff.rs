//! `hyperslab diff` and `stat` against h5diff and h5stat, on files that h5py makes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const OPTIONS: &[&[&str]] = &[
    &[],
    &["-r"],
    &["-v"],
    &["-v1"],
    &["-v2"],
    &["-v3"],
    &["-q"],
    &["-c"],
    &["-r", "-n", "1"],
    &["-v", "-d", "1"],
    &["-v", "-p", "0.1"],
    &["-v", "-N"],
    &["-v", "--use-system-epsilon"],
    &["-v", "--follow-symlinks"],
    &["-c", "--follow-symlinks"],
    &["-v", "--follow-symlinks", "--no-dangling-links"],
    &["--no-dangling-links"],
    &["-q", "-v"],
    &["-v", "--exclude-path", "/group", "--exclude-path", "/grid"],
    &["-v", "--exclude-attribute", "/grid"],
    &["-v", "-d", "1", "-p", "1"],
];

const OBJECTS: &[&[&str]] = &[
    &["/grid"],
    &["/grid", "/scalar"],
    &["/group", "/group"],
    &["/soft", "/lost"],
    &["/lost"],
    &["/half lost"],
    &["/outside"],
    &["/not there"],
    &["/grid[0,1,0;1,2,2;2,2,2]", "/grid[0,1,0;1,2,2;2,2,2]"],
    &["/grid[1,1,1;;2,3,3]", "/grid[1,1,1;;2,3,3]"],
    &["/double[1;2;2]", "/double[1;2;2]"],
];

fn made_folder() -> Option<PathBuf> {
    let folder = std::env::temp_dir().join(format!("hyperslab-diff-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/make_pairs.py");
    let made = Command::new("python3").arg(script).arg(&folder).output().ok()?;
    let known = Command::new("h5diff").arg("-V").output().ok()?;
    (made.status.success() && known.status.success()).then_some(folder)
}

fn run(program: &[&str], arguments: &[&[&str]], folder: &Path) -> Output {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(arguments.concat()).current_dir(folder);
    command.output().unwrap_or_else(|error| panic!("{program:?}: {error}"))
}

/// Lines without the blanks at their end, and the exit code.
fn printed(output: &Output) -> (Vec<String>, Option<i32>) {
    let text = String::from_utf8_lossy(&output.stdout);
    (text.lines().map(|line| line.trim_end().to_owned()).collect(), output.status.code())
}

fn compare(ours: &str, theirs: &str, arguments: &[&[&str]], folder: &Path) {
    let expected = run(&[theirs], arguments, folder);
    let got = run(&[env!("CARGO_BIN_EXE_hyperslab"), ours], arguments, folder);
    assert_eq!(printed(&got), printed(&expected), "{ours} {arguments:?}");
}

#[test]
fn tells_what_h5diff_and_h5stat_tell() {
    let Some(folder) = made_folder() else {
        return testkit::oracles::missing("python3 with h5py, and h5diff");
    };
    let pairs: [&[&str]; 3] =
        [&["first.h5", "second.h5"], &["second.h5", "first.h5"], &["first.h5", "first.h5"]];
    for pair in pairs {
        for options in OPTIONS {
            compare("diff", "h5diff", &[options, pair], &folder);
        }
        for objects in OBJECTS {
            for options in [&["-v"][..], &[], &["-v", "--follow-symlinks"]] {
                compare("diff", "h5diff", &[options, pair, objects], &folder);
            }
        }
    }
    compare("diff", "h5diff", &[&["first.h5", "missing.h5"]], &folder);
    for options in ["-f", "-F", "-g", "-G", "-d", "-D", "-T", "-A", "-s", "-S", "-gdl3"] {
        compare("stat", "h5stat", &[&[options, "first.h5"]], &folder);
    }
    compare("stat", "h5stat", &[&["second.h5"]], &folder);
    compare("stat", "h5stat", &[&["missing.h5"]], &folder);
    std::fs::remove_dir_all(folder).ok();
}
