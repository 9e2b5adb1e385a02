//! Committed elements that are overwritten, all in one commit.

use std::path::Path;
use std::time::Instant;

use files::{File as _, Mode, Posix, Sync};
use hyperslab::{Dataset, File, Selection};

use crate::Outcome;

/// Bytes of one write.
const PART: usize = 16 << 20;

pub(crate) fn run(folder: &Path, gib: u64) -> Outcome<()> {
    let path = folder.join("hyperslab-overwrite.h5");
    let bytes = gib << 30;
    for is_chunked in [false, true] {
        // A disk that others share is not always equally fast: the mean of what it does before and after ours counts.
        let before = twice(&path, bytes)?;
        let ours = ours(&path, bytes, is_chunked)?;
        let after = twice(&path, bytes)?;
        println!(
            "overwrite {gib} GiB, {}: {:.2} of writing twice, to two places ({ours:.2} s; {before:.2} s before, {after:.2} s after), \
             memory at most {} MiB",
            if is_chunked { "chunked" } else { "contiguous" },
            (before + after) / 2.0 / ours,
            memory_peak_mib()?
        );
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

/// Seconds to write so many bytes of a file twice, each time with a sync.
///
/// The second time they go to another place, as they must where the old ones stay until the new ones are there: space that
/// was not written before takes a disk, and the memory of a virtual machine, several times as long.
fn twice(path: &Path, bytes: u64) -> Outcome<f64> {
    let file = Posix::open(path, Mode::Create)?;
    let part = vec![1u8; PART];
    let start = Instant::now();
    for place in [0..bytes, bytes..2 * bytes] {
        for at in place.step_by(PART) {
            file.write_at(at, &part)?;
        }
        file.sync(Sync::Data)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Seconds to overwrite the elements of a dataset and to commit them.
fn ours(path: &Path, bytes: u64, is_chunked: bool) -> Outcome<f64> {
    let file = File::create(path)?;
    let new = file.new_dataset::<u8>().shape(bytes as usize);
    let new = if is_chunked { new.chunk(1 << 20) } else { new };
    let dataset = new.create("elements")?;
    put(&dataset, bytes, 1)?;
    file.flush()?;
    let start = Instant::now();
    put(&dataset, bytes, 2)?;
    file.flush()?;
    let seconds = start.elapsed().as_secs_f64();
    file.close()?;
    Ok(seconds)
}

fn put(dataset: &Dataset, bytes: u64, value: u8) -> Outcome<()> {
    let part = vec![value; PART];
    for at in (0..bytes).step_by(PART) {
        dataset.write_selection(&Selection::block(&[at], &[PART as u64])?, &part)?;
    }
    Ok(())
}

/// The most memory that this process had, as far as the system says.
fn memory_peak_mib() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    Ok(line.split_whitespace().next().unwrap_or("0").parse::<u64>()? >> 10)
}
