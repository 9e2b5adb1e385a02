//! Sentences of ARCHITECTURE.md that manifests and sources can be checked against.

use std::collections::{BTreeMap, BTreeSet};

use architecture::{dependencies, read, root, sources, table};

#[test]
fn crates_depend_on_what_the_table_says() {
    let said: BTreeMap<String, BTreeSet<String>> = table("## Which crate uses which")
        .into_iter()
        .map(|row| {
            let used = row[1].split(", ").filter(|name| *name != "–").map(str::to_owned).collect();
            (row[0].clone(), used)
        })
        .collect();
    let is = dependencies();
    for name in is.keys().chain(said.keys()).collect::<BTreeSet<_>>() {
        assert_eq!(said.get(name), is.get(name), "ARCHITECTURE.md (left) and the manifest (right) of {name}");
    }
}

#[test]
fn arrows_point_down() {
    let all = dependencies();
    let mut height: BTreeMap<&str, usize> = BTreeMap::new();
    // Each round removes the crates whose dependencies were removed before. A cycle stays.
    while height.len() < all.len() {
        let known = height.len();
        for (name, used) in &all {
            let below = used.iter().map(|name| height.get(name.as_str()).copied());
            if let Some(highest) = below.map(|at| at.map(|at| at + 1)).try_fold(0, |a, b| b.map(|b| a.max(b)))
            {
                height.insert(name, highest);
            }
        }
        assert!(
            height.len() > known,
            "a cycle among {:?}",
            all.keys().filter(|n| !height.contains_key(n.as_str()))
        );
    }
}

#[test]
fn no_connector_names_another_and_no_layer_names_a_connector() {
    for (name, used) in dependencies() {
        if name.starts_with("connectors/") || name == "layers" {
            let others: Vec<_> = used.iter().filter(|other| other.starts_with("connectors/")).collect();
            assert!(others.is_empty(), "{name} depends on {others:?}");
        }
    }
}

#[test]
fn storage_and_filters_know_nothing_above_them() {
    for (name, used) in dependencies() {
        if name.starts_with("storage/") {
            let above: Vec<_> =
                used.iter().filter(|n| !n.starts_with("storage/") && *n != "system").collect();
            assert!(above.is_empty(), "{name} depends on {above:?}");
        }
        if name == "filters" {
            assert_eq!(used.into_iter().collect::<Vec<_>>(), ["model"], "filters");
        }
    }
}

/// Crates whose sources may contain `unsafe`: those at an interface of C, and the command for its allocator.
const UNSAFE: [&str; 5] = ["bridges/c", "comm", "plugin", "storage/objects", "tools/cli"];

#[test]
fn unsafe_code_is_where_the_architecture_allows_it() {
    for name in dependencies().keys().filter(|name| !UNSAFE.contains(&name.as_str())) {
        for (path, text) in sources(&format!("crates/{name}/src")) {
            assert!(!text.contains("unsafe {") && !text.contains("unsafe fn"), "{path} contains unsafe code");
        }
    }
}

#[test]
fn the_native_connector_writes_to_its_file_through_the_transaction_only() {
    // `txn` stages and publishes through `store`; `creation` and `write/create` write a file that no one has opened yet;
    // `chunk/plain` writes external raw data, which is in other files; a follower writes elements to space that its leader
    // says is fresh.
    let allowed = [
        "/txn/",
        "/store",
        "/creation.rs",
        "/write/create.rs",
        "/chunk/plain.rs",
        "/replica/followed_file.rs",
        "tests",
    ];
    for (path, text) in sources("crates/connectors/native/src") {
        if allowed.iter().any(|part| path.contains(part)) {
            continue;
        }
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in [".write_at(", ".set_len("] {
            assert!(!text.contains(call), "{path} calls {call}…) outside of the transaction");
        }
    }
}

#[test]
fn decoders_do_no_input_or_output() {
    for folder in ["crates/model/src", "crates/connectors/native/src/format"] {
        for (path, text) in sources(folder) {
            for name in ["std::fs", "std::net", "std::io::Read", "files::File", "files::Handle"] {
                let is_used =
                    text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(name));
                assert!(!is_used || path.contains("tests"), "{path} uses {name}");
            }
        }
    }
}

/// `dir` has no dependencies: it asks for the time of day, and on Windows it waits for files in use; `testkit` is for tests.
const OWN_CLOCK: [&str; 3] = ["storage/dir", "system", "testkit"];
/// `bridges/http` waits for many sockets at once, with those of tokio.
const OWN_SOCKETS: &str = "bridges/http";

#[test]
fn threads_clocks_and_sockets_are_those_of_system() {
    for name in dependencies().keys().filter(|name| !OWN_CLOCK.contains(&name.as_str())) {
        for (path, text) in sources(&format!("crates/{name}/src")) {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_comment = |line: &&str| line.trim_start().starts_with("//");
            for foreign in ["std::thread", "time::Instant", "SystemTime::now", "net::Tcp", "unix::net"] {
                if foreign == "net::Tcp" && name == OWN_SOCKETS {
                    continue;
                }
                let line = code.lines().filter(|line| !is_comment(line)).find(|line| line.contains(foreign));
                assert!(line.is_none() || path.contains("tests"), "{path} uses {foreign}: {line:?}");
            }
        }
    }
}

#[test]
fn every_folder_of_the_table_of_places_exists() {
    for row in table("## Where things go") {
        let place = row[1].split([' ', ',']).next().unwrap_or_default().trim_end_matches('/').to_owned();
        assert!(root().join(&place).exists(), "ARCHITECTURE.md names {place}");
    }
}

#[test]
fn every_page_of_the_documentation_is_in_its_index() {
    let index = read("docs/README.md");
    for entry in std::fs::read_dir(root().join("docs")).expect("docs") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != "README.md" {
            assert!(index.contains(&format!("({name})")), "docs/README.md does not name {name}");
        }
    }
}

/// Returns the code of a source: without comments and without its tests.
fn code(text: &str) -> String {
    let code = ["#[cfg(test)]", "#[cfg(all(test"]
        .iter()
        .fold(text, |code, tests| code.split(tests).next().unwrap_or_default());
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Returns the sources of all crates that are part of the product, without files of tests.
fn product() -> impl Iterator<Item = (String, String)> {
    let crates = dependencies().into_keys().filter(|name| name != "testkit");
    let all = crates.flat_map(|name| sources(&format!("crates/{name}/src")));
    all.filter(|(path, _)| !path.contains("tests"))
}

#[test]
fn the_contract_knows_no_file_format() {
    let words =
        ["superblock", "symbol_table", "SymbolTable", "btree", "fractal", "consistency_flags", "clear_marks"];
    for (path, text) in sources("crates/vol/src") {
        for word in words {
            assert!(!code(&text).contains(word), "{path} knows {word}");
        }
    }
}

/// Sources that may read environment variables: those that sentence 5 names.
const ENVIRONMENT: [&str; 8] = [
    "crates/bridges/c/",
    "crates/connectors/native/src/lock.rs",
    "crates/connectors/remote/src/address.rs",
    "crates/hyperslab/src/environment.rs",
    "crates/protocol/src/tokens.rs",
    "crates/server/src/fuzz.rs",
    "crates/storage/cloud/src/stores/aws_files.rs",
    "crates/tools/cli/",
];

#[test]
fn environment_variables_are_read_where_the_architecture_says() {
    for (path, text) in product().filter(|(path, _)| !ENVIRONMENT.iter().any(|part| path.starts_with(part))) {
        assert!(!code(&text).contains("env::var"), "{path} reads an environment variable");
    }
}

#[test]
fn shared_objects_are_loaded_by_the_plugin_crate_and_the_c_library_only() {
    for (path, text) in product() {
        let may_load = ["crates/plugin/", "crates/bridges/c/"].iter().any(|part| path.starts_with(part));
        for call in ["libloading", "dlopen("] {
            assert!(may_load || !code(&text).contains(call), "{path} uses {call}");
        }
    }
}

#[test]
fn nothing_is_removed_recursively() {
    // Both remove a folder that they created under a name of their own: `tour`, and tests of drivers.
    let own = ["crates/tools/cli/src/scratch.rs", "crates/storage/files/src/scratch.rs"];
    for (path, text) in product().filter(|(path, _)| !own.contains(&path.as_str())) {
        assert!(!code(&text).contains("remove_dir_all"), "{path} removes a folder with all that is in it");
    }
}

#[test]
fn types_say_whose_they_are() {
    let names = [
        "State",
        "Place",
        "Piece",
        "Found",
        "Told",
        "Lives",
        "Opening",
        "Described",
        "Kept",
        "Draft",
        "Room",
        "Free",
        "Named",
        "Opened",
        "Own",
        "Removed",
        "Wanted",
    ];
    for (path, text) in product() {
        for kind in ["struct", "enum", "trait", "type"] {
            for name in names {
                let declared = code(&text).lines().any(|line| {
                    let rest = line.split_once(&format!("{kind} {name}")).map(|(_, rest)| rest);
                    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                });
                assert!(!declared, "{path} has a {kind} {name}: CONTRIBUTING.md, Words");
            }
        }
    }
}

#[test]
fn lines_of_the_documentation_are_short() {
    let pages =
        std::fs::read_dir(root().join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    let all = std::fs::read_dir(root()).expect("the root").map(|entry| entry.expect("an entry").path());
    for path in pages.chain(all).filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        // Generated from the declarations of the C library.
        if path.ends_with("c-functions.md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a page");
        let is_long = |line: &&str| line.chars().count() > 120 && !line.starts_with('|');
        let long = text.lines().enumerate().find(|(_, line)| is_long(line));
        assert!(long.is_none(), "{}: {long:?}", path.display());
    }
}
