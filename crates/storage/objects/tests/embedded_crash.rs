//! A writer that is killed at any moment: what a flush promised is there, and of what came later all or nothing.
//!
//! `HYPERSLAB_KILLS` says how often.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hyperslab_objects::{Change, ContainerId, Fetch, Mode, ObjectId, Phase, Store, Update, embedded};

const WRITE: &str = "HYPERSLAB_TEST_WRITE";
const OBJECTS: u64 = 3;
const DKEYS: u8 = 3;
const ARRAY: usize = 150_000;
const PATCH: usize = 3_000;
/// Some rounds change so much that it goes to the index before the flush.
const CROWD: ObjectId = ObjectId { high: 2, low: 0 };
const CROWD_DKEYS: u32 = 2_500;
const CROWD_BYTES: usize = 2_000;
const CROWD_EVERY: u64 = 3;

fn id() -> ContainerId {
    ContainerId::from_name("crash")
}

fn objects() -> impl Iterator<Item = ObjectId> {
    (0..OBJECTS).map(|low| ObjectId { high: 1, low })
}

/// The array as a round leaves it.
fn array(round: u64) -> (Vec<u8>, u64) {
    (vec![round as u8; ARRAY], round * 977 % (ARRAY - PATCH) as u64)
}

fn change(store: &dyn Store, object: ObjectId, dkey: &[u8], changes: &[Change<'_>]) {
    store.update(&Update { object, dkey, changes, conditions: &[], phase: Phase::Content }).unwrap();
}

fn write_round(store: &dyn Store, round: u64) {
    let number = round.to_le_bytes();
    let (whole, at) = array(round);
    let patch = vec![round as u8 ^ 0xff; PATCH];
    for object in objects() {
        for dkey in 0..DKEYS {
            let changes = [
                Change::Single(b"round", &number),
                Change::Single(b"large", &whole[..5_000]),
                Change::Records { akey: b"array", record_size: 1, start: 0, bytes: &whole },
                Change::Records { akey: b"log", record_size: 8, start: round, bytes: &number },
            ];
            change(store, object, &[dkey], &changes);
            let patch = Change::Records { akey: b"array", record_size: 1, start: at, bytes: &patch };
            change(store, object, &[dkey], &[patch]);
        }
        let other = format!("only in round {round}");
        change(store, object, other.as_bytes(), &[Change::Single(b"a", &whole[..3_000])]);
        if round > 0 {
            store
                .punch_dkey(object, format!("only in round {}", round - 1).as_bytes(), Phase::Removal)
                .unwrap();
        }
    }
}

fn write_crowd(store: &dyn Store, round: u64) {
    for dkey in 0..CROWD_DKEYS {
        let value = round.to_le_bytes().repeat(CROWD_BYTES / 8);
        change(store, CROWD, &dkey.to_be_bytes(), &[Change::Single(b"round", &value)]);
    }
}

/// The other process: writes rounds until it is killed, and says which are flushed.
fn write_for_ever(pool: &Path) {
    let store = embedded::pool(pool).open(id(), Mode::ReadWrite).unwrap();
    let first = round_of(&*store).map_or(0, |round| round + 1);
    println!("open");
    for round in first.. {
        if round % CROWD_EVERY == 0 {
            write_crowd(&*store, round);
        }
        write_round(&*store, round);
        store.flush().unwrap();
        println!("flushed {round}");
    }
}

fn round_of(store: &dyn Store) -> Option<u64> {
    let value = store.get(ObjectId { high: 1, low: 0 }, &[0], &[b"round"]).unwrap().remove(0)?;
    Some(u64::from_le_bytes(value.try_into().unwrap()))
}

/// Everything is of one round.
fn check(store: &dyn Store) -> Option<u64> {
    let round = round_of(store)?;
    let (mut right, at) = array(round);
    let large = right[..5_000].to_vec();
    right[at as usize..][..PATCH].fill(round as u8 ^ 0xff);
    for object in objects() {
        for dkey in 0..DKEYS {
            let values = store.get(object, &[dkey], &[b"round", b"large"]).unwrap();
            assert_eq!(values[0].as_deref(), Some(&round.to_le_bytes()[..]));
            assert!(values[1].as_deref() == Some(&large));
            assert!(fetch(store, object, dkey, b"array", 1, ARRAY) == right, "the array of round {round}");
            let log = fetch(store, object, dkey, b"log", 8, 8 * (round as usize + 2));
            let logged: Vec<u64> =
                log.chunks(8).map(|number| u64::from_le_bytes(number.try_into().unwrap())).collect();
            assert!(logged.iter().take(round as usize + 1).copied().eq(0..=round), "{logged:?}");
            assert_eq!(logged.last(), Some(&u64::from_le_bytes([0xee; 8])), "a record of a later round");
        }
        let dkeys = store.dkeys(object, &[DKEYS], 10).unwrap();
        assert_eq!(dkeys, [format!("only in round {round}").into_bytes()]);
    }
    let crowd = (round - round % CROWD_EVERY).to_le_bytes().repeat(CROWD_BYTES / 8);
    for dkey in 0..CROWD_DKEYS {
        let values = store.get(CROWD, &dkey.to_be_bytes(), &[b"round"]).unwrap();
        assert!(values[0].as_deref() == Some(&crowd), "{dkey} of the crowd in round {round}");
    }
    Some(round)
}

fn fetch(
    store: &dyn Store,
    object: ObjectId,
    dkey: u8,
    akey: &[u8],
    record_size: u32,
    bytes: usize,
) -> Vec<u8> {
    let mut into = vec![0xee; bytes];
    let fetch = Fetch { object, dkey: &[dkey], akey, record_size, start: 0, into: &mut into };
    store.fetch(&mut [fetch]).unwrap();
    into
}

fn spawn(pool: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["a_killed_writer_loses_nothing_and_leaves_nothing_half", "--nocapture"]).env(WRITE, pool);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Lets a writer work for a while, kills it and answers the last round that it said was flushed.
fn kill_after(pool: &Path, lines: u64, spins: u64) -> Option<u64> {
    let mut child = spawn(pool);
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut last = None;
    let mut note = |line: String| last = line.strip_prefix("flushed ").and_then(|n| n.parse().ok()).or(last);
    output.by_ref().skip_while(|line| !line.ends_with("open")).take(1 + lines as usize).for_each(&mut note);
    for i in 0..spins {
        std::hint::black_box(i);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    output.for_each(&mut note);
    last
}

#[test]
fn a_killed_writer_loses_nothing_and_leaves_nothing_half() {
    if let Some(pool) = std::env::var_os(WRITE) {
        return write_for_ever(Path::new(&pool));
    }
    let kills = std::env::var("HYPERSLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let folder = tempfile::tempdir().unwrap();
    let pool = embedded::pool(folder.path());
    drop(pool.create(id()).unwrap());
    let (mut random, mut last) = (u64::from(std::process::id()), None);
    println!("seed {random}");
    for kill in 0..kills {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        last = kill_after(folder.path(), random >> 62, (random >> 33) % 40_000_000).or(last);
        // In turn: the next writer goes back to the last flush, or a reader does.
        if kill % 2 == 0 {
            let mode = if kill % 4 == 0 { Mode::Read } else { Mode::ReadWrite };
            let found = check(&*pool.open(id(), mode).unwrap());
            assert!(found >= last, "round {last:?} was promised, {found:?} is there");
        }
    }
    assert!(last.is_some(), "no writer came to a flush");
    println!("{last:?} rounds");
}
