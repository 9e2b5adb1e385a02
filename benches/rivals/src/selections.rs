//! Parts of a dataset of 16384 by 16384 floats in chunks of 256 by 256.

use std::process::Command;

use hyperslab::vol::model::selection::SetOp;
use hyperslab::{File, Selection};
use ndarray::{ArrayD, IxDyn};

use crate::data::{self, Numbers};
use crate::harness::{Amount, Bench, race, timed};
use crate::{Outcome, c, limits};

const SIDE: u64 = 16384;
const CHUNK: usize = 256;
const WINDOW: u64 = 64;
const WINDOWS: u64 = 10_000;
const STEP: u64 = 4;
const POINTS: u64 = 100_000;
const BLOCKS: u64 = 10_000;
/// Side of the dataset that is read through a mask.
const MASKED: u64 = 2048;

const NAMES: [&str; 4] = [
    "10,000 random windows of 64 × 64",
    "strided [::4, ::4]",
    "100,000 random points",
    "union of 10,000 blocks",
];
const MASK: &str = "boolean mask, 10 % of 2048²";

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    if bench.wants(&NAMES) {
        let path = bench.path("square.h5");
        make_square(&path)?;
        let (theirs, ours) = (hdf5::File::open(&path)?, File::open(&path)?);
        let (theirs, ours) = (theirs.dataset("x")?, ours.dataset("x")?);
        windows(bench, &theirs, &ours)?;
        strided(bench, &theirs, &ours)?;
        points(bench, &theirs, &ours)?;
        union(bench, &theirs, &ours)?;
        drop(theirs);
        bench.remove(&["square.h5"]);
    }
    mask(bench)
}

/// libhdf5 makes the file, so that neither side reads what only it wrote.
fn make_square(path: &str) -> Outcome<()> {
    let file = data::create_theirs(path)?;
    let side = SIDE as usize;
    let dataset = file.new_dataset::<f32>().shape((side, side)).chunk((CHUNK, CHUNK)).create("x")?;
    let space = c::Space::new(&[SIDE, SIDE]);
    for band in 0..SIDE / 1024 {
        let values: Vec<f32> = (0..1024 * SIDE).map(|n| (n + band * 1024 * SIDE) as f32).collect();
        space.select(&[band * 1024, 0], &[1024, SIDE])?;
        c::write(&dataset, Some(&space), &values)?;
    }
    Ok(())
}

fn windows(bench: &mut Bench, theirs: &hdf5::Dataset, ours: &hyperslab::Dataset) -> Outcome<()> {
    let mut numbers = Numbers::new(11);
    let corners: Vec<[u64; 2]> =
        (0..WINDOWS).map(|_| [numbers.below(SIDE - WINDOW), numbers.below(SIDE - WINDOW)]).collect();
    let space = c::Space::new(&[SIDE, SIDE]);
    let elements = (WINDOW * WINDOW) as usize;
    let (mut their, mut our) = (vec![0f32; elements], vec![0f32; elements]);
    let (mut their_sum, mut our_sum) = (0.0, 0.0);
    let bench_path = bench.path("square.h5");
    race(NAMES[0], Amount::Calls(WINDOWS))
        .at_least(5.0)
        .theirs(|| {
            their_sum = 0.0;
            timed(|| {
                corners.iter().try_for_each(|corner| {
                    space.select(corner, &[WINDOW, WINDOW])?;
                    c::read(theirs, Some(&space), &mut their)?;
                    their_sum += f64::from(their[0]) + f64::from(their[elements - 1]);
                    Ok(())
                })
            })
        })
        .ours(|| {
            our_sum = 0.0;
            timed(|| {
                corners.iter().try_for_each(|corner| {
                    ours.read_selection_into(&Selection::block(corner, &[WINDOW, WINDOW])?, &mut our)?;
                    our_sum += f64::from(our[0]) + f64::from(our[elements - 1]);
                    Ok(())
                })
            })
        })
        .limit("pread of the rows, 2 threads", || {
            let places: Vec<u64> = corners.iter().map(|corner| corner[0] * SIDE * 4 / 2).collect();
            limits::pread_at(&bench_path, &places, 64 << 10)
        })
        .run(bench, || Ok(true))?;
    equal(NAMES[0], their == our && their_sum == our_sum)
}

fn equal(name: &str, same: bool) -> Outcome<()> {
    if same { Ok(()) } else { Err(format!("{name}: results differ").into()) }
}

fn strided(bench: &mut Bench, theirs: &hdf5::Dataset, ours: &hyperslab::Dataset) -> Outcome<()> {
    let count = SIDE / STEP;
    let space = c::Space::new(&[SIDE, SIDE]);
    space.select_strided(&[0, 0], &[STEP, STEP], &[count, count])?;
    let selection = Selection::hyperslab(&[0, 0], &[STEP, STEP], &[count, count], &[1, 1])?;
    read_both(bench, NAMES[1], Amount::Elements(count * count), 5.0, (theirs, &space), (ours, &selection))
}

/// One read of a selection that is already there.
fn read_both(
    bench: &mut Bench,
    name: &str,
    amount: Amount,
    at_least: f64,
    (theirs, space): (&hdf5::Dataset, &c::Space),
    (ours, selection): (&hyperslab::Dataset, &Selection),
) -> Outcome<()> {
    if !bench.wants(&[name]) {
        return Ok(());
    }
    let count = selection.element_count(&[SIDE, SIDE])? as usize;
    let (mut their, mut our) = (vec![0f32; count], vec![0f32; count]);
    let path = bench.path("square.h5");
    let places: Vec<u64> = match selection {
        Selection::Points(points) => points.iter().map(|at| at[0] * SIDE * 4 / 2 + at[1] * 4).collect(),
        _ => Vec::new(),
    };
    let limit = || if places.is_empty() { limits::pread(&path) } else { limits::pread_at(&path, &places, 4) };
    race(name, amount)
        .at_least(at_least)
        .limit(if places.is_empty() { "pread of all, 2 threads" } else { "pread, 2 threads" }, limit)
        .theirs(|| timed(|| c::read(theirs, Some(space), &mut their)))
        .ours(|| timed(|| Ok(ours.read_selection_into(selection, &mut our)?)))
        .run(bench, || Ok(true))?;
    equal(name, their == our)
}

fn points(bench: &mut Bench, theirs: &hdf5::Dataset, ours: &hyperslab::Dataset) -> Outcome<()> {
    let mut numbers = Numbers::new(13);
    let coordinates: Vec<u64> = (0..2 * POINTS).map(|_| numbers.below(SIDE)).collect();
    let space = c::Space::new(&[SIDE, SIDE]);
    space.select_points(2, &coordinates)?;
    let selection = Selection::points(2, coordinates)?;
    read_both(bench, NAMES[2], Amount::Calls(1), 4.0, (theirs, &space), (ours, &selection))
}

/// Blocks of 4 by 4 at random places, each added to the selection by OR.
fn union(bench: &mut Bench, theirs: &hdf5::Dataset, ours: &hyperslab::Dataset) -> Outcome<()> {
    if !bench.wants(&[NAMES[3]]) {
        return Ok(());
    }
    let mut numbers = Numbers::new(17);
    let corners: Vec<[u64; 2]> =
        (0..BLOCKS).map(|_| [numbers.below(SIDE - 4), numbers.below(SIDE - 4)]).collect();
    let (mut their, mut our) = (Vec::new(), Vec::new());
    let mut built = corners.iter().map(|corner| Selection::block(corner, &[4, 4]));
    let all = built.try_fold(Selection::None, |all, block| all.combine(SetOp::Or, &block?, &[SIDE, SIDE]))?;
    let count = all.element_count(&[SIDE, SIDE])? as usize;
    their.resize(count, 0f32);
    our.resize(count, 1f32);
    race(NAMES[3], Amount::Calls(1))
        .at_least(20.0)
        .rounds(1)
        .theirs(|| {
            timed(|| {
                let space = c::Space::new(&[SIDE, SIDE]);
                space.select(&corners[0], &[4, 4])?;
                corners.iter().skip(1).try_for_each(|corner| space.or(corner, &[4, 4]))?;
                c::read(theirs, Some(&space), &mut their)
            })
        })
        .ours(|| {
            timed(|| {
                let mut all = Selection::None;
                for corner in &corners {
                    all = all.combine(SetOp::Or, &Selection::block(corner, &[4, 4])?, &[SIDE, SIDE])?;
                }
                Ok(ours.read_selection_into(&all, &mut our)?)
            })
        })
        .run(bench, || Ok(true))?;
    equal(NAMES[3], their == our)
}

/// What h5py does with the same mask: its own time for `dataset[mask]`, and the sum of what it read.
const H5PY: &str = "
import sys, time, h5py, numpy
mask = numpy.fromfile(sys.argv[2], dtype=bool).reshape(2048, 2048)
best = 1e9
with h5py.File(sys.argv[1]) as f:
    for _ in range(4):
        start = time.perf_counter()
        values = f['x'][mask]
        best = min(best, time.perf_counter() - start)
print(best, float(values.astype('f8').sum()))
";

fn mask(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[MASK]) {
        return Ok(());
    }
    let (path, mask_path) = (bench.path("masked.h5"), bench.path("mask"));
    let side = MASKED as usize;
    let file = data::create_theirs(&path)?;
    let dataset = file.new_dataset::<f32>().shape((side, side)).chunk((CHUNK, CHUNK)).create("x")?;
    c::write(&dataset, None, &data::ramp(side * side))?;
    drop((dataset, file));
    let mut numbers = Numbers::new(19);
    let mask: Vec<bool> = (0..side * side).map(|_| numbers.below(10) == 0).collect();
    std::fs::write(&mask_path, mask.iter().map(|&m| u8::from(m)).collect::<Vec<u8>>())?;
    let mask = ArrayD::from_shape_vec(IxDyn(&[side, side]), mask)?;
    let (mut their_sum, mut our_sum) = (0.0, 0.0);
    race(MASK, Amount::Calls(1))
        .at_least(4.0)
        .theirs(|| {
            let output = Command::new("python3").args(["-c", H5PY, &path, &mask_path]).output()?;
            let text = String::from_utf8(output.stdout)?;
            let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
            their_sum = *numbers.get(1).ok_or("h5py is not installed")?;
            Ok(numbers[0])
        })
        .ours(|| {
            let file = File::open(&path)?;
            let mut values = ndarray::Array1::zeros(0);
            let seconds = timed(|| {
                values = file.dataset("x")?.read_mask::<f32>(&mask)?;
                Ok(())
            })?;
            our_sum = values.iter().map(|&v| f64::from(v)).sum();
            Ok(seconds)
        })
        .limit("read all, then mask", || {
            timed(|| {
                let all = File::open(&path)?.dataset("x")?.read_raw::<f32>()?;
                let kept = all.iter().zip(&mask).filter(|(_, kept)| **kept).map(|(value, _)| *value);
                std::hint::black_box(kept.collect::<Vec<f32>>());
                Ok(())
            })
        })
        .run(bench, || Ok(true))?;
    if let Some(row) = bench.rows.last_mut() {
        row.against = "h5py";
    }
    bench.remove(&["masked.h5", "mask"]);
    equal(MASK, their_sum == our_sum)
}
