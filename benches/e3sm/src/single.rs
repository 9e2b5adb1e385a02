//! One process: many small requests, one large flush, and reading after ten flushes.

use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use hyperslab::vol::model::properties::{DatasetCreate, FileCreate};
use hyperslab::vol::model::{Dataspace, Datatype, Selection, Token};
use hyperslab::vol::{
    Connector, Container, ContainerCreate, ContainerOpen, Durability, FileAccess, LinkLocation,
    OpDatasetCreate, OpRead, OpWrite,
};
use log::{LogConnector, LogContainer};
use native::NativeConnector;

use crate::{Outcome, c, timed};

const REQUESTS: u64 = 200_000;
const DATASETS: usize = 100;
const ROUNDS: usize = 9;

fn connector() -> LogConnector {
    LogConnector::new(Arc::new(NativeConnector))
}

fn create_log(path: &str) -> Outcome<Arc<LogContainer>> {
    let (create, access) = (FileCreate::default(), access());
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(path, &create, &access) };
    Ok(connector().create_log(&op)?)
}

/// libhdf5 syncs nothing either.
fn access() -> FileAccess {
    FileAccess { durability: Durability::None, write_buffer_bytes: Some(4 << 30), ..FileAccess::write() }
}

fn dataset(c: &dyn Container, name: &str, elements: u64) -> Outcome<Token> {
    Ok(c.dataset_create(&OpDatasetCreate {
        place: Some(LinkLocation::new(c.info()?.root, name)),
        datatype: Datatype::native_int(4),
        committed: None,
        space: Dataspace::simple(&[elements])?,
        create: DatasetCreate::default(),
    })?)
}

/// Requests of 64 to 256 bytes that cover all datasets once, in random order: dataset, first element, elements.
fn requests() -> (Vec<(usize, u64, u64)>, u64) {
    let mut seed = 88172645463325252u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut ends = [0u64; DATASETS];
    let mut all: Vec<_> = (0..REQUESTS as usize)
        .map(|n| {
            let (which, len) = (n % DATASETS, 16 + next() % 49);
            ends[which] += len;
            (which, ends[which] - len, len)
        })
        .collect();
    (1..all.len()).rev().for_each(|n| all.swap(n, (next() % (n as u64 + 1)) as usize));
    (all, ends.into_iter().max().unwrap_or(0))
}

fn log_requests(
    path: &str,
    requests: &[(usize, u64, u64)],
    elements: u64,
    values: &[u8],
    at_once: usize,
) -> Outcome<[f64; 3]> {
    let c = create_log(path)?;
    let made =
        (0..DATASETS).map(|n| dataset(&*c, &format!("d{n}"), elements)).collect::<Outcome<Vec<_>>>()?;
    c.commit(Durability::None)?;
    let bytes = |start: u64, len: u64| &values[start as usize % 1000 * 4..][..len as usize * 4];
    let one_by_one = || {
        for &(which, start, len) in requests {
            let selection = Selection::block(&[start], &[len])?;
            let (dataset, from) = (made[which], bytes(start, len));
            c.dataset_write(&[OpWrite { dataset, selection: &selection, from }])?;
        }
        Ok(())
    };
    let several = || {
        for some in requests.chunks(at_once) {
            let blocks = some.iter().map(|&(_, start, len)| Selection::block(&[start], &[len]));
            let selections = blocks.collect::<Result<Vec<_>, _>>()?;
            let write = |(&(which, start, len), selection)| OpWrite {
                dataset: made[which],
                selection,
                from: bytes(start, len),
            };
            c.dataset_write(&some.iter().zip(&selections).map(write).collect::<Vec<_>>())?;
        }
        Ok(())
    };
    let written = if at_once == 1 { timed(one_by_one) } else { timed(several) }?;
    let flushed = timed(|| Ok(c.commit(Durability::None)?))?;
    let closed = timed(|| Ok(c.close()?))?;
    Ok([written, flushed, closed])
}

fn c_requests(path: &str, requests: &[(usize, u64, u64)], elements: u64, chunk: Option<u64>) -> Outcome<f64> {
    let values = vec![7; 2000];
    let datasets = c::Datasets::create(path, DATASETS, elements, chunk)?;
    timed(|| {
        for &(which, start, len) in requests {
            datasets.write(which, start, &values[start as usize % 1000..][..len as usize])?;
        }
        datasets.close()
    })
}

fn small_requests(path: &str) -> Outcome<()> {
    let (requests, elements) = requests();
    let values: Vec<u8> = (0..8000).map(|n| n as u8).collect();
    let mut log = [(1, f64::MAX, [0.0; 3]), (16, f64::MAX, [0.0; 3])];
    let (mut contiguous, mut chunked) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        for (at_once, best, parts) in &mut log {
            let times = log_requests(path, &requests, elements, &values, *at_once)?;
            if times.iter().sum::<f64>() < *best {
                (*best, *parts) = (times.iter().sum(), times);
            }
        }
        contiguous = contiguous.min(c_requests(path, &requests, elements, None)?);
        chunked = chunked.min(c_requests(path, &requests, elements, Some(8192))?);
    }
    let speed = |seconds: f64| REQUESTS as f64 / seconds;
    println!(
        "200,000 requests of 64 to 256 bytes over 100 datasets, random order, flush and close included (nothing synced)"
    );
    println!("  libhdf5 contiguous  {:>12.0} requests/s", speed(contiguous));
    println!("  libhdf5 chunked     {:>12.0} requests/s", speed(chunked));
    for (at_once, log, [written, flushed, closed]) in log {
        println!(
            "  log, {at_once:>2} a call      {:>12.0} requests/s (write {:.1} ms, flush {:.1} ms, close {:.1} ms): {:.1} and {:.1} times as fast",
            speed(log),
            written * 1e3,
            flushed * 1e3,
            closed * 1e3,
            contiguous / log,
            chunked / log
        );
    }
    Ok(())
}

/// Bytes of the tables for requests of 128 bytes that do not touch.
fn table_share(path: &str) -> Outcome<()> {
    let c = create_log(path)?;
    let elements = REQUESTS / DATASETS as u64 * 64;
    let made =
        (0..DATASETS).map(|n| dataset(&*c, &format!("d{n}"), elements)).collect::<Outcome<Vec<_>>>()?;
    let mut seed = 1u64;
    for n in 0..REQUESTS {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let start = n / DATASETS as u64 * 64 + (seed >> 60);
        let selection = Selection::block(&[start], &[32])?;
        c.dataset_write(&[OpWrite {
            dataset: made[n as usize % DATASETS],
            selection: &selection,
            from: &[7; 128],
        }])?;
    }
    c.close()?;
    let c = connector().open_log(&ContainerOpen::new(path, &FileAccess::read()))?;
    let statistics = c.statistics()?;
    let share = 100.0 * statistics.table_bytes as f64 / statistics.log_bytes as f64;
    println!(
        "tables of version 2 for {REQUESTS} requests of 128 bytes at odd places: {share:.2} % of the data"
    );
    Ok(c.close()?)
}

/// One flush of 1 GiB against the same bytes by `pwrite`.
fn large_flush(path: &str) -> Outcome<()> {
    const BYTES: usize = 1 << 30;
    const PIECE: usize = 8 << 20;
    let piece = vec![7u8; PIECE];
    // From as much memory as the log has to write.
    let all = vec![7u8; BYTES];
    let plain = || {
        std::fs::remove_file(path).ok();
        let file = std::fs::File::create(path)?;
        let mut pieces = all.chunks(PIECE).enumerate();
        timed(|| Ok(pieces.try_for_each(|(n, piece)| file.write_all_at(piece, (n * PIECE) as u64))?))
    };
    let flush = |step: usize| -> Outcome<f64> {
        std::fs::remove_file(path).ok();
        let c = create_log(path)?;
        let data = dataset(&*c, "d", (BYTES / 4) as u64)?;
        c.commit(Durability::None)?;
        for n in 0..BYTES / step {
            let selection = Selection::block(&[(n * step / 4) as u64], &[step as u64 / 4])?;
            c.dataset_write(&[OpWrite { dataset: data, selection: &selection, from: &piece[..step] }])?;
        }
        let seconds = timed(|| Ok(c.commit(Durability::None)?))?;
        c.close()?;
        Ok(seconds)
    };
    let [mut bare, mut large, mut small] = [f64::MAX; 3];
    // In turn, so that what else the machine does hits all of them.
    for _ in 0..ROUNDS {
        bare = bare.min(plain()?);
        large = large.min(flush(PIECE)?);
        small = small.min(flush(16 << 10)?);
    }
    let speed = |seconds: f64| BYTES as f64 / seconds / 1e9;
    println!(
        "a flush of 1 GiB: {:.2} GB/s in pieces of 8 MiB, {:.2} GB/s of 16 KiB; plain pwrite {:.2} GB/s: {:.2} and {:.2} of it",
        speed(large),
        speed(small),
        speed(bare),
        bare / large,
        bare / small
    );
    std::fs::remove_file(path)?;
    Ok(())
}

/// A dataset written by scattered requests in ten flushes, read whole, against its canonical copy.
fn read_back(folder: &Path, path: &str) -> Outcome<()> {
    const ELEMENTS: u64 = 25_000_000;
    for block in [32u64, 256, 4096] {
        let c = create_log(path)?;
        let made: Vec<Token> =
            (0..2).map(|n| dataset(&*c, &format!("d{n}"), ELEMENTS)).collect::<Outcome<_>>()?;
        let values: Vec<u8> = (0..block * 4).map(|n| n as u8).collect();
        let blocks = ELEMENTS / block;
        for flush in 0..10 {
            for n in (flush..blocks).step_by(10) {
                let selection = Selection::block(&[n * block], &[block])?;
                for dataset in &made {
                    c.dataset_write(&[OpWrite { dataset: *dataset, selection: &selection, from: &values }])?;
                }
            }
            c.commit(Durability::None)?;
        }
        c.close()?;
        let canonical =
            folder.join(format!("e3sm-canonical-{}.h5", std::process::id())).display().to_string();
        let (create, access) = (FileCreate::default(), access());
        let op = ContainerCreate { truncate: true, ..ContainerCreate::new(&canonical, &create, &access) };
        let n = NativeConnector.create(&op)?;
        let data = dataset(&*n, "d0", ELEMENTS)?;
        let mut bytes = vec![0u8; ELEMENTS as usize * 4];
        n.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &bytes }])?;
        n.close()?;
        let mut ints = vec![0i32; ELEMENTS as usize];
        let (mut log, mut open, mut native, mut library) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            let read = FileAccess::read();
            let mut c = None;
            let mut all = |dataset, c: &dyn Container| {
                timed(|| {
                    Ok(c.dataset_read(&mut [OpRead {
                        dataset,
                        selection: &Selection::All,
                        into: &mut bytes,
                    }])?)
                })
            };
            open = open.min(timed(|| {
                let opened = connector().open_log(&ContainerOpen::new(path, &read))?;
                let dataset =
                    hyperslab::vol::path::token(&*opened, Container::info(&*opened)?.root, "d0", 16)?;
                // One element, so that the index is there.
                opened.dataset_read(&mut [OpRead {
                    dataset,
                    selection: &Selection::block(&[0], &[1])?,
                    into: &mut [0; 4],
                }])?;
                c = Some((opened, dataset));
                Ok(())
            })?);
            let (opened, dataset) = c.ok_or("not open")?;
            log = log.min(all(dataset, &*opened)?);
            let opened = NativeConnector.open(&ContainerOpen::new(&canonical, &read))?;
            let dataset = hyperslab::vol::path::token(&*opened, opened.info()?.root, "d0", 16)?;
            native = native.min(all(dataset, &*opened)?);
            library = library.min(timed(|| c::read(&canonical, "d0", &mut ints))?);
        }
        let speed = |seconds: f64| ELEMENTS as f64 * 4.0 / seconds / 1e9;
        println!(
            "reading 100 MB after 10 flushes, requests of {} bytes: {:.2} GB/s (open and index {:.1} ms); canonical {:.2} GB/s, libhdf5 {:.2} GB/s: {:.2} and {:.2} of it; with the opening {:.2} of canonical",
            block * 4,
            speed(log),
            open * 1e3,
            speed(native),
            speed(library),
            native / log,
            library / log,
            native / (log + open)
        );
        std::fs::remove_file(&canonical)?;
    }
    Ok(())
}

/// The log's part of the small requests alone, for a profiler.
fn profiled(path: &str) -> Outcome<()> {
    let (requests, elements) = requests();
    let values: Vec<u8> = (0..8000).map(|n| n as u8).collect();
    let [written, flushed, closed] = log_requests(path, &requests, elements, &values, 1)?;
    println!("write {:.1} ms, flush {:.1} ms, close {:.1} ms", written * 1e3, flushed * 1e3, closed * 1e3);
    Ok(())
}

/// All parts, or those that are named: `small`, `tables`, `flush`, `read`; `profiled` only if it is.
pub fn run(folder: &Path, words: &[String]) -> Outcome<()> {
    println!("libhdf5 {}, {} cores", c::version(), std::thread::available_parallelism()?);
    let path = folder.join(format!("e3sm-{}.h5", std::process::id())).display().to_string();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if is_wanted("small") {
        small_requests(&path)?;
    }
    if words.iter().any(|word| word == "profiled") {
        (0..3).try_for_each(|_| profiled(&path))?;
    }
    if is_wanted("tables") {
        table_share(&path)?;
    }
    if is_wanted("flush") {
        large_flush(&path)?;
    }
    if is_wanted("read") {
        read_back(folder, &path)?;
    }
    std::fs::remove_file(&path).or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) })?;
    Ok(())
}
