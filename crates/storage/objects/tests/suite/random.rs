//! Random changes on an engine and on the memory engine: both must say the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hyperslab_objects::{Change, ContainerId, ObjectId, Phase, Store, memory};

use super::{ODD, Random, Subject, Test, update_at};

pub(super) const TESTS: &[(&str, Test)] = &[
    ("random_changes_are_those_of_memory", random_changes_are_those_of_memory),
    ("random_changes_of_threads_are_those_of_memory", random_changes_of_threads_are_those_of_memory),
    ("random_small_values_are_those_of_memory", random_small_values_are_those_of_memory),
];

const OBJECTS: u64 = 2;
const DKEYS: u64 = 4;
const AKEYS: u64 = 5;

fn seed() -> u64 {
    let seed = std::env::var("HYPERSLAB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_115);
    println!("seed {seed}");
    seed
}

/// Counts when it goes, also in a panic: a caller that waits for the count must not wait for ever.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Threads change objects of their own, and one of them flushes all the time.
fn random_changes_of_threads_are_those_of_memory(subject: &Subject) {
    let (store, seed) = (subject.create(), seed());
    let model = memory::pool().create(ContainerId::from_name("model")).unwrap();
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for part in 0..3 {
            let (store, model, done) = (&store, &model, &done);
            scope.spawn(move || {
                let _done = Done(done);
                let mut random = Random(seed + part);
                for _ in 0..150 {
                    change(&**store, &**model, part, &mut random);
                    if random.below(6) == 0 {
                        same(&**store, &**model, part);
                    }
                }
            });
        }
        scope.spawn(|| {
            while done.load(Ordering::Relaxed) < 3 {
                store.flush().unwrap();
            }
        });
    });
    let store = subject.reopen(store);
    (0..3).for_each(|part| same(&*store, &*model, part));
}

fn random_changes_are_those_of_memory(subject: &Subject) {
    let mut random = Random(seed());
    let model = memory::pool().create(ContainerId::from_name("model")).unwrap();
    let mut store = subject.create();
    for step in 0..600 {
        change(&*store, &*model, 0, &mut random);
        match random.below(20) {
            0 => store.flush().unwrap(),
            1 if step % 3 == 0 => store = subject.reopen(store),
            2..5 => same(&*store, &*model, 0),
            _ => {}
        }
    }
    store = subject.reopen(store);
    same(&*store, &*model, 0);
}

/// dkeys that grow to hundreds of small akeys and shrink again: engines may keep few of them together.
fn random_small_values_are_those_of_memory(subject: &Subject) {
    let mut random = Random(seed());
    let model = memory::pool().create(ContainerId::from_name("model")).unwrap();
    let mut store = subject.create();
    for step in 0..400 {
        // Mostly growing, then mostly shrinking.
        let is_shrinking = step / 50 % 2 == 1;
        let dkey = ODD[random.below(3) as usize];
        let value = vec![step as u8; random.below(60) as usize];
        let akeys: Vec<Vec<u8>> =
            (0..1 + random.below(30)).map(|_| format!("akey {}", random.below(200)).into_bytes()).collect();
        let change = |akey| match is_shrinking {
            true => Change::Punch(akey),
            false => Change::Single(akey, &value),
        };
        let changes: Vec<Change<'_>> = akeys.iter().map(|akey| change(akey)).collect();
        for store in [&store, &model] {
            update_at(&**store, (object(0, 0), dkey), &changes, &[]).unwrap();
            if is_shrinking && step % 25 == 24 {
                store.punch_dkey(object(0, 0), dkey, Phase::Removal).unwrap();
            }
        }
        match random.below(20) {
            0 | 1 => store.flush().unwrap(),
            2 => store = subject.reopen(store),
            3..8 => same(&*store, &*model, 0),
            _ => {}
        }
        let from = akeys[0].as_slice();
        let page = |store: &dyn Store| store.akeys(object(0, 0), dkey, from, 7).unwrap();
        assert_eq!(page(&*store), page(&*model));
    }
    store = subject.reopen(store);
    same(&*store, &*model, 0);
}

fn object(part: u64, i: u64) -> ObjectId {
    ObjectId { high: i, low: 5 + part }
}

fn change(store: &dyn Store, model: &dyn Store, part: u64, random: &mut Random) {
    let (object, dkey) = (object(part, random.below(OBJECTS)), ODD[random.below(DKEYS) as usize]);
    if random.below(60) == 0 {
        store.punch_object(object, Phase::Removal).unwrap();
        return model.punch_object(object, Phase::Removal).unwrap();
    }
    if random.below(30) == 0 {
        store.punch_dkey(object, dkey, Phase::Removal).unwrap();
        return model.punch_dkey(object, dkey, Phase::Removal).unwrap();
    }
    let bytes: Vec<u8> = (0..bytes_count(random)).map(|_| random.below(256) as u8).collect();
    let changes: Vec<Change<'_>> = (0..1 + random.below(3)).map(|_| one(random, &bytes)).collect();
    // Engines may learn an akey's kind with the flush only, unless a caller looked.
    for change in &changes {
        store.size(object, dkey, change.akey()).unwrap();
    }
    let (ours, theirs) =
        (update_at(store, (object, dkey), &changes, &[]), update_at(model, (object, dkey), &changes, &[]));
    assert_eq!(ours.is_ok(), theirs.is_ok(), "{ours:?}, {theirs:?}");
}

fn bytes_count(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.below(10),
        1 => random.below(2_000),
        2 => random.below(20_000),
        _ => random.below(200_000),
    }
}

fn one<'a>(random: &mut Random, bytes: &'a [u8]) -> Change<'a> {
    let akey = ODD[random.below(AKEYS) as usize];
    // Of an akey, mostly the same kind, so that most changes are no mistake.
    let record_size = if akey.len() == 1 { 8 } else { 3 };
    let whole = &bytes[..bytes.len() - bytes.len() % record_size as usize];
    let start = random.below(3) * random.below(40_000);
    match random.below(12) {
        0 => Change::Punch(akey),
        1 | 2 => {
            let end = start + random.below(30_000);
            Change::PunchRecords { akey, range: (start..end).into() }
        }
        3 if akey.len() == 2 => Change::Single(akey, bytes),
        _ => Change::Records { akey, record_size, start, bytes: whole },
    }
}

/// Compares all that can be asked.
fn same(store: &dyn Store, model: &dyn Store, part: u64) {
    for object in (0..OBJECTS).map(|i| object(part, i)) {
        let dkeys = model.dkeys(object, b"", 100).unwrap();
        assert_eq!(store.dkeys(object, b"", 100).unwrap(), dkeys);
        for dkey in &dkeys {
            let akeys = model.akeys(object, dkey, b"", 1000).unwrap();
            assert_eq!(store.akeys(object, dkey, b"", 1000).unwrap(), akeys);
            for akey in &akeys {
                assert_eq!(content(store, object, dkey, akey), content(model, object, dkey, akey));
            }
        }
    }
}

fn content(store: &dyn Store, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Arc<[u8]> {
    use hyperslab_objects::{Fetch, Size};
    match store.size(object, dkey, akey).unwrap().unwrap() {
        Size::Single(_) => store.get(object, dkey, &[akey]).unwrap().remove(0).unwrap().into(),
        Size::Records { record_size, end } => {
            let mut into = vec![0xaa; end as usize * record_size as usize + 2 * record_size as usize];
            store.fetch(&mut [Fetch { object, dkey, akey, record_size, start: 0, into: &mut into }]).unwrap();
            into.into()
        }
    }
}
