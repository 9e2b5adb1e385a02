//! Copies into folders of strangers: nothing is written, cut or removed through what stands in the way.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::common::{Folder, done, hyperslab, text};
use super::copies::{TARGETS, big, small, start, within};
use testkit::strangers::{Outside, Trap};

#[test]
fn links_and_fifos_in_the_place_of_temporary_files_change_nothing_outside() {
    let outside = Outside::new();
    let folder = Folder::new("strangers");
    let a = folder.at("a.h5");
    small(&a);
    for target in TARGETS {
        let (location, path) = within(&folder, target);
        let path = path.trim_end_matches('/');
        for (trap, end) in Trap::ALL.iter().flat_map(|trap| [".partial", ".resume"].map(|end| (*trap, end))) {
            let place = format!("{path}{end}");
            outside.set(trap, Path::new(&place));
            let refused = hyperslab(&["copy", "--resume", &a, &location]);
            outside.assert_unchanged(&format!("{trap:?} at {place}"));
            // What is left of an earlier copy is removed, and a FIFO is no more than that.
            let may_be_replaced = trap == Trap::Fifo && end == ".partial";
            assert!(
                may_be_replaced || !refused.status.success(),
                "{trap:?} at {place}: {}",
                text(&refused.stderr)
            );
            remove(&place);
            remove(path);
            remove(&format!("{path}.partial"));
            remove(&format!("{path}.resume"));
        }
    }
}

fn remove(path: &str) {
    let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
}

#[test]
fn a_fifo_where_a_file_is_wanted_is_an_error_of_every_command() {
    let (outside, folder) = (Outside::new(), Folder::new("fifo"));
    let (a, fifo) = (folder.at("a.h5"), folder.at("fifo"));
    small(&a);
    outside.set(Trap::Fifo, Path::new(&fifo));
    let json = format!("json:{fifo}");
    for arguments in [
        &["ls", &fifo][..],
        &["dump", &fifo],
        &["check", &fifo],
        &["stat", &fifo],
        &["diff", &a, &fifo],
        &["copy", &fifo, "memory:x"],
        &["repack", &fifo],
        &["recover", &fifo],
        &["ls", &json],
        &["check", &json],
    ] {
        assert!(!hyperslab(arguments).status.success(), "{arguments:?}");
    }
}

#[test]
fn a_repacked_folder_goes_file_by_file() {
    let folder = Folder::new("aside");
    let a = folder.at("a.h5");
    small(&a);
    let raw = format!("raw:{}", folder.at("r"));
    done(&["copy", &a, &raw]);
    std::fs::write(folder.at("r/.mine"), "mine").unwrap();
    // The old container goes; what is not its own stays, and is named.
    let copied = hyperslab(&["copy", "--overwrite", &a, &raw]);
    assert!(copied.status.success() && text(&copied.stderr).contains(".mine"), "{}", text(&copied.stderr));
    let left = folder.names().into_iter().find(|name| name.ends_with(".old")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.at(&left) + "/.mine").unwrap(), "mine");
    done(&["diff", &a, &raw]);
}

/// Begins a copy that can go on, and stops it once it has notes. Whether it was stopped before its end.
fn begun(from: &str, to: &str, notes: &str) -> bool {
    let mut child = start(&["copy", "--resume", from, to]);
    let since = Instant::now();
    while !Path::new(notes).exists() && since.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    !child.wait().unwrap().success()
}

#[test]
fn a_stopped_copy_goes_on_with_what_it_left() {
    let folder = Folder::new("goes-on");
    let source = big(&folder, 8);
    for target in TARGETS {
        let (location, path) = within(&folder, target);
        let path = path.trim_end_matches('/');
        let is_begun = begun(&source, &location, &format!("{path}.resume"));
        if is_begun {
            done(&["copy", "--resume", &source, &location]);
        }
        done(&["diff", &source, &location]);
        assert!(!folder.names().iter().any(|name| name.contains(".partial") || name.contains(".resume")));
        remove(path);
    }
}

/// Puts a link in the place of a file, and the file back, again and again.
fn swap(path: &str, victim: &str, is_done: &AtomicBool) {
    let aside = format!("{path}.aside");
    while !is_done.load(Ordering::Relaxed) {
        if std::fs::rename(path, &aside).is_ok() {
            let _ = symlink(victim, path);
            std::thread::yield_now();
            let _ = std::fs::rename(&aside, path);
        }
    }
}

#[test]
fn a_link_swapped_for_what_an_earlier_copy_left_leads_nobody_out() {
    let folder = Folder::new("swapped");
    let (source, target, victim) = (big(&folder, 1), folder.at("x.h5"), folder.at("victim.h5"));
    let (partial, notes) = (format!("{target}.partial"), format!("{target}.resume"));
    small(&victim);
    let before = std::fs::read(&victim).unwrap();
    while !begun(&source, &target, &notes) {
        remove(&target);
    }
    let kept = [&partial, &notes].map(|path| std::fs::read(path).unwrap());
    for _ in 0..40 {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| swap(&partial, &victim, &is_done));
            let _ = hyperslab(&["copy", "--resume", &source, &target]);
            is_done.store(true, Ordering::Relaxed);
        });
        assert!(std::fs::read(&victim).unwrap() == before, "the copy went to another file");
        for (path, bytes) in [&partial, &notes].into_iter().zip(&kept) {
            remove(path);
            std::fs::write(path, bytes).unwrap();
        }
        remove(&target);
        remove(&format!("{partial}.aside"));
    }
}
