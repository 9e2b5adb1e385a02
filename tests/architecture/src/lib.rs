//! The workspace as text: manifests, sources and the tables of ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the text of a file of the workspace.
///
/// # Panics
/// Panics if the file cannot be read.
pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the names of all crates that are part of the product, by their folder under `crates/`, and the other such crates
/// that each depends on.
///
/// # Panics
/// Panics if a manifest cannot be read.
pub fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let names = folders();
    let all = names.values().map(|folder| {
        let manifest = read(format!("crates/{folder}/Cargo.toml"));
        let used = normal_dependencies(&manifest).filter_map(|name| names.get(&name).cloned()).collect();
        (folder.clone(), used)
    });
    all.collect()
}

/// Returns the folder under `crates/` of each name in the workspace's table of dependencies.
fn folders() -> BTreeMap<String, String> {
    let manifest = read("Cargo.toml");
    let entries = manifest.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" = {")?;
        let folder = rest.split_once("path = \"crates/")?.1.split_once('"')?.0;
        Some((name.trim().to_owned(), folder.to_owned()))
    });
    let mut all: BTreeMap<String, String> = entries.collect();
    all.insert("cli".to_owned(), "tools/cli".to_owned());
    all.insert("hdf5".to_owned(), "bridges/c".to_owned());
    all
}

/// Returns the names in `[dependencies]` and in the tables for single targets.
fn normal_dependencies(manifest: &str) -> impl Iterator<Item = String> {
    let mut is_inside = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            is_inside = line.ends_with("dependencies]") && !line.contains("dev-") && !line.contains("build-");
            return None;
        }
        let name: String = line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        (is_inside && !name.is_empty()).then_some(name)
    })
}

/// Returns the rows of the table that follows a heading of ARCHITECTURE.md, as cells without backticks.
///
/// # Panics
/// Panics if the document has no such heading.
pub fn table(heading: &str) -> Vec<Vec<String>> {
    let text = read("ARCHITECTURE.md");
    let at = text.find(heading).unwrap_or_else(|| panic!("ARCHITECTURE.md has no heading {heading:?}"));
    let rows = text[at..].lines().skip(1).skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect()
}

/// Returns all Rust sources under a folder of the workspace, as paths from its root and their texts.
///
/// # Panics
/// Panics if a folder cannot be listed.
pub fn sources(folder: &str) -> Vec<(String, String)> {
    let (root, mut found, mut left) = (root(), Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).expect("under the root").to_string_lossy().into_owned();
                found.push((name, std::fs::read_to_string(&path).expect("a source")));
            }
        }
    }
    found.sort();
    found
}
