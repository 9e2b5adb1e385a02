//! One link more and a flush, next to ever more others: what a commit costs hangs on what changed, not on what is there.
//! `cargo xtask commits` has the same next to libhdf5.

use std::path::Path;
use std::time::Instant;

use hyperslab::{File, FileAccess, LibVersion};

use crate::Outcome;

const COUNTS: [usize; 4] = [1000, 10_000, 100_000, 1_000_000];
/// Commits that are timed, after some that are not.
const COMMITS: usize = 600;
const WARM_UP: usize = 40;

pub(crate) fn run(folder: &Path) -> Outcome<()> {
    for low in [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST] {
        let times = COUNTS.iter().map(|&count| median(folder, low, count)).collect::<Outcome<Vec<f64>>>()?;
        let told = COUNTS.iter().zip(&times).map(|(count, time)| format!("{count}: {:.1} µs", time * 1e6));
        let ratio = times.last().unwrap_or(&0.0) / times.first().unwrap_or(&1.0);
        println!("links {low:?}: {}; last to first {ratio:.2}", told.collect::<Vec<_>>().join(", "));
    }
    Ok(())
}

fn name(n: usize) -> String {
    format!("link {n:07}")
}

/// Seconds that one link and its commit take, where `count` are there.
fn median(folder: &Path, low: LibVersion, count: usize) -> Outcome<f64> {
    let path = folder.join(format!("hyperslab-links-{}.h5", std::process::id()));
    let location = path.to_str().ok_or("path of the folder")?;
    let access = FileAccess { version_low: low, ..FileAccess::write() };
    let file = File::create_with(location, &Default::default(), &access, true)?;
    let group = file.create_group("g")?;
    (0..count).try_for_each(|n| group.link_soft("/target", &name(n)))?;
    drop(group);
    file.close()?;
    let file = File::open_with(location, &access)?;
    let group = file.group("g")?;
    let mut times = Vec::new();
    for n in count..count + WARM_UP + COMMITS {
        let start = Instant::now();
        group.link_soft("/target", &name(n))?;
        file.flush()?;
        times.push(start.elapsed().as_secs_f64());
    }
    drop(group);
    file.close()?;
    std::fs::remove_file(&path)?;
    times.drain(..WARM_UP);
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
