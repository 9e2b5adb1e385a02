//! What reading costs, as a ratio to the hardware: `cargo run --release -p reads [DIR]`.
//!
//! DIR (or a folder in the system's temporary one) holds the files that `make.py` next to this crate makes with h5py.
//! Every figure is a ratio of two measurements that alternate in one run, best of several.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use files::File as _;
use hyperslab::{File, FileAccess};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 5;

fn main() -> Outcome<()> {
    let folder =
        std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("hyperslab-reads"), PathBuf::from);
    if !folder.join("objects-latest.h5").is_file() {
        make(&folder)?;
    }
    contiguous(&folder)?;
    objects(&folder)?;
    threads(&folder)
}

fn make(folder: &Path) -> Outcome<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("make.py");
    println!("making files in {}", folder.display());
    match Command::new("python3").arg(script).arg(folder).status()?.success() {
        true => Ok(()),
        false => Err("make.py failed: it needs h5py".into()),
    }
}

/// Best of several, of two things in turn.
fn alternate(
    mut a: impl FnMut() -> Outcome<()>,
    mut b: impl FnMut() -> Outcome<()>,
) -> Outcome<(Duration, Duration)> {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        a()?;
        best.0 = best.0.min(start.elapsed());
        let start = Instant::now();
        b()?;
        best.1 = best.1.min(start.elapsed());
    }
    Ok(best)
}

/// 1 GiB of floats against pread of the same bytes into the same buffer.
fn contiguous(folder: &Path) -> Outcome<()> {
    let path = folder.join("contiguous.h5");
    let mut values = vec![0f32; 1 << 28];
    let mut bytes = vec![0u8; 1 << 30];
    let plain = files::Posix::open(&path, files::Mode::Read)?;
    let offset = File::open(&path)?.dataset("x")?.storage()?.offset.ok_or("dataset is not contiguous")?;
    let (ours, pread) = alternate(
        || Ok(File::open(&path)?.dataset("x")?.read_into(&mut values)?),
        || Ok(plain.read_at(offset, &mut bytes)?),
    )?;
    let ratio = ours.as_secs_f64() / pread.as_secs_f64();
    println!(
        "1 GiB contiguous f32: open + read {ours:.1?}, pread {pread:.1?}, ratio {ratio:.2} (at most 1.2)"
    );
    Ok(())
}

/// Reads and 4 KiB blocks that it takes to open a file of 100,000 objects and read one by its path.
fn objects(folder: &Path) -> Outcome<()> {
    for generation in ["earliest", "latest"] {
        let path = folder.join(format!("objects-{generation}.h5"));
        let meter = Arc::new(files::Meter::new(Arc::new(files::Posix::open(&path, files::Mode::Read)?)));
        let access = FileAccess::read();
        let start = Instant::now();
        let container = native::open_handle(meter.clone(), "objects", &access)?;
        let file = File::from_container(container, "objects", &access)?;
        let value = file.dataset("all/object 077777")?.read_scalar::<i64>()?;
        let (took, counts) = (start.elapsed(), meter.counts());
        let found = if value == 77_777 { "right" } else { "WRONG" };
        println!(
            "100,000 objects ({generation}): {} reads, {} blocks of 4 KiB (fewer than 50), {took:.1?}, value {found}",
            counts.reads, counts.blocks_read
        );
    }
    Ok(())
}

/// Eight compressed datasets, by one thread and by eight.
fn threads(folder: &Path) -> Outcome<()> {
    let path = folder.join("eight.h5");
    let alone: Vec<u64> = (0..8).map(|i| digest(&File::open(&path)?, i)).collect::<hyperslab::Result<_>>()?;
    let file = File::open(&path)?;
    let before = cpu_time();
    let start = Instant::now();
    let together = std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..8).map(|i| (i, &file)).map(|(i, f)| scope.spawn(move || digest(f, i))).collect();
        handles.into_iter().map(|h| h.join().unwrap_or(Ok(0))).collect::<hyperslab::Result<Vec<u64>>>()
    })?;
    let (took, used) = (start.elapsed().as_secs_f64(), cpu_time() - before);
    let same = if alone == together { "the same bytes" } else { "DIFFERENT bytes" };
    println!("8 threads, 8 datasets of one file: {same}, {:.2} cores busy of {}", used / took, cores());
    Ok(())
}

/// A number that depends on every element of a dataset and its place.
fn digest(file: &File, dataset: usize) -> hyperslab::Result<u64> {
    let values = file.dataset(&format!("d{dataset}"))?.read_raw::<i32>()?;
    Ok(values.iter().fold(0u64, |sum, &v| sum.wrapping_mul(31).wrapping_add(v as u64)))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Seconds of processor time of this process.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or("");
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}
