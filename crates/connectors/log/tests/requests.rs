//! The cost model of docs/log-layout.md: requests to the file, as the system counts them for a thread.

mod common;

use std::sync::Arc;

use comm::{Comm, threads};
use common::*;
use model::properties::FileCreate;
use model::{Selection, Token};
use vol::{Container, ContainerCreate, Durability, FileAccess};

/// Calls of the system that read and that wrote, by this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Calls {
    reads: u64,
    writes: u64,
}

impl Calls {
    /// Returns the calls so far; `None` where the system does not count them.
    fn now() -> Option<Calls> {
        let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Calls { reads: value("syscr:")?, writes: value("syscw:")? })
    }

    /// Returns the calls of some work; asking costs reads of its own.
    fn of(work: impl FnOnce()) -> Option<Calls> {
        let (first, second) = (Calls::now()?, Calls::now()?);
        work();
        let last = Calls::now()?;
        let asking = second.reads - first.reads;
        Some(Calls { reads: last.reads - second.reads - asking, writes: last.writes - second.writes })
    }
}

/// Elements of a rank.
const ELEMENTS: u64 = 1 << 20;

fn block(start: u64, len: u64) -> Selection {
    Selection::block(&[start], &[len]).unwrap()
}

/// What one process makes of the file: a write, a flush of one piece, a flush of many small ones, reads, a close.
fn program(comm: Arc<dyn Comm>, path: &str) -> Option<[Calls; 6]> {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let c = connector().create_shared(comm, &ContainerCreate::new(path, &create, &access)).unwrap();
    let made: Vec<Token> = (0..2).map(|n| ints(&*c, &format!("d{n}"), &[ranks * ELEMENTS])).collect();
    let values = vec![rank as i32; ELEMENTS as usize];
    c.commit(Durability::None).unwrap();
    let written = Calls::of(|| put(&*c, made[0], &block(rank * ELEMENTS, ELEMENTS), &values).unwrap())?;
    let flushed = Calls::of(|| c.commit(Durability::None).unwrap())?;
    let comb = Selection::hyperslab(&[rank * ELEMENTS], &[2], &[ELEMENTS / 2], &[1]).unwrap();
    put(&*c, made[1], &comb, &values[..values.len() / 2]).unwrap();
    let scattered = Calls::of(|| c.commit(Durability::None).unwrap())?;
    let mut found = Vec::new();
    let table = Calls::of(|| found = get(&*c, made[0], &block(rank * ELEMENTS, ELEMENTS)).unwrap())?;
    assert_eq!(found, values);
    let read = Calls::of(|| found = get(&*c, made[0], &block(rank * ELEMENTS, 1000)).unwrap())?;
    assert_eq!(found, values[..1000]);
    let closed = Calls::of(|| c.close().unwrap())?;
    Some([written, flushed, scattered, table, read, closed])
}

#[test]
fn requests_to_the_file_are_those_of_the_cost_model() {
    for ranks in [2, 4] {
        let folder = Folder::new("log");
        let path = folder.at("requests.h5");
        let all: Vec<Option<[Calls; 6]>> = std::thread::scope(|scope| {
            let run = |member| scope.spawn(|| program(Arc::new(member), &path));
            let running: Vec<_> = threads(ranks).into_iter().map(run).collect();
            running.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        for (rank, calls) in all.into_iter().enumerate() {
            let Some(calls) = calls else {
                return eprintln!("skipped: the system counts no calls of threads");
            };
            check(rank, calls);
        }
        check_reader(&path, ranks);
    }
}

/// Elements of 4 MiB in one piece, then of 2 MiB that are copied together, 512 KiB at a time.
fn check(rank: usize, [written, flushed, scattered, read, again, closed]: [Calls; 6]) {
    let calls = |reads, writes| Calls { reads, writes };
    assert_eq!(written, calls(0, 0), "what is written waits");
    // The leader also changes the structure and commits.
    if rank > 0 {
        assert_eq!(flushed, calls(0, 1 + 1), "elements, and the table");
        assert_eq!(scattered, calls(0, 4 + 1));
        assert_eq!(read, calls(2 + 4, 0), "the tables of two flushes, and 1 MiB at a time");
        assert!(closed.reads <= 4 && closed.writes <= 2, "{closed:?}");
    }
    assert!(flushed.writes <= 32 && scattered.writes <= 32, "{flushed:?} {scattered:?}");
    assert_eq!(again, calls(1, 0), "tables are known");
}

/// One process reads some elements of one dataset of a closed file.
fn check_reader(path: &str, ranks: usize) {
    let c = open(path, &FileAccess::read()).unwrap();
    let data = find(&*c, "d0");
    c.dataset_info(data).unwrap();
    let read = || assert_eq!(get(&*c, data, &block(10, 1000)).unwrap(), [0; 1000]);
    let (first, again) = (Calls::of(read).unwrap(), Calls::of(read).unwrap());
    // Its line, its record, the selection of each entry, the elements.
    assert_eq!(first, Calls { reads: 3 + ranks as u64, writes: 0 });
    assert_eq!(again, Calls { reads: 1, writes: 0 });
}
