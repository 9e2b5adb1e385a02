//! One thing more, and a flush: what a commit costs where much is there already.

use hdf5_sys::h5l::H5Lcreate_soft;
use hdf5_sys::h5p::H5P_DEFAULT;
use hyperslab::{LibVersion, UNLIMITED_DIM};
use ndarray::Array1;

use crate::harness::{Amount, Bench, race, timed};
use crate::{Outcome, c, data};

/// Commits of one run.
const COMMITS: usize = 50;
/// Ours may take half as long again as theirs.
const AT_LEAST: f64 = 0.66;

const KINDS: [(&str, Kind); 3] =
    [("link", Kind::Link), ("attribute", Kind::Attribute), ("chunk", Kind::Chunk)];
const BOUNDS: [(&str, LibVersion); 2] = [("earliest", LibVersion::Earliest), ("latest", LibVersion::V200)];
const COUNTS: [(&str, usize); 4] = [("10³", 1000), ("10⁴", 10_000), ("10⁵", 100_000), ("10⁶", 1_000_000)];
/// An object header counts attributes in 16 bits, and libhdf5 takes long to make many.
const ATTRIBUTES_MAX: usize = 10_000;

/// What is added.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Link,
    Attribute,
    Chunk,
}

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    for (what, kind) in KINDS {
        for (generation, low) in BOUNDS {
            for (many, count) in COUNTS {
                let is_old_attribute = kind == Kind::Attribute && low == LibVersion::Earliest;
                if is_old_attribute || (kind == Kind::Attribute && count > ATTRIBUTES_MAX) {
                    continue;
                }
                let name = format!("commit one {what} beside {many}, {generation}");
                if bench.wants(&[&name]) {
                    one(bench, &name, (kind, low, count))?;
                }
            }
        }
    }
    Ok(())
}

fn one(bench: &mut Bench, name: &str, (kind, low, count): (Kind, LibVersion, usize)) -> Outcome<()> {
    let (theirs, ours) = (bench.path("theirs.h5"), bench.path("ours.h5"));
    make(&ours, kind, low, count)?;
    std::fs::copy(&ours, &theirs)?;
    {
        let file = open_theirs(&theirs, low)?;
        let mine = data::open_rw_as(&ours, low)?;
        let (mut next_theirs, mut next_ours) = (count, count);
        race(name, Amount::Calls(COMMITS as u64))
            .at_least(AT_LEAST)
            .theirs(|| timed(|| add_theirs(&file, kind, &mut next_theirs)))
            .ours(|| timed(|| add_ours(&mine, kind, &mut next_ours)))
            .run(bench, || Ok(true))?;
    }
    bench.remove(&["theirs.h5", "ours.h5"]);
    Ok(())
}

/// A file with so many of them.
fn make(path: &str, kind: Kind, low: LibVersion, count: usize) -> Outcome<()> {
    let file = data::create_as(path, low)?;
    let group = file.create_group("g")?;
    match kind {
        Kind::Link => (0..count).try_for_each(|n| group.link_soft("/target", &format!("link {n:07}")))?,
        Kind::Attribute => {
            for n in 0..count {
                group.new_attr::<i64>().create(format!("attribute {n:07}").as_str())?.write_scalar(&(n as i64))?;
            }
        }
        Kind::Chunk => {
            let builder = group.new_dataset::<f64>().shape([count]).max_shape([UNLIMITED_DIM]);
            builder.chunk([1]).create("x")?.write(&Array1::<f64>::zeros(count))?;
        }
    }
    Ok(file.close()?)
}

fn open_theirs(path: &str, low: LibVersion) -> Outcome<hdf5::File> {
    let mut builder = hdf5::FileBuilder::new();
    builder.with_fapl(|p| match low {
        LibVersion::Earliest => p.libver_earliest(),
        _ => p.libver_latest(),
    });
    Ok(builder.open_rw(path)?)
}

fn add_theirs(file: &hdf5::File, kind: Kind, next: &mut usize) -> Outcome<()> {
    let group = file.group("g")?;
    let dataset = if kind == Kind::Chunk { Some(group.dataset("x")?) } else { None };
    for _ in 0..COMMITS {
        let n = *next;
        *next += 1;
        match &dataset {
            None if kind == Kind::Link => soft_link(&group, n)?,
            None => group.new_attr::<i64>().create(format!("attribute {n:07}").as_str())?.write_scalar(&(n as i64))?,
            Some(dataset) => {
                dataset.resize(n + 1)?;
                let space = c::Space::new(&[n as u64 + 1]);
                space.select(&[n as u64], &[1])?;
                c::write(dataset, Some(&space), &[n as f64])?;
            }
        }
        file.flush()?;
    }
    Ok(())
}

fn soft_link(group: &hdf5::Group, n: usize) -> Outcome<()> {
    let (target, name) = (c"/target", std::ffi::CString::new(format!("link {n:07}"))?);
    // SAFETY: both are texts that end with a zero.
    let done = hdf5::sync::sync(|| unsafe {
        H5Lcreate_soft(target.as_ptr(), group.id(), name.as_ptr(), H5P_DEFAULT, H5P_DEFAULT)
    });
    if done < 0 { Err("libhdf5 failed".into()) } else { Ok(()) }
}

fn add_ours(file: &hyperslab::File, kind: Kind, next: &mut usize) -> Outcome<()> {
    let group = file.group("g")?;
    let dataset = if kind == Kind::Chunk { Some(group.dataset("x")?) } else { None };
    for _ in 0..COMMITS {
        let n = *next;
        *next += 1;
        match &dataset {
            None if kind == Kind::Link => group.link_soft("/target", &format!("link {n:07}"))?,
            None => group.new_attr::<i64>().create(format!("attribute {n:07}").as_str())?.write_scalar(&(n as i64))?,
            Some(dataset) => dataset.append(0, &Array1::from_elem(1, n as f64))?,
        }
        file.flush()?;
    }
    Ok(())
}
