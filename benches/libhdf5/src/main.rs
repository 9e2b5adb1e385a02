//! Hyperslab and libhdf5 in one run: `cargo run --release` in this folder.

mod metadata;

use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Seconds that `work` takes.
fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn main() -> Outcome<()> {
    let (major, minor, patch) = hdf5::library_version();
    println!("libhdf5 {major}.{minor}.{patch}");
    metadata::run()
}
