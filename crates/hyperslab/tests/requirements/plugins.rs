//! Requirement 11: connectors in shared libraries are found and loaded where a program asks for them.

use std::path::{Path, PathBuf};
use std::process::Command;

use hyperslab::{Environment, File, FileAccess, Kind};

use crate::program::{self, folder};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins");

/// The file of a shared library.
fn library(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX))
}

/// The example in Rust, built next to this test; `false`, and a word about it, where that cannot be done.
fn build_rust(into: &Path) -> bool {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--lib", "--manifest-path"]);
    cargo.arg(Path::new(EXAMPLES).join("folder-of-json/Cargo.toml")).arg("--target-dir").arg(target);
    let is_built = cargo.status().is_ok_and(|status| status.success());
    let from = library(&target.join("debug"), "folder_of_json");
    let is_there = is_built && std::fs::copy(from, library(into, "folder_of_json")).is_ok();
    if !is_there {
        testkit::oracles::missing("a compiler for the example plugin in Rust");
    }
    is_there
}

/// The example in C.
fn build_c(into: &Path) -> bool {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin/include");
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-shared", "-fPIC", "-I"]).arg(include).arg("-o").arg(library(into, "count_calls"));
    let is_built = cc.arg(Path::new(EXAMPLES).join("count-calls/count_calls.c")).status();
    let is_built = is_built.is_ok_and(|status| status.success());
    if !is_built {
        testkit::oracles::missing("a compiler for the example plugin in C");
    }
    is_built
}

fn environment(path: &Path, stack: Option<&str>) -> hyperslab::Result<Environment> {
    Environment::from(|name| match name {
        "HDF5_PLUGIN_PATH" => Some(path.into()),
        "HYPERSLAB_VOL" => stack.map(Into::into),
        _ => None,
    })
}

/// A part of the program that the example's capability reaches to.
fn use_it(chosen: &Environment, location: &str) {
    let file = program::create(&chosen.registry, location, chosen.stack.as_deref()).unwrap();
    let data = file.new_dataset::<f64>().shape([2, 3]).create("group/data").unwrap();
    data.write_raw(&[1i32, 2, 3, 4, 5, 6]).unwrap();
    data.set_attr("answer", 42u8).unwrap();
    file.close().unwrap();
    // The content says whose it is, as with connectors that are built in.
    let path = hyperslab::vol::Location::parse(location).path;
    let file = File::open_in(&chosen.registry, &path, &FileAccess::read()).unwrap();
    let data = file.dataset("group/data").unwrap();
    assert_eq!(data.read_raw::<i16>().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(data.attr("answer").unwrap().read_scalar::<i64>().unwrap(), 42);
}

#[test]
fn requirement_11_connectors_in_shared_libraries_are_found_and_loaded() {
    let folder = folder("plugins");
    if !build_rust(&folder) {
        return;
    }
    let chosen = environment(&folder, None).unwrap();
    assert!(chosen.skipped.is_empty(), "{:?}", chosen.skipped);
    assert!(chosen.registry.origin("folder-of-json").contains("folder_of_json"));
    assert_eq!(chosen.registry.origin("native"), "built in");
    use_it(&chosen, &format!("folder-of-json:{}", folder.join("container").display()));
}

#[test]
fn requirement_11_layers_in_shared_libraries_go_over_any_connector() {
    let folder = folder("layer-plugins");
    if !build_c(&folder) {
        return;
    }
    let chosen = environment(&folder, Some("stats | count-calls | check")).unwrap();
    for connector in program::CONNECTORS {
        let place = program::location(connector, &folder, connector);
        let file = program::create(&chosen.registry, &place, chosen.stack.as_deref()).unwrap();
        program::write(&file).unwrap();
        assert_eq!(program::read(&file).unwrap(), program::expected(), "{connector}");
        let counts = file.container().optional("count-calls", &[]).unwrap();
        assert!(String::from_utf8(counts).unwrap().contains("dataset_create 2"), "{connector}");
    }
}

/// Nothing is loaded unless a program asks, and what is no plugin is passed over with a word about why.
#[test]
fn requirement_11_nothing_is_loaded_that_was_not_asked_for() {
    let folder = folder("no-plugins");
    std::fs::write(library(&folder, "nothing"), "no library at all").unwrap();
    let chosen = environment(&folder, None).unwrap();
    assert_eq!(chosen.skipped.len(), 1, "{:?}", chosen.skipped);
    assert!(chosen.skipped[0].contains("nothing"), "{:?}", chosen.skipped);
    let error = program::create(&hyperslab::registry(), "folder-of-json:x", None).map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
    let error = environment(&folder, Some("count-calls")).unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound, "{error}");
}
