//! `hyperslab diff`: the options and the output of h5diff.

mod attribute;
mod comparable;
mod dataset;
mod datum;
mod json;
mod matched;
pub(crate) mod native;
mod number;
mod object;
mod options;
mod reference;
mod report;
mod table;
mod usage;
mod walk;
mod wide;

pub(crate) use usage::USAGE;

use std::io::{self, Write};
use std::process::ExitCode;
use std::rc::Rc;

use hyperslab::{Error, LinkTarget, ObjectKind, Result};
use object::Objects;
use options::{Command, Options};
use report::{Report, column};
use walk::{Entry, List, What, leads_nowhere};

use crate::h5::ls::source::{ObjectAt, Source};
use crate::near::hint;
use crate::open::shown;
use crate::progress::Progress;
use crate::total::{Measure, Total, dataset_bytes};

/// Exit codes.
const DIFFERENT: u8 = 1;
const FAILED: u8 = 2;

/// Compares what the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let mut out = io::BufWriter::with_capacity(1 << 16, crate::out::stdout());
    match options::parse(args) {
        Command::Help => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Command::Version => {
            println!("hyperslab diff: Version {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Command::Wrong(message, help) => {
            // Where h5diff puts it; scripts may look for it there.
            let help = if help { USAGE } else { "" };
            let _ = out.write_all(format!("{message}{help}").as_bytes());
            ExitCode::FAILURE
        }
        Command::Compare(options) => {
            let mut report = Report::new(&options, &mut out, Progress::start_beside_output("diff"));
            let found = compare(&mut report, &options);
            report.progress = Progress::hidden();
            summary(&mut report);
            if options.json {
                let document = json::document(&report, found);
                report.write(document.as_bytes());
            }
            report.flush();
            ExitCode::from(match found {
                _ if report.failed => FAILED,
                0 if !report.contents_differ => 0,
                _ => DIFFERENT,
            })
        }
    }
}

/// Prints the summary at the end.
fn summary(report: &mut Report<'_>) {
    if report.options.quiet || report.failed || !report.incomparable || report.options.list_incomparable {
        return;
    }
    let rule = "-".repeat(32);
    let more = if report.options.verbose { " without details of differences" } else { "" };
    report.say(&format!(
        "{rule}\nSome objects are not comparable\n{rule}\nUse -c for a list of objects{more}.\n"
    ));
}

/// One side of the comparison.
struct Side {
    root: ObjectAt,
    path: String,
    what: What,
}

/// Compares two files or objects; returns how many differences there are.
fn compare(report: &mut Report<'_>, options: &Options) -> u64 {
    if let Some(problem) = conflict(options) {
        report.say(problem);
        report.failed = true;
        return 0;
    }
    let Some(roots) = open_both(report, options) else { return 0 };
    let sides = match find_both(report, options, &roots) {
        Ok(sides) => sides,
        Err(found) => return found,
    };
    if !options.shows_data() && is_same(&sides) {
        return 0;
    }
    match lists(report, &sides) {
        Ok(lists) => compare_lists(report, &sides, &lists),
        Err(error) => {
            report.say("Error: Could not get file contents\n");
            report.fail(&error);
            0
        }
    }
}

fn conflict(options: &Options) -> Option<&'static str> {
    if options.quiet && options.shows_data() {
        return Some("Error: -q (quiet mode) cannot be added to verbose or report modes\n");
    }
    (options.no_dangling && !options.follow)
        .then_some("Error: --no-dangling-links must be used along with --follow-symlinks option.\n")
}

fn open_both(report: &mut Report<'_>, options: &Options) -> Option<[Rc<Source>; 2]> {
    let opened = |side: usize| {
        let driver = options.vfds[side].driver();
        let driver = driver.map_err(|problem| Error::invalid("read driver").with("problem", problem))?;
        Source::open(&options.files[side], driver.as_deref(), side as u64 + 1)
    };
    let mut open = |side: usize| match opened(side) {
        Ok(source) => Some(source),
        Err(error) => {
            let file = shown(&options.files[side]);
            report.say(&format!("h5diff: <{file}>: unable to open file\n"));
            report.fail(&error);
            None
        }
    };
    Some([open(0)?, open(1)?])
}

/// Finds the object that the user named in both files; an error is the number of differences that is known already.
fn find_both(
    report: &mut Report<'_>,
    options: &Options,
    roots: &[Rc<Source>; 2],
) -> std::result::Result<[Side; 2], u64> {
    let mut find = |side: usize| {
        let root = ObjectAt::root(&roots[side]);
        let path = options.objects.as_ref().map_or("/", |objects| &objects[side]);
        match named(&root, path, options.follow) {
            Ok(what) => Ok(Side { root, path: path.to_owned(), what }),
            Err(error) => {
                let file = shown(&options.files[side]);
                report.say(&format!("Object <{path}> could not be found in <{file}>\n"));
                report.fail(&error);
                hint(root.container(), path);
                Err(0u64)
            }
        }
    };
    let sides = [find(0)?, find(1)?];
    if options.follow {
        dangling(report, &sides)?;
    }
    Ok(sides)
}

/// Returns what a path leads to: an object, or a link that is not followed or leads nowhere.
fn named(root: &ObjectAt, path: &str, follow: bool) -> Result<What> {
    let trimmed = path.trim_end_matches('/');
    if !trimmed.is_empty() {
        let (parent, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        let group = root.find(&format!("/{parent}"))?;
        let link = group.container().link_get(group.token, name)?;
        let missing = || hyperslab::Error::not_found("find object").with("path", path);
        let target = link.ok_or_else(missing)?.target;
        if !matches!(target, LinkTarget::Hard(_)) {
            match group.find(name) {
                Ok(place) if follow => return object(place),
                Err(error) if follow && !leads_nowhere(&error) => return Err(error),
                _ => return Ok(What::Link(target)),
            }
        }
    }
    object(root.find(path)?)
}

fn object(place: ObjectAt) -> Result<What> {
    let kind = place.container().object_info(place.token)?.kind;
    Ok(What::Object(place, kind))
}

/// Tells about named links that lead nowhere.
fn dangling(report: &mut Report<'_>, sides: &[Side; 2]) -> std::result::Result<(), u64> {
    let both = sides.iter().all(|side| matches!(side.what, What::Link(_)));
    for (number, side) in sides.iter().enumerate() {
        if !matches!(side.what, What::Link(_)) {
            continue;
        }
        if report.options.no_dangling {
            report.remark(&format!("Warning: <{}> is a dangling link.\n", side.path));
            report.failed = true;
            return Err(0);
        }
        report.remark(&format!("obj{} <{}> is a dangling link.\n", number + 1, side.path));
        if !both {
            report.found(1);
            return Err(1);
        }
    }
    Ok(())
}

/// Returns whether both names lead to the same object, through links if need be.
fn is_same(sides: &[Side; 2]) -> bool {
    match (sides[0].root.find(&sides[0].path), sides[1].root.find(&sides[1].path)) {
        (Ok(a), Ok(b)) => a.is_same(&b),
        _ => false,
    }
}

/// Lists the objects to compare: two groups with all that is in them, or two single objects.
fn lists(report: &mut Report<'_>, sides: &[Side; 2]) -> Result<[List; 2]> {
    let follow = report.options.follow;
    let list = |side: &Side| match &side.what {
        What::Object(place, _) => List::of(place, &side.path, follow),
        What::Link(_) => Ok(List::single(&side.path, side.what.clone())),
    };
    let single = |side: &Side| List::single(&side.path, side.what.clone());
    if !sides.iter().all(|side| side.what.is_group()) {
        return Ok([single(&sides[0]), single(&sides[1])]);
    }
    let lists = [list(&sides[0])?, list(&sides[1])?];
    report.failed |= report.options.no_dangling && lists.iter().any(|list| list.dangling);
    Ok(lists)
}

fn compare_lists(report: &mut Report<'_>, sides: &[Side; 2], lists: &[List; 2]) -> u64 {
    let options = report.options;
    let groups = sides.iter().all(|side| side.what.is_group());
    let own = |side: usize| if groups { matched::own_name(&sides[side].path) } else { "" };
    let mut excluded = options.excluded.clone();
    let (first, second) = ((&lists[0].entries[..], own(0)), (&lists[1].entries[..], own(1)));
    let matched = matched::matches(first, second, &mut excluded);
    if groups && options.verbose {
        print_list(report, sides, &matched, [first, second]);
    }
    let sizes_differ = lists[0].entries.len() != lists[1].entries.len();
    report.contents_differ |= options.excluded.is_empty() && sizes_differ;
    report.contents_differ |= matched.iter().any(|m| m.first.is_none() || m.second.is_none());
    let files = [&sides[0].root, &sides[1].root];
    let pairs = matched.iter().filter(|one| one.second.is_some()).filter_map(|one| one.first);
    report.progress.expect(|| pairs.map(|at| to_compare(&lists[0].entries[at])).reduce(Total::plus));
    let mut objects = Objects { report, files, excluded_attributes: options.excluded_attributes.clone() };
    let mut differences = 0;
    for one in &matched {
        let entries = [one.first.map(|at| &lists[0].entries[at]), one.second.map(|at| &lists[1].entries[at])];
        match entries {
            [Some(first), Some(second)] => {
                let found = objects.compare(first, second);
                objects.report.progress.advance(Total { objects: 1, bytes: 0 });
                objects.report.findings.compared(first, second, found);
                differences += found;
            }
            [Some(first), None] => objects.report.findings.only(0, first),
            [None, Some(second)] => objects.report.findings.only(1, second),
            [None, None] => {}
        }
    }
    differences
}

/// Returns what is compared of an object: what cannot be told is nothing.
fn to_compare(entry: &Entry) -> Total {
    let bytes = match &entry.what {
        What::Object(place, ObjectKind::Dataset) => {
            dataset_bytes(place.container(), place.token, Measure::Decoded).unwrap_or(0)
        }
        _ => 0,
    };
    Total { objects: 1, bytes }
}

fn print_list(
    report: &mut Report<'_>,
    sides: &[Side; 2],
    matched: &[matched::Match],
    lists: [matched::Side<'_>; 2],
) {
    let options = report.options;
    if options.level > 2 {
        report.say(&format!("file1: {}\nfile2: {}\n", shown(&options.files[0]), shown(&options.files[1])));
    }
    let whole = sides.iter().all(|side| side.path == "/");
    report.say(if whole { "\nfile1     file2\n" } else { "\ngroup1   group2\n" });
    report.say("---------------------------------------\n");
    for entry in matched {
        let mark = |side: Option<usize>| if side.is_some() { 'x' } else { ' ' };
        report.say(&format!("{:>5} {:>6}    ", mark(entry.first), mark(entry.second)));
        let found = [entry.first.map(|at| (0, at)), entry.second.map(|at| (1, at))];
        let name = found.into_iter().flatten().next().map(|(side, at): (usize, usize)| {
            let (entries, own) = lists[side];
            matched::name(&entries[at], own)
        });
        report.put(&column(&name.unwrap_or_default(), 15));
        report.put(b"\n");
    }
    report.put(b"\n");
}
