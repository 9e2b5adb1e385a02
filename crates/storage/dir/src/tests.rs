//! What stands in a directory never leads out of it, by whichever way paths are walked.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::*;

/// A directory with a neighbour that must not change.
struct Scene {
    base: PathBuf,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let base = std::env::temp_dir().join(format!("hyperslab-dir-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        fs::create_dir_all(base.join("own/sub")).unwrap();
        fs::create_dir_all(base.join("outside/folder")).unwrap();
        fs::write(base.join("outside/file"), "precious").unwrap();
        fs::write(base.join("own/sub/real"), "ours").unwrap();
        for link in [&base.join("own"), &base.join("own/sub")] {
            symlink(base.join("outside/file"), link.join("to-file")).unwrap();
            symlink(base.join("outside"), link.join("to-folder")).unwrap();
            symlink(base.join("outside/new"), link.join("to-nothing")).unwrap();
            symlink("../..", link.join("up")).unwrap();
            assert!(Command::new("mkfifo").arg(link.join("fifo")).status().unwrap().success());
        }
        Scene { base }
    }

    fn dir(&self) -> Dir {
        Dir::open(&self.base.join("own")).unwrap()
    }

    fn assert_outside_unchanged(&self) {
        let outside = self.base.join("outside");
        assert_eq!(fs::read(outside.join("file")).unwrap(), b"precious");
        assert!(outside.join("folder").is_dir());
        assert_eq!(fs::read_dir(outside).unwrap().count(), 2);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

const LINKS: [&str; 3] = ["to-file", "to-folder", "to-nothing"];
const WAYS: [Open; 3] = [Open::Read, Open::Write, Open::CreateOrOpen];

/// Opens a file of the directory `own`.
type OpenFile = fn(&Path, &Path, Open) -> io::Result<File>;

fn by_kernel(base: &Path, path: &Path, how: Open) -> io::Result<File> {
    unix::Handle::open(base)?.file_by(unix::by_kernel, path, how)
}

fn by_component(base: &Path, path: &Path, how: Open) -> io::Result<File> {
    unix::Handle::open(base)?.file_by(unix::by_component, path, how)
}

fn by_checks(base: &Path, path: &Path, how: Open) -> io::Result<File> {
    checked::Handle::open(base)?.file(path, how)
}

#[test]
fn links_and_devices_are_not_opened_however_paths_are_walked() {
    let ways: [(&str, OpenFile); 3] =
        [("kernel", by_kernel), ("component", by_component), ("checks", by_checks)];
    for (name, open) in ways {
        let scene = Scene::new(name);
        let base = scene.base.join("own");
        for how in WAYS {
            for path in LINKS.map(|link| format!("sub/{link}")).into_iter().chain(LINKS.map(str::to_owned)) {
                assert!(open(&base, Path::new(&path), how).is_err(), "{name} {path} {how:?}");
            }
            for path in ["to-folder/file", "sub/to-folder/file", "sub/up/outside/file", "to-folder/new"] {
                assert!(open(&base, Path::new(path), how).is_err(), "{name} {path} {how:?}");
            }
        }
        assert!(open(&base, Path::new("sub/real"), Open::Write).is_ok(), "{name}");
        assert!(open(&base, Path::new("sub/new"), Open::CreateNew).is_ok(), "{name}");
        for path in ["sub/to-nothing", "sub/real", "fifo"] {
            let error = open(&base, Path::new(path), Open::CreateNew).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{name} {path}");
        }
        scene.assert_outside_unchanged();
    }
}

#[test]
fn only_regular_files_are_opened_and_a_fifo_does_not_hang() {
    let scene = Scene::new("regular");
    for path in ["fifo", "sub/fifo", "sub", "to-file"] {
        for how in WAYS {
            let error = scene.dir().file(path, how).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path} {how:?} {error}");
        }
    }
    assert!(
        checked::Handle::open(&scene.base.join("own")).unwrap().file(Path::new("fifo"), Open::Read).is_err()
    );
}

#[test]
fn paths_that_leave_the_directory_are_refused() {
    let scene = Scene::new("leave");
    let dir = scene.dir();
    for path in ["..", "../outside/file", "sub/../../outside/file", "/etc/passwd", "./../outside"] {
        assert!(dir.file(path, Open::CreateOrOpen).is_err(), "{path}");
        assert!(dir.remove_file(path).is_err() && dir.remove_dir(path).is_err(), "{path}");
        assert!(
            dir.make_dirs(path).is_err() && dir.entries(path).is_err() && dir.dir(path).is_err(),
            "{path}"
        );
        assert!(dir.rename("sub/real", path).is_err() && dir.rename(path, "x").is_err(), "{path}");
        assert!(dir.replace(path, b"x", Sync::All).is_err() && dir.info(path).is_err(), "{path}");
    }
    scene.assert_outside_unchanged();
}

#[test]
fn nothing_is_changed_or_listed_through_a_link() {
    let scene = Scene::new("through");
    let dir = scene.dir();
    for link in ["to-folder", "sub/to-folder"] {
        let inside = |name: &str| format!("{link}/{name}");
        assert!(dir.make_dir(inside("new")).is_err() && dir.make_dirs(inside("new/er")).is_err());
        assert!(dir.remove_file(inside("file")).is_err() && dir.remove_dir(inside("folder")).is_err());
        assert!(
            dir.rename("sub/real", inside("real")).is_err() && dir.rename(inside("file"), "got").is_err()
        );
        assert!(dir.replace(inside("file"), b"x", Sync::None).is_err() && dir.info(inside("file")).is_err());
        let other = fs::metadata("/").unwrap();
        assert!(dir.set_owner_of(link, &other).is_err() && dir.set_owner_of(inside("file"), &other).is_err());
        assert!(dir.entries(link).is_err() && dir.dir(link).is_err() && dir.sync(link).is_err());
        assert!(dir.make_dirs(link).is_err() && dir.remove_dir(link).is_err());
        assert!(dir.remove_known(link, |_| true).is_err());
    }
    scene.assert_outside_unchanged();
}

#[test]
fn a_link_is_replaced_renamed_and_removed_itself() {
    let scene = Scene::new("itself");
    let dir = scene.dir();
    for link in LINKS {
        dir.replace(format!("sub/{link}"), b"new", Sync::All).unwrap();
        assert_eq!(fs::read(scene.base.join("own/sub").join(link)).unwrap(), b"new");
        assert_eq!(dir.info(link).unwrap().kind, EntryKind::Link);
        dir.rename(format!("sub/{link}"), link).unwrap();
        assert!(dir.is_file(link));
        dir.remove_file(link).unwrap();
        assert!(dir.find(link).unwrap().is_none());
    }
    dir.remove_file("up").unwrap();
    assert!(dir.is_file("sub/real"));
    scene.assert_outside_unchanged();
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_a_hard_link_keeps_the_old_bytes() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new("replace");
    let (dir, path) = (scene.dir(), scene.base.join("own/text"));
    fs::write(&path, "old").unwrap();
    fs::hard_link(&path, scene.base.join("own/other")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let info = dir.replace("text", b"new text", Sync::All).unwrap();
    assert_eq!((fs::read(&path).unwrap(), info), (b"new text".to_vec(), dir.info("text").unwrap()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::read(scene.base.join("own/other")).unwrap(), b"old");
    assert!(dir.entries("").unwrap().all(|entry| !is_temporary(&entry.unwrap().name)));
}

#[test]
fn only_known_files_are_removed_and_what_stays_is_named() {
    let scene = Scene::new("known");
    let dir = scene.dir();
    dir.make_dirs("a/b").unwrap();
    for name in ["a/b/one", "a/b/two"] {
        dir.file(name, Open::CreateNew).unwrap();
    }
    assert_eq!(dir.remove_known("a/b", |name| name == "one").unwrap(), Some("two".into()));
    symlink("/etc", scene.base.join("own/a/b/two-link")).unwrap();
    assert_eq!(dir.remove_known("a/b", |_| true).unwrap(), Some("two-link".into()));
    dir.remove_file("a/b/two-link").unwrap();
    assert_eq!(dir.remove_known("a/b", |_| true).unwrap(), None);
    assert_eq!(dir.remove_known("a/b", |_| true).unwrap(), None);
    assert!(dir.is_dir("a") && dir.find("a/b").unwrap().is_none());
}

#[cfg(target_os = "linux")]
/// Two names change places at once: there is always something at both.
fn exchange(a: &Path, b: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_swapped_for_a_link_all_the_time_leads_nobody_out() {
    let scene = Scene::new("race");
    fs::create_dir(scene.base.join("own/swapped")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                exchange(&scene.base.join("own/swapped"), &scene.base.join("own/to-folder"));
            }
        });
        let dir = scene.dir();
        for n in 0..3000 {
            let _ = dir.file("swapped/file", Open::CreateOrOpen).map(|file| file.set_len(0));
            let _ = dir.replace(format!("swapped/{n}"), b"x", Sync::None);
            let _ = dir.remove_file("swapped/file");
            let _ = dir.remove_dir("swapped/folder");
            let _ = dir.make_dirs(format!("swapped/{n}-folder"));
            let _ = dir.rename(format!("swapped/{n}"), "swapped/file");
        }
        stop.store(true, Ordering::Relaxed);
    });
    scene.assert_outside_unchanged();
}

#[cfg(target_os = "linux")]
#[test]
fn the_real_path_of_what_is_open_is_its_own_whatever_stands_at_its_name() {
    let scene = Scene::new("real-path");
    let at = |name: &str| scene.base.join(name);
    std::fs::create_dir(at("folder")).unwrap();
    std::fs::create_dir(at("other")).unwrap();
    symlink(at("folder"), at("link")).unwrap();
    let root = scene.base.canonicalize().unwrap();
    assert_eq!(real_path(&at("link")).unwrap(), root.join("folder"));
    let dir = Dir::open_real(&at("link")).unwrap();
    assert_eq!(dir.path(""), root.join("folder"));
    std::fs::rename(at("folder"), at("moved")).unwrap();
    symlink(at("other"), at("folder")).unwrap();
    assert_eq!(real_path(&dir.pinned()).unwrap(), root.join("moved"));
    assert_eq!(Dir::open_real(&dir.pinned()).unwrap().path(""), root.join("moved"));
    assert_eq!(real_path(&at("none")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}
