//! Storage of every kind through the command: the tour, stacks, copies that go on, and a mirror whose target fills up.

use std::path::{Path, PathBuf};
use std::process::Command;

use hyperslab::File;
use hyperslab::vol::algorithms::compare;

use super::common::{Folder, done, hyperslab};

/// Datasets of plain numbers, `bytes` of them in all.
fn numbers(path: &str, datasets: usize, each: usize) -> u64 {
    let file = File::create(path).unwrap();
    for n in 0..datasets {
        let values: Vec<f64> = (0..each).map(|i| (i * n) as f64).collect();
        file.new_dataset::<f64>()
            .shape(each)
            .create(&format!("group/{n}"))
            .unwrap()
            .write_raw(&values)
            .unwrap();
    }
    file.close().unwrap();
    (datasets * each * 8) as u64
}

#[track_caller]
fn equal(a: &str, b: &str) {
    let open = |at: &str| hyperslab::registry().open(at, &hyperslab::FileAccess::read()).unwrap();
    assert_eq!(compare::contents(&*open(a), &*open(b)).unwrap(), []);
    done(&["diff", a, b]);
}

/// Bytes of the plain files of a folder.
fn plain_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let bytes = |path: PathBuf| match path.extension().is_some_and(|e| e == "bin") {
        true => path.metadata().unwrap().len(),
        false if path.is_dir() => plain_bytes(&path),
        false => 0,
    };
    entries.map(|entry| bytes(entry.path())).sum()
}

#[test]
fn the_tour_ends_with_every_row_equal() {
    let output = done(&["tour"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.matches("  equal\n").count() >= 6 && !text.contains("DIFFERS"), "{text}");
}

#[test]
fn a_stack_counts_what_the_storage_got_and_mirrors_it() {
    let folder = Folder::new("stack");
    let (a, b, copy) = (folder.at("a.h5"), folder.at("b.h5"), folder.at("copy"));
    let bytes = numbers(&a, 4, 1000);
    let report = folder.at("report.json");
    let stack = format!("stats{{by=operation, format=json, out={report}}} | async | mirror{{to=raw:{copy}}}");
    done(&["--vol", &stack, "copy", &a, &b]);
    equal(&a, &b);
    equal(&b, &format!("raw:{copy}"));
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("dataset_write") && report.contains(&format!("{bytes}")), "{bytes}: {report}");
    // What the statistics say went down is what lies in the plain files.
    assert_eq!(plain_bytes(Path::new(&copy)), bytes);
}

#[test]
fn a_copy_that_was_stopped_goes_on() {
    let folder = Folder::new("resume");
    let (a, b) = (folder.at("a.h5"), folder.at("b.h5"));
    numbers(&a, 6, 500);
    // As a run leaves it that was stopped after the first of them: its notes, and a target with one more that they do not know.
    done(&["copy", &a, &folder.at("whole.h5")]);
    std::fs::rename(folder.at("whole.h5"), format!("{b}.partial")).unwrap();
    let partial = File::open_rw(format!("{b}.partial")).unwrap();
    (2..6).for_each(|n| partial.unlink(&format!("group/{n}")).unwrap());
    partial.dataset("group/1").unwrap().write_raw(&vec![-1f64; 500]).unwrap();
    partial.close().unwrap();
    let metadata = std::fs::metadata(&a).unwrap();
    let time = metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let all = u64::MAX;
    let title = format!("hyperslab copy 1 {a} {} {time}", metadata.len());
    std::fs::write(format!("{b}.resume"), format!("{title}\n{all} /\n{all} /group\n{all} /group/0\n0 /gro"))
        .unwrap();
    done(&["copy", "--resume", &a, &b]);
    equal(&a, &b);
    assert!(!Path::new(&format!("{b}.resume")).exists() && !Path::new(&format!("{b}.partial")).exists());
    // Notes about another source are refused.
    std::fs::write(folder.at("c.h5.resume"), "hyperslab copy 1 other 1 1\n").unwrap();
    std::fs::copy(&b, folder.at("c.h5.partial")).unwrap();
    assert!(!hyperslab(&["copy", "--resume", &a, &folder.at("c.h5")]).status.success());
}

#[test]
fn a_mirror_that_fills_up_leaves_the_first_intact_and_is_made_anew() {
    let folder = Folder::new("full");
    let small = folder.at("small");
    std::fs::create_dir(&small).unwrap();
    let mount = |options: &str| {
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs", &small])
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !mount("size=1m") {
        return testkit::oracles::missing("the right to mount a small file system");
    }
    let (a, b, copy) = (folder.at("a.h5"), folder.at("b.h5"), format!("raw:{small}/copy"));
    numbers(&a, 2, 300_000);
    let stack = format!("mirror{{to={copy}, on_failure=continue}}");
    let output = hyperslab(&["--vol", &stack, "copy", &a, &format!("native:{b}")]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let state = hyperslab(&["--vol", &stack, "vol", "state", &b]);
    let remounted = mount("remount,size=32m");
    let resync = hyperslab(&["--vol", &stack, "vol", "resync", &b]);
    let outcome = hyperslab(&["diff", &b, &copy]);
    let _ = Command::new("umount").arg(&small).output();
    assert!(output.status.success() && told.contains("copy"), "{told}");
    assert!(String::from_utf8_lossy(&state.stdout).contains("stale"));
    assert!(remounted && resync.status.success(), "{}", String::from_utf8_lossy(&resync.stderr));
    assert!(outcome.status.success());
    equal(&a, &b);
}

#[test]
fn connectors_are_listed_and_stacks_explained() {
    let list = String::from_utf8_lossy(&done(&["vol", "list"]).stdout).into_owned();
    for name in ["native", "memory", "raw", "json", "stats", "mirror", "async", "check"] {
        assert!(list.contains(name), "{name}: {list}");
    }
    let shown =
        String::from_utf8_lossy(&done(&["vol", "show", "stats | mirror{to=raw:x/}"]).stdout).into_owned();
    assert!(shown.contains("mirror{to=raw:x/}"), "{shown}");
    let wrong = hyperslab(&["vol", "show", "stats || x"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains('^'));
    assert!(!hyperslab(&["--vol", "nothing", "vol", "list"]).status.success());
}

#[test]
fn maps_are_listed_and_dumped() {
    let folder = Folder::new("maps");
    let path = folder.at("maps.h5");
    let file = File::create(&path).unwrap();
    let ids = file.create_map::<String, u64>("ids").unwrap();
    ids.put(&"Alice".to_owned(), &25_385_486u64).unwrap();
    ids.put(&"Bob".to_owned(), &34_873_275u64).unwrap();
    file.close().unwrap();
    let text = |arguments: &[&str]| String::from_utf8_lossy(&done(arguments).stdout).into_owned();
    let listed = text(&["ls", "-v", &path]);
    assert!(listed.contains("ids                      Map {2}"), "{listed}");
    assert!(listed.contains("Value:") && listed.contains("native unsigned long"), "{listed}");
    let dumped = text(&["dump", &path]);
    for part in ["MAP \"ids\" {", "KEYS {", "(0): \"Alice\", \"Bob\"", "VALUES {", "(0): 25385486, 34873275"]
    {
        assert!(dumped.contains(part), "{part} in {dumped}");
    }
}
