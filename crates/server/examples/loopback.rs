//! What a server costs on one machine, next to what the sockets alone can do: one run, figures as ratios.
//!
//! `cargo run --release -p hyperslab-server --example loopback [MiB] [direct]`: the last word measures nothing but elements that pass
//! by the server. The temporary folder needs three times as much space; with a location (`h5s://host:port/?token=…`)
//! instead, creations on that server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyperslab_server::{Config, Server};
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, FileCreate};
use model::{CharacterSet, Dataspace, Datatype, Selection, Token};
use vol::{
    Container, FileAccess, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpGroupCreate, OpRead, OpWrite,
    Registry, Result,
};

const PIECE: usize = 1 << 20;

fn main() -> Result<()> {
    if let Some(location) = std::env::args().nth(1).filter(|word| word.starts_with("h5s://")) {
        return creations(&|name| elsewhere(&location, name));
    }
    let mib: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1024);
    let folder = std::env::temp_dir().join(format!("hyperslab-loopback-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let is_direct = std::env::args().nth(2).is_some_and(|word| word == "direct");
    let measured = match mib {
        0 => only_creations(&folder),
        _ if is_direct => direct(&folder, &mut pattern(mib << 20)),
        _ => measure(mib << 20, &folder),
    };
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

/// For a profiler.
fn only_creations(folder: &std::path::Path) -> Result<()> {
    let mut storage = Registry::new();
    storage.register(Arc::new(native::NativeConnector))?;
    let server = Server::start(&Config::local(storage.clone(), folder))?;
    creations(&|name| server.location(name))?;
    local_creations(&storage, &folder.join("local.h5").display().to_string())
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| n as u8).collect()
}

fn measure(bytes: usize, folder: &std::path::Path) -> Result<()> {
    let mut data = pattern(bytes);
    let plain = best(|| plain_copy(&mut data));
    println!("plain TCP copy of {} MiB: {:.2} GB/s", bytes >> 20, rate(bytes, plain));
    let mut storage = Registry::new();
    storage.register(Arc::new(native::NativeConnector))?;
    storage.register(Arc::new(memory::MemoryConnector::new()))?;
    let in_memory =
        Config { stack: Some("memory:".into()), root: None, ..Config::local(storage.clone(), "") };
    for (name, config) in [("memory", in_memory), ("native", Config::local(storage, folder))] {
        let server = Server::start(&config)?;
        println!("\n{name}");
        bulk(&server, &mut data, plain)?;
        small(&server)?;
        creations(&|name| server.location(name))?;
        let local = folder.join("local.h5");
        let local = if name == "memory" { "memory:local".to_owned() } else { local.display().to_string() };
        local_creations(&config.registry, &local)?;
        windows(&server)?;
        server.stop()?;
    }
    direct(folder, &mut data)
}

/// Elements that pass by the server, next to the same calls on a file alone.
fn direct(folder: &std::path::Path, data: &mut [u8]) -> Result<()> {
    use std::os::unix::fs::FileExt;
    println!("\nnative, elements in the file itself");
    let mut storage = Registry::new();
    storage.register(Arc::new(native::NativeConnector))?;
    let server = Server::start(&Config { direct: true, ..Config::local(storage, folder) })?;
    let path = folder.join("alone");
    let file = std::fs::File::options().create(true).truncate(true).read(true).write(true).open(path);
    let file = file.expect("a file");
    let all = Selection::All;
    let each = |work: &mut dyn FnMut()| -> Vec<Duration> {
        (0..5)
            .map(|_| {
                let began = Instant::now();
                work();
                began.elapsed()
            })
            .collect()
    };
    let alone_write = each(&mut || {
        let mut pieces = data.chunks(PIECE).enumerate();
        pieces.try_for_each(|(n, piece)| file.write_all_at(piece, (n * PIECE) as u64)).expect("written");
    });
    let alone_read = each(&mut || {
        let mut pieces = data.chunks_mut(PIECE).enumerate();
        pieces.try_for_each(|(n, piece)| file.read_exact_at(piece, (n * PIECE) as u64)).expect("read");
    });
    for (kind, location) in
        [("direct", server.direct_location("direct")), ("h5s", server.location("shipped"))]
    {
        let container = open_at(&location)?;
        let dataset = bytes_dataset(&*container, "data", data.len() as u64)?;
        let writes = each(&mut || {
            container.dataset_write(&[OpWrite { dataset, selection: &all, from: data }]).expect("written");
        });
        let reads = each(&mut || {
            container.dataset_read(&mut [OpRead { dataset, selection: &all, into: data }]).expect("read");
        });
        for (what, times, alone) in [("write", writes, &alone_write), ("read", reads, &alone_read)] {
            let least = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
            let (best, plain) = (least(&times), least(alone));
            println!(
                "  {kind} {what}: first {:.2} GB/s, best {:.2} GB/s; p{what} alone first {:.2}, best {:.2} GB/s: {:.0} %",
                rate(data.len(), times[0]),
                rate(data.len(), best),
                rate(data.len(), alone[0]),
                rate(data.len(), plain),
                100.0 * plain.as_secs_f64() / best.as_secs_f64()
            );
        }
        container.close()?;
        remove(&location)?;
    }
    server.stop()
}

fn best(mut run: impl FnMut() -> Duration) -> Duration {
    (0..5).map(|_| run()).min().unwrap_or_default()
}

fn rate(bytes: usize, took: Duration) -> f64 {
    bytes as f64 / took.as_secs_f64() / 1e9
}

/// Returns the buffers once through a socket, in pieces as the client has them.
fn plain_copy(data: &mut [u8]) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let length = data.len();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut socket, _) = listener.accept().expect("a connection");
            let piece = vec![7; PIECE];
            (0..length / PIECE).for_each(|_| socket.write_all(&piece).expect("written"));
        });
        let mut socket = TcpStream::connect(address).expect("a connection");
        let began = Instant::now();
        data.chunks_mut(PIECE).for_each(|piece| socket.read_exact(piece).expect("read"));
        began.elapsed()
    })
}

fn open(server: &Server, name: &str) -> Result<Arc<dyn Container>> {
    open_at(&server.location(name))
}

fn open_at(location: &str) -> Result<Arc<dyn Container>> {
    let mut registry = Registry::new();
    registry.register(Arc::new(remote::RemoteConnector))?;
    registry.create(location, &FileCreate::default(), &FileAccess::write(), true)
}

fn bytes_dataset(container: &dyn Container, name: &str, length: u64) -> Result<Token> {
    container.dataset_create(&OpDatasetCreate {
        place: Some(LinkLocation::new(container.info()?.root, name)),
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::simple(&[length])?,
        create: DatasetCreate::default(),
    })
}

fn bulk(server: &Server, data: &mut [u8], plain: Duration) -> Result<()> {
    for connections in [1, 2, 4] {
        let container = open(server, &format!("bulk{connections}?connections={connections}"))?;
        let dataset = bytes_dataset(&*container, "data", data.len() as u64)?;
        let all = Selection::All;
        let (mut writes, mut reads) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let began = Instant::now();
            container.dataset_write(&[OpWrite { dataset, selection: &all, from: data }])?;
            writes.push(began.elapsed());
        }
        for _ in 0..5 {
            let began = Instant::now();
            container.dataset_read(&mut [OpRead { dataset, selection: &all, into: data }])?;
            reads.push(began.elapsed());
        }
        for (what, times) in [("write", writes), ("read", reads)] {
            let (first, least) = (times[0], times.iter().min().copied().unwrap_or_default());
            println!(
                "  {what} over {connections}: first {:.2} GB/s, best {:.2} GB/s, {:.0} % of plain",
                rate(data.len(), first),
                rate(data.len(), least),
                100.0 * plain.as_secs_f64() / least.as_secs_f64()
            );
        }
        container.close()?;
        remove(&server.location(&format!("bulk{connections}")))?;
    }
    Ok(())
}

/// Large containers go as soon as they are measured.
fn remove(location: &str) -> Result<()> {
    let mut registry = Registry::new();
    registry.register(Arc::new(remote::RemoteConnector))?;
    registry.delete(location, &FileAccess::read())
}

fn median(run: &mut dyn FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..1000)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Returns the least medians of two, in turn: where threads happen to run, and whether cores sleep, counts for more than what
/// they do, and must not favour one of them.
fn in_turn(first: &mut dyn FnMut(), second: &mut dyn FnMut()) -> (Duration, Duration) {
    let mut least = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        least = (least.0.min(median(first)), least.1.min(median(second)));
    }
    least
}

/// Returns a caller who sends back 64 bytes.
fn echo() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        socket.set_nodelay(true).expect("set");
        let mut message = [0; 64];
        while socket.read_exact(&mut message).is_ok() {
            socket.write_all(&message).expect("written");
        }
    });
    let socket = TcpStream::connect(address).expect("a connection");
    socket.set_nodelay(true).expect("set");
    socket
}

fn small(server: &Server) -> Result<()> {
    let container = open(server, "small")?;
    let root = container.info()?.root;
    container.attribute_create(&OpAttributeCreate {
        object: root,
        name: "answer".into(),
        charset: CharacterSet::Ascii,
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::Scalar,
    })?;
    container.attribute_write(root, "answer", &[42])?;
    let (mut socket, mut message) = (echo(), [0; 64]);
    let (echo, read) = in_turn(
        &mut || {
            socket.write_all(&message).expect("written");
            socket.read_exact(&mut message).expect("read");
        },
        &mut || drop(container.attribute_read(root, &["answer"]).expect("a value")),
    );
    let ratio = read.as_secs_f64() / echo.as_secs_f64();
    println!("  echo of 64 bytes {echo:?}, attribute read {read:?}: {ratio:.2} times");
    container.close()
}

/// Returns what 10,000 groups took to make, until the last one is seen; and to be listed in storage after that.
fn create_all(container: &dyn Container) -> Result<(Duration, Duration)> {
    let root = container.info()?.root;
    let began = Instant::now();
    for number in 0..10_000 {
        let place = Some(LinkLocation::new(root, format!("group {number}")));
        container.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() })?;
    }
    assert!(container.link_get(root, "group 9999")?.is_some());
    let made = began.elapsed();
    assert_eq!(container.group_info(root)?.links, 10_000);
    let took = began.elapsed();
    container.close()?;
    Ok((made, took))
}

/// `name` may have options of its own.
fn elsewhere(location: &str, name: &str) -> String {
    let (server, options) = location.split_once('?').unwrap_or((location, ""));
    let (name, more) = name.split_once('?').unwrap_or((name, ""));
    format!("{server}{name}?{options}&{more}")
}

fn creations(location: &dyn Fn(&str) -> String) -> Result<()> {
    let mut least = [(Duration::MAX, Duration::MAX); 2];
    for _ in 0..7 {
        for (name, least) in ["singly", "queued?pipeline=yes"].iter().zip(&mut least) {
            let (made, took) = create_all(&*open_at(&location(name))?)?;
            *least = (least.0.min(made), least.1.min(took));
        }
    }
    let [one_by_one, queued] = least;
    for (what, one_by_one, queued) in
        [("made", one_by_one.0, queued.0), ("made, and the group of them stored", one_by_one.1, queued.1)]
    {
        let ratio = one_by_one.as_secs_f64() / queued.as_secs_f64();
        println!(
            "  10,000 groups {what}: one by one {one_by_one:?}, queued {queued:?}: {ratio:.1} times faster"
        );
    }
    Ok(())
}

/// The same without a server: what of it is the storage's.
fn local_creations(storage: &Registry, location: &str) -> Result<()> {
    let mut least = (Duration::MAX, Duration::MAX);
    for _ in 0..7 {
        let container = storage.create(location, &FileCreate::default(), &FileAccess::write(), true)?;
        let (made, took) = create_all(&*container)?;
        least = (least.0.min(made), least.1.min(took));
    }
    println!(
        "  10,000 groups without a server: made {:?}, and the group of them stored {:?}",
        least.0, least.1
    );
    Ok(())
}

/// Clients that read random windows for a while: how many each got.
fn windows(server: &Server) -> Result<()> {
    let container = open(server, "windows")?;
    let length: u64 = 64 << 20;
    let dataset = bytes_dataset(&*container, "data", length)?;
    let data = vec![1; length as usize];
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &data }])?;
    container.close()?;
    for clients in [1, 2, 4, 8, 16] {
        let counts = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..clients)
                .map(|seed| scope.spawn(move || read_windows(server, dataset, length, seed)))
                .collect();
            clients.into_iter().map(|client| client.join().expect("a client")).collect::<Result<Vec<u64>>>()
        })?;
        let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
        let total: u64 = counts.iter().sum();
        println!("  {clients:2} clients: {total} windows of 64 KiB in a second, each {least} to {most}");
    }
    Ok(())
}

fn read_windows(server: &Server, dataset: Token, length: u64, seed: u64) -> Result<u64> {
    let mut registry = Registry::new();
    registry.register(Arc::new(remote::RemoteConnector))?;
    let container = registry.open(&server.location("windows"), &FileAccess::read())?;
    let (mut state, mut count, mut window) = (seed + 1, 0, vec![0; 64 << 10]);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let start = (state >> 16) % (length - window.len() as u64);
        let selection = Selection::hyperslab(&[start], &[1], &[1], &[window.len() as u64])?;
        container.dataset_read(&mut [OpRead { dataset, selection: &selection, into: &mut window }])?;
        count += 1;
    }
    container.close()?;
    Ok(count)
}
