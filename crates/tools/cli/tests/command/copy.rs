//! `hyperslab copy` and `repack`: what comes out is what h5diff takes for the same.

use std::path::PathBuf;
use std::process::Command;

use hyperslab::File;

use super::common::{Folder, done, hyperslab};

/// Files that h5diff 1.10 can read; nothing where there are none.
fn golden() -> Vec<PathBuf> {
    let Some(folder) = testkit::oracles::golden() else { return Vec::new() };
    let mut paths = testkit::oracles::files_under(&folder.join("files"));
    let wanted = |name: &str| {
        let kinds = ["attributes", "groups", "layouts", "references", "strings", "types", "tracked", "paged"];
        let bounds = ["-v112", "-v114", "-v200"];
        kinds.iter().any(|k| name.starts_with(k)) && !bounds.iter().any(|b| name.contains(b))
    };
    paths.retain(|p| p.file_name().is_some_and(|n| wanted(&n.to_string_lossy())));
    paths.sort();
    paths
}

/// The differences that h5diff finds in two files: nothing where it is not installed, or cannot compare them.
fn h5diff(a: &str, b: &str) -> Option<String> {
    let output = Command::new("h5diff").args(["-v", a, b]).output().ok()?;
    (output.status.code() == Some(1)).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[track_caller]
fn assert_same(a: &str, b: &str) {
    let ours = hyperslab(&["diff", "-v", a, b]);
    assert_ne!(ours.status.code(), Some(1), "{a} {b}: {}", String::from_utf8_lossy(&ours.stdout));
    if let Some(text) = h5diff(a, b) {
        panic!("h5diff {a} {b}: {text}");
    }
    done(&["check", b]);
}

#[test]
fn copies_of_whole_files_are_the_same() {
    let folder = Folder::new("whole");
    for (n, path) in golden().iter().enumerate() {
        let (from, to) = (path.display().to_string(), folder.at(&format!("{n}.h5")));
        done(&["copy", &from, &to]);
        assert_same(&from, &to);
        assert!(!hyperslab(&["copy", &from, &to]).status.success(), "an existing file is not replaced");
    }
    assert!(folder.names().iter().all(|name| !name.contains("partial")));
}

/// A file of an old format, in which all filters have names.
#[test]
fn chunks_of_old_files_are_copied_as_they_are_stored() {
    if !testkit::oracles::has_h5py() {
        return testkit::oracles::missing("h5py");
    }
    let folder = Folder::new("old-chunks");
    let (from, to) = (folder.at("old.h5"), folder.at("copy.h5"));
    let script = "
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w', libver='earliest') as f:
    values = numpy.random.default_rng(1).integers(0, 9, (100, 100))
    f.create_dataset('d', data=values, chunks=(10, 100), shuffle=True, compression='gzip', compression_opts=1)
";
    assert!(Command::new("python3").args(["-c", script, &from]).status().unwrap().success());
    done(&["copy", &from, &to]);
    let chunks = |path: &str| {
        let (data, bytes) = (File::open(path).unwrap().dataset("d").unwrap(), std::fs::read(path).unwrap());
        let stored = |index| {
            let chunk = data.chunk_info(index).unwrap();
            bytes[chunk.addr as usize..][..chunk.size as usize].to_vec()
        };
        (0..10).map(stored).collect::<Vec<_>>()
    };
    assert!(chunks(&from) == chunks(&to), "deflate of another library makes other bytes");
}

#[test]
fn repacked_files_are_the_same() {
    let folder = Folder::new("repack");
    let ways: [&[&str]; 5] = [
        &[],
        &["-f", "SHUF", "-f", "GZIP=4"],
        &["-f", "NONE", "-l", "CONTI"],
        &["--low", "latest"],
        &["-l", "CHUNK=5x5", "-f", "FLET", "--low", "earliest"],
    ];
    for path in golden().iter().filter(|p| p.to_string_lossy().contains("layouts")) {
        for (n, way) in ways.iter().enumerate() {
            let (from, to) = (path.display().to_string(), folder.at(&format!("{n}.h5")));
            done(&[&["repack"], *way, &[&from, &to]].concat());
            let ours = hyperslab(&["diff", &from, &to]);
            let text = String::from_utf8_lossy(&ours.stdout);
            assert_ne!(ours.status.code(), Some(1), "{way:?} {from}: {text}");
            done(&["repack", &to]);
            done(&["check", &to]);
        }
    }
    assert!(folder.names().iter().all(|name| !name.contains("partial")));
}

#[test]
fn objects_go_into_files_that_are_there() {
    let folder = Folder::new("objects");
    let Some(path) = golden().into_iter().find(|p| p.to_string_lossy().contains("groups-v108")) else {
        return;
    };
    let (from, to) = (path.display().to_string(), folder.at("objects.h5"));
    done(&["copy", &from, &to]);
    done(&["copy", "-s", "/deep", "-d", "/more/deep again", "-p", &from, &to]);
    done(&["diff", &from, &to, "/deep", "/more/deep again"]);
    let taken = hyperslab(&["copy", "-s", "/deep", "-d", "/more/deep again", &from, &to]);
    assert!(!taken.status.success());
    let missing = hyperslab(&["copy", "-s", "/not there", "-d", "/x", &from, &folder.at("new.h5")]);
    assert!(!missing.status.success());
    assert_eq!(folder.names(), ["objects.h5"]);
}
