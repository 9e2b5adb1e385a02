//! The cost model of docs/log-layout.md: messages and bytes of a process, by formula, and memory of the leader.

mod common;

use std::sync::Arc;

use comm::{Comm, Meter, Traffic, threads};
use common::*;
use model::properties::FileCreate;
use model::{Selection, Token};
use vol::{Container, ContainerCreate, Durability, FileAccess};

/// Bytes of an answer of the leader that has two numbers in it, at most.
const ANSWER: u64 = 40;

fn since(meter: &Meter, before: Traffic) -> Traffic {
    let now = meter.traffic();
    Traffic {
        calls: now.calls - before.calls,
        sent: now.sent - before.sent,
        received: now.received - before.received,
    }
}

/// Writes `requests` scattered elements to each of four datasets.
fn write(c: &dyn Container, datasets: &[Token], rank: u64, ranks: u64, requests: u64) {
    for data in datasets {
        for n in 0..requests {
            let block = Selection::block(&[(n * ranks + rank) * 3], &[1]).unwrap();
            put(c, *data, &block, &[n as i32]).unwrap();
        }
    }
}

/// One process: what a write, a flush and a close cost.
fn program(comm: Arc<dyn Comm>, path: &str, requests: u64) -> [Traffic; 3] {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let meter = Arc::new(Meter::new(comm));
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let op = ContainerCreate::new(path, &create, &access);
    let c = connector().create_shared(meter.clone(), &op).unwrap();
    let extent = [requests * ranks * 3];
    let datasets: Vec<Token> = (0..4).map(|n| ints(&*c, &format!("d{n}"), &extent)).collect();
    c.commit(Durability::None).unwrap();
    let before = meter.traffic();
    write(&*c, &datasets, rank, ranks, requests);
    let written = since(&meter, before);
    let before = meter.traffic();
    c.commit(Durability::None).unwrap();
    let flushed = since(&meter, before);
    let before = meter.traffic();
    c.close().unwrap();
    [written, flushed, since(&meter, before)]
}

#[test]
fn messages_and_bytes_are_those_of_the_cost_model() {
    for ranks in [2u64, 4, 8] {
        let mut closes = Vec::new();
        for requests in [10, 1000] {
            let folder = Folder::new("log");
            let path = folder.at("traffic.h5");
            let all: Vec<[Traffic; 3]> = std::thread::scope(|scope| {
                let run = |member| scope.spawn(|| program(Arc::new(member), &path, requests));
                let running: Vec<_> = threads(ranks as usize).into_iter().map(run).collect();
                running.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            for (rank, [written, flushed, _]) in all.iter().enumerate() {
                assert_eq!(*written, Traffic::default(), "a write says nothing");
                // Sizes of logs and of tables, two answers of the leader, whether all went well, the commit.
                assert_eq!(flushed.calls, 6, "rank {rank}");
                let bound = ranks * (8 + 8 + 1) + 3 * ANSWER;
                assert!(flushed.received <= bound, "rank {rank}: {flushed:?} of {bound}");
            }
            closes.push(all.iter().map(|[.., closed]| closed.received).max().unwrap());
            assert!(all.iter().all(|[.., closed]| closed.calls <= 12), "{all:?}");
        }
        // What a process gets at the close are entries of its datasets, and not those of all: with as many datasets as
        // ranks or more, a share of them.
        let file = 4 * 1000 * ranks * 2;
        assert!(closes[1] <= file / ranks.min(4) * 2 + 4096, "{closes:?} of {file}");
    }
}
