//! Scattered writes as climate codes make them: the log connector against libhdf5 and the bare hardware, in one run.
//!
//! `cargo run --release --features libhdf5` in this folder: one process (`-- small`, `tables`, `flush` or `read`: only
//! that part). `cargo run --release --features mpi -- ranks [MAP.h5 ...]`: the F, G and I cases of E3SM-IO under
//! `mpirun`, written and read back, against libhdf5 with MPI in canonical layout (`h5pcc.openmpi` or `h5pcc` compiles
//! `rival.c`). Without the maps of F and G, maps of the same shape are made. `--dir DIR` says where files go (default:
//! /dev/shm), `--rounds N` how often everything is measured (default: 5; the best counts), `--ranks N` how many ranks
//! there are (default: 2), `--case f` which case (default: all).

#[cfg(feature = "libhdf5")]
mod c;
mod cases;
mod map;
mod plan;
#[cfg(feature = "mpi")]
mod rank;
mod ranks;
#[cfg(feature = "libhdf5")]
mod single;

use std::path::PathBuf;

/// Any failure ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What the command line says.
struct Arguments {
    folder: PathBuf,
    rounds: usize,
    ranks: usize,
    case: Option<String>,
    words: Vec<String>,
}

fn arguments() -> Outcome<Arguments> {
    let mut found =
        Arguments { folder: PathBuf::from("/dev/shm"), rounds: 5, ranks: 2, case: None, words: Vec::new() };
    let mut rest = std::env::args().skip(1);
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--dir" => found.folder = rest.next().ok_or("--dir needs a folder")?.into(),
            "--rounds" => found.rounds = rest.next().ok_or("--rounds needs a number")?.parse()?,
            "--ranks" => found.ranks = rest.next().ok_or("--ranks needs a number")?.parse()?,
            "--case" => found.case = Some(rest.next().ok_or("--case needs f, g or i")?),
            _ => found.words.push(word),
        }
    }
    Ok(found)
}

fn main() -> Outcome<()> {
    let arguments = arguments()?;
    match arguments.words.split_first() {
        #[cfg(feature = "mpi")]
        Some((word, rest)) if word == "rank" => rank::run(rest),
        #[cfg(feature = "mpi")]
        Some((word, rest)) if word == "plain" => rank::plain(rest),
        #[cfg(feature = "mpi")]
        Some((word, rest)) if word == "read-back" => rank::read(rest),
        Some((word, rest)) if word == "ranks" => ranks::run(&arguments, rest),
        #[cfg(feature = "libhdf5")]
        _ => single::run(&arguments.folder, &arguments.words),
        #[cfg(not(feature = "libhdf5"))]
        _ => Err("one process is compared with --features libhdf5".into()),
    }
}

/// Seconds that some work takes.
#[cfg(feature = "libhdf5")]
fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = std::time::Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}
