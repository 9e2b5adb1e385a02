//! Clients that read and write elements in the file themselves, under locks of the server.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{Folder, bytes_dataset, chunked, clients, group, storage};
use crate::process::Process;
use crate::proxy::{Proxy, Trouble};
use hyperslab_server::{Auth, Config, Rights, Server, ServerLimits};
use model::properties::FileCreate;
use model::{Kind, LinkTarget, Selection, Token};
use vol::{Container, Durability, FileAccess, OpPlacement, OpRead, OpWrite};

fn config(folder: &Folder) -> Config {
    // Proxies have addresses of their own, where no client looks for a token.
    Config { direct: true, auth: Auth::Off, ..Config::local(storage(), folder.path()) }
}

fn server() -> (Server, Folder) {
    let folder = Folder::new("server");
    (Server::start(&config(&folder)).unwrap(), folder)
}

fn create(location: &str) -> Arc<dyn Container> {
    clients().create(location, &FileCreate::default(), &FileAccess::write(), false).unwrap()
}

fn write(container: &dyn Container, dataset: Token, from: &[u8]) {
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from }]).unwrap();
}

fn read(container: &dyn Container, dataset: Token, bytes: usize) -> Vec<u8> {
    let mut into = vec![0; bytes];
    container.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).unwrap();
    into
}

fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|n| (n * 31 + (n >> 11) + seed * 97) as u8).collect()
}

/// How often the server ran an operation.
fn ran(server: &Server, operation: &str) -> u64 {
    let text = server.metrics();
    let wanted = format!("operation=\"{operation}\"}} ");
    let count = text.lines().find_map(|line| line.split_once(&wanted)?.1.parse().ok());
    count.unwrap_or(0)
}

#[test]
fn elements_pass_by_the_server() {
    let (server, folder) = server();
    let container = create(&server.direct_location("a.h5"));
    let (plain, grid) = (
        bytes_dataset(&*container, "plain", 9 << 20).unwrap(),
        chunked(&*container, "grid", &[2000, 3000], &[2000, 3000], &[300, 700]),
    );
    let bytes = pattern(1, 9 << 20);
    write(&*container, plain, &bytes);
    write(&*container, grid, &bytes[..6_000_000]);
    assert!(read(&*container, plain, 9 << 20) == bytes);
    assert!(read(&*container, grid, 6_000_000) == bytes[..6_000_000]);
    // A block across chunks, and points.
    let block = Selection::block(&[250, 650], &[400, 800]).unwrap();
    let mut into = vec![0; 400 * 800];
    container.dataset_read(&mut [OpRead { dataset: grid, selection: &block, into: &mut into }]).unwrap();
    for row in 0..400 {
        let start = (250 + row) * 3000 + 650;
        assert!(into[row * 800..][..800] == bytes[start..start + 800]);
    }
    let points = Selection::points(2, vec![1999, 2999, 0, 0, 700, 1400]).unwrap();
    container.dataset_write(&[OpWrite { dataset: grid, selection: &points, from: &[1, 2, 3] }]).unwrap();
    let mut into = [0; 3];
    container.dataset_read(&mut [OpRead { dataset: grid, selection: &points, into: &mut into }]).unwrap();
    assert_eq!(into, [1, 2, 3]);
    assert_eq!((ran(&server, "dataset_write"), ran(&server, "dataset_read")), (0, 0));
    container.close().unwrap();
    // A client without the file sees the same.
    let container = clients().open(&server.location("a.h5"), &FileAccess::read()).unwrap();
    assert!(read(&*container, plain, 9 << 20) == bytes);
    container.close().unwrap();
    drop(container);
    server.stop().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the mark is gone");
}

#[test]
fn what_others_wrote_is_seen_by_all_at_once() {
    let (server, _folder) = server();
    let direct = create(&server.direct_location("a.h5"));
    let plain = clients().open(&server.location("a.h5"), &FileAccess::write()).unwrap();
    let data = bytes_dataset(&*direct, "data", 1000).unwrap();
    for round in 0..50u64 {
        write(&*direct, data, &pattern(round, 1000));
        assert_eq!(read(&*plain, data, 1000), pattern(round, 1000));
        write(&*plain, data, &pattern(round + 100, 1000));
        assert_eq!(read(&*direct, data, 1000), pattern(round + 100, 1000));
        if round % 7 == 0 {
            direct.commit(Durability::None).unwrap();
        }
    }
}

#[test]
fn queued_creates_come_before_their_elements() {
    let (server, _folder) = server();
    let container = create(&server.direct_location("a.h5?pipeline=yes"));
    for number in 0..20 {
        let data = bytes_dataset(&*container, &format!("data {number}"), 5000).unwrap();
        write(&*container, data, &pattern(number, 5000));
        assert_eq!(read(&*container, data, 5000), pattern(number, 5000));
    }
    assert_eq!(ran(&server, "dataset_write"), 0);
    container.close().unwrap();
}

/// Not a test: one of the processes of the next one.
#[test]
#[ignore = "run by other tests"]
fn a_client_of_its_own() {
    let Ok(location) = std::env::var("HYPERSLAB_TEST_LOCATION") else { return };
    let client: u64 = std::env::var("HYPERSLAB_TEST_CLIENT").unwrap().parse().unwrap();
    let container = clients().open(&location, &FileAccess::write()).unwrap();
    let root = container.info().unwrap().root;
    container.group_create(&group(root, &format!("group {client}"))).unwrap();
    for number in 0..10 {
        let name = format!("{client}-{number}");
        let bytes = pattern(client * 100 + number, 200_000);
        let data = match number % 2 {
            0 => bytes_dataset(&*container, &name, 200_000).unwrap(),
            _ => chunked(&*container, &name, &[200_000], &[200_000], &[30_000]),
        };
        write(&*container, data, &bytes);
    }
    // All of them, each its own part of one dataset.
    let LinkTarget::Hard(shared) = container.link_get(root, "shared").unwrap().unwrap().target else {
        return;
    };
    let part = Selection::block(&[client * 100_000], &[100_000]).unwrap();
    let from = pattern(client, 100_000);
    container.dataset_write(&[OpWrite { dataset: shared, selection: &part, from: &from }]).unwrap();
    container.commit(Durability::Full).unwrap();
    container.close().unwrap();
}

#[test]
fn four_processes_create_and_write_without_talking_to_each_other() {
    let (server, folder) = server();
    let container = create(&server.location("a.h5"));
    chunked(&*container, "shared", &[400_000], &[400_000], &[30_000]);
    container.commit(Durability::Full).unwrap();
    let this = std::env::current_exe().unwrap();
    let start = |client: u64| {
        let mut command = Command::new(&this);
        command.args(["--exact", "direct::a_client_of_its_own", "--ignored"]);
        command.env("HYPERSLAB_TEST_LOCATION", server.direct_location("a.h5"));
        command.env("HYPERSLAB_TEST_CLIENT", client.to_string()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    container.close().unwrap();
    server.stop().unwrap();
    let path = folder.path().join("a.h5");
    let file = storage().open(&path.to_string_lossy(), &FileAccess::read()).unwrap();
    let root = file.info().unwrap().root;
    let token = |name: &str| vol::path::token(&*file, root, name, 4).unwrap();
    for client in 0..4 {
        token(&format!("group {client}"));
        for number in 0..10 {
            let data = token(&format!("{client}-{number}"));
            assert!(read(&*file, data, 200_000) == pattern(client * 100 + number, 200_000));
        }
    }
    let shared: Vec<u8> = (0..4).flat_map(|client| pattern(client, 100_000)).collect();
    assert!(read(&*file, token("shared"), 400_000) == shared);
    assert_eq!(file.group_info(root).unwrap().links, 45);
    match Command::new("h5dump")
        .args(["-d", "/3-9", "-b", "LE", "-o"])
        .arg(path.with_extension("out"))
        .arg(&path)
        .output()
    {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let dumped = std::fs::read(path.with_extension("out")).unwrap();
            assert!(dumped == pattern(309, 200_000), "h5dump reads something else");
        }
        Err(_) => testkit::oracles::missing("h5dump"),
    }
}

fn impatient(folder: &Folder, lock_lease: Duration, lock_patience: Duration) -> Server {
    let limits = ServerLimits { lock_lease, lock_patience, ..ServerLimits::default() };
    Server::start(&Config { limits, ..config(folder) }).unwrap()
}

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn nobody_writes_after_the_lock_ran_out() {
    let folder = Folder::new("server");
    let server = impatient(&folder, Duration::ZERO, LONG);
    let container = create(&server.direct_location("a.h5"));
    let data = bytes_dataset(&*container, "data", 1000).unwrap();
    write(&*container, data, &pattern(1, 1000));
    assert_eq!(read(&*container, data, 1000), pattern(1, 1000));
    // Every lock was out of date when it came: elements went through the server.
    assert_eq!((ran(&server, "dataset_write"), ran(&server, "dataset_read")), (1, 1));
}

#[test]
fn locks_are_refused_to_those_who_only_read() {
    let folder = Folder::new("server");
    let text = "ann 0123456789abcdef write *\nbob fedcba9876543210 read *\n";
    let auth = Auth::Tokens(Rights::parse(text).unwrap());
    let server = Server::start(&Config { auth, ..config(&folder) }).unwrap();
    let container = create(&server.direct_location("a.h5?token=0123456789abcdef"));
    let data = bytes_dataset(&*container, "data", 1000).unwrap();
    write(&*container, data, &pattern(1, 1000));
    let location = server.direct_location("a.h5?token=fedcba9876543210");
    assert_eq!(clients().open(&location, &FileAccess::write()).unwrap_err().kind(), Kind::Denied);
    let reader = clients().open(&location, &FileAccess::read()).unwrap();
    assert_eq!(read(&*reader, data, 1000), pattern(1, 1000));
    let op = OpWrite { dataset: data, selection: &Selection::All, from: &[0; 1000] };
    assert!(reader.dataset_write(&[op]).is_err());
    assert_eq!(ran(&server, "dataset_read"), 0);
    assert_eq!(read(&*container, data, 1000), pattern(1, 1000));
}

#[test]
fn another_folder_and_a_server_without_direct_access_are_told_in_one_line() {
    let (server, folder) = server();
    create(&server.location("a.h5")).close().unwrap();
    let elsewhere = Folder::new("server");
    std::fs::copy(folder.path().join("a.h5"), elsewhere.path().join("a.h5")).unwrap();
    let wrong = server.direct_location(&format!("a.h5?root={}", elsewhere.path().display()));
    let error = clients().open(&wrong, &FileAccess::read()).unwrap_err();
    assert!(error.to_string().contains("not the folder that the server sees"), "{error}");
    let right = server.direct_location(&format!("a.h5?root={}", folder.path().display()));
    clients().open(&right, &FileAccess::read()).unwrap().close().unwrap();
    let (plain, _folder) = crate::common::in_folder().unwrap();
    create(&plain.location("a.h5")).close().unwrap();
    let error = clients().open(&plain.direct_location("a.h5"), &FileAccess::read()).unwrap_err();
    assert!(error.to_string().contains("not started for direct access"), "{error}");
    // No client learns where elements lie without a lock, and none names the server's marks.
    let container = clients().open(&server.location("a.h5"), &FileAccess::write()).unwrap();
    let data = bytes_dataset(&*container, "data", 8).unwrap();
    let op = OpPlacement { dataset: data, selection: Selection::All };
    assert_eq!(container.elements_place(&op).unwrap_err().kind(), Kind::Unsupported);
    let mark = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mark =
        mark.map(|name| name.to_string_lossy().into_owned()).find(|name| name.starts_with('.')).unwrap();
    let denied = clients().delete(&server.location(&mark), &FileAccess::read()).unwrap_err();
    assert_eq!(denied.kind(), Kind::Denied);
}

#[test]
fn a_killed_server_loses_nothing_that_was_written_directly_and_committed() {
    let root = Folder::new("server");
    let mut process = Process::start(&root, "127.0.0.1:0", true);
    let address = process.address.clone();
    let location = format!("h5s+direct://{address}/a.h5?deadline=20");
    let container = create(&location);
    let data = bytes_dataset(&*container, "data", 100_000).unwrap();
    write(&*container, data, &pattern(1, 100_000));
    container.commit(Durability::Full).unwrap();
    process.kill();
    let mut process = Process::start(&root, &address, true);
    // The client goes on with the new server, which waited until no lock of the old one was good.
    assert!(read(&*container, data, 100_000) == pattern(1, 100_000));
    write(&*container, data, &pattern(2, 100_000));
    container.commit(Durability::Full).unwrap();
    process.kill();
    let file = storage().open(&root.path().join("a.h5").to_string_lossy(), &FileAccess::read()).unwrap();
    assert!(read(&*file, data, 100_000) == pattern(2, 100_000));
}

#[test]
fn broken_connections_lose_no_elements_and_leave_no_locks() {
    let folder = Folder::new("server");
    let server = impatient(&folder, Duration::from_millis(100), LONG);
    let proxy = Proxy::start(server.listen(), Trouble::Cut { bytes: 3_000 }).unwrap();
    let location = proxy.location("a.h5").replacen("h5s", "h5s+direct", 1);
    let open = || clients().create(&location, &FileCreate::default(), &FileAccess::write(), true);
    // A failure to open is not hidden: a server that was never there is reported at once.
    let container = std::iter::repeat_with(open).find_map(vol::Result::ok).unwrap();
    let tokens: Vec<Token> = (0..30u64)
        .map(|number| {
            let data = chunked(&*container, &format!("{number}"), &[4000], &[9000], &[700]);
            write(&*container, data, &pattern(number, 4000));
            // It waits for a lock whose end was lost on the way.
            container.dataset_resize(data, &[5000]).unwrap();
            data
        })
        .collect();
    container.commit(Durability::Full).unwrap();
    let plain = clients().open(&server.location("a.h5"), &FileAccess::read()).unwrap();
    for (number, data) in (0u64..).zip(tokens) {
        let mut wanted = pattern(number, 4000);
        wanted.resize(5000, 0);
        assert_eq!(read(&*container, data, 5000), wanted);
        assert_eq!(read(&*plain, data, 5000), wanted);
    }
    assert!(proxy.broken() > 0, "the proxy broke nothing");
}

/// Threads that do at random what clients do, each with datasets of its own and one that all share.
#[test]
fn many_clients_of_both_kinds_see_what_they_wrote() {
    let folder = Folder::new("server");
    let server = Server::start(&config(&folder)).unwrap();
    let container = create(&server.location("a.h5"));
    let shared = chunked(&*container, "shared", &[8, 1000], &[8, 1000], &[3, 300]);
    std::thread::scope(|scope| {
        for client in 0..8u64 {
            let (server, container) = (&server, &container);
            scope.spawn(move || {
                let location = match client % 3 {
                    0 => server.location("a.h5"),
                    1 => server.direct_location("a.h5"),
                    _ => server.direct_location("a.h5?pipeline=yes"),
                };
                let own = clients().open(&location, &FileAccess::write()).unwrap();
                let row = Selection::block(&[client, 0], &[1, 1000]).unwrap();
                let mut length = 100;
                let data = chunked(&*own, &format!("own {client}"), &[length], &[100_000], &[64]);
                for round in 0..40u64 {
                    let bytes = pattern(client * 1000 + round, length as usize);
                    write(&*own, data, &bytes);
                    assert_eq!(read(&*own, data, bytes.len()), bytes);
                    let line = pattern(client + round, 1000);
                    own.dataset_write(&[OpWrite { dataset: shared, selection: &row, from: &line }]).unwrap();
                    let mut back = vec![0; 1000];
                    let mut reads = [OpRead { dataset: shared, selection: &row, into: &mut back }];
                    container.dataset_read(&mut reads).unwrap();
                    if client % 3 < 2 {
                        assert_eq!(back, line);
                    }
                    if round % 5 == 0 {
                        length += 77;
                        own.dataset_resize(data, &[length]).unwrap();
                        own.commit(Durability::None).unwrap();
                    }
                }
                own.close().unwrap();
            });
        }
    });
    for client in 0..8 {
        let line = pattern(client + 39, 1000);
        let row = Selection::block(&[client, 0], &[1, 1000]).unwrap();
        let mut back = vec![0; 1000];
        container.dataset_read(&mut [OpRead { dataset: shared, selection: &row, into: &mut back }]).unwrap();
        assert_eq!(back, line, "row {client}");
    }
    container.close().unwrap();
}

/// Creates a dataset, writes it directly and commits it; whatever was lost with a server is done again.
fn put(container: &dyn Container, name: &str, bytes: &[u8]) -> vol::Result<()> {
    let root = container.info()?.root;
    let data = match container.link_get(root, name)?.map(|link| link.target) {
        Some(LinkTarget::Hard(data)) => data,
        _ => bytes_dataset(container, name, bytes.len() as u64)?,
    };
    container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: bytes }])?;
    container.commit(Durability::Full)
}

/// `HYPERSLAB_KILLS` says how often the server is killed (2).
#[test]
fn servers_that_are_killed_lose_nothing_that_four_clients_wrote_directly_and_committed() {
    let kills: u64 = std::env::var("HYPERSLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let root = Folder::new("server");
    let mut process = Process::start(&root, "127.0.0.1:0", true);
    let address = process.address.clone();
    let location = format!("h5s+direct://{address}/a.h5");
    create(&location).close().unwrap();
    let (ended, committed) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 4]);
    std::thread::scope(|scope| {
        for (client, count) in (0u64..).zip(&committed) {
            let (location, ended) = (&location, &ended);
            scope.spawn(move || {
                let container = clients().open(location, &FileAccess::write()).unwrap();
                while !ended.load(Ordering::Relaxed) {
                    let number = count.load(Ordering::Relaxed);
                    let bytes = pattern(client * 1000 + number, 5000);
                    match put(&*container, &format!("{client}-{number}"), &bytes) {
                        Ok(()) => drop(count.fetch_add(1, Ordering::Relaxed)),
                        // A commit tells that something was lost; the next round does it again.
                        Err(_) => drop(container.commit(Durability::Full)),
                    }
                }
            });
        }
        for _ in 0..kills {
            let before: Vec<u64> = committed.iter().map(|count| count.load(Ordering::Relaxed)).collect();
            while committed.iter().zip(&before).any(|(now, before)| now.load(Ordering::Relaxed) < before + 3)
            {
                std::thread::yield_now();
            }
            process.kill();
            process = Process::start(&root, &address, true);
        }
        ended.store(true, Ordering::Relaxed);
    });
    process.kill();
    let file = storage().open(&root.path().join("a.h5").to_string_lossy(), &FileAccess::read()).unwrap();
    let top = file.info().unwrap().root;
    for (client, count) in (0u64..).zip(&committed) {
        for number in 0..count.load(Ordering::Relaxed) {
            let data = vol::path::token(&*file, top, &format!("{client}-{number}"), 4).unwrap();
            assert!(read(&*file, data, 5000) == pattern(client * 1000 + number, 5000), "{client}-{number}");
        }
    }
}

#[test]
fn a_transfer_that_takes_longer_than_its_lock_is_good_for_is_whole() {
    let folder = Folder::new("server");
    let server = impatient(&folder, Duration::from_millis(20), LONG);
    let container = create(&server.direct_location("a.h5"));
    let data = bytes_dataset(&*container, "data", 32 << 20).unwrap();
    let bytes = pattern(3, 32 << 20);
    for _ in 0..5 {
        write(&*container, data, &bytes);
        assert!(read(&*container, data, bytes.len()) == bytes);
    }
}
