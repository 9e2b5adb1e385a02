//! Two nodes in front of a pool of a Ceph cluster (`HYPERSLAB_CEPH_CONF`; without one nothing is tested).
//!
//! `HYPERSLAB_KILLS` says how often a node is killed under its clients (3; the full run is 20).

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use vol::{FileAccess, Result};

use crate::common::{clients, storage};
use crate::nodes::{create, load, verify};
use crate::parallel;
use crate::process::Process;

/// Returns the pool of the tests' cluster, as `--vol` names it: of nodes that write to a container at the same time.
fn pool() -> Option<String> {
    let conf = std::env::var("HYPERSLAB_CEPH_CONF").ok()?;
    Some(format!("object+rados:p1/?conf={conf}"))
}

/// Returns the same pool, of nodes of which one at a time writes to a container.
fn leasing_pool() -> Option<String> {
    let conf = std::env::var("HYPERSLAB_CEPH_CONF").ok()?;
    Some(format!("iod+rados:p1/?conf={conf}&lease=3"))
}

/// A name that no other run uses.
fn fresh(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

struct Writer {
    rounds: AtomicU32,
    ended: AtomicBool,
}

/// Waits until every writer went on.
fn wait_for(writers: &[Writer], since: &[u32]) {
    let began = Instant::now();
    while writers.iter().zip(since).any(|(writer, since)| writer.rounds.load(Ordering::Relaxed) <= *since) {
        assert!(began.elapsed() < Duration::from_secs(120), "a writer does not go on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_node_loses_nothing_and_nothing_is_done_twice() {
    pool().into_iter().for_each(|pool| check_killed_nodes(&pool, "killed"));
}

#[test]
fn a_killed_node_that_alone_wrote_loses_nothing_and_nothing_is_done_twice() {
    leasing_pool().into_iter().for_each(|pool| check_killed_nodes(&pool, "killed-writer"));
}

fn check_killed_nodes(pool: &str, name: &str) {
    let kills: usize = std::env::var("HYPERSLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let mut nodes = [0, 1].map(|_| Process::start_node(pool, "127.0.0.1:0"));
    let name = fresh(name);
    let location = format!("h5s://{},{}/{name}", nodes[0].address, nodes[1].address);
    create(&location).close().unwrap();
    let writers = [const { Writer { rounds: AtomicU32::new(0), ended: AtomicBool::new(false) } }; 4];
    let rounds: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(&writers)
            .map(|(number, writer)| {
                let location = format!("{location}?node={number}");
                scope.spawn(move || {
                    let container = clients().open(&location, &FileAccess::write()).unwrap();
                    let rounds = load(&*container, number, &writer.ended, &writer.rounds);
                    container.close().unwrap();
                    rounds
                })
            })
            .collect();
        for kill in 0..kills {
            // In the middle of anything.
            std::thread::sleep(Duration::from_millis(50 + (kill as u64 * 37) % 101));
            let node = &mut nodes[kill % 2];
            node.kill();
            let address = node.address.clone();
            let rounds: Vec<u32> =
                writers.iter().map(|writer| writer.rounds.load(Ordering::Relaxed)).collect();
            wait_for(&writers, &rounds);
            nodes[kill % 2] = Process::start_node(pool, &address);
        }
        writers.iter().for_each(|writer| writer.ended.store(true, Ordering::Relaxed));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("rounds of the writers: {rounds:?}");
    verify_all(pool, &location, &name, &rounds).unwrap();
    nodes.iter_mut().for_each(Process::kill);
}

#[test]
fn ranks_write_one_container_through_several_nodes() {
    for pool in [pool(), leasing_pool()].into_iter().flatten() {
        check_ranks(&pool);
    }
}

fn check_ranks(pool: &str) {
    let mut nodes = [0, 1].map(|_| Process::start_node(pool, "127.0.0.1:0"));
    let location = format!("h5s://{},{}/{}", nodes[0].address, nodes[1].address, fresh("ranks"));
    let at = |rank: usize| format!("{location}?node={rank}");
    // All ranks name the same container; which node each has is left to chance.
    parallel::on_ranks(|comm| parallel::write(&comm, &location)).into_iter().for_each(|done| done.unwrap());
    (0..2).for_each(|node| parallel::check(&at(node)).unwrap());
    clients().delete(&location, &FileAccess::write()).unwrap();
    nodes.iter_mut().for_each(Process::kill);
}

/// Looks at the container through a node and without one: the check finds nothing.
fn verify_all(pool: &str, location: &str, name: &str, rounds: &[u32]) -> Result<()> {
    let (prefix, conf) = pool.split_once('?').unwrap();
    let container = storage().open(&format!("{prefix}{name}?{conf}"), &FileAccess::write())?;
    for (writer, rounds) in (0..).zip(rounds) {
        verify(&*container, writer, *rounds);
    }
    let findings = container.storage_check()?;
    assert!(findings.is_empty(), "{findings:#?}");
    container.close()?;
    let container = clients().open(location, &FileAccess::read())?;
    verify(&*container, 0, rounds[0]);
    drop(container);
    clients().delete(location, &FileAccess::write())
}
