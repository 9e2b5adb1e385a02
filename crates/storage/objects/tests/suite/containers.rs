//! Containers, and what outlives a handle.

use std::sync::Arc;

use hyperslab_objects::{Change, ContainerId, Error, Mode, Phase, Update};

use super::{DKEY, OBJECT, Subject, Test, get, letters, read, update};

pub(super) const TESTS: &[(&str, Test)] = &[
    ("containers_are_made_once", containers_are_made_once),
    ("containers_are_listed_and_destroyed", containers_are_listed_and_destroyed),
    ("a_container_made_anew_is_empty", a_container_made_anew_is_empty),
    ("a_reader_changes_nothing", a_reader_changes_nothing),
    ("two_handles_see_what_was_flushed", two_handles_see_what_was_flushed),
    ("phases_all_arrive", phases_all_arrive),
];

fn containers_are_made_once(subject: &Subject) {
    let missing = subject.pool.open(subject.id, Mode::ReadWrite);
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
    let store = subject.create();
    let again = subject.pool.create(subject.id);
    assert!(matches!(again, Err(Error::Exists(_))), "{again:?}");
    update(&*store, &[Change::Single(b"a", b"1")]).unwrap();
    assert_eq!(get(&*subject.reopen(store), b"a").unwrap(), b"1");
}

fn containers_are_listed_and_destroyed(subject: &Subject) {
    let other = ContainerId::from_name(&format!("another one than {}", subject.id));
    let ours = || -> Vec<ContainerId> {
        let all = subject.pool.list().unwrap();
        assert!(all.is_sorted());
        all.into_iter().filter(|id| [other, subject.id].contains(id)).collect()
    };
    assert!(ours().is_empty());
    let store = subject.create();
    update(&*store, &[Change::Single(b"a", b"1"), letters(b"r", 0, &"x".repeat(100_000))]).unwrap();
    store.flush().unwrap();
    drop(store);
    drop(subject.pool.create(other).unwrap());
    let mut both = [subject.id, other];
    both.sort();
    assert_eq!(ours(), both);
    subject.pool.destroy(other).unwrap();
    assert_eq!(ours(), [subject.id]);
    let twice = subject.pool.destroy(other);
    assert!(matches!(twice, Err(Error::NotFound(_))), "{twice:?}");
    let gone = subject.pool.open(other, Mode::Read);
    assert!(matches!(gone, Err(Error::NotFound(_))), "{gone:?}");
    subject.pool.destroy(subject.id).unwrap();
    assert!(ours().is_empty());
}

fn a_container_made_anew_is_empty(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[Change::Single(b"a", b"1"), letters(b"r", 0, &"x".repeat(100_000))]).unwrap();
    store.flush().unwrap();
    drop(store);
    subject.pool.destroy(subject.id).unwrap();
    let store = subject.create();
    assert_eq!(get(&*store, b"a"), None);
    assert_eq!(read(&*store, b"r", 0, 4), "....");
    assert!(store.all_objects().unwrap().is_empty());
}

fn a_reader_changes_nothing(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[Change::Single(b"a", b"1"), letters(b"r", 0, &"x".repeat(10_000))]).unwrap();
    store.flush().unwrap();
    drop(store);
    let reader = subject.pool.open(subject.id, Mode::Read).unwrap();
    assert_eq!(get(&*reader, b"a").unwrap(), b"1");
    assert_eq!(read(&*reader, b"r", 9_998, 4), "xx..");
    let change = Update {
        object: OBJECT,
        dkey: DKEY,
        changes: &[Change::Single(b"a", b"2")],
        conditions: &[],
        phase: Phase::Link,
    };
    let answers = [
        reader.update(&change),
        reader.update_now(&change),
        reader.update_many(&[change]),
        reader.punch_dkey(OBJECT, DKEY, Phase::Removal),
        reader.punch_object(OBJECT, Phase::Removal),
        reader.allocate(1).map(drop),
    ];
    for answer in answers {
        assert!(matches!(answer, Err(Error::Refused(_))), "{answer:?}");
    }
    reader.refresh().unwrap();
    reader.flush().unwrap();
    assert_eq!(get(&*reader, b"a").unwrap(), b"1");
}

fn two_handles_see_what_was_flushed(subject: &Subject) {
    let first = subject.create();
    let second = subject.pool.open(subject.id, Mode::ReadWrite).unwrap();
    update(&*first, &[Change::Single(b"a", b"1"), letters(b"r", 0, "abc")]).unwrap();
    first.flush().unwrap();
    second.refresh().unwrap();
    assert_eq!(get(&*second, b"a").unwrap(), b"1");
    assert_eq!(read(&*second, b"r", 0, 4), "abc.");
    update(&*second, &[Change::Single(b"a", b"2"), letters(b"r", 2, "CD")]).unwrap();
    second.flush().unwrap();
    first.refresh().unwrap();
    assert_eq!(get(&*first, b"a").unwrap(), b"2");
    assert_eq!(read(&*first, b"r", 0, 5), "abCD.");
    drop(first);
    let third: Arc<_> = subject.pool.open(subject.id, Mode::Read).unwrap();
    assert_eq!(get(&*third, b"a").unwrap(), b"2");
}

fn phases_all_arrive(subject: &Subject) {
    let store = subject.create();
    let phases = [Phase::Link, Phase::Removal, Phase::Content, Phase::Description];
    for (i, phase) in phases.into_iter().enumerate() {
        let changes = [Change::Single(b"a", &[i as u8])];
        // Each phase changes a dkey of its own, and one that all share: the last change wins there.
        for dkey in [&[i as u8][..], DKEY] {
            store
                .update(&Update { object: OBJECT, dkey, changes: &changes, conditions: &[], phase })
                .unwrap();
        }
    }
    let store = subject.reopen(store);
    assert_eq!(get(&*store, b"a").unwrap(), [3]);
    for i in 0..4 {
        assert_eq!(store.get(OBJECT, &[i], &[b"a"]).unwrap(), [Some(vec![i])]);
    }
}
