//! Scattered writes as climate codes make them: the log connector against libhdf5 and the bare hardware, in one run.
//!
//! `cargo run --release` in this folder: one process (`-- small`, `tables`, `flush` or `read`: only that part). `cargo run --release --features mpi -- ranks [MAP.h5 ...]`: the F, G and I cases with 2 and 4
//! ranks under `mpirun`, against libhdf5 with MPI (`h5pcc.openmpi` or `h5pcc` compiles `rival.c`). Without maps, or where they are not
//! there, cases of the same shape are made. `--dir DIR` says where files go (default: /dev/shm), `--rounds N` how often everything is
//! measured (default: 5; the best counts).

mod c;
mod map;
mod plan;
#[cfg(feature = "mpi")]
mod rank;
mod ranks;
mod single;

use std::path::PathBuf;

/// Any failure ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What the command line says.
struct Arguments {
    folder: PathBuf,
    rounds: usize,
    words: Vec<String>,
}

fn arguments() -> Outcome<Arguments> {
    let mut found = Arguments { folder: PathBuf::from("/dev/shm"), rounds: 5, words: Vec::new() };
    let mut rest = std::env::args().skip(1);
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--dir" => found.folder = rest.next().ok_or("--dir needs a folder")?.into(),
            "--rounds" => found.rounds = rest.next().ok_or("--rounds needs a number")?.parse()?,
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
        Some((word, rest)) if word == "ranks" => ranks::run(&arguments, rest),
        _ => single::run(&arguments.folder, &arguments.words),
    }
}

/// Seconds that some work takes.
fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = std::time::Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}
