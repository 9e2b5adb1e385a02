//! Chunked datasets, whole: without filters and with them, by one thread and by two.

use hyperslab::{Dataset, File};

use crate::harness::{Amount, Bench, race, timed};
use crate::limits::{self, Codec};
use crate::pure;
use crate::zarr::{self, Filters};
use crate::{Outcome, c, data};

/// Rows of a chunk of 1 MiB in datasets of 1024 columns.
const CHUNK: [usize; 2] = [256, 1024];
const COLUMNS: usize = 1024;

/// One way to store a dataset, for all libraries.
struct Storage {
    name: &'static str,
    bytes: usize,
    /// What is promised of writing and of reading.
    at_least: Option<(f64, f64)>,
    /// What is promised of both against the fastest rival.
    at_least_rival: Option<f64>,
    theirs: fn(hdf5::DatasetBuilderEmptyShape) -> hdf5::DatasetBuilderEmptyShape,
    ours: fn(hyperslab::DatasetBuilder) -> hyperslab::DatasetBuilder,
    zarr: Filters,
    /// Our filters once more, for the codec alone.
    stages: &'static [(u16, &'static [u32])],
}

const PLAIN: Storage = Storage {
    name: "chunked 1 GiB",
    bytes: 1 << 30,
    at_least: Some((1.4, 1.4)),
    at_least_rival: None,
    theirs: |builder| builder,
    ours: |builder| builder,
    zarr: Filters::None,
    stages: &[],
};

const DEFLATE: Storage = Storage {
    name: "shuffle + deflate-4, 256 MiB",
    bytes: 256 << 20,
    at_least: Some((3.5, 3.5)),
    at_least_rival: None,
    theirs: |builder| builder.shuffle().deflate(4),
    ours: |builder| builder.shuffle().deflate(4),
    zarr: Filters::ShuffleDeflate(4),
    stages: &[(2, &[4]), (1, &[4])],
};

/// libhdf5 has no Zstandard of its own: Blosc's stands next to it.
const ZSTD: Storage = Storage {
    name: "zstd-1, 256 MiB",
    bytes: 256 << 20,
    at_least: None,
    at_least_rival: Some(1.0),
    theirs: |builder| builder.blosc_zstd(1, hdf5::filters::BloscShuffle::None),
    ours: |builder| builder.filter(32015, &[1]),
    zarr: Filters::Zstd(1),
    stages: &[(32015, &[1])],
};

const LZ4: Storage = Storage {
    name: "Blosc-LZ4, 256 MiB",
    bytes: 256 << 20,
    at_least: None,
    at_least_rival: Some(1.0),
    theirs: |builder| builder.blosc_lz4(5, hdf5::filters::BloscShuffle::Byte),
    // Version of the filter, of Blosc, element size, chunk bytes, level, byte shuffle, LZ4.
    ours: |builder| builder.filter(32001, &[2, 2, 4, 1 << 20, 5, 1, 1]),
    zarr: Filters::BloscLz4(5),
    stages: &[(32001, &[2, 2, 4, 1 << 20, 5, 1, 1])],
};

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    for storage in [PLAIN, DEFLATE, ZSTD, LZ4] {
        both_ways(bench, &storage)?;
    }
    threads(bench)
}

/// Where each library keeps its copy.
struct Paths {
    theirs: String,
    ours: String,
    pure: String,
    zarr: String,
    plain: String,
}

const FILES: [&str; 5] = ["theirs.h5", "ours.h5", "pure.h5", "zarr", "plain"];

fn both_ways(bench: &mut Bench, storage: &Storage) -> Outcome<()> {
    let (write, read) = (format!("{}, write", storage.name), format!("{}, read", storage.name));
    if !bench.wants(&[&write, &read]) {
        return Ok(());
    }
    let values = if storage.bytes == 1 << 30 {
        data::ramp(storage.bytes / 4)
    } else {
        data::measurements(storage.bytes / 4)
    };
    let [theirs, ours, pure, zarr, plain] = FILES.map(|name| bench.path(name));
    let paths = Paths { theirs, ours, pure, zarr, plain };
    writes(bench, &write, storage, (&paths, &values))?;
    reads(bench, &read, storage, (&paths, &values))?;
    bench.remove(&FILES);
    Ok(())
}

/// How the crate without C lays the dataset out, where it is to know its filters.
fn layout<'a>(storage: &Storage, shape: &'a [usize]) -> Option<pure::Layout<'a>> {
    let deflate = match storage.zarr {
        Filters::None => None,
        Filters::ShuffleDeflate(level) => Some(level),
        Filters::Zstd(_) | Filters::BloscLz4(_) => return None,
    };
    Some(pure::Layout { shape, chunk: Some(&CHUNK), deflate })
}

fn writes(
    bench: &mut Bench,
    name: &str,
    storage: &Storage,
    (paths, values): (&Paths, &[f32]),
) -> Outcome<()> {
    let shape = [values.len() / COLUMNS, COLUMNS];
    let layout = layout(storage, &shape);
    let zarr = || zarr::write(&paths.zarr, storage.zarr, [shape, CHUNK], values);
    // The reads need these, even when no one asks for the writes.
    write_theirs(storage, &paths.theirs, values)?;
    write_ours(storage, &paths.ours, values)?;
    zarr()?;
    let mut race = race(name, Amount::Bytes(storage.bytes as u64))
        .theirs(|| write_theirs(storage, &paths.theirs, values))
        .ours(|| write_ours(storage, &paths.ours, values))
        .rival(zarr::NAME, zarr);
    if let Some(layout) = layout {
        pure::write(&paths.pure, layout, values)?;
        race = race.rival(pure::NAME, move || pure::write(&paths.pure, layout, values));
    }
    let codec = Codec::new(storage.stages, if storage.stages.is_empty() { &[] } else { values })?;
    race = match storage.stages {
        [] => race.limit("pwrite, 2 threads", || limits::pwrite(&paths.plain, storage.bytes)),
        _ => race.limit("the codec, 2 cores", move || codec.encode()),
    };
    if let Some((least, _)) = storage.at_least {
        race = race.at_least(least);
    }
    if let Some(least) = storage.at_least_rival {
        race = race.at_least_rival(least);
    }
    race.run(bench, || all_equal(paths, layout.is_some(), values))
}

/// Whether every copy holds the values. libhdf5 reads all files of HDF5 that it has filters for.
fn all_equal(paths: &Paths, pure: bool, values: &[f32]) -> Outcome<bool> {
    let by_theirs = |path: &str| -> Outcome<bool> {
        Ok(hdf5::File::open(path)?.dataset("x")?.read_raw::<f32>()? == values)
    };
    let mut zarr = vec![0f32; values.len()];
    zarr::read(&paths.zarr, &mut zarr)?;
    Ok(zarr == values
        && by_theirs(&paths.theirs)?
        && File::open(&paths.ours)?.dataset("x")?.read_raw::<f32>()? == values
        && (!pure || by_theirs(&paths.pure)?))
}

fn reads(bench: &mut Bench, name: &str, storage: &Storage, (paths, values): (&Paths, &[f32])) -> Outcome<()> {
    let buffer = || vec![1f32; values.len()];
    let (mut their, mut our, mut zarr) = (buffer(), buffer(), buffer());
    let mut pure = Vec::new();
    let mut race = race(name, Amount::Bytes(storage.bytes as u64))
        .theirs(|| timed(|| c::read(&hdf5::File::open(&paths.theirs)?.dataset("x")?, None, &mut their)))
        .ours(|| timed(|| Ok(File::open(&paths.ours)?.dataset("x")?.read_into(&mut our)?)))
        .rival(zarr::NAME, || zarr::read(&paths.zarr, &mut zarr));
    let pure_too = layout(storage, &[]).is_some();
    if pure_too {
        pure = buffer();
        race = race.rival(pure::NAME, || pure::read(&paths.pure, &mut pure));
    }
    let codec = Codec::new(storage.stages, if storage.stages.is_empty() { &[] } else { values })?;
    race = match storage.stages {
        [] => race.limit("pread, 2 threads", || limits::pread(&paths.ours)),
        _ => race.limit("the codec, 2 cores", move || codec.decode()),
    };
    if let Some((_, least)) = storage.at_least {
        race = race.at_least(least);
    }
    if let Some(least) = storage.at_least_rival {
        race = race.at_least_rival(least);
    }
    race.run(bench, || Ok(true))?;
    let read_equal = their == values && our == values && zarr == values;
    if bench.wants(&[name]) && !(read_equal && (!pure_too || pure == values)) {
        return Err(format!("{name}: results differ").into());
    }
    Ok(())
}

fn write_theirs(storage: &Storage, path: &str, values: &[f32]) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    timed(|| {
        let file = hdf5::File::create(path)?;
        let builder =
            file.new_dataset::<f32>().shape((values.len() / COLUMNS, COLUMNS)).chunk((CHUNK[0], CHUNK[1]));
        let dataset = (storage.theirs)(builder).create("x")?;
        c::write(&dataset, None, values)?;
        drop(dataset);
        Ok(file.close()?)
    })
}

fn write_ours(storage: &Storage, path: &str, values: &[f32]) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    timed(|| {
        let file = data::create(path)?;
        let builder = file.new_dataset::<f32>().shape([values.len() / COLUMNS, COLUMNS]).chunk(CHUNK);
        (storage.ours)(builder).create("x")?.write_raw(values)?;
        Ok(file.close()?)
    })
}

/// Two threads that read halves of a dataset, against one that reads it row of chunks by row of chunks.
fn threads(bench: &mut Bench) -> Outcome<()> {
    const NAME: &str = "shuffle + deflate-4, 2 threads of one process";
    if !bench.wants(&[NAME]) {
        return Ok(());
    }
    let values = data::measurements(DEFLATE.bytes / 4);
    let path = bench.path("ours.h5");
    write_ours(&DEFLATE, &path, &values)?;
    let mut buffer = vec![0f32; values.len()];
    let mut both = buffer.clone();
    let mut their = buffer.clone();
    let mut row = race(NAME, Amount::Bytes(DEFLATE.bytes as u64)).at_least(1.8);
    row = row
        .theirs(|| timed(|| read_pieces(&File::open(&path)?.dataset("x")?, 0, &mut buffer)))
        .ours(|| timed(|| in_two(&File::open(&path)?.dataset("x")?, &mut both)))
        .rival("libhdf5, 2 threads", || {
            timed(|| {
                let file = hdf5::File::open(&path)?;
                let dataset = file.dataset("x")?;
                let (first, second) = their.split_at_mut(values.len() / 2);
                std::thread::scope(|scope| {
                    let other = scope.spawn(|| half_of_theirs(&dataset, 0, first).map_err(|e| e.to_string()));
                    half_of_theirs(&dataset, values.len() / 2, second).map_err(|e| e.to_string())?;
                    other.join().map_err(|_| "a thread panicked".to_owned())?
                })?;
                Ok(())
            })
        });
    row.run(bench, || Ok(true))?;
    if let Some(row) = bench.rows.last_mut().filter(|row| row.name == NAME) {
        row.against = "1 thread of ours";
    }
    if both != values || their != values {
        return Err("threads: results differ".into());
    }
    bench.remove(&["ours.h5"]);
    Ok(())
}

/// One chunk a call, so that a call has no work for a second core.
fn read_pieces(dataset: &Dataset, first_row: usize, into: &mut [f32]) -> Outcome<()> {
    for (n, piece) in into.chunks_mut(CHUNK[0] * COLUMNS).enumerate() {
        let start = [(first_row + n * CHUNK[0]) as u64, 0];
        let count = [(piece.len() / COLUMNS) as u64, COLUMNS as u64];
        dataset.read_selection_into(&hyperslab::Selection::block(&start, &count)?, piece)?;
    }
    Ok(())
}

fn in_two(dataset: &Dataset, into: &mut [f32]) -> Outcome<()> {
    let half = into.len() / 2;
    let (first, second) = into.split_at_mut(half);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| read_pieces(dataset, 0, first).map_err(|e| e.to_string()));
        read_pieces(dataset, half / COLUMNS, second).map_err(|e| e.to_string())?;
        other.join().map_err(|_| "a thread panicked".to_owned())?
    })?;
    Ok(())
}

fn half_of_theirs(dataset: &hdf5::Dataset, start: usize, into: &mut [f32]) -> Outcome<()> {
    let rows = (into.len() / COLUMNS) as u64;
    let space = c::Space::new(&[2 * rows, COLUMNS as u64]);
    for (n, piece) in into.chunks_mut(CHUNK[0] * COLUMNS).enumerate() {
        let first = (start / COLUMNS + n * CHUNK[0]) as u64;
        space.select(&[first, 0], &[CHUNK[0] as u64, COLUMNS as u64])?;
        c::read(dataset, Some(&space), piece)?;
    }
    Ok(())
}
