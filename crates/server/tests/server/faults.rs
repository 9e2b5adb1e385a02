//! Connections that break and servers that die: nothing committed is lost, nothing happens twice, no one waits for ever.
//!
//! `HYPERSLAB_KILLS` says how often the server is killed under its clients (3; the full run is 50).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Folder, clients, group, in_memory, storage};
use crate::process::Process;
use crate::proxy::{Proxy, Trouble};
use hyperslab_server::{Auth, Config, Server, ServerLimits};
use model::properties::FileCreate;
use model::{Kind, Selection};
use vol::{Container, Durability, FileAccess, OpList, OpRead, OpWrite, Result};

/// Groups are numbered: what was made twice would fail, what was lost would be missing.
fn make_groups(container: &dyn Container, count: u64) -> Result<()> {
    let root = container.info()?.root;
    for number in 0..count {
        container.group_create(&group(root, &format!("{number:06}")))?;
        if number % 10 == 9 {
            container.commit(Durability::None)?;
        }
    }
    container.commit(Durability::None)
}

fn names(container: &dyn Container) -> Result<Vec<String>> {
    let list = OpList { count_max: 1 << 20, ..OpList::default() };
    Ok(container
        .link_list(container.info()?.root, &list)?
        .entries
        .into_iter()
        .map(|link| link.name)
        .collect())
}

/// Every operation happens once though connections break at any byte.
fn survives(trouble: Trouble, options: &str) {
    let server = Server::start(&in_memory()).unwrap();
    let proxy = Proxy::start(server.listen(), trouble).unwrap();
    let location = proxy.location(&format!("a{options}"));
    let open = || clients().create(&location, &FileCreate::default(), &FileAccess::write(), true);
    // A failure to open is not hidden: a server that was never there is reported at once.
    let container = std::iter::repeat_with(open).find_map(Result::ok).unwrap();
    make_groups(&*container, 300).unwrap();
    assert_eq!(names(&*container).unwrap(), (0..300).map(|n| format!("{n:06}")).collect::<Vec<_>>());
    let data = crate::common::bytes_dataset(&*container, "data", 3 << 20).unwrap();
    let bytes: Vec<u8> = (0..3u32 << 20).map(|n| (n * 7) as u8).collect();
    container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &bytes }]).unwrap();
    let mut back = vec![0; bytes.len()];
    container
        .dataset_read(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut back }])
        .unwrap();
    assert!(back == bytes);
    container.close().unwrap();
    assert!(proxy.broken() > 0 || matches!(trouble, Trouble::Delay), "the proxy broke nothing");
}

#[test]
fn dropped_connections_do_nothing_twice() {
    survives(Trouble::Cut { bytes: 6_000 }, "");
}

#[test]
fn dropped_connections_lose_nothing_that_was_queued() {
    survives(Trouble::Cut { bytes: 6_000 }, "?pipeline=yes");
}

#[test]
fn truncated_answers_are_asked_for_again() {
    survives(Trouble::Truncate { bytes: 4_000 }, "");
}

#[test]
fn delayed_bytes_arrive() {
    survives(Trouble::Delay, "");
}

/// The value of a counter of the server.
fn counted(server: &Server, name: &str) -> u64 {
    let metrics = server.metrics();
    let start = format!("hyperslab_{name} ");
    metrics.lines().find_map(|line| line.strip_prefix(&start)).unwrap().parse().unwrap()
}

/// Elements arrive as they were sent though a bit flips on the way.
fn survives_flipped_bits(of_answers: bool) -> (Server, Proxy) {
    let server = Server::start(&in_memory()).unwrap();
    let proxy = Proxy::start(server.listen(), Trouble::Flip { bytes: 300_000, of_answers }).unwrap();
    let location = proxy.location("a?connections=4");
    let container = clients().create(&location, &FileCreate::default(), &FileAccess::write(), true).unwrap();
    let data = crate::common::bytes_dataset(&*container, "data", 16 << 20).unwrap();
    let bytes: Vec<u8> = (0..16u32 << 20).map(|n| (n * 7) as u8).collect();
    container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &bytes }]).unwrap();
    let mut back = vec![0; bytes.len()];
    let mut read = [OpRead { dataset: data, selection: &Selection::All, into: &mut back }];
    container.dataset_read(&mut read).unwrap();
    assert!(back == bytes);
    container.close().unwrap();
    assert!(proxy.broken() > 0, "no bit was flipped");
    (server, proxy)
}

#[test]
fn bits_of_requests_that_flip_are_noticed_and_sent_again() {
    let (server, proxy) = survives_flipped_bits(false);
    assert_eq!(counted(&server, "checksums_wrong_total"), proxy.broken());
    assert_eq!(counted(&server, "refusals_total"), 0, "it is no fault of the client");
}

#[test]
fn bits_of_answers_that_flip_are_noticed_and_sent_again() {
    survives_flipped_bits(true);
}

#[test]
fn small_requests_do_not_wait_behind_bulk() {
    let server = Server::start(&in_memory()).unwrap();
    // Every connection falls silent in the middle of the bulk.
    let proxy = Proxy::start(server.listen(), Trouble::Silence { bytes: 1_500_000 }).unwrap();
    let location = proxy.location("a?deadline=5");
    let container = clients().create(&location, &FileCreate::default(), &FileAccess::write(), true).unwrap();
    let data = crate::common::bytes_dataset(&*container, "data", 16 << 20).unwrap();
    std::thread::scope(|scope| {
        let bulk = scope.spawn(|| {
            let mut back = vec![0; 16 << 20];
            let mut read = [OpRead { dataset: data, selection: &Selection::All, into: &mut back }];
            container.dataset_read(&mut read)
        });
        while proxy.broken() == 0 {
            std::thread::yield_now();
        }
        for _ in 0..100 {
            container.object_info(data).unwrap();
        }
        assert!(!bulk.is_finished(), "they were answered while the bulk was under way");
        assert_eq!(bulk.join().unwrap().unwrap_err().kind(), Kind::Io);
    });
}

#[test]
fn a_silent_server_is_given_up_at_the_deadline() {
    let server = Server::start(&in_memory()).unwrap();
    let proxy = Proxy::start(server.listen(), Trouble::Silence { bytes: 3_000 }).unwrap();
    let location = proxy.location("a?deadline=1");
    let container = clients().create(&location, &FileCreate::default(), &FileAccess::write(), true).unwrap();
    let began = Instant::now();
    let error = make_groups(&*container, 300).unwrap_err();
    assert_eq!(error.kind(), Kind::Io, "{error}");
    assert!(began.elapsed() < Duration::from_secs(30), "it waited {:?}", began.elapsed());
}

#[test]
fn a_vanished_client_frees_what_it_held() {
    let limits = ServerLimits { lease: Duration::ZERO, ..ServerLimits::default() };
    let server = Server::start(&Config { limits, ..in_memory() }).unwrap();
    let proxy = Proxy::start(server.listen(), Trouble::Delay).unwrap();
    let container = clients()
        .create(&proxy.location("a?deadline=5"), &FileCreate::default(), &FileAccess::write(), true)
        .unwrap();
    container.retain(container.info().unwrap().root).unwrap();
    assert!(server.metrics().contains("hyperslab_sessions 1\n"));
    proxy.vanish();
    while !server.metrics().contains("hyperslab_sessions 0\n") {
        std::thread::yield_now();
    }
    assert!(server.metrics().contains("hyperslab_sessions_expired_total 1\n"));
}

#[test]
fn a_server_that_stops_commits() {
    let folder = Folder::new("server");
    let server =
        Server::start(&Config { auth: Auth::Off, ..Config::local(storage(), folder.path()) }).unwrap();
    // Who drops the container waits for a server until the deadline.
    let container = clients()
        .create(&server.location("a.h5?deadline=5"), &FileCreate::default(), &FileAccess::write(), false)
        .unwrap();
    container.group_create(&group(container.info().unwrap().root, "kept")).unwrap();
    server.stop().unwrap();
    let file = storage().open(&folder.path().join("a.h5").to_string_lossy(), &FileAccess::read()).unwrap();
    assert_eq!(names(&*file).unwrap(), ["kept"]);
}

/// Makes numbered groups with a commit after each, until it is told to end; the numbers whose commit was answered.
fn write_until(location: &str, ended: &AtomicBool, committed: &AtomicU64) -> Result<()> {
    let container = clients().open(location, &FileAccess::write())?;
    let root = container.info()?.root;
    let mut next = 0;
    while !ended.load(Ordering::Relaxed) {
        let made = container.group_create(&group(root, &format!("{next:06}")));
        let done = made.and_then(|_| container.commit(Durability::Full));
        match done {
            Ok(()) => {
                next += 1;
                committed.store(next, Ordering::Relaxed);
            }
            // Lost since the last commit, or a commit that may have happened: the container says.
            Err(error) if error.kind() == Kind::Io => {
                let _ = container.commit(Durability::Full);
                let found = names(&*container)?.len() as u64;
                assert!(found >= next, "{found} of {next} that were committed are left");
                next = found;
                committed.store(next, Ordering::Relaxed);
            }
            Err(error) => return Err(error),
        }
    }
    container.close()
}

#[test]
fn a_killed_server_loses_nothing_committed_and_clients_go_on() {
    let kills: u64 = std::env::var("HYPERSLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let root = Folder::new("server");
    let mut process = Process::start(&root, "127.0.0.1:0", false);
    let address = process.address.clone();
    let location = |client: usize| format!("h5s://{address}/client{client}.h5?deadline=60");
    for client in 0..8 {
        let made = clients().create(&location(client), &FileCreate::default(), &FileAccess::write(), false);
        made.unwrap().close().unwrap();
    }
    let (ended, committed) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 8]);
    std::thread::scope(|scope| {
        let writers: Vec<_> = committed
            .iter()
            .enumerate()
            .map(|(client, count)| {
                let (location, ended) = (location(client), &ended);
                scope.spawn(move || write_until(&location, ended, count))
            })
            .collect();
        for _ in 0..kills {
            // Everybody has something committed since the last time.
            let before: Vec<u64> = committed.iter().map(|count| count.load(Ordering::Relaxed)).collect();
            while committed
                .iter()
                .zip(&before)
                .any(|(count, before)| count.load(Ordering::Relaxed) <= *before)
                && !writers.iter().any(std::thread::ScopedJoinHandle::is_finished)
            {
                std::thread::yield_now();
            }
            process.kill();
            process = Process::start(&root, &address, false);
        }
        ended.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
    });
    process.kill();
    for (client, count) in committed.iter().enumerate() {
        let path = root.path().join(format!("client{client}.h5"));
        let file = storage().open(&path.to_string_lossy(), &FileAccess::read()).unwrap();
        let found = names(&*file).unwrap();
        let expected: Vec<String> = (0..count.load(Ordering::Relaxed)).map(|n| format!("{n:06}")).collect();
        assert_eq!(found, expected, "client {client}");
    }
    println!(
        "{kills} kills, {:?} committed",
        committed.iter().map(|c| c.load(Ordering::Relaxed)).collect::<Vec<_>>()
    );
}

#[test]
fn sixteen_clients_none_starves() {
    let server = Arc::new(Server::start(&in_memory()).unwrap());
    let container =
        clients().create(&server.location("a"), &FileCreate::default(), &FileAccess::write(), false).unwrap();
    let length = 8u64 << 20;
    let data = crate::common::bytes_dataset(&*container, "data", length).unwrap();
    let bytes: Vec<u8> = (0..length).map(|n| (n >> 12) as u8).collect();
    container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &bytes }]).unwrap();
    // Each reads as much as all others together had to: a starved one would never end.
    std::thread::scope(|scope| {
        for client in 0..16u64 {
            let (server, bytes) = (server.clone(), &bytes);
            scope.spawn(move || {
                let container = clients().open(&server.location("a"), &FileAccess::read()).unwrap();
                let mut window = vec![0; 64 << 10];
                for number in 0..100 {
                    let start = (client * 7919 + number * 104_729) % (length - window.len() as u64);
                    let selection =
                        Selection::hyperslab(&[start], &[1], &[1], &[window.len() as u64]).unwrap();
                    let mut read = [OpRead { dataset: data, selection: &selection, into: &mut window }];
                    container.dataset_read(&mut read).unwrap();
                    assert!(window == bytes[start as usize..][..window.len()]);
                }
            });
        }
    });
}
