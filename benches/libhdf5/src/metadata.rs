//! The architecture document's metadata case: 50,000 groups in one group, every second unlinked, 25,000 in another.

use hyperslab::model::properties::FileCreate;
use hyperslab::{Durability, FileAccess};

use crate::{Outcome, timed};

const GROUPS: usize = 50_000;
const ROUNDS: usize = 3;

fn libhdf5(path: &str) -> Outcome<()> {
    let file = hdf5::File::create(path)?;
    let first = file.create_group("first")?;
    for n in 0..GROUPS {
        first.create_group(&format!("group {n}"))?;
    }
    for n in (0..GROUPS).step_by(2) {
        first.unlink(&format!("group {n}"))?;
    }
    let second = file.create_group("second")?;
    for n in 0..GROUPS / 2 {
        second.create_group(&format!("group {n}"))?;
    }
    drop((first, second));
    Ok(file.close()?)
}

fn hyperslab(path: &str) -> Outcome<()> {
    let access = FileAccess { durability: Durability::None, ..FileAccess::write() };
    let file = hyperslab::File::create_with(path, &FileCreate::default(), &access, true)?;
    let first = file.create_group("first")?;
    for n in 0..GROUPS {
        first.create_group(&format!("group {n}"))?;
    }
    for n in (0..GROUPS).step_by(2) {
        first.unlink(&format!("group {n}"))?;
    }
    let second = file.create_group("second")?;
    for n in 0..GROUPS / 2 {
        second.create_group(&format!("group {n}"))?;
    }
    drop((first, second));
    Ok(file.close()?)
}

/// Both in turn, so that a noisy neighbour hurts both; the best of each counts.
pub(crate) fn run() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("hyperslab-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = |name: &str| folder.join(name).display().to_string();
    let (theirs, ours) = (path("libhdf5.h5"), path("hyperslab.h5"));
    let (mut slow, mut fast) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        slow = slow.min(timed(|| libhdf5(&theirs))?);
        fast = fast.min(timed(|| hyperslab(&ours))?);
    }
    let bytes = |path: &str| std::fs::metadata(path).map(|m| m.len());
    println!("50,000 groups, 25,000 unlinked, 25,000 more:");
    println!("  libhdf5   {slow:.3} s, {} bytes", bytes(&theirs)?);
    println!("  Hyperslab {fast:.3} s, {} bytes, {:.2} times as fast", bytes(&ours)?, slow / fast);
    let left = hdf5::File::open(&ours)?.group("first")?.len();
    println!("  libhdf5 reads {left} groups of the first in Hyperslab's file");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
