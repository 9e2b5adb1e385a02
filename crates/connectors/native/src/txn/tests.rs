//! Crashes at every point of a commit: what was promised is there.

use std::io::ErrorKind;
use std::sync::Arc;

use files::crash::{Event, Log, StatesMax};
use files::fault::{Call, Plan, Rule};
use files::{Crash, Fault, Handle, Memory};
use model::Limits;
use vol::Durability;

use super::fresh::runs;
use super::redo::Redo;
use super::{Publish, PublishOrder, Txn, TxnParts, overlay};
use crate::head::Head;

const SUPERBLOCK_BYTES: usize = 48;

/// A superblock of the tests: a generation and the end of the file.
fn superblock(generation: u64, end: u64) -> Vec<u8> {
    let mut bytes = vec![0; SUPERBLOCK_BYTES];
    bytes[..8].copy_from_slice(&generation.to_le_bytes());
    bytes[8..16].copy_from_slice(&end.to_le_bytes());
    let sum = crate::format::checksum::lookup3(&bytes[..SUPERBLOCK_BYTES - 4], 0);
    bytes[SUPERBLOCK_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The end that a superblock states, if it is whole.
fn stored_end(file: &Handle) -> Option<u64> {
    let bytes = file.read_vec(0, SUPERBLOCK_BYTES).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    (superblock(number(0), number(8)) == bytes).then(|| number(8))
}

fn find(file: &Handle) -> model::Result<Option<Redo>> {
    let mut warnings = Vec::new();
    Redo::find(file, &Head::read(file)?, stored_end(file), &Limits::default(), &mut warnings)
}

fn parts(file: Handle, end: u64) -> TxnParts {
    let (superblock_at, redo_bytes_max) = (0, Limits::default().redo_bytes_max);
    TxnParts {
        file,
        end,
        superblock_at,
        superblock_bytes: SUPERBLOCK_BYTES,
        is_unlocked: false,
        redo_bytes_max,
    }
}

/// What a reader of an image sees after recovery, up to the end that its superblock states.
fn recovered(image: Vec<u8>) -> Vec<u8> {
    let file: Handle = Arc::new(Memory::from_image(image));
    if let Some(redo) = find(&file).unwrap() {
        assert!(redo.applies(&file).unwrap(), "a record must apply to its own file");
        redo.replay(&file).unwrap();
    }
    let mut head = [0; 16];
    file.read_at(0, &mut head).unwrap();
    let end = u64::from_le_bytes(head[8..].try_into().unwrap());
    let mut bytes = vec![0; end as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

/// Writes to where nothing was committed, or stages.
fn put(txn: &mut Txn, at: u64, data: &[u8]) -> model::Result<()> {
    if at >= txn.end { txn.write(at, data) } else { txn.stage(at, data, PublishOrder::Middle).map(drop) }
}

fn commit(txn: &mut Txn, publish: &Publish<'_>, durability: Durability) -> model::Result<()> {
    let done = txn.seal(publish, durability)?.run();
    txn.finish(done.as_ref().copied());
    done.map(drop).map_err(|failure| failure.error)
}

struct Rig {
    crash: Arc<Crash>,
    txn: Txn,
    end: u64,
    generation: u64,
    /// Position in the stream when each commit returned, and what it promised.
    promised: Vec<(usize, Vec<u8>)>,
    model: Vec<u8>,
}

impl Rig {
    fn new() -> Rig {
        Rig::on(|crash| crash)
    }

    /// With a layer between the transaction and the recorder.
    fn on(wrap: impl FnOnce(Handle) -> Handle) -> Rig {
        let end = 2048;
        let mut image = superblock(0, end);
        image.resize(end as usize, 1);
        let crash = Arc::new(Crash::new(Arc::new(Memory::from_image(image.clone()))).unwrap());
        let txn = Txn::new(parts(wrap(crash.clone()), end));
        let promised = vec![(0, image.clone())];
        Rig { crash, txn, end, generation: 0, promised, model: image }
    }

    fn overwrite(&mut self, at: u64, data: &[u8]) {
        put(&mut self.txn, at, data).unwrap();
        self.model[at as usize..at as usize + data.len()].copy_from_slice(data);
    }

    fn append(&mut self, data: &[u8]) {
        put(&mut self.txn, self.end, data).unwrap();
        self.model.extend_from_slice(data);
        self.end += data.len() as u64;
    }

    fn commit(&mut self, durability: Durability) {
        self.try_commit(durability).unwrap();
    }

    /// Commits, and notes what was promised.
    fn try_commit(&mut self, durability: Durability) -> model::Result<()> {
        self.generation += 1;
        let bytes = superblock(self.generation, self.end);
        self.model[..SUPERBLOCK_BYTES].copy_from_slice(&bytes);
        let publish = Publish { superblock: &bytes, end: self.end };
        let done = commit(&mut self.txn, &publish, durability);
        // One that failed may be there, and is never promised.
        let position = if done.is_ok() { self.crash.position() } else { usize::MAX };
        self.promised.push((position, self.model.clone()));
        done
    }
}

/// The state that breaks a promise, if one does.
fn broken(rig: &Rig, log: &Log) -> Option<String> {
    log.sample(20_261_115).take(3000).find_map(|state| {
        let found = recovered(log.image(&state).unwrap());
        let at_least = rig.promised.iter().rposition(|(position, _)| state.at >= *position).unwrap_or(0);
        let which = rig.promised.iter().position(|(_, model)| *model == found);
        let fits = which.is_some_and(|n| n >= at_least);
        (!fits).then(|| format!("{state}: recovered {which:?}, promised {at_least}"))
    })
}

/// Two commits that overwrite and append, with changes after them that were never committed.
fn two_commits(durability: Durability) -> Rig {
    let mut rig = Rig::new();
    rig.overwrite(100, &[7; 700]);
    rig.append(&[8; 600]);
    rig.commit(durability);
    rig.overwrite(400, &[9; 1000]);
    rig.overwrite(2100, &[10; 100]);
    rig.append(&[11; 40]);
    rig.commit(durability);
    rig.overwrite(60, &[12; 10]);
    rig.append(&[13; 500]);
    rig
}

#[test]
fn every_crash_leaves_a_commit_and_not_one_before_the_last_that_returned() {
    let rig = two_commits(Durability::Full);
    let log = rig.crash.log();
    let mut seen = 0;
    for state in log.states(StatesMax { subset_events_max: 6, order_events_max: 4 }) {
        let found = recovered(log.image(&state).unwrap());
        let at_least = rig.promised.iter().rposition(|(position, _)| state.at >= *position).unwrap_or(0);
        let which = rig.promised.iter().position(|(_, model)| *model == found);
        assert!(which.is_some_and(|n| n >= at_least), "{state}: recovered {which:?}, promised {at_least}");
        seen += 1;
    }
    assert!(seen > 50, "only {seen} states");
}

#[test]
fn sampled_crashes_with_torn_and_reordered_writes_leave_a_commit() {
    let rig = two_commits(Durability::Full);
    assert_eq!(broken(&rig, &rig.crash.log()), None);
}

/// A commit whose record is written, but told to have failed; then what it brought changes, and the commit is tried again.
fn record_refused() -> Rig {
    let fault = std::cell::OnceCell::new();
    let mut rig = Rig::on(|crash| fault.get_or_init(|| Arc::new(Fault::new(crash))).clone());
    let fault = fault.into_inner().unwrap();
    rig.append(&[8; 600]);
    rig.overwrite(100, &[7; 30]);
    let refused = Rule { short_bytes: u64::MAX, ..Rule::once(Call::Write, 0, ErrorKind::StorageFull) };
    fault.set_plan(Plan::of([refused]));
    rig.try_commit(Durability::Full).unwrap_err();
    rig.overwrite(2100, &[9; 100]);
    rig.append(&[10; 10]);
    rig.commit(Durability::Full);
    rig
}

#[test]
fn a_record_that_failed_is_taken_back_before_anything_else_is_written() {
    let rig = record_refused();
    let log = rig.crash.log();
    assert_eq!(broken(&rig, &log), None);
    let second = log.events().iter().enumerate().filter(|(_, e)| matches!(e, Event::Sync(_))).nth(1);
    let (sync, _) = second.expect("the first is of content, the second of taking back");
    let mut events = log.events().to_vec();
    events.remove(sync);
    assert!(broken(&rig, &Log::new(log.base().into(), events)).is_some(), "its sync is needed");
}

#[test]
fn after_a_failed_sync_every_change_is_refused() {
    for nth in 0..3 {
        let fault = std::cell::OnceCell::new();
        let mut rig = Rig::on(|crash| fault.get_or_init(|| Arc::new(Fault::new(crash))).clone());
        fault.get().unwrap().set_plan(Plan::of([Rule::once(Call::Sync, nth, ErrorKind::Other)]));
        rig.overwrite(100, &[7; 30]);
        rig.try_commit(Durability::Full).unwrap_err();
        rig.try_commit(Durability::Full).unwrap_err();
        put(&mut rig.txn, 100, &[8; 30]).unwrap_err();
    }
}

#[test]
fn an_ordered_commit_is_there_whole_or_not_at_all() {
    let rig = two_commits(Durability::Ordered);
    let log = rig.crash.log();
    for state in log.sample(7).take(3000) {
        let found = recovered(log.image(&state).unwrap());
        assert!(rig.promised.iter().any(|(_, model)| *model == found), "{state}");
    }
}

#[test]
fn staged_bytes_are_read_before_they_are_committed() {
    let mut rig = Rig::new();
    rig.overwrite(100, &[2; 50]);
    rig.overwrite(120, &[3; 10]);
    rig.overwrite(90, &[4; 15]);
    let mut read = vec![1; 80];
    overlay(&rig.txn.file, &rig.txn.waiting(80, 160), 80, &mut read).unwrap();
    assert_eq!(read, rig.model[80..160]);
    assert_eq!(rig.txn.staged_bytes(), 60);
}

/// Bytes that end with their checksum, as a header does.
fn structure(fill: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![fill; len - 4];
    let sum = crate::format::checksum::lookup3(&bytes, 0);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// A file whose last commit put a structure at 1000 and was cut short when its record was stored.
fn cut_short() -> Vec<u8> {
    let mut rig = Rig::new();
    rig.overwrite(1000, &structure(5, 100));
    rig.commit(Durability::Ordered);
    let log = rig.crash.log();
    let images = log.prefixes().map(|s| log.image(&s).unwrap());
    let has_record = |i: &Vec<u8>| find(&memory(i.clone())).unwrap().is_some();
    images.into_iter().find(has_record).expect("a state with a record")
}

fn memory(image: Vec<u8>) -> Handle {
    Arc::new(Memory::from_image(image))
}

fn applies(image: Vec<u8>) -> bool {
    let file = memory(image);
    find(&file).unwrap().unwrap().applies(&file).unwrap()
}

#[test]
fn a_file_that_somebody_else_changed_is_not_recovered_over_it() {
    let mut image = cut_short();
    image[1000..1100].copy_from_slice(&structure(9, 100));
    assert!(!applies(image));
}

#[test]
fn noise_where_a_commit_was_publishing_does_not_stop_recovery() {
    let mut image = cut_short();
    image[1010..1030].fill(9);
    assert!(applies(image));
}

#[test]
fn buffered_pieces_are_written_as_if_each_were_written_alone() {
    let end = 512u64;
    let mut seed = 88172645463325252u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for _ in 0..20 {
        let file: Handle = Arc::new(Memory::from_image(vec![7; end as usize]));
        let mut txn = Txn::new(parts(file.clone(), end));
        let mut model = vec![0; 100_000];
        for step in 0..300u64 {
            let large = if random(20) == 0 { 70_000 } else { 0 };
            let (at, len) = (random(19_000), 1 + random(900) + large);
            txn.write(end + at, &vec![(step % 250) as u8 + 1; len as usize]).unwrap();
            model[at as usize..(at + len) as usize].fill((step % 250) as u8 + 1);
            if random(40) == 0 {
                txn.flush().unwrap();
            }
            let mut seen = vec![0; 100_000];
            let there = (file.len().unwrap() - end).min(100_000);
            file.read_at(end, &mut seen[..there as usize]).unwrap();
            overlay(&file, &txn.waiting(end, u64::MAX), end, &mut seen).unwrap();
            assert_eq!(seen, model);
        }
        txn.flush().unwrap();
        let mut stored = vec![0; (file.len().unwrap() - end) as usize];
        file.read_at(end, &mut stored).unwrap();
        // The first bytes wait for the commit.
        overlay(&file, &txn.waiting(end, u64::MAX), end, &mut stored).unwrap();
        assert_eq!(stored[..], model[..stored.len()]);
    }
}

#[test]
fn pieces_with_small_gaps_are_one_write_and_leave_what_was_written_alone() {
    let log = Arc::new(Memory::from_image(vec![7; 512]));
    let mut txn = Txn::new(parts(log, 512));
    for n in 0..10u64 {
        txn.write(640 + 64 * n, &[1; 60]).unwrap();
    }
    assert_eq!(runs(&txn.buffer, txn.written_end).len(), 1);
    txn.flush().unwrap();
    // The gap before it may hold something by now.
    txn.write(640 + 61, &[2; 1]).unwrap();
    txn.write(640 + 64, &[2; 1]).unwrap();
    txn.write(640 + 5000, &[3; 1]).unwrap();
    assert_eq!(runs(&txn.buffer, txn.written_end).len(), 3);
}
