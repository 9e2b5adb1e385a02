//! One file that several processes have open: Hyperslab against parallel libhdf5, in one run.
//!
//! `cargo run --release -- --hdf5 PREFIX [WORD ...]` in this folder. PREFIX has a parallel libhdf5 with zlib, for the
//! MPI library that the crate `mpi` was built with; `rival.c` is compiled against it with `mpicc`, or with `MPICC`. Words
//! choose cases whose name holds one of them. `--dir DIR` says where files go (default: /dev/shm), `--ranks N` how many
//! processes there are (default: 2), `--rounds N` how often everything is measured (default: 5; the best counts).
//!
//! Both programs make the same calls on the same numbers, in turn. Times are those of the slowest rank, from a barrier
//! on: writes include the end of the file, and nothing is synced, because libhdf5 does not; reads include its beginning.

mod cases;
mod numbers;
mod rank;

use std::path::PathBuf;
use std::process::Command;

use cases::{CASES, Case};

/// Any failure ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What the command line says.
struct Arguments {
    folder: PathBuf,
    ranks: usize,
    rounds: usize,
    hdf5: Option<PathBuf>,
    words: Vec<String>,
}

fn arguments() -> Outcome<Arguments> {
    let mut found = Arguments {
        folder: PathBuf::from("/dev/shm"),
        ranks: 2,
        rounds: 5,
        hdf5: std::env::var_os("HDF5_DIR").map(PathBuf::from),
        words: Vec::new(),
    };
    let mut rest = std::env::args().skip(1);
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--dir" => found.folder = value()?.into(),
            "--ranks" => found.ranks = value()?.parse()?,
            "--rounds" => found.rounds = value()?.parse()?,
            "--hdf5" => found.hdf5 = Some(value()?.into()),
            _ => found.words.push(word),
        }
    }
    Ok(found)
}

fn main() -> Outcome<()> {
    let arguments = arguments()?;
    match arguments.words.split_first() {
        Some((word, [case, path])) if word == "rank" => rank::run(case, path),
        _ => compare(&arguments),
    }
}

/// Runs every case with both programs, and prints a table.
fn compare(arguments: &Arguments) -> Outcome<()> {
    let rival = compile(arguments)?;
    let own = std::env::current_exe()?.display().to_string();
    println!("{} ranks, the best of {} rounds", arguments.ranks, arguments.rounds);
    println!("| workload | libhdf5 | Hyperslab | ratio | at least |\n|---|---|---|---|---|");
    for case in CASES.iter().filter(|case| case.is_chosen(&arguments.words)) {
        let path = arguments.folder.join(format!("parallel-{}.h5", std::process::id()));
        let path = path.display().to_string();
        let (mut ours, mut theirs) = (vec![f64::MAX; case.rows.len()], vec![f64::MAX; case.rows.len()]);
        // In turn, so that what else the machine does hits both.
        for _ in 0..arguments.rounds {
            keep_best(&mut theirs, &mpirun(arguments.ranks, &[&rival, case.name, &path])?);
            keep_best(&mut ours, &mpirun(arguments.ranks, &[&own, "rank", case.name, &path])?);
        }
        print_rows(case, &theirs, &ours);
    }
    Ok(())
}

fn keep_best(best: &mut [f64], seconds: &[f64]) {
    best.iter_mut().zip(seconds).for_each(|(best, seconds)| *best = best.min(*seconds));
}

fn print_rows(case: &Case, theirs: &[f64], ours: &[f64]) {
    for (row, (theirs, ours)) in case.rows.iter().zip(theirs.iter().zip(ours)) {
        let least = row.at_least.map_or("–".to_owned(), |ratio| format!("{ratio}"));
        let (name, ours_ms) = (row.name, ours * 1e3);
        match *theirs == f64::MAX {
            true => println!("| {name} | – | {ours_ms:.1} ms | – | {least} |"),
            false => {
                println!(
                    "| {name} | {:.1} ms | {ours_ms:.1} ms | {:.2} | {least} |",
                    theirs * 1e3,
                    theirs / ours
                );
            }
        }
    }
}

/// Returns the seconds that the steps of a program took: it prints microseconds.
fn mpirun(ranks: usize, words: &[&str]) -> Outcome<Vec<f64>> {
    let mut command = Command::new("mpirun");
    let version = Command::new("mpirun").arg("--version").output()?;
    if String::from_utf8_lossy(&version.stdout).contains("Open") {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    let output = command.args(["-n", &ranks.to_string()]).args(words).output()?;
    if !output.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let seconds = text.split_whitespace().map(|word| Ok(word.parse::<f64>()? / 1e6));
    seconds.collect()
}

/// Compiles the rival, and returns where it is.
fn compile(arguments: &Arguments) -> Outcome<String> {
    let prefix = arguments.hdf5.as_ref().ok_or("--hdf5 says where a parallel libhdf5 is")?;
    let made = arguments.folder.join("parallel-rival").display().to_string();
    let library = prefix.join("lib");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-O2", "-o", &made, concat!(env!("CARGO_MANIFEST_DIR"), "/rival.c")]);
    command.arg("-I").arg(prefix.join("include")).arg("-L").arg(&library);
    command.args(["-lhdf5", "-lm"]).arg(format!("-Wl,-rpath,{}", library.display()));
    if !command.status()?.success() {
        return Err("the rival cannot be compiled".into());
    }
    Ok(made)
}
