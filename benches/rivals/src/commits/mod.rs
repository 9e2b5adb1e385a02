//! One thing more, and a flush: what a commit costs where much is there already.
//!
//! Both sides start from the same file, which ours wrote, and add to it in turn; the median counts. Ours syncs as it does by
//! default, which costs little in memory.

mod cycles;
mod ours;
mod table;
mod theirs;

use std::time::{Duration, Instant};

use hyperslab::LibVersion;

use crate::Outcome;
use crate::harness::Bench;

/// Commits that are timed on each side.
const COMMITS: usize = 400;
/// Commits of one side before it is the turn of the other.
const TURN: usize = 20;
/// No side takes longer than this; the median of what it did until then counts.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Elements of a chunk.
const CHUNK: usize = 16;
/// Strings of a chunk.
const CHUNK_TEXTS: usize = 64;

const COUNTS: [(&str, usize); 4] = [("10³", 1000), ("10⁴", 10_000), ("10⁵", 100_000), ("10⁶", 1_000_000)];
/// libhdf5 counts the attributes of an object in 16 bits, also those that are gone.
const COUNTS_OF_ATTRIBUTES: [(&str, usize); 3] = [("10³", 1000), ("10⁴", 10_000), ("6·10⁴", 60_000)];

/// What is added.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Link,
    Attribute,
    Chunk(Grid),
    Text,
}

/// Which chunks a dataset may have: it decides on their index.
#[derive(Clone, Copy, PartialEq)]
enum Grid {
    /// One dimension without bound: an extensible array, or a version 1 B-tree in older files.
    Grows,
    /// Two dimensions without bound: a version 2 B-tree.
    GrowsTwice,
    /// No dimension without bound: a fixed array.
    Fixed,
    /// All chunks are there from the start, and have no index. One of them is overwritten.
    Implicit,
}

const CASES: [(&str, Kind, LibVersion); 15] = [
    ("one link, earliest: symbol table", Kind::Link, LibVersion::Earliest),
    ("one link, v18", Kind::Link, LibVersion::V18),
    ("one link, latest", Kind::Link, LibVersion::V200),
    ("one attribute, v18", Kind::Attribute, LibVersion::V18),
    ("one attribute, latest", Kind::Attribute, LibVersion::V200),
    ("one chunk, earliest: B-tree v1", Kind::Chunk(Grid::Grows), LibVersion::Earliest),
    ("one chunk, v18: B-tree v1", Kind::Chunk(Grid::Grows), LibVersion::V18),
    ("one chunk, v110: extensible array", Kind::Chunk(Grid::Grows), LibVersion::V110),
    ("one chunk, latest: extensible array", Kind::Chunk(Grid::Grows), LibVersion::V200),
    ("one chunk, latest: fixed array", Kind::Chunk(Grid::Fixed), LibVersion::V200),
    ("one chunk, latest: B-tree v2", Kind::Chunk(Grid::GrowsTwice), LibVersion::V200),
    ("one chunk, latest: no index", Kind::Chunk(Grid::Implicit), LibVersion::V200),
    ("one string, earliest", Kind::Text, LibVersion::Earliest),
    ("one string, v18", Kind::Text, LibVersion::V18),
    ("one string, latest", Kind::Text, LibVersion::V200),
];

/// A row: the same thing added to more and more of its kind. Times are in seconds, theirs first.
struct Line {
    name: &'static str,
    times: Vec<(&'static str, f64, f64)>,
}

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    let mut lines = Vec::new();
    for (name, kind, low) in CASES {
        let counts: &[_] = if kind == Kind::Attribute { &COUNTS_OF_ATTRIBUTES } else { &COUNTS };
        let wanted = counts.iter().filter(|(many, _)| bench.wants(&[&format!("commit {name}, {many}")]));
        let measure = |&(many, count): &(&'static str, usize)| {
            let (theirs, ours) = medians(bench, kind, low, count)?;
            Ok((many, theirs, ours))
        };
        let line = Line { name, times: wanted.map(measure).collect::<Outcome<_>>()? };
        if !line.times.is_empty() {
            println!("{}", table::line(&line));
            lines.push(line);
        }
    }
    let cycles = cycles::run(bench)?;
    table::write(bench, &lines, &cycles)
}

/// What one commit takes on both sides, theirs first.
fn medians(bench: &Bench, kind: Kind, low: LibVersion, count: usize) -> Outcome<(f64, f64)> {
    let (their_path, our_path) = (bench.path("theirs.h5"), bench.path("ours.h5"));
    ours::make(&our_path, kind, low, count)?;
    std::fs::copy(&our_path, &their_path)?;
    let (mut their_times, mut our_times) = (Vec::new(), Vec::new());
    {
        let (theirs, ours) =
            (theirs::Adds::open(&their_path, kind, low)?, ours::Adds::open(&our_path, kind, low)?);
        let start = Instant::now();
        let mut next = count;
        // The first turn warms up.
        while next < count + COMMITS + TURN && (next == count || start.elapsed() < 2 * TIME_MAX) {
            if next == count + TURN {
                (their_times, our_times) = (Vec::new(), Vec::new());
            }
            timed(&mut their_times, next, |n| theirs.add(n, count))?;
            timed(&mut our_times, next, |n| ours.add(n, count))?;
            next += TURN;
        }
    }
    bench.remove(&["theirs.h5", "ours.h5"]);
    Ok((median(&mut their_times), median(&mut our_times)))
}

fn timed(times: &mut Vec<f64>, first: usize, add: impl Fn(usize) -> Outcome<()>) -> Outcome<()> {
    for n in first..first + TURN {
        let start = Instant::now();
        add(n)?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Most chunks of a dataset that does not grow.
fn chunks_max(count: usize) -> usize {
    count + COMMITS + 2 * TURN
}

/// The chunk that is written where all are there.
fn any_chunk(n: usize, count: usize) -> usize {
    n * 7919 % count
}

fn link_name(n: usize) -> String {
    format!("link {n:07}")
}

fn attribute_name(n: usize) -> String {
    format!("attribute {n:07}")
}

fn text(n: usize) -> String {
    format!("a string, number {n}")
}
