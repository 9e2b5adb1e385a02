//! The architecture document's metadata case: 50,000 groups in one group, every second unlinked, 25,000 in another.

use hyperslab::LibVersion;

use crate::Outcome;
use crate::data;
use crate::harness::{Amount, Bench, race, timed};

const GROUPS: usize = 50_000;
const NAMES: [&str; 2] = ["50,000 groups, half unlinked, v18", "50,000 groups, half unlinked, earliest"];

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    one(bench, NAMES[0], LibVersion::V18, 3.0, 3)?;
    // libhdf5 needs seconds for this one.
    one(bench, NAMES[1], LibVersion::Earliest, 10.0, 1)
}

fn one(bench: &mut Bench, name: &str, version: LibVersion, at_least: f64, rounds: usize) -> Outcome<()> {
    let (theirs, ours) = (bench.path("theirs.h5"), bench.path("ours.h5"));
    race(name, Amount::Calls(1))
        .at_least(at_least)
        .rounds(rounds)
        .theirs(|| timed(|| libhdf5(&theirs, version)))
        .ours(|| timed(|| hyperslab(&ours, version)))
        .run(bench, || {
            let names = |path: &str| -> Outcome<(Vec<String>, Vec<String>)> {
                let file = hdf5::File::open(path)?;
                Ok((file.group("first")?.member_names()?, file.group("second")?.member_names()?))
            };
            Ok(names(&theirs)? == names(&ours)?)
        })?;
    bench.remove(&["theirs.h5", "ours.h5"]);
    Ok(())
}

/// libhdf5 as it is by default writes the oldest form; 1.8's is asked for.
fn libhdf5(path: &str, version: LibVersion) -> Outcome<()> {
    std::fs::remove_file(path).ok();
    let builder = &mut hdf5::File::with_options();
    if version == LibVersion::V18 {
        builder.with_fapl(|access| access.libver_v18());
    } else {
        builder.with_fapl(|access| access.libver_earliest());
    }
    let file = builder.create(path)?;
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

fn hyperslab(path: &str, version: LibVersion) -> Outcome<()> {
    let file = data::create_as(path, version)?;
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
