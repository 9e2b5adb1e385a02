//! Copies that do not finish: what is left is gone, or says that it is unfinished, and `--resume` goes on.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::{Folder, done, hyperslab, text};
use hyperslab::{File, s};

pub(super) const TARGETS: [&str; 6] = ["x.h5", "log:x.h5", "object:x/", "iod:x/", "raw:x/", "json:x.json"];

/// A file that takes a while to copy.
pub(super) fn big(folder: &Folder, megabytes: usize) -> String {
    let path = folder.at("big.h5");
    let file = File::create(&path).unwrap();
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state as f64
    };
    for n in 0..8 {
        let values: Vec<f64> = (0..megabytes << 14).map(|_| next()).collect();
        let data = file.new_dataset::<f64>().shape([values.len()]).chunk([8192]).create(&format!("d{n}"));
        data.unwrap().write_raw(&values).unwrap();
    }
    file.close().unwrap();
    path
}

/// A location in a folder: `raw:x/` is `raw:FOLDER/x/`.
pub(super) fn within(folder: &Folder, location: &str) -> (String, String) {
    match location.split_once(':') {
        Some((connector, path)) => (format!("{connector}:{}", folder.at(path)), folder.at(path)),
        None => (folder.at(location), folder.at(location)),
    }
}

pub(super) fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperslab"));
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Stops a copy some time after it began to write; whether it was stopped before its end.
fn stopped(folder: &Folder, from: &str, to: &str, after: Duration, signal: &str) -> bool {
    let mut child = start(&["copy", "--overwrite", from, to]);
    let (begun, before) = (Instant::now(), folder.names().len());
    while folder.names().len() == before && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    // The shell has this command built in, whatever else is installed.
    let sent = Command::new("sh").args(["-c", &format!("kill {signal} {}", child.id())]).status().unwrap();
    assert!(sent.success() || child.try_wait().unwrap().is_some());
    !child.wait().unwrap().success()
}

/// What is there before and after: the old container, or the new one, and nothing in between.
fn stop_copies(signal: &str) {
    let folder = Folder::new(&format!("stop{signal}"));
    let (from, old) = (big(&folder, 1), folder.at("old.h5"));
    small(&old);
    let mut count = 0;
    for target in TARGETS {
        let (location, path) = within(&folder, target);
        done(&["copy", &old, &location]);
        for after in [0, 2, 10, 40] {
            let was_stopped = stopped(&folder, &from, &location, Duration::from_millis(after), signal);
            count += u32::from(was_stopped);
            let names = folder.names();
            let partial = names.iter().filter(|name| name.contains(".partial"));
            // A caller that is killed cannot clean up.
            assert!(signal == "-KILL" || partial.clone().count() == 0, "{target}: {names:?}");
            done(&["check", &location]);
            // It may have been whole already when it was stopped.
            let is = |what: &str| hyperslab(&["diff", what, &location]).status.success();
            assert!(is(&from) || was_stopped && is(&old), "{target}");
            let remains = names.iter().filter(|name| name.contains(".partial") || name.ends_with(".old"));
            remains.for_each(|name| remove(&folder.at(name)));
            done(&["copy", "--overwrite", &old, &location]);
        }
        remove(&path);
    }
    assert!(count > 0, "no copy was stopped");
}

fn remove(path: &str) {
    let gone =
        if Path::new(path).is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    gone.unwrap();
}

#[test]
fn a_copy_that_is_interrupted_leaves_the_old_container() {
    stop_copies("-INT");
}

#[test]
fn a_copy_that_is_killed_leaves_the_old_container() {
    stop_copies("-KILL");
}

#[test]
fn a_container_that_is_replaced_is_gone_only_when_the_new_one_is_there() {
    let folder = Folder::new("replaced");
    let (a, b) = (folder.at("a.h5"), folder.at("b.h5"));
    small(&a);
    big(&folder, 1);
    std::fs::rename(folder.at("big.h5"), &b).unwrap();
    for target in TARGETS {
        let (location, path) = within(&folder, target);
        done(&["copy", &a, &location]);
        let again = hyperslab(&["copy", &b, &location]);
        assert!(!again.status.success() && text(&again.stderr).contains("--overwrite"), "{target}");
        done(&["copy", "--if-absent", &b, &location]);
        done(&["diff", &a, &location]);
        assert!(!hyperslab(&["copy", "--if-absent", "--overwrite", &b, &location]).status.success());
        done(&["copy", "--overwrite", &b, &location]);
        done(&["diff", &b, &location]);
        remove(&path);
    }
    assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
}

#[test]
fn a_copy_over_the_limit_leaves_nothing() {
    let folder = Folder::new("limit");
    let file = File::create(folder.at("a.h5")).unwrap();
    file.new_dataset::<u8>()
        .shape([257 << 20])
        .create("d")
        .unwrap()
        .write_slice(&ndarray::arr1(&[1u8]), s![5..6])
        .unwrap();
    file.close().unwrap();
    let (location, path) = within(&folder, "json:x.json");
    let failed = hyperslab(&["copy", &folder.at("a.h5"), &location]);
    assert!(!failed.status.success());
    assert!(!Path::new(&path).exists(), "{:?}", folder.names());
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_its_links() {
    let folder = Folder::new("mode");
    let (a, b, link) = (folder.at("a.h5"), folder.at("b.h5"), folder.at("link.h5"));
    small(&a);
    done(&["copy", &a, &b]);
    std::fs::set_permissions(&b, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink("b.h5", &link).unwrap();
    for command in
        [&["repack", "-f", "GZIP=1", &b][..], &["copy", "--overwrite", &a, &link], &["repack", &link]]
    {
        done(command);
        assert_eq!(std::fs::metadata(&b).unwrap().permissions().mode() & 0o777, 0o600, "{command:?}");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink(), "{command:?}");
        done(&["diff", &a, &b]);
    }
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["a.h5", "b.h5", "link.h5"]);
}

#[test]
fn nothing_is_written_through_a_link_in_the_place_of_a_temporary_file() {
    let folder = Folder::new("links");
    let (a, b, victim) = (folder.at("a.h5"), folder.at("b.h5"), folder.at("victim"));
    small(&a);
    std::fs::File::create(&victim).unwrap().write_all(b"precious").unwrap();
    symlink(&victim, format!("{b}.partial")).unwrap();
    assert!(!hyperslab(&["copy", "--resume", &a, &b]).status.success());
    std::fs::remove_file(format!("{b}.partial")).unwrap();
    symlink(&victim, format!("{b}.resume")).unwrap();
    assert!(!hyperslab(&["copy", "--resume", &a, &b]).status.success());
    assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_file_in_use_is_busy_and_not_already_there() {
    let folder = Folder::new("busy");
    let (a, b) = (folder.at("a.h5"), folder.at("b.h5"));
    small(&a);
    done(&["copy", &a, &b]);
    let writer = File::open_rw(&b).unwrap();
    let refused = hyperslab(&["copy", "-s", "/d", "-d", "/e", &a, &b]);
    let said = text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("busy") && !said.contains("exists"), "{said}");
    writer.close().unwrap();
}

#[test]
fn holes_of_sparse_datasets_stay_holes() {
    let folder = Folder::new("sparse");
    let file = File::create(folder.at("a.h5")).unwrap();
    let data = file.new_dataset::<f64>().shape([1 << 28]).chunk([8192]).create("d").unwrap();
    for at in [0usize, 100_000_000, (1 << 28) - 1] {
        data.write_slice(&ndarray::arr1(&[1.5]), s![at..at + 1]).unwrap();
    }
    file.close().unwrap();
    for target in ["raw:x/", "object:x/", "iod:x/"] {
        let (location, path) = within(&folder, target);
        done(&["copy", &folder.at("a.h5"), &location]);
        let used = Command::new("du").args(["-sk", &path]).output().unwrap();
        let kilobytes: u64 = text(&used.stdout).split_whitespace().next().unwrap().parse().unwrap();
        assert!(kilobytes < 20_000, "{target}: {kilobytes} KiB");
        std::fs::remove_dir_all(&path).unwrap();
    }
}

pub(super) fn small(path: &str) {
    let file = File::create(path).unwrap();
    let data = file.new_dataset::<i32>().shape([1000]).chunk([100]).create("d").unwrap();
    data.write_raw(&(0..1000).collect::<Vec<i32>>()).unwrap();
    file.close().unwrap();
}
