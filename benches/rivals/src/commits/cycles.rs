//! A row appended and flushed, again and again: what an instrument does all day.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use hyperslab::vol::model::properties::FileCreate;
use hyperslab::{File, FileAccess, LibVersion, UNLIMITED_DIM};
use ndarray::Array1;

use super::median;
use crate::Outcome;
use crate::harness::Bench;

/// Rows, each with a flush of its own.
const CYCLES: usize = 100_000;
/// Bytes of a row: a chunk holds eight.
const ROW: usize = 64;
/// Cycles before the first that count, and cycles that count.
const WARM_UP: usize = 1000;
const COUNTED: usize = 1000;

const CASES: [(&str, LibVersion, bool); 3] = [
    ("v18: B-tree v1", LibVersion::V18, false),
    ("latest: extensible array", LibVersion::V200, false),
    ("latest, SWMR, an h5py reader follows", LibVersion::V200, true),
];

/// What all cycles took and made.
pub(super) struct Cycles {
    pub(super) name: &'static str,
    /// Median seconds of a cycle, of the first and of the last.
    pub(super) first: f64,
    pub(super) last: f64,
    /// Bytes of the file for each byte of elements.
    pub(super) size: f64,
}

pub(super) fn run(bench: &Bench) -> Outcome<Vec<Cycles>> {
    let mut all = Vec::new();
    for (name, low, swmr) in CASES {
        if bench.wants(&[&format!("commit cycles, {name}")]) {
            let cycles = cycle(bench, name, low, swmr)?;
            println!("{}", super::table::cycles(&cycles));
            all.push(cycles);
        }
    }
    Ok(all)
}

/// An h5py reader that looks on from now on.
fn follow(file: &File, path: &str) -> Outcome<Child> {
    file.start_swmr()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/commits/follow.py");
    let numbers = [CYCLES * ROW, ROW].map(|number| number.to_string());
    let mut command = Command::new("python3");
    let mut reader = command.arg(script).arg(path).args(numbers).stdout(Stdio::piped()).spawn()?;
    let mut said = [0; 4];
    reader.stdout.as_mut().ok_or("the reader says nothing")?.read_exact(&mut said)?;
    Ok(reader)
}

fn cycle(bench: &Bench, name: &'static str, low: LibVersion, swmr: bool) -> Outcome<Cycles> {
    let path = bench.path("cycles.h5");
    let access = FileAccess { version_low: low, ..FileAccess::write() };
    let file = File::create_with(&path, &FileCreate::default(), &access, true)?;
    let builder = file.new_dataset::<f64>().shape([0]).max_shape([UNLIMITED_DIM]);
    let dataset = builder.chunk([8 * ROW]).create("x")?;
    let reader = if swmr { Some(follow(&file, &path)?) } else { None };
    let mut times = Vec::with_capacity(CYCLES);
    for n in 0..CYCLES {
        let start = Instant::now();
        dataset.append(0, &Array1::from_elem(ROW, n as f64))?;
        file.flush()?;
        times.push(start.elapsed().as_secs_f64());
    }
    if reader.is_some_and(|reader| !reader.wait_with_output().is_ok_and(|done| done.status.success())) {
        return Err("the reader that followed failed".into());
    }
    file.close()?;
    let size = std::fs::metadata(&path)?.len() as f64 / (CYCLES * ROW * size_of::<f64>()) as f64;
    bench.remove(&["cycles.h5"]);
    let first = median(&mut times[WARM_UP..WARM_UP + COUNTED]);
    Ok(Cycles { name, first, last: median(&mut times[CYCLES - COUNTED..]), size })
}
