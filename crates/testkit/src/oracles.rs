//! Programs and files of others that tests compare with.
//!
//! A test that needs one that is missing fails. `HYPERSLAB_WITHOUT_ORACLES=1` leaves such tests out, and each says so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The variable that allows tests to be left out.
const WITHOUT: &str = "HYPERSLAB_WITHOUT_ORACLES";

/// Reports that a test needs something that is missing.
///
/// # Panics
/// Panics unless `HYPERSLAB_WITHOUT_ORACLES` is set.
#[track_caller]
pub fn missing(what: &str) {
    let is_allowed = std::env::var_os(WITHOUT).is_some();
    assert!(is_allowed, "this test needs {what}: scripts/test installs it, {WITHOUT}=1 leaves the test out");
    eprintln!("left out: this test needs {what}");
}

/// Returns whether python3 has h5py; see [`missing`] for what happens if not.
#[track_caller]
pub fn has_h5py() -> bool {
    has("python3 with h5py", Command::new("python3").args(["-c", "import h5py"]))
}

/// Returns whether a command exists; see [`missing`] for what happens if not.
#[track_caller]
pub fn has_program(name: &str) -> bool {
    has(name, Command::new(name).arg("--version"))
}

#[track_caller]
fn has(what: &str, command: &mut Command) -> bool {
    let is_there = command.output().is_ok_and(|output| output.status.success());
    if !is_there {
        missing(what);
    }
    is_there
}

/// Returns the folder of golden files: the one that `HYPERSLAB_GOLDEN` names, or else one that `tests/golden/make.py` fills
/// once in this process. `None` if h5py is missing; see [`missing`].
#[track_caller]
pub fn golden() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let named = || std::env::var_os("HYPERSLAB_GOLDEN").map(PathBuf::from);
    let folder = FOLDER.get_or_init(|| named().or_else(make_golden)).as_deref();
    if folder.is_none() {
        missing("golden files, which python3 with h5py makes");
    }
    folder
}

fn make_golden() -> Option<PathBuf> {
    let folder = std::env::temp_dir().join(format!("hyperslab-golden-{}", std::process::id()));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/make.py");
    let made = Command::new("python3").arg(script).arg(&folder).output().ok()?;
    made.status.success().then_some(folder)
}

/// Returns the files under a folder, sorted; none if there is no such folder.
pub fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
