//! Threads that read, write and commit one file, in thousands of orders.
//!
//! Locks and threads of the library are those of the crate shuttle here (`hyperslab_system::sync`): one thread runs at a time,
//! and at every lock a random choice says which. A failure prints the order, which `shuttle::replay` repeats.
//!
//! `scripts/test-schedules` runs this; `HYPERSLAB_SCHEDULES` says how many orders each test tries.
#![cfg(hyperslab_shuttle)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab::{Dataset, File};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

/// Orders that a test tries with each of two ways to choose them.
fn schedules() -> usize {
    std::env::var("HYPERSLAB_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

/// Changes of thread that an order of the second way is about.
const DEPTH: usize = 4;

/// Runs `test` with a path of its own, in many orders.
fn in_many_orders(test: impl Fn(&Path) + Send + Sync + 'static) {
    let config = || {
        let mut config = Config::new();
        config.stack_size = 4 << 20;
        config
    };
    let test = Arc::new(move || {
        let folder = tempfile::tempdir().unwrap();
        test(&folder.path().join("file.h5"));
    });
    let (first, second) = (test.clone(), test);
    Runner::new(RandomScheduler::new(schedules()), config()).run(move || first());
    Runner::new(PctScheduler::new(DEPTH, schedules()), config()).run(move || second());
}

fn numbers(from: i64) -> Vec<i64> {
    (from..from + 8).collect()
}

fn new_dataset(file: &File, name: &str) -> Dataset {
    file.new_dataset::<i64>().shape(8).create(name).unwrap()
}

/// Returns a copy of a file as it is stored now.
fn stored(path: &Path, copy: &str) -> PathBuf {
    let copy = path.with_file_name(copy);
    std::fs::copy(path, &copy).unwrap();
    copy
}

#[test]
fn what_a_flush_returned_for_is_stored() {
    in_many_orders(|path| {
        let file = File::create(path).unwrap();
        let threads: Vec<_> = (0..3)
            .map(|n: i64| {
                let (file, path) = (file.clone(), path.to_owned());
                thread::spawn(move || {
                    let name = format!("d{n}");
                    new_dataset(&file, &name).write_raw(&numbers(n)).unwrap();
                    file.flush().unwrap();
                    let copy = File::open(stored(&path, &format!("copy{n}.h5"))).unwrap();
                    assert_eq!(copy.dataset(&name).unwrap().read_raw::<i64>().unwrap(), numbers(n));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn every_object_that_a_reader_finds_is_whole() {
    in_many_orders(|path| {
        let file = File::create(path).unwrap();
        let writer = {
            let file = file.clone();
            thread::spawn(move || {
                for n in 0..4 {
                    let dataset = new_dataset(&file, &format!("d{n}"));
                    dataset.write_raw(&numbers(n)).unwrap();
                    dataset.set_attr("first", n).unwrap();
                    file.flush().unwrap();
                }
            })
        };
        for _ in 0..4 {
            for name in file.member_names().unwrap() {
                let dataset = file.dataset(&name).unwrap();
                let found = dataset.read_raw::<i64>().unwrap();
                let first: i64 = name[1..].parse().unwrap();
                assert!(found == numbers(first) || found == [0; 8], "{name}: {found:?}");
                if dataset.attr_names().unwrap().contains(&"first".to_owned()) {
                    // It is created first, then written.
                    let found = dataset.attr("first").unwrap().read_scalar::<i64>().unwrap();
                    assert!([0, first].contains(&found), "{name}: {found}");
                }
            }
        }
        writer.join().unwrap();
        assert_eq!(file.member_names().unwrap().len(), 4);
    });
}

#[test]
fn rows_of_a_dataset_that_grows_are_read_as_they_were_written() {
    in_many_orders(|path| {
        let file = File::create(path).unwrap();
        let rows = file.new_dataset::<i64>().shape((0.., 4)).chunk((2, 4)).deflate(1).create("rows").unwrap();
        let writer = {
            let (file, rows) = (file.clone(), rows.clone());
            thread::spawn(move || {
                for n in 0..6usize {
                    rows.resize((n + 1, 4)).unwrap();
                    rows.write_slice(&[n as i64 + 1; 4], (n, ..)).unwrap();
                    if n % 2 == 1 {
                        file.flush().unwrap();
                    }
                }
            })
        };
        for _ in 0..4 {
            let extent = rows.shape()[0];
            let found = rows.read_slice_2d::<i64, _>((0..extent, ..)).unwrap();
            for (n, row) in found.rows().into_iter().enumerate() {
                let written = n as i64 + 1;
                assert!(row.iter().all(|value| [0, written].contains(value)), "row {n}: {row}");
                assert!(
                    n + 2 > extent || row.iter().all(|value| *value == written),
                    "row {n} of {extent}: {row}"
                );
            }
        }
        writer.join().unwrap();
        let found =
            File::open(stored(path, "copy.h5")).unwrap().dataset("rows").unwrap().read_raw::<i64>().unwrap();
        assert_eq!(found, (1..=6).flat_map(|n| [n; 4]).collect::<Vec<i64>>());
    });
}

#[test]
fn threads_that_change_one_group_lose_nothing_of_each_other() {
    in_many_orders(|path| {
        let file = File::create(path).unwrap();
        file.create_group("g").unwrap();
        let threads: Vec<_> = (0..3)
            .map(|n: i64| {
                let file = file.clone();
                thread::spawn(move || {
                    let group = file.group("g").unwrap();
                    for m in 0..3 {
                        group.create_group(&format!("{n}-{m}")).unwrap();
                    }
                    group.set_attr(&format!("a{n}"), n).unwrap();
                    group.unlink(&format!("{n}-1")).unwrap();
                    file.flush().unwrap();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        file.close().unwrap();
        let group = File::open(path).unwrap().group("g").unwrap();
        assert_eq!(group.member_names().unwrap(), ["0-0", "0-2", "1-0", "1-2", "2-0", "2-2"]);
        assert_eq!(group.attr_names().unwrap(), ["a0", "a1", "a2"]);
    });
}
