//! `hyperslab log`, `compact`, and copies out of a log.

use std::path::PathBuf;
use std::process::{Command, Output};

use hyperslab::File;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn hyperslab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hyperslab")).args(arguments).output().unwrap()
}

#[track_caller]
fn done(arguments: &[&str]) -> String {
    let output = hyperslab(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A log whose dataset was overwritten ten times.
fn overwritten(path: &str) {
    let file = File::create(format!("log:{path}")).unwrap();
    let data = file.new_dataset::<i32>().shape([10_000]).create("group/data").unwrap();
    for round in 0..10 {
        data.write_raw(&vec![round; 10_000]).unwrap();
        file.flush().unwrap();
    }
    file.close().unwrap();
}

#[test]
fn a_log_is_told_compacted_and_copied() {
    let folder = Folder(std::env::temp_dir().join(format!("hyperslab-cli-log-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("run.h5").display().to_string();
    overwritten(&path);
    let before = std::fs::metadata(&path).unwrap().len();
    let text = done(&["log", &path]);
    assert!(text.contains("flushes     10") && text.contains("/group/data"), "{text}");
    assert!(text.contains("overlap     360000"), "{text}");
    done(&["compact", &path]);
    let text = done(&["log", &format!("log:{path}")]);
    assert!(text.contains("flushes     1\n") && text.contains("overlap     0"), "{text}");
    assert!(std::fs::metadata(&path).unwrap().len() < before / 5);
    let copy = folder.0.join("copy.h5").display().to_string();
    done(&["copy", &format!("log:{path}"), &copy]);
    let file = File::open(&copy).unwrap();
    let values = file.dataset("group/data").unwrap().read_raw::<i32>().unwrap();
    assert_eq!(values, vec![9; 10_000]);
    assert!(!hyperslab(&["log", &copy]).status.success());
}
