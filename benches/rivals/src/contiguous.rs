//! Contiguous datasets: all in one call, and 64 bytes at a time.

use std::fs::File;
use std::os::unix::fs::FileExt;

use hyperslab::Selection;

use crate::data::{self, Numbers};
use crate::harness::{Amount, Bench, race, timed};
use crate::pure;
use crate::{Outcome, c};

const ELEMENTS: usize = 1 << 28;
const BYTES: u64 = 1 << 30;
const CALLS: u64 = 20_000;
/// Elements of a small piece: 64 bytes.
const PIECE: u64 = 16;

const WRITE: &str = "contiguous 1 GiB, write";
const READ: &str = "contiguous 1 GiB, read";
const SMALL_READ: &str = "contiguous, 64 bytes at random, read";
const SMALL_WRITE: &str = "contiguous, 64 bytes at random, write";

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[WRITE, READ, SMALL_READ, SMALL_WRITE]) {
        return Ok(());
    }
    let values = data::ramp(ELEMENTS);
    let (theirs, ours, plain) = (bench.path("theirs.h5"), bench.path("ours.h5"), bench.path("plain"));
    let rust = bench.path("rust-hdf5.h5");
    let layout = pure::Layout { shape: &[ELEMENTS], chunk: None, deflate: None };
    write_theirs(&theirs, &values)?;
    write_ours(&ours, &values)?;
    std::fs::write(&plain, data::bytes_of(&values))?;
    pure::write(&rust, layout, &values)?;
    race(WRITE, Amount::Bytes(BYTES))
        .at_least(0.95)
        .theirs(|| write_theirs(&theirs, &values))
        .ours(|| write_ours(&ours, &values))
        .limit("pwrite", || write_plain(&plain, &values))
        .rival(pure::NAME, || pure::write(&rust, layout, &values))
        .run(bench, || {
            let same = |path: &str| data::same::<f32>(&theirs, path, "x");
            Ok(same(&ours)? && same(&rust)?)
        })?;
    read(bench, values, [&theirs, &ours, &plain, &rust])?;
    bench.remove(&["rust-hdf5.h5"]);
    small(bench, [&theirs, &ours, &plain])?;
    bench.remove(&["theirs.h5", "ours.h5", "plain"]);
    Ok(())
}

fn write_theirs(path: &str, values: &[f32]) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    timed(|| {
        let file = hdf5::File::create(path)?;
        let dataset = file.new_dataset::<f32>().shape(values.len()).create("x")?;
        c::write(&dataset, None, values)?;
        drop(dataset);
        Ok(file.close()?)
    })
}

fn write_ours(path: &str, values: &[f32]) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    timed(|| {
        let file = data::create(path)?;
        file.new_dataset::<f32>().shape(values.len()).create("x")?.write_raw(values)?;
        Ok(file.close()?)
    })
}

fn write_plain(path: &str, values: &[f32]) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    timed(|| Ok(File::create(path)?.write_all_at(data::bytes_of(values), 0)?))
}

fn read(bench: &mut Bench, values: Vec<f32>, [theirs, ours, plain, rust]: [&str; 4]) -> Outcome<()> {
    let mut buffers = [1f32, 2.0, 3.0, 4.0].map(|value| vec![value; ELEMENTS]);
    let [their, our, raw, rusts] = &mut buffers;
    let race = race(READ, Amount::Bytes(BYTES))
        .at_least(0.95)
        .theirs(|| timed(|| c::read(&hdf5::File::open(theirs)?.dataset("x")?, None, their)))
        .ours(|| timed(|| Ok(hyperslab::File::open(ours)?.dataset("x")?.read_into(our)?)))
        .limit("pread", || timed(|| Ok(File::open(plain)?.read_exact_at(data::bytes_of_mut(raw), 0)?)))
        .rival(pure::NAME, || pure::read(rust, rusts));
    race.run(bench, || Ok(true))?;
    if bench.wants(&[READ]) && buffers.iter().any(|buffer| *buffer != values) {
        return Err("contiguous read: results differ".into());
    }
    Ok(())
}

fn starts() -> Vec<u64> {
    let mut numbers = Numbers::new(3);
    (0..CALLS).map(|_| numbers.below(ELEMENTS as u64 - PIECE)).collect()
}

fn small(bench: &mut Bench, [theirs, ours, plain]: [&str; 3]) -> Outcome<()> {
    let starts = &starts();
    let file = hdf5::File::open_rw(theirs)?;
    let their = &file.dataset("x")?;
    let space = &c::Space::new(&[ELEMENTS as u64]);
    let (mut sums, mut piece) = ([0f64; 2], [0f32; PIECE as usize]);
    let [their_sum, our_sum] = &mut sums;
    let our_file = hyperslab::File::open(ours)?;
    let our = our_file.dataset("x")?;
    let raw = File::options().read(true).write(true).open(plain)?;
    race(SMALL_READ, Amount::Calls(CALLS))
        .at_least(6.0)
        .theirs(|| {
            *their_sum = 0.0;
            timed(|| {
                let mut piece = [0f32; PIECE as usize];
                starts.iter().try_for_each(|&start| {
                    space.select(&[start], &[PIECE])?;
                    c::read(their, Some(space), &mut piece)?;
                    *their_sum += f64::from(piece[0]);
                    Ok(())
                })
            })
        })
        .ours(|| {
            *our_sum = 0.0;
            timed(|| {
                let mut piece = [0f32; PIECE as usize];
                starts.iter().try_for_each(|&start| {
                    our.read_selection_into(&Selection::block(&[start], &[PIECE])?, &mut piece)?;
                    *our_sum += f64::from(piece[0]);
                    Ok(())
                })
            })
        })
        .limit("pread", || {
            timed(|| {
                let mut read = |&start: &u64| raw.read_exact_at(data::bytes_of_mut(&mut piece), start * 4);
                Ok(starts.iter().try_for_each(&mut read)?)
            })
        })
        .run(bench, || Ok(true))?;
    if sums[0] != sums[1] {
        return Err("small reads: results differ".into());
    }
    drop((our, our_file));
    small_writes(bench, their, space, (ours, starts), &raw)?;
    drop(file);
    if bench.wants(&[SMALL_WRITE]) && !data::same::<f32>(theirs, ours, "x")? {
        return Err("small writes: results differ".into());
    }
    Ok(())
}

fn small_writes(
    bench: &mut Bench,
    their: &hdf5::Dataset,
    space: &c::Space,
    (ours, starts): (&str, &[u64]),
    raw: &File,
) -> Outcome<()> {
    let piece = [5f32; PIECE as usize];
    race(SMALL_WRITE, Amount::Calls(CALLS))
        .at_least(6.0)
        .theirs(|| {
            timed(|| {
                let mut write = |&start: &u64| {
                    space.select(&[start], &[PIECE])?;
                    c::write(their, Some(space), &piece)
                };
                starts.iter().try_for_each(&mut write)?;
                Ok(their.file()?.flush()?)
            })
        })
        .ours(|| {
            let file = data::open_rw(ours)?;
            let our = file.dataset("x")?;
            let seconds = timed(|| {
                let write = |&start: &u64| -> Outcome<()> {
                    Ok(our.write_selection(&Selection::block(&[start], &[PIECE])?, &piece)?)
                };
                starts.iter().try_for_each(write)?;
                Ok(file.flush()?)
            })?;
            file.close()?;
            Ok(seconds)
        })
        .limit("pwrite", || {
            timed(|| {
                Ok(starts
                    .iter()
                    .try_for_each(|&start| raw.write_all_at(data::bytes_of(&piece), start * 4))?)
            })
        })
        .run(bench, || Ok(true))
}
