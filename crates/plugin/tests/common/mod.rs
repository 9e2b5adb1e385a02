//! Plugins for tests: examples of this crate, and C compiled on the spot.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The file of a shared library.
pub(crate) fn library(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX))
}

/// A plugin that is an example of this crate; cargo built it with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    library(&test.ancestors().nth(2).unwrap().join("examples"), name)
}

/// A new folder for this test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles a plugin of C into a folder; `None`, and a word about it, where there is no compiler.
pub(crate) fn compile(source: &Path, folder: &Path, name: &str) -> Option<PathBuf> {
    let out = library(folder, name);
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include)
        .arg("-o")
        .arg(&out);
    match cc.arg(source).status() {
        Ok(status) => {
            assert!(status.success(), "the compiler refuses {}", source.display());
            Some(out)
        }
        Err(error) => {
            testkit::oracles::missing(&format!("a C compiler ({error})"));
            None
        }
    }
}

/// As `compile`, from text.
pub(crate) fn compile_text(text: &str, folder: &Path, name: &str) -> Option<PathBuf> {
    let source = folder.join(format!("{name}.c"));
    std::fs::write(&source, text).unwrap();
    compile(&source, folder, name)
}

/// The layer of C that counts calls, compiled into a folder.
pub(crate) fn count_calls(folder: &Path) -> Option<PathBuf> {
    let source = "../../examples/plugins/count-calls/count_calls.c";
    compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join(source), folder, "count_calls")
}
