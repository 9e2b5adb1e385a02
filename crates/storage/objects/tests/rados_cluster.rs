//! What a cluster does to clients: several processes at once, OSDs that are killed, clusters that are not there.
//!
//! `scripts/ceph up DIR` starts a cluster, and `HYPERSLAB_CEPH_CONF` says where it is; without it the tests say that
//! they skip.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hyperslab_objects::{
    Change, Condition, ContainerId, Error, Fetch, Mode, ObjectId, Phase, Pool, Store, Update, rados,
};
use std::sync::Arc;

const OBJECT: ObjectId = ObjectId { high: 3, low: 1 };
/// What a child process is to do, and in which container.
const ROLE: &str = "HYPERSLAB_TEST_ROLE";
const PROCESSES: u64 = 4;
const COUNTS: u64 = 50;

/// The cluster's configuration, or a line that says why nothing is tested.
fn conf() -> Option<PathBuf> {
    let conf = std::env::var_os("HYPERSLAB_CEPH_CONF").map(PathBuf::from);
    if conf.is_none() {
        println!("SKIPPED: HYPERSLAB_CEPH_CONF names no cluster (scripts/ceph up DIR)");
    }
    conf
}

fn pool(conf: &Path) -> Arc<dyn Pool> {
    rados::pool("p3", Some(conf)).unwrap()
}

fn id(name: &str) -> ContainerId {
    ContainerId::from_name(&format!("{name} of {}", std::process::id()))
}

fn update<'a>(dkey: &'a [u8], changes: &'a [Change<'a>], conditions: &'a [Condition<'a>]) -> Update<'a> {
    Update { object: OBJECT, dkey, changes, conditions, phase: Phase::Link }
}

/// This test binary again, for one test and one role.
fn child(test: &str, role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(ROLE, role);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

fn number(store: &dyn Store, akey: &[u8]) -> u64 {
    let value = store.get(OBJECT, b"shared", &[akey]).unwrap().remove(0).unwrap();
    u64::from_le_bytes(value.try_into().unwrap())
}

fn increment(store: &dyn Store) {
    loop {
        let old = number(store, b"n").to_le_bytes();
        let new = (u64::from_le_bytes(old) + 1).to_le_bytes();
        match store.update_now(&update(
            b"shared",
            &[Change::Single(b"n", &new)],
            &[Condition::Equals(b"n", &old)],
        )) {
            Ok(()) => return,
            Err(Error::Condition(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// One of several processes: counts, allocates, links, and writes its part of an array that all write.
fn work(conf: &Path, role: &str) {
    let (container, process) = role.split_once(' ').unwrap();
    let process: u64 = process.parse().unwrap();
    let store = pool(conf).open(ContainerId::parse(container).unwrap(), Mode::ReadWrite).unwrap();
    for i in 0..COUNTS {
        increment(&*store);
        let taken = store.allocate(3).unwrap();
        println!("took {} {}", taken.start, taken.end);
        let dkey = format!("link {process} {i}");
        store
            .update(&update(
                dkey.as_bytes(),
                &[Change::Single(b"Link", b"target")],
                &[Condition::Absent(b"Link")],
            ))
            .unwrap();
        let bytes = vec![process as u8 + 1; 1_000];
        let start = (i * PROCESSES + process) * 1_000;
        let change = Change::Records { akey: b"\0", record_size: 1, start, bytes: &bytes };
        store.update(&update(b"array", &[change], &[])).unwrap();
        if i % 10 == 9 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
}

#[test]
fn processes_count_allocate_and_write_without_losing_anything() {
    let Some(conf) = conf() else { return };
    if let Ok(role) = std::env::var(ROLE) {
        return work(&conf, &role);
    }
    let (pool, id) = (pool(&conf), id("processes"));
    let store = pool.create(id).unwrap();
    store.update_now(&update(b"shared", &[Change::Single(b"n", &0u64.to_le_bytes())], &[])).unwrap();
    let test = "processes_count_allocate_and_write_without_losing_anything";
    let children: Vec<Child> =
        (0..PROCESSES).map(|process| child(test, &format!("{id} {process}"))).collect();
    let mut numbers = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        for line in
            String::from_utf8(output.stdout).unwrap().lines().filter_map(|line| line.strip_prefix("took "))
        {
            let (start, end) = line.split_once(' ').unwrap();
            for number in start.parse::<u64>().unwrap()..end.parse().unwrap() {
                assert!(numbers.insert(number), "{number} was given twice");
            }
        }
    }
    assert_eq!(numbers.len() as u64, 3 * PROCESSES * COUNTS);
    store.refresh().unwrap();
    assert_eq!(number(&*store, b"n"), PROCESSES * COUNTS);
    let links = store.dkeys(OBJECT, b"link ", usize::MAX).unwrap();
    assert_eq!(links.iter().filter(|dkey| dkey.starts_with(b"link ")).count() as u64, PROCESSES * COUNTS);
    let mut all = vec![0; (PROCESSES * COUNTS * 1_000) as usize];
    let fetch =
        Fetch { object: OBJECT, dkey: b"array", akey: b"\0", record_size: 1, start: 0, into: &mut all };
    store.fetch(&mut [fetch]).unwrap();
    for (i, part) in all.chunks(1_000).enumerate() {
        assert!(part.iter().all(|byte| u64::from(*byte) == i as u64 % PROCESSES + 1), "part {i}");
    }
    drop(store);
    pool.destroy(id).unwrap();
}

/// Starts an OSD of a cluster of `scripts/ceph` again.
fn start_osd(conf: &Path, number: u32) {
    let folder = conf.parent().unwrap();
    let keyring = folder.join(format!("osd.{number}/keyring"));
    let number = number.to_string();
    let mut command = Command::new("ceph-osd");
    command.args(["-i", number.as_str(), "--keyring"]).arg(keyring).arg("-c").arg(conf);
    assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
}

/// Only a store on disk has what it had when an OSD comes back.
fn is_on_disk(conf: &Path) -> bool {
    fs::read_to_string(conf).unwrap().contains("bluestore\n")
}

#[test]
fn a_killed_osd_loses_nothing_and_clients_go_on() {
    let Some(conf) = conf() else { return };
    let pid_file = conf.parent().unwrap().join("run/osd.1.pid");
    let Ok(pid) = fs::read_to_string(&pid_file) else {
        return println!("SKIPPED: the cluster is none of scripts/ceph");
    };
    let (pool, id) = (pool(&conf), id("killed osd"));
    let store = pool.create(id).unwrap();
    let bytes = |round: u64| vec![round as u8; 300_000];
    for round in 0..60u64 {
        if round == 20 {
            assert!(Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
        }
        let (large, number) = (bytes(round), round.to_le_bytes());
        let changes = [
            Change::Records { akey: b"\0", record_size: 4, start: 0, bytes: &large },
            Change::Single(b"round", &number),
        ];
        store.update(&update(&number, &changes, &[])).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let store = pool.open(id, Mode::Read).unwrap();
    for round in 0..60u64 {
        let dkey = round.to_le_bytes();
        assert_eq!(store.get(OBJECT, &dkey, &[b"round"]).unwrap(), [Some(dkey.to_vec())]);
        let mut into = vec![0; 300_000];
        let fetch =
            Fetch { object: OBJECT, dkey: &dkey, akey: b"\0", record_size: 4, start: 0, into: &mut into };
        store.fetch(&mut [fetch]).unwrap();
        assert!(into == bytes(round), "round {round}");
    }
    drop(store);
    pool.destroy(id).unwrap();
    if is_on_disk(&conf) {
        start_osd(&conf, 1);
    } else {
        println!("osd.1 stays down: the cluster keeps its objects in memory");
    }
}

const DKEYS: u8 = 6;

/// Writes rounds until it is killed: the link first, since phases and not the order of calls say what arrives first.
fn write_for_ever(conf: &Path, container: &str) {
    let store = pool(conf).open(ContainerId::parse(container).unwrap(), Mode::ReadWrite).unwrap();
    let first = store.get(OBJECT, b"latest", &[b"round"]).unwrap().remove(0);
    let first = first.map_or(0, |round| u64::from_le_bytes(round.try_into().unwrap()) + 1);
    println!("open");
    for round in first.. {
        let number = round.to_le_bytes();
        store.update(&update(b"latest", &[Change::Single(b"round", &number)], &[])).unwrap();
        let bytes = vec![round as u8; 150_000];
        for dkey in 0..DKEYS {
            let changes = [
                Change::Single(b"round", &number),
                Change::Single(b"large", &bytes[..20_000]),
                Change::Records { akey: b"array", record_size: 1, start: 0, bytes: &bytes },
            ];
            let dkey = [dkey];
            let content = Update {
                object: OBJECT,
                dkey: &dkey,
                changes: &changes,
                conditions: &[],
                phase: Phase::Content,
            };
            store.update(&content).unwrap();
        }
        store.flush().unwrap();
        println!("flushed {round}");
    }
}

/// Each dkey is of one round, and none is older than the link says.
fn check_rounds(store: &dyn Store) -> Option<u64> {
    let latest = store.get(OBJECT, b"latest", &[b"round"]).unwrap().remove(0)?;
    let latest = u64::from_le_bytes(latest.try_into().unwrap());
    for dkey in 0..DKEYS {
        let values = store.get(OBJECT, &[dkey], &[b"round", b"large"]).unwrap();
        let round = u64::from_le_bytes(values[0].clone().unwrap().try_into().unwrap());
        assert!(round >= latest, "round {latest} is found, and dkey {dkey} has {round}");
        assert!(values[1].as_ref().unwrap().iter().all(|byte| *byte == round as u8));
        let mut into = vec![0xee; 150_000];
        let fetch = Fetch {
            object: OBJECT,
            dkey: &[dkey],
            akey: b"array",
            record_size: 1,
            start: 0,
            into: &mut into,
        };
        store.fetch(&mut [fetch]).unwrap();
        assert!(into.iter().all(|byte| *byte == round as u8), "the array of dkey {dkey}");
    }
    Some(latest)
}

#[test]
fn a_killed_client_leaves_no_dkey_half_and_no_link_to_nothing() {
    let Some(conf) = conf() else { return };
    if let Ok(container) = std::env::var(ROLE) {
        return write_for_ever(&conf, &container);
    }
    let (pool, id) = (pool(&conf), id("killed client"));
    let store = pool.create(id).unwrap();
    let mut last = None;
    for kill in 0..12u32 {
        let mut child = child("a_killed_client_leaves_no_dkey_half_and_no_link_to_nothing", &id.to_string());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut note =
            |line: String| last = line.strip_prefix("flushed ").and_then(|n| n.parse().ok()).or(last);
        lines
            .by_ref()
            .skip_while(|line| !line.ends_with("open"))
            .take(1 + kill as usize % 4)
            .for_each(&mut note);
        for i in 0..kill % 5 * 8_000_000 {
            std::hint::black_box(i);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines.for_each(&mut note);
        let found = check_rounds(&*store);
        assert!(found >= last, "round {last:?} was promised, {found:?} is there");
    }
    assert!(last.is_some());
    store.orphans(true).unwrap();
    check_rounds(&*store);
    drop(store);
    pool.destroy(id).unwrap();
}

#[test]
fn what_a_killed_writer_left_is_found_and_removed() {
    let Some(conf) = conf() else { return };
    let (pool, id) = (pool(&conf), id("orphans"));
    let store = pool.create(id).unwrap();
    let bytes = vec![5; 9 << 20];
    let write = |store: &dyn Store, dkey: &[u8]| {
        let change = Change::Records { akey: b"\0", record_size: 1, start: 0, bytes: &bytes };
        store.update(&update(dkey, &[change], &[])).unwrap();
    };
    write(&*store, b"kept");
    store.flush().unwrap();
    assert_eq!(store.orphans(false).unwrap(), 0);
    write(&*store, b"lost");
    assert_eq!(store.orphans(false).unwrap(), 0, "what waits is no orphan");
    drop(store);
    let store = pool.open(id, Mode::ReadWrite).unwrap();
    assert_eq!(store.orphans(true).unwrap(), 3);
    assert_eq!(store.orphans(false).unwrap(), 0);
    let mut into = vec![0; bytes.len()];
    let fetch =
        Fetch { object: OBJECT, dkey: b"kept", akey: b"\0", record_size: 1, start: 0, into: &mut into };
    store.fetch(&mut [fetch]).unwrap();
    assert!(into == bytes);
    // What is replaced leaves nothing.
    write(&*store, b"kept");
    store.flush().unwrap();
    store.punch_object(OBJECT, Phase::Removal).unwrap();
    store.flush().unwrap();
    assert_eq!(store.orphans(false).unwrap(), 0);
    drop(store);
    pool.destroy(id).unwrap();
}

#[test]
fn what_is_not_there_is_one_clear_line() {
    let Some(conf) = conf() else { return };
    let folder = tempfile::tempdir().unwrap();
    let answer = rados::pool("no such pool", Some(&conf));
    assert!(
        matches!(&answer, Err(Error::NotFound(text)) if text.contains("no pool no such pool")),
        "{answer:?}"
    );
    let answer = rados::pool("p3", Some(&folder.path().join("none.conf")));
    assert!(matches!(&answer, Err(Error::NotFound(text)) if text.contains("none.conf")), "{answer:?}");
    // No one listens at port 1 of this machine.
    let nowhere = folder.path().join("nowhere.conf");
    fs::write(&nowhere, "[global]\nmon host = [v2:127.0.0.1:1]\nauth client required = none\n").unwrap();
    let answer = rados::pool("p3", Some(&nowhere));
    assert!(
        matches!(&answer, Err(Error::NotFound(text)) if text.contains("no Ceph cluster answers")),
        "{answer:?}"
    );
    let missing = pool(&conf).open(id("never made"), Mode::Read);
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
}

#[test]
fn a_wrong_key_is_refused() {
    let Some(conf) = conf() else { return };
    let text = fs::read_to_string(&conf).unwrap();
    if !text.contains("auth client required = cephx") {
        return println!("SKIPPED: the cluster asks for no key (CEPH_AUTH=cephx scripts/ceph up DIR)");
    }
    let folder = tempfile::tempdir().unwrap();
    let keyring = folder.path().join("keyring");
    fs::write(&keyring, "[client.admin]\nkey = AQAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAA==\n").unwrap();
    let other = folder.path().join("ceph.conf");
    let keyring = format!("keyring = {}", keyring.display());
    let lines = text.lines().map(|line| if line.starts_with("keyring") { &keyring } else { line });
    // Ceph wants a line end after the last line too.
    fs::write(&other, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let answer = rados::pool("p3", Some(&other));
    assert!(matches!(&answer, Err(Error::Refused(text)) if text.contains("key")), "{answer:?}");
}

#[test]
fn a_newer_layout_is_refused() {
    let Some(conf) = conf() else { return };
    let (pool, id) = (pool(&conf), id("newer"));
    drop(pool.create(id).unwrap());
    let layout = |version: &str| {
        let mut command = Command::new("rados");
        command.arg("-c").arg(&conf).args([
            "-p",
            "p3",
            "-N",
            &id.to_string(),
            "setomapval",
            "container",
            "layout",
            version,
        ]);
        assert!(command.status().unwrap().success());
    };
    layout("9");
    let answer = pool.open(id, Mode::ReadWrite);
    assert!(matches!(&answer, Err(Error::Corrupt(text)) if text.contains("layout version 9")), "{answer:?}");
    layout("1");
    pool.destroy(id).unwrap();
}
