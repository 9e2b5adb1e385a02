//! `hyperslab watch`: follows a file that another program writes to (SWMR).

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use hyperslab::vol::FileAccess;
use hyperslab::{Dataset, Error, File, ObjectHandle, Result, Selection};

use crate::elements::texts;
use crate::help::refuse;
use crate::open::shown;
use crate::settings::registry;

pub(crate) const USAGE: &str = "\
usage: hyperslab watch [OPTIONS] FILE [PATH]...
  Follows a file that another program writes to: prints how datasets grow, and their new rows, as they come. PATH is a
  dataset or a group; without it, all datasets of the file. The writer must have opened the file for SWMR (single writer,
  multiple readers). Ctrl-C ends it.
  -i, --interval SECONDS look so often (1)
  -n, --count N          end after N looks
  -d, --dim              extents only, no rows
      --width N          elements of a row at most (8)
";

/// Rows of one dataset that are printed at a time; of more, the last ones are.
const ROWS_MAX: u64 = 20;

/// The options.
#[derive(Debug)]
struct WatchOptions {
    interval: Duration,
    looks_max: Option<u64>,
    extents_only: bool,
    width: u64,
    names: Vec<String>,
}

/// Follows the file that the words name.
pub(crate) fn run(words: &[String]) -> ExitCode {
    if words.iter().any(|word| word == "-h" || word == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Some(wanted) = wanted(words).filter(|wanted| !wanted.names.is_empty()) else {
        return refuse("watch", words);
    };
    match watch(&wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hyperslab watch: {}: {error}", shown(&wanted.names[0]));
            ExitCode::FAILURE
        }
    }
}

/// Reads the options; `None` if there is one that makes no sense.
fn wanted(words: &[String]) -> Option<WatchOptions> {
    let mut wanted = WatchOptions {
        interval: Duration::from_secs(1),
        looks_max: None,
        extents_only: false,
        width: 8,
        names: Vec::new(),
    };
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-d" | "--dim" => wanted.extents_only = true,
            "-i" | "--interval" => wanted.interval = seconds(words.next()?)?,
            "-n" | "--count" => wanted.looks_max = Some(words.next()?.parse().ok()?),
            "--width" => wanted.width = words.next()?.parse().ok().filter(|&n| n > 0)?,
            _ if word.starts_with('-') => return None,
            name => wanted.names.push(name.to_owned()),
        }
    }
    Some(wanted)
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

/// A dataset, and the extent that was seen last.
struct Watched {
    dataset: Dataset,
    dims: Vec<u64>,
}

fn watch(wanted: &WatchOptions) -> Result<()> {
    let access = FileAccess::read().with_swmr();
    let file = File::open_in(registry(), &wanted.names[0], &access)?;
    let mut out = io::BufWriter::new(crate::out::stdout());
    let mut all = datasets(&file, &wanted.names[1..])?;
    for watched in &all {
        put(&mut out, &format!("{}: {}", watched.dataset.name(), extent(&watched.dims)))?;
    }
    let mut looks = 0;
    while wanted.looks_max.is_none_or(|max| looks < max) {
        flush(&mut out)?;
        system::thread::sleep(wanted.interval);
        all.iter_mut().try_for_each(|watched| look(&mut out, watched, wanted))?;
        looks += 1;
    }
    flush(&mut out)
}

fn put(out: &mut dyn Write, line: &str) -> Result<()> {
    writeln!(out, "{line}").map_err(|error| Error::io("print", &error))
}

fn flush(out: &mut dyn Write) -> Result<()> {
    out.flush().map_err(|error| Error::io("print", &error))
}

/// Returns the datasets at these paths, and below them where they are groups.
fn datasets(file: &File, paths: &[String]) -> Result<Vec<Watched>> {
    let mut found = Vec::new();
    let root = ["/".to_owned()];
    for path in if paths.is_empty() { &root[..] } else { paths } {
        match file.object(path)? {
            ObjectHandle::Dataset(dataset) => found.push(watched(dataset)),
            ObjectHandle::Group(group) => {
                let mut names = Vec::new();
                group.visit(|visit| {
                    if visit.kind == Some(hyperslab::ObjectKind::Dataset) && !visit.again {
                        names.push(visit.path.to_owned());
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                for name in names {
                    found.push(watched(group.dataset(&name)?));
                }
            }
            _ => return Err(Error::invalid("watch object").with("path", path)),
        }
    }
    Ok(found)
}

fn watched(dataset: Dataset) -> Watched {
    let dims = dataset.dataset_info().space.dims().to_vec();
    Watched { dataset, dims }
}

/// Prints what is new since the last look.
fn look(out: &mut dyn Write, watched: &mut Watched, wanted: &WatchOptions) -> Result<()> {
    watched.dataset.refresh()?;
    let dims = watched.dataset.dataset_info().space.dims().to_vec();
    if dims == watched.dims {
        return Ok(());
    }
    let old = std::mem::replace(&mut watched.dims, dims.clone());
    put(out, &format!("{}: {} -> {}", watched.dataset.name(), extent(&old), extent(&dims)))?;
    match (old.first(), dims.first()) {
        (Some(&from), Some(&to)) if to > from && !wanted.extents_only => rows(out, watched, from..to, wanted),
        _ => Ok(()),
    }
}

/// Prints rows, or the last of them.
fn rows(
    out: &mut dyn Write,
    watched: &Watched,
    new: std::ops::Range<u64>,
    wanted: &WatchOptions,
) -> Result<()> {
    let first = new.start.max(new.end.saturating_sub(ROWS_MAX));
    if first > new.start {
        put(out, &format!("  ... {} rows", first - new.start))?;
    }
    for row in first..new.end {
        let start: Vec<u64> =
            watched.dims.iter().enumerate().map(|(at, _)| if at == 0 { row } else { 0 }).collect();
        let last = watched.dims.len() - 1;
        let count = watched.dims.iter().enumerate().map(|(at, &dim)| match at {
            0 => 1,
            at if at == last => dim.min(wanted.width),
            _ => 1,
        });
        let count: Vec<u64> = count.collect();
        if count.contains(&0) {
            continue;
        }
        let elements = texts(&watched.dataset, &Selection::block(&start, &count)?)?;
        let is_whole = watched.dims[1..].iter().zip(&count[1..]).all(|(dim, count)| dim == count);
        let more = if is_whole { "" } else { " ..." };
        put(out, &format!("  [{row}] {}{more}", elements.join(" ")))?;
    }
    Ok(())
}

fn extent(dims: &[u64]) -> String {
    match dims {
        [] => "scalar".to_owned(),
        dims => dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
    }
}
