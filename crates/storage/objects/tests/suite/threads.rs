//! Many threads on one container.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hyperslab_objects::{Change, Condition, Error, Fetch, Phase, Store, Update};

use super::{DKEY, OBJECT, Subject, Test, get, update, update_at};

pub(super) const TESTS: &[(&str, Test)] = &[
    ("allocations_never_collide", allocations_never_collide),
    ("allocations_go_on_after_opening_again", allocations_go_on_after_opening_again),
    ("several_akeys_change_together", several_akeys_change_together),
    ("records_change_together", records_change_together),
    ("a_counter_is_shared", a_counter_is_shared),
    ("threads_write_and_read_their_own", threads_write_and_read_their_own),
];

fn allocations_never_collide(subject: &Subject) {
    let store = subject.create();
    let take = || (1..20u64).flat_map(|count| store.allocate(count).unwrap()).collect::<Vec<u64>>();
    let all: Vec<Vec<u64>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let distinct: BTreeSet<u64> = all.iter().flatten().copied().collect();
    assert_eq!(distinct.len(), 4 * 190);
    assert!(*distinct.first().unwrap() >= 2);
}

fn allocations_go_on_after_opening_again(subject: &Subject) {
    let mut store = subject.create();
    let mut end = 2;
    for count in [1, 10, 100_000, 3] {
        let taken = store.allocate(count).unwrap();
        assert!(taken.start >= end && taken.end == taken.start + count, "{taken:?} after {end}");
        end = taken.end;
        update(&*store, &[Change::Single(b"last", &end.to_le_bytes())]).unwrap();
        store.flush().unwrap();
        store = subject.reopen(store);
    }
    let answer = store.allocate(u64::MAX);
    assert!(matches!(answer, Err(Error::TooLarge(_))), "{answer:?}");
}

/// Runs readers while a writer works, and some flushes between.
fn while_reading(store: &dyn Store, rounds: u32, write: impl Fn(u32) + Sync, read: impl Fn() + Sync) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    read();
                }
            });
        }
        scope.spawn(|| {
            for round in 0..rounds {
                write(round);
                if round % 16 == 15 {
                    store.flush().unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

fn several_akeys_change_together(subject: &Subject) {
    let store = subject.create();
    let large = |round: u32| vec![round as u8; 6_000];
    let write = |round: u32| {
        let value = large(round);
        let changes = [
            Change::Single(b"a", &value[..10]),
            Change::Single(b"b", &value),
            Change::Single(b"c", &value[..1]),
        ];
        update(&*store, &changes).unwrap();
    };
    write(0);
    let read = || {
        let values = store.get(OBJECT, DKEY, &[b"a", b"b", b"c"]).unwrap();
        let firsts: BTreeSet<u8> = values.iter().flatten().flatten().copied().collect();
        assert_eq!(firsts.len(), 1, "values of two updates");
    };
    while_reading(&*store, 100, write, read);
}

fn records_change_together(subject: &Subject) {
    let store = subject.create();
    let write = |round: u32| {
        let bytes = vec![round as u8; 40_000];
        update(&*store, &[Change::Records { akey: b"r", record_size: 4, start: 0, bytes: &bytes }]).unwrap();
    };
    write(0);
    let read = || {
        let mut into = vec![0; 40_000];
        super::fetch(&*store, b"r", 4, 0, &mut into).unwrap();
        assert!(into.iter().all(|byte| *byte == into[0]), "records of two updates");
    };
    while_reading(&*store, 100, write, read);
}

fn a_counter_is_shared(subject: &Subject) {
    let store = subject.create();
    let first = [Change::Single(b"n", &0u32.to_le_bytes())];
    update(&*store, &first).unwrap();
    store.flush().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|_| increment(&*store)));
        }
    });
    assert_eq!(get(&*store, b"n").unwrap(), 40u32.to_le_bytes());
}

/// Adds one, however often others are faster.
pub(crate) fn increment(store: &dyn Store) {
    loop {
        let old = get(store, b"n").unwrap();
        let new = (u32::from_le_bytes(old.as_slice().try_into().unwrap()) + 1).to_le_bytes();
        let update = Update {
            object: OBJECT,
            dkey: DKEY,
            changes: &[Change::Single(b"n", &new)],
            conditions: &[Condition::Equals(b"n", &old)],
            phase: Phase::Link,
        };
        match store.update_now(&update) {
            Ok(()) => return,
            Err(Error::Condition(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn threads_write_and_read_their_own(subject: &Subject) {
    let store = subject.create();
    let work = |thread: u8| {
        for round in 0..30u8 {
            let dkey = [thread, round % 5];
            let bytes = vec![thread ^ round; 9_000 + usize::from(round)];
            let changes = [
                Change::Punch(b"r"),
                Change::Records { akey: b"r", record_size: 1, start: 7, bytes: &bytes },
                Change::Single(b"v", &bytes[..20]),
            ];
            update_at(&*store, (OBJECT, &dkey), &changes, &[]).unwrap();
            if round % 8 == 7 {
                store.flush().unwrap();
            }
            let mut into = vec![0; bytes.len()];
            let fetch =
                Fetch { object: OBJECT, dkey: &dkey, akey: b"r", record_size: 1, start: 7, into: &mut into };
            store.fetch(&mut [fetch]).unwrap();
            assert!(into == bytes);
        }
    };
    thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    assert_eq!(super::dkeys(&*store).len(), 20);
}
