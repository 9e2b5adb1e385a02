//! Small containers that ask for much: every command ends within bounds, with an error or a bounded result.
//!
//! `HYPERSLAB_BOMBS_VERBOSE=1` prints what each run took; `HYPERSLAB_BOMBS=all` copies from every connector to every other, too.

mod child;
mod make;
mod terminals;

/// A folder for containers.
pub(crate) struct Folder(testkit::Folder);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        Folder(testkit::Folder::new(name))
    }

    pub(crate) fn at(&self, name: &str) -> String {
        self.0.at(name)
    }

    /// The place of a location such as `raw:folder/` in this folder.
    pub(crate) fn location(&self, location: &str) -> String {
        match location.split_once(':') {
            Some(("memory", _)) => location.to_owned(),
            Some((connector, path)) => format!("{connector}:{}", self.at(path)),
            None => self.at(location),
        }
    }

    pub(crate) fn remove(&self, location: &str) {
        let path = self.0.path().join(location.rsplit(':').next().unwrap_or(location));
        let _ = std::fs::remove_dir_all(&path);
        let _ = std::fs::remove_file(&path);
    }
}

/// Commands that look at a container; `{}` stands for its location, `{other}` for that of another.
pub(crate) const LOOKING: &[&[&str]] = &[
    &["ls", "-r", "{}"],
    &["ls", "-rv", "{}"],
    &["ls", "-rd", "{}"],
    &["ls", "-r", "--follow-symlinks", "{}"],
    &["dump", "{}"],
    &["dump", "-H", "{}"],
    &["dump", "-p", "{}"],
    &["dump", "-n", "1", "{}"],
    &["dump", "-u", "{}"],
    &["dump", "--json", "{}"],
    &["stat", "{}"],
    &["check", "{}"],
    &["check", "-v", "{}"],
    &["objects", "{}"],
    &["log", "{}"],
    &["diff", "{}", "{}"],
    &["diff", "-v", "{}", "{other}"],
];

/// Where containers live, and copies go.
const PLACES: &[&str] = &[
    "bomb.h5",
    "raw:bomb-raw/",
    "json:bomb.json",
    "object:bomb-object/",
    "iod:bomb-iod/",
    "log:bomb-log.h5",
];
const TARGETS: &[&str] = &[
    "copy.h5",
    "raw:copy-raw/",
    "json:copy.json",
    "object:copy-object/",
    "iod:copy-iod/",
    "log:copy-log.h5",
    "memory:copy",
];

/// The words of a command.
pub(crate) fn words<'a>(command: &[&'a str], location: &'a str, other: &'a str) -> Vec<&'a str> {
    let word = |word: &&'a str| match *word {
        "{}" => location,
        "{other}" => other,
        word => word,
    };
    command.iter().map(word).collect()
}

/// Runs a command; what was wrong with that.
fn problem_of(arguments: &[&str]) -> Option<String> {
    let taken = child::run(arguments);
    if std::env::var_os("HYPERSLAB_BOMBS_VERBOSE").is_some() {
        let (code, mebibytes) = (taken.code.unwrap_or(-1), taken.memory >> 20);
        let first: String = taken.errors.lines().next().unwrap_or_default().chars().take(200).collect();
        eprintln!("{arguments:?}: {code}, {:.1} s, {mebibytes} MiB, {:?}: {first}", taken.cpu, taken.wall);
    }
    taken.problem().map(|problem| format!("hyperslab {}: {problem}", arguments.join(" ")))
}

/// Runs all commands that look at a container; what was wrong.
fn look(location: &str, other: &str) -> Vec<String> {
    run_all(LOOKING, location, other)
}

/// Runs commands; what was wrong.
fn run_all(commands: &[&[&str]], location: &str, other: &str) -> Vec<String> {
    commands.iter().filter_map(|command| problem_of(&words(command, location, other))).collect()
}

/// Copies a container to all connectors; what was wrong.
fn copy(folder: &Folder, location: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for target in TARGETS {
        problems.extend(problem_of(&["copy", location, &folder.location(target)]));
        folder.remove(target);
    }
    if !location.contains(':') {
        problems.extend(problem_of(&["repack", location, &folder.at("repacked.h5")]));
    }
    problems
}

#[track_caller]
fn survived(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Whether all is tried, however long it takes.
fn is_campaign() -> bool {
    std::env::var_os("HYPERSLAB_BOMBS").is_some_and(|value| value == "all")
}

/// Commands of which each stands for others that go the same way, for bombs that are made on many connectors.
const SOME: &[&[&str]] =
    &[&["ls", "-r", "{}"], &["dump", "{}"], &["dump", "-u", "{}"], &["stat", "{}"], &["check", "{}"]];

/// A container of every connector but native, where another test has it: some commands, or all in a campaign.
#[track_caller]
fn on_others(name: &str, make: impl Fn(&str) -> hyperslab::Result<()>) {
    let folder = Folder::new(name);
    let (mut problems, mut made) = (Vec::new(), 0);
    for place in &PLACES[1..] {
        let location = folder.location(place);
        let done = make(&location);
        if std::env::var_os("HYPERSLAB_BOMBS_VERBOSE").is_some() {
            eprintln!("{place}: {done:?}");
        }
        if done.is_ok() {
            made += 1;
            let commands = if is_campaign() { LOOKING } else { SOME };
            problems.extend(run_all(commands, &location, &location));
            if is_campaign() {
                problems.extend(copy(&folder, &location));
            }
        }
        folder.remove(place);
    }
    assert!(made > 0, "no connector took it");
    survived(&problems);
}

/// A container of every connector that can hold it, and every command on it.
#[track_caller]
fn everywhere(name: &str, make: impl Fn(&str) -> hyperslab::Result<()>) {
    let folder = Folder::new(name);
    let mut problems = Vec::new();
    let mut made = 0;
    for place in PLACES {
        let location = folder.location(place);
        if make(&location).is_ok() {
            made += 1;
            problems.extend(look(&location, &location));
            if *place == "bomb.h5" || is_campaign() {
                problems.extend(copy(&folder, &location));
            }
        }
        folder.remove(place);
    }
    assert!(made > 1, "only {made} connectors took it");
    survived(&problems);
}

#[test]
fn nested_groups() {
    let folder = Folder::new("groups");
    let (location, other) = (folder.at("deep.h5"), folder.at("other.h5"));
    make::nested_groups(&location, 200_000).unwrap();
    make::nested_groups(&other, 199_999).unwrap();
    survived(&[look(&location, &other), copy(&folder, &location)].concat());
}

#[test]
fn nested_groups_elsewhere() {
    let levels = if is_campaign() { 10_000 } else { 2_000 };
    on_others("groups-others", |location| make::nested_groups(location, levels));
}

#[test]
fn links_of_a_deep_group() {
    let folder = Folder::new("deep-links");
    let (location, other) = (folder.at("deep.h5"), folder.at("other.h5"));
    make::deep_links(&location).unwrap();
    std::fs::copy(&location, &other).unwrap();
    survived(&[look(&location, &other), copy(&folder, &location)].concat());
}

#[test]
fn many_attributes_elsewhere() {
    let count = if is_campaign() { 30_000 } else { 5_000 };
    on_others("attributes-others", |location| make::many_attributes(location, count));
}

#[test]
fn long_names_elsewhere() {
    on_others("names-others", make::long_names);
}

#[test]
fn shared_values_elsewhere() {
    // A text has every value by itself: there it is no bomb, but as long as it says.
    let shares = |location: &str| !location.starts_with("json:");
    on_others("values-others", |location| match shares(location) {
        true => make::shared_values(location),
        false => Err(hyperslab::Error::unsupported("share values")),
    });
}

#[test]
fn cyclic_links_elsewhere() {
    on_others("links-others", |location| make::cycle(location, "other.h5"));
}

#[test]
fn nested_groups_in_text() {
    let folder = Folder::new("groups-json");
    let location = folder.location("json:deep.json");
    make::nested_groups(&location, 50_000).unwrap();
    survived(&look(&location, &location));
}

#[test]
fn nested_types() {
    everywhere("types", make::nested_types);
}

#[test]
fn huge_extents() {
    everywhere("extents", make::huge_extents);
}

#[test]
fn forged_extent_of_a_log() {
    let folder = Folder::new("log-extent");
    let path = folder.at("forged.h5");
    make::forged_extent_of_log(&path).unwrap();
    let location = format!("log:{path}");
    survived(&[look(&location, &location), copy(&folder, &location)].concat());
}

#[test]
fn forged_tables_of_a_log() {
    let folder = Folder::new("log-tables");
    let path = folder.at("log.h5");
    make::log(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (damaged, mut problems) = (folder.at("damaged.h5"), Vec::new());
    let location = format!("log:{damaged}");
    // The same damage every time: numbers of a small generator.
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..150 {
        let mut spoiled = bytes.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 20) as usize % spoiled.len();
            spoiled[at] = [0, 1, 0x7f, 0xff, spoiled[at] ^ 0x40][(random >> 8) as usize % 5];
        }
        std::fs::write(&damaged, &spoiled).unwrap();
        for command in [&["check", &location][..], &["dump", &location], &["log", &location]] {
            problems.extend(problem_of(command));
        }
    }
    survived(&problems);
}

#[test]
fn many_attributes() {
    let folder = Folder::new("attributes");
    let location = folder.at("many.h5");
    make::many_attributes(&location, 30_000).unwrap();
    survived(&[look(&location, &location), copy(&folder, &location)].concat());
}

#[test]
fn lists_of_objects_are_charged() {
    let folder = Folder::new("objects");
    let (location, other) = (folder.at("many.h5"), folder.at("other.h5"));
    make::many_objects(&location).unwrap();
    std::fs::copy(&location, &other).unwrap();
    for command in [
        &["ls", "-r", &location][..],
        &["dump", "-H", &location],
        &["dump", "-n", &location],
        &["dump", "-u", &location],
        &["stat", &location],
        &["check", &location],
        &["diff", &location, &other],
        &["copy", &location, &folder.at("copy.h5")],
        &["copy", "--resume", &location, &folder.at("copy.h5")],
    ] {
        let run = terminals::run(&[&["--memory", "4M"], command].concat());
        let text = [run.stdout, run.stderr].concat();
        assert!(String::from_utf8_lossy(&text).contains("take memory for"), "{command:?}");
    }
}

#[test]
fn long_names() {
    let folder = Folder::new("names");
    let location = folder.at("long.h5");
    make::long_names(&location).unwrap();
    survived(&[look(&location, &location), copy(&folder, &location)].concat());
}

#[test]
fn cyclic_links() {
    let folder = Folder::new("links");
    make::cyclic_links(&|name| folder.at(name)).unwrap();
    let (location, other) = (folder.at("cycle.h5"), folder.at("other.h5"));
    let mut problems = [look(&location, &other), copy(&folder, &location)].concat();
    for flags in ["soft", "ext", "soft,ext"] {
        problems.extend(problem_of(&["copy", "-s", "/g0", "-f", flags, &location, &folder.at("part.h5")]));
        folder.remove("part.h5");
    }
    survived(&problems);
}

#[test]
fn shared_values() {
    let folder = Folder::new("values");
    let location = folder.at("shared.h5");
    make::shared_values(&location).unwrap();
    survived(&[look(&location, &location), copy(&folder, &location)].concat());
}

#[test]
fn filters_that_make_much_of_little() {
    for filter in ["GZIP=9", "ZSTD=3", "BZIP2=9", "LZ4", "BLOSC"] {
        everywhere("ratio", |location| make::ratio(location, filter));
    }
}

#[test]
fn chunks_that_are_each_much_of_little() {
    let make = |location: &str| make::zeros(location, (64 << 20, 256));
    on_others("zeros-others", make);
    let folder = Folder::new("zeros");
    let (location, other) = (folder.at("zeros.h5"), folder.at("other.h5"));
    make(&location).unwrap();
    std::fs::copy(&location, &other).unwrap();
    survived(&[look(&location, &other), copy(&folder, &location)].concat());
}

#[test]
fn repeated_chunks() {
    let folder = Folder::new("repeated");
    let (location, other) = (folder.at("repeated.h5"), folder.at("other.h5"));
    make::repeated_chunks(&location).unwrap();
    std::fs::copy(&location, &other).unwrap();
    survived(&[look(&location, &other), copy(&folder, &location)].concat());
    let checked = terminals::run(&["check", &location]);
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(!checked.status.success() && text.contains("at the same place"), "{text}");
}

#[test]
fn elements_in_other_files() {
    let folder = Folder::new("elsewhere");
    let location = folder.at("elsewhere.h5");
    make::elements_elsewhere(&location).unwrap();
    std::fs::write(folder.at("few.bin"), [1; 16]).unwrap();
    survived(&[run_all(SOME, &location, &location), copy(&folder, &location)].concat());
    // The first elements are printed before the account of work says that it is enough.
    let dumped = terminals::run(&["dump", "-d", "/external", &location]);
    let text = String::from_utf8_lossy(&dumped.stdout);
    assert!(!dumped.status.success() && text.contains("(0): 16843009, 16843009"), "{}", text.len());
}

#[test]
fn a_limit_of_work_is_lifted_where_the_user_asks() {
    let folder = Folder::new("lifted");
    let location = folder.at("zeros.h5");
    make::zeros(&location, (64 << 20, 6)).unwrap();
    let target = folder.location("raw:copy");
    let refused = child::run(&["copy", &location, &target]);
    assert!(refused.code == Some(1) && refused.errors.contains("--expand"), "{refused:?}");
    for option in ["--expand", "--timeout=300"] {
        let done = child::run(&[option, "copy", &location, &target]);
        assert_eq!(done.code, Some(0), "{done:?}");
        folder.remove("raw:copy");
    }
}

#[test]
fn a_deadline_ends_a_command() {
    let folder = Folder::new("deadline");
    let location = folder.at("huge.h5");
    make::huge_extents(&location).unwrap();
    let taken = child::run(&["--timeout", "1", "dump", "--expand", "-d", "/nothing", &location]);
    assert_eq!(taken.code, Some(1), "{taken:?}");
    assert!(taken.errors.contains("--timeout") && taken.wall.as_secs() < 30, "{taken:?}");
}
