//! Threads that read, write and flush one file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use files::fault::Call;
use files::{Memory, Pause};
use hyperslab::{Dataset, File, FileAccess};
use native::create_handle;

use crate::Outcome;

/// What a call takes that the storage delays.
const DELAY: Duration = Duration::from_millis(1);
/// How long each measurement lasts.
const TIME: Duration = Duration::from_secs(3);
/// Elements of a dataset.
const COUNT: usize = 4096;

/// A file in memory, and its datasets.
fn file(count: usize) -> Outcome<(Arc<Pause>, File, Vec<Dataset>)> {
    let pause = Arc::new(Pause::new(Arc::new(Memory::new())));
    // Chunks are not kept, so that every read asks the storage.
    let access = FileAccess { chunk_cache_bytes: Some(0), ..FileAccess::write() };
    let container = create_handle(pause.clone(), "writes", &Default::default(), &access)?;
    let file = File::from_container(container, "writes", &access)?;
    let datasets = (0..count)
        .map(|n| {
            let dataset = file.new_dataset::<i32>().shape(COUNT).chunk(COUNT).create(&format!("{n}"))?;
            dataset.write_raw(&vec![0i32; COUNT])?;
            Ok(dataset)
        })
        .collect::<hyperslab::Result<Vec<_>>>()?;
    file.flush()?;
    Ok((pause, file, datasets))
}

/// How often `work` is done in a while, by one thread for each of `datasets`.
fn count(datasets: &[Dataset], stop: &AtomicBool, work: &(dyn Fn(&Dataset) + Sync)) -> u64 {
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for dataset in datasets {
            let done = &done;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    work(dataset);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let start = Instant::now();
        while start.elapsed() < TIME {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
    });
    done.into_inner()
}

fn put(dataset: &Dataset) {
    dataset.write_raw(&vec![1i32; COUNT]).expect("elements are written");
}

/// Flushes of threads that change a dataset each.
fn flushes(threads: usize) -> Outcome<u64> {
    let (pause, file, datasets) = file(threads)?;
    pause.delay(Call::Sync, DELAY);
    let flush = |dataset: &Dataset| {
        put(dataset);
        file.flush().expect("the file is flushed");
    };
    Ok(count(&datasets, &AtomicBool::new(false), &flush))
}

pub(crate) fn flush() -> Outcome<()> {
    let (one, many) = (flushes(1)?, flushes(16)?);
    println!(
        "flushes where a sync takes 1 ms: 1 thread {one}, 16 threads {many}: {:.1} times",
        many as f64 / one as f64
    );
    Ok(())
}

/// Reads of four threads, next to so many others that write and flush.
fn reads(writers: usize) -> Outcome<(u64, u64)> {
    let (pause, file, datasets) = file(4 + writers)?;
    let (read, written) = datasets.split_at(4);
    pause.delay(Call::Read, DELAY);
    let (stop, flushed) = (AtomicBool::new(false), AtomicU64::new(0));
    let reads = std::thread::scope(|scope| {
        for dataset in written {
            let (stop, flushed, file) = (&stop, &flushed, &file);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    put(dataset);
                    file.flush().expect("the file is flushed");
                    flushed.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(DELAY);
                }
            });
        }
        count(read, &stop, &|dataset| drop(dataset.read_raw::<i32>().expect("elements are read")))
    });
    Ok((reads, flushed.into_inner()))
}

pub(crate) fn readers() -> Outcome<()> {
    let ((alone, _), (together, written)) = (reads(0)?, reads(4)?);
    println!(
        "reads by 4 threads where a read takes 1 ms: alone {alone}, next to 4 that write and flush ({written} times) {together}: {:.2}",
        together as f64 / alone as f64
    );
    Ok(())
}
