//! Small containers that ask for much: every command ends within bounds, with an error or a bounded result.

mod child;
mod make;

use std::path::PathBuf;

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hyperslab-bomb-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Commands that look at a container; `{}` stands for its location.
const LOOKING: &[&[&str]] = &[
    &["ls", "-r", "{}"],
    &["ls", "-rv", "{}"],
    &["ls", "-rd", "{}"],
    &["dump", "{}"],
    &["dump", "-H", "{}"],
    &["dump", "-p", "{}"],
    &["dump", "-n", "1", "{}"],
    &["dump", "-u", "{}"],
    &["dump", "--json", "{}"],
    &["stat", "{}"],
    &["check", "{}"],
    &["objects", "{}"],
    &["log", "{}"],
    &["diff", "{}", "{}"],
    &["diff", "-v", "{}", "{other}"],
];

/// Where copies go: a location in the folder, and what takes it away.
const TARGETS: &[&str] = &[
    "copy.h5",
    "raw:copy-raw/",
    "json:copy.json",
    "object:copy-object/",
    "iod:copy-iod/",
    "log:copy-log.h5",
    "memory:copy",
];

/// Runs all commands on a container, and tells all that went wrong.
#[track_caller]
fn survive(name: &str, folder: &Folder, location: &str, other: &str) {
    let mut problems = Vec::new();
    let mut run = |arguments: &[&str]| {
        let taken = child::run(arguments);
        if std::env::var_os("HYPERSLAB_BOMBS_VERBOSE").is_some() {
            eprintln!(
                "{arguments:?}: {:?} {:.1} s, {} MiB, {:?} {}",
                taken.code,
                taken.cpu,
                taken.memory >> 20,
                taken.wall,
                taken.errors.lines().next().unwrap_or_default()
            );
        }
        if let Some(problem) = taken.problem() {
            problems.push(format!("hyperslab {}: {problem}", arguments.join(" ")));
        }
    };
    for words in LOOKING {
        let words: Vec<&str> = words
            .iter()
            .map(|word| match *word {
                "{}" => location,
                "{other}" => other,
                word => word,
            })
            .collect();
        run(&words);
    }
    for target in TARGETS {
        let place = match target.split_once(':') {
            Some(("memory", _)) => (*target).to_owned(),
            Some((connector, path)) => format!("{connector}:{}", folder.at(path)),
            None => folder.at(target),
        };
        run(&["copy", location, &place]);
        let _ = std::process::Command::new("rm")
            .args(["-rf", &folder.at(target.rsplit(':').next().unwrap())])
            .status();
    }
    if !location.contains(':') {
        run(&["repack", location, &folder.at("repacked.h5")]);
    }
    assert!(problems.is_empty(), "{name}:\n{}", problems.join("\n"));
}

#[test]
fn nested_groups() {
    let folder = Folder::new("groups");
    let (location, other) = (folder.at("deep.h5"), folder.at("other.h5"));
    make::nested_groups(&location, 200_000).unwrap();
    make::nested_groups(&other, 199_999).unwrap();
    survive("nested groups", &folder, &location, &other);
}
