//! A server under attack: hostile clients of all kinds next to eight honest ones.
//!
//! Server and attackers are processes of their own, and the test says how much of the processors each of them takes.
//! `HYPERSLAB_ATTACK_SECONDS` says how long (8). The honest clients get on in any case; from a minute on they must keep half
//! of their undisturbed throughput. Memory of the server stays under its bound, and `/healthz` answers.

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod process;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Folder, clients, group, storage};
use model::properties::FileCreate;
use model::{Result, Selection};
use process::{Attackers, MEMORY_BYTES_MAX, Process};
use vol::{Durability, FileAccess, OpRead, OpWrite};

const HONEST: u64 = 8;
/// The server's program, its threads and what containers cache without being asked.
const MARGIN_BYTES: u64 = 64 << 20;
/// A campaign is at least so long; a shorter run shows only that everybody gets on.
const CAMPAIGN: Duration = Duration::from_secs(60);
const HEALTH_MAX: Duration = Duration::from_millis(100);

fn seconds() -> Duration {
    let number = std::env::var("HYPERSLAB_ATTACK_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(number.unwrap_or(8))
}

/// Rounds whose groups are in one group. Rounds still get dearer with the file: undisturbed throughput falls by half within ten
/// minutes, which is why both ends of a campaign are printed.
const GROUP_ROUNDS: u64 = 1024;

/// Writes and reads elements, makes groups and commits, again and again.
fn honest(location: &str, number: u64, stop: &AtomicBool, count: &AtomicU64) -> Result<()> {
    let location = format!("{location}honest/{number}.h5?token={}", process::HONEST_TOKEN);
    let container = clients().create(&location, &FileCreate::default(), &FileAccess::write(), true)?;
    let root = container.info()?.root;
    let data = common::bytes_dataset(&*container, "data", 256 << 10)?;
    let mut parent = root;
    for round in 0u64.. {
        if round % GROUP_ROUNDS == 0 {
            parent = container.group_create(&group(root, &format!("from {round}")))?;
        }
        let bytes: Vec<u8> = (0..256u64 << 10).map(|n| (n * 7 + round + number) as u8).collect();
        container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &bytes }])?;
        let mut back = vec![0; bytes.len()];
        container.dataset_read(&mut [OpRead {
            dataset: data,
            selection: &Selection::All,
            into: &mut back,
        }])?;
        assert!(back == bytes, "client {number} reads what it wrote");
        container.group_create(&group(parent, &round.to_string()))?;
        container.object_info(parent)?;
        if round % 16 == 0 {
            container.commit(Durability::None)?;
        }
        count.fetch_add(1, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    container.close()
}

/// Comes anew again and again, each time over a new connection.
fn newcomer(location: &str, stop: &AtomicBool, count: &AtomicU64) -> Result<()> {
    let location = format!("{location}honest/new.h5?token={}", process::HONEST_TOKEN);
    clients().create(&location, &FileCreate::default(), &FileAccess::write(), true)?.close()?;
    while !stop.load(Ordering::Relaxed) {
        let container = clients().open(&location, &FileAccess::read())?;
        container.info()?;
        container.close()?;
        count.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// How long the answer of `/healthz` takes.
fn health(http: SocketAddr) -> Option<Duration> {
    let began = Instant::now();
    let mut stream = TcpStream::connect(http).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.ends_with("ok\n").then(|| began.elapsed())
}

/// Times of `/healthz`, in their order, and the most memory that the server counted.
fn probe(http: SocketAddr, stop: &AtomicBool) -> (Vec<Duration>, u64) {
    let (mut times, mut most) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        times.push(health(http).unwrap_or(Duration::from_secs(5)));
        most = most.max(memory_used(http).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(50));
    }
    times.sort_unstable();
    (times, most)
}

/// What the server counts as used, as `/metrics` tells it.
fn memory_used(http: SocketAddr) -> Option<u64> {
    let mut stream = TcpStream::connect(http).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.lines().find_map(|line| line.strip_prefix("hyperslab_memory_bytes "))?.parse().ok()
}

/// Rounds of all honest clients in a second, while `length` passes.
fn throughput(count: &AtomicU64, length: Duration) -> f64 {
    let (began, before) = (Instant::now(), count.load(Ordering::Relaxed));
    std::thread::sleep(length);
    (count.load(Ordering::Relaxed) - before) as f64 / began.elapsed().as_secs_f64()
}

/// The containers that attackers use, with a value that is worth asking for often.
fn prepare(root: &Folder) -> Vec<u8> {
    for folder in ["honest", "shared", "hostile"] {
        std::fs::create_dir(root.path().join(folder)).expect("a folder");
    }
    let path = root.path().join("shared/bomb.h5");
    let create = FileCreate::default();
    let bomb = storage().create(&path.to_string_lossy(), &create, &FileAccess::write(), false).expect("made");
    let id = bomb.blob_put(&[&vec![7; 1 << 20]]).expect("a value");
    common::bytes_dataset(&*bomb, "data", 64 << 20).expect("a dataset");
    bomb.close().expect("closed");
    let path = root.path().join("hostile/queue.h5");
    let queue =
        storage().create(&path.to_string_lossy(), &create, &FileAccess::write(), false).expect("made");
    queue.close().expect("closed");
    id
}

#[test]
fn honest_clients_get_on_beside_hostile_ones() {
    let length = seconds();
    let root = Folder::new("server");
    let id = prepare(&root);
    let server = Process::start(&root);
    let location = format!("h5s://{}/", server.address);
    let (stop, count, comings) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let mut threads: Vec<_> = (0..HONEST)
            .map(|number| {
                scope.spawn({
                    let (location, stop, count) = (&location, &stop, &count);
                    move || honest(location, number, stop, count)
                })
            })
            .collect();
        threads.push(scope.spawn(|| newcomer(&location, &stop, &comings)));
        // A failure must end the threads too, or no one hears of it.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            campaign(&server, &id, length, [&count, &comings]);
        }));
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().expect("no honest client fails").expect("no honest client is refused");
        }
        outcome.unwrap_or_else(|failed| std::panic::resume_unwind(failed));
    });
}

/// Processor time of the server, the attackers, the honest clients and everybody on this machine.
fn processor_times(server: &Process, attackers: &Attackers) -> [Duration; 4] {
    let honest = process::processor_time(std::process::id());
    [server.processor_time(), attackers.processor_time(), honest, process::machine_time()]
}

/// Where other programs take much, a low throughput is not the server's.
fn print_processors(before: [Duration; 4], now: [Duration; 4], length: Duration) {
    let mut shares = [0.0; 4];
    for (share, (now, before)) in shares.iter_mut().zip(now.into_iter().zip(before)) {
        *share = now.saturating_sub(before).as_secs_f64() / length.as_secs_f64();
    }
    let [server, attackers, honest, all] = shares;
    let others = all - server - attackers - honest;
    println!(
        "processors: server {server:.2}, attackers {attackers:.2}, honest {honest:.2}, others {others:.2}"
    );
}

fn campaign(server: &Process, id: &[u8], length: Duration, [count, comings]: [&AtomicU64; 2]) {
    // The first moments are those of making files.
    std::thread::sleep(Duration::from_millis(500));
    let quiet = (length / 8).min(Duration::from_secs(20));
    let before = throughput(count, quiet);
    let stop = AtomicBool::new(false);
    let (under_attack, (times, counted)) = std::thread::scope(|scope| {
        let probing = scope.spawn(|| probe(server.http, &stop));
        let attackers = Attackers::start(server, id);
        let spent = processor_times(server, &attackers);
        std::thread::sleep(Duration::from_millis(500));
        let already = comings.load(Ordering::Relaxed);
        let under_attack = throughput(count, length);
        let came = comings.load(Ordering::Relaxed) - already;
        println!("a newcomer was let in {came} times");
        print_processors(spent, processor_times(server, &attackers), length);
        assert!(came > 0, "newcomers are kept out");
        drop(attackers);
        stop.store(true, Ordering::Relaxed);
        (under_attack, probing.join().expect("probed"))
    });
    // The machine may have other work at times, and files grow: what counts is the mean of before and after.
    let after = throughput(count, quiet);
    let undisturbed = (before + after) / 2.0;
    let peak = server.memory_peak();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{undisturbed:.0} rounds/s undisturbed ({before:.0}, {after:.0}), {under_attack:.0} under attack"
    );
    println!("counted {} MiB", counted >> 20);
    println!("peak {} MiB; healthz median {:?}, 99 % {:?}", peak >> 20, at(0.5), at(0.99));
    assert!(peak <= MEMORY_BYTES_MAX + MARGIN_BYTES, "the server took {peak} bytes");
    assert!(at(0.5) <= HEALTH_MAX, "healthz takes {:?}", at(0.5));
    assert!(under_attack > 0.0, "honest clients do not get on");
    if length >= CAMPAIGN {
        assert!(under_attack >= undisturbed / 2.0, "{under_attack} of {undisturbed} rounds/s");
        assert!(at(0.99) <= HEALTH_MAX, "healthz takes {:?}", at(0.99));
    }
}
