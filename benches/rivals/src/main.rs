//! The same workloads on Hyperslab, on libhdf5 2.2, on pure-Rust rivals and on the bare hardware, in one run.
//!
//! `cargo run --release [-- OPTIONS] [WORDS]` in this folder, or `cargo xtask rivals`: only workloads whose name holds one
//! of the words are run. `--dir DIR` says where the files go (default: /dev/shm), `--rounds N` how often each is run,
//! `--out DIR` where `performance.json`, `performance.md` and `performance.svg` are written.

mod appends;
mod c;
mod chunked;
mod churn;
mod commits;
mod contiguous;
mod conversions;
mod data;
mod harness;
mod limits;
mod objects;
mod output;
mod programs;
mod pure;
mod selections;
mod strings;
mod zarr;

use harness::Bench;

/// Any failure ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let bench = &mut Bench::from_arguments(std::env::args().skip(1))?;
    let (major, minor, patch) = hdf5::library_version();
    println!("libhdf5 {major}.{minor}.{patch}, {} cores", harness::cores());
    contiguous::run(bench)?;
    chunked::run(bench)?;
    selections::run(bench)?;
    conversions::run(bench)?;
    strings::run(bench)?;
    appends::run(bench)?;
    objects::run(bench)?;
    churn::run(bench)?;
    programs::run(bench)?;
    commits::run(bench)?;
    output::write(bench)
}
