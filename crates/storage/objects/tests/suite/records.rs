//! Arrays of records with holes.

use hyperslab_objects::{Change, Error, Fetch, Size};

use super::{DKEY, OBJECT, OTHER, Subject, Test, akeys, dkeys, fetch, get, letters, read, update};

pub(super) const TESTS: &[(&str, Test)] = &[
    ("absent_records_leave_the_buffer", absent_records_leave_the_buffer),
    ("records_overwrite_each_other", records_overwrite_each_other),
    ("overwritten_after_a_flush", overwritten_after_a_flush),
    ("punched_records_are_absent", punched_records_are_absent),
    ("an_array_without_records_is_absent", an_array_without_records_is_absent),
    ("an_akey_keeps_its_kind", an_akey_keeps_its_kind),
    ("a_punched_akey_may_change_its_kind", a_punched_akey_may_change_its_kind),
    (
        "a_punched_akey_that_nobody_looked_at_may_change_its_kind",
        a_punched_akey_that_nobody_looked_at_may_change_its_kind,
    ),
    ("large_arrays_come_back", large_arrays_come_back),
    ("small_writes_into_a_large_array", small_writes_into_a_large_array),
    ("records_far_apart", records_far_apart),
    ("many_arrays_are_read_at_once", many_arrays_are_read_at_once),
    ("records_of_odd_sizes", records_of_odd_sizes),
];

fn size(store: &dyn hyperslab_objects::Store) -> Option<Size> {
    store.size(OBJECT, DKEY, b"a").unwrap()
}

fn absent_records_leave_the_buffer(subject: &Subject) {
    let mut store = subject.create();
    assert_eq!(read(&*store, b"a", 0, 4), "....");
    update(&*store, &[letters(b"a", 2, "cd"), letters(b"a", 6, "g")]).unwrap();
    for _ in 0..2 {
        assert_eq!(read(&*store, b"a", 0, 9), "..cd..g..");
        assert_eq!(read(&*store, b"a", 3, 2), "d.");
        assert_eq!(read(&*store, b"a", 4, 2), "..");
        assert_eq!(read(&*store, b"a", 100, 2), "..");
        assert_eq!(size(&*store), Some(Size::Records { record_size: 1, end: 7 }));
        store = subject.reopen(store);
    }
}

fn records_overwrite_each_other(subject: &Subject) {
    let store = subject.create();
    for (start, text) in [(0, "abcdef"), (2, "CD"), (4, "EFGH"), (10, "k"), (8, "IJ"), (0, "A")] {
        update(&*store, &[letters(b"a", start, text)]).unwrap();
    }
    assert_eq!(read(&*store, b"a", 0, 12), "AbCDEFGHIJk.");
    let store = subject.reopen(store);
    assert_eq!(read(&*store, b"a", 0, 12), "AbCDEFGHIJk.");
}

fn overwritten_after_a_flush(subject: &Subject) {
    let mut store = subject.create();
    let mut right = *b"................";
    for (start, text) in [(0, "abcdef"), (2, "CD"), (4, "EFGH"), (10, "k"), (8, "IJ"), (0, "A"), (3, "*")] {
        update(&*store, &[letters(b"a", start, text)]).unwrap();
        right[start as usize..][..text.len()].copy_from_slice(text.as_bytes());
        assert_eq!(read(&*store, b"a", 0, 16).as_bytes(), right);
        store = subject.reopen(store);
        assert_eq!(read(&*store, b"a", 0, 16).as_bytes(), right);
    }
}

fn punched_records_are_absent(subject: &Subject) {
    let mut store = subject.create();
    update(&*store, &[letters(b"a", 0, "abcdefgh")]).unwrap();
    for (range, text, end) in [(2..4, "ab..efgh", 8), (6..100, "ab..ef..", 6), (0..1, ".b..ef..", 6)] {
        update(&*store, &[Change::PunchRecords { akey: b"a", range: range.into() }]).unwrap();
        assert_eq!(read(&*store, b"a", 0, 8), text);
        assert_eq!(size(&*store), Some(Size::Records { record_size: 1, end }));
        store = subject.reopen(store);
        assert_eq!(read(&*store, b"a", 0, 8), text);
        assert_eq!(size(&*store), Some(Size::Records { record_size: 1, end }));
    }
    let backwards = hyperslab_objects::Range64 { start: 5, end: 1 };
    update(&*store, &[Change::PunchRecords { akey: b"a", range: backwards }]).unwrap();
    assert_eq!(read(&*store, b"a", 0, 8), ".b..ef..");
    update(&*store, &[letters(b"a", 2, "CD")]).unwrap();
    assert_eq!(read(&*store, b"a", 0, 8), ".bCDef..");
}

fn an_array_without_records_is_absent(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[letters(b"a", 5, "")]).unwrap();
    assert_eq!(size(&*store), None);
    update(&*store, &[letters(b"a", 5, "abc")]).unwrap();
    store.flush().unwrap();
    update(&*store, &[Change::PunchRecords { akey: b"a", range: (0..u64::MAX).into() }]).unwrap();
    assert_eq!(size(&*store), None);
    assert!(dkeys(&*store).is_empty());
    update(&*store, &[Change::PunchRecords { akey: b"a", range: (0..5).into() }]).unwrap();
    let store = subject.reopen(store);
    assert_eq!(size(&*store), None);
    assert!(dkeys(&*store).is_empty());
}

fn an_akey_keeps_its_kind(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[letters(b"a", 0, "abc"), Change::Single(b"s", b"abc")]).unwrap();
    for _ in 0..2 {
        let four = Change::Records { akey: b"a", record_size: 4, start: 0, bytes: b"abcd" };
        let half = Change::Records { akey: b"h", record_size: 4, start: 0, bytes: b"abcdef" };
        let none = Change::Records { akey: b"h", record_size: 0, start: 0, bytes: b"" };
        let part = Change::PunchRecords { akey: b"s", range: (0..1).into() };
        for change in [Change::Single(b"a", b"1"), letters(b"s", 0, "x"), four, half, none, part] {
            let answer = update(&*store, &[change]);
            assert!(matches!(answer, Err(Error::Condition(_))), "{change:?}: {answer:?}");
        }
        let mut into = [0; 4];
        assert!(matches!(fetch(&*store, b"a", 4, 0, &mut into), Err(Error::Condition(_))));
        assert!(matches!(fetch(&*store, b"s", 1, 0, &mut into), Err(Error::Condition(_))));
        assert!(matches!(fetch(&*store, b"a", 3, 0, &mut into), Err(Error::Condition(_))));
        assert!(matches!(store.get(OBJECT, DKEY, &[b"a"]), Err(Error::Condition(_))));
        assert_eq!(read(&*store, b"a", 0, 4), "abc.");
        assert_eq!(get(&*store, b"s").unwrap(), b"abc");
        store.flush().unwrap();
    }
}

fn a_punched_akey_may_change_its_kind(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[letters(b"a", 0, "abc")]).unwrap();
    store.flush().unwrap();
    update(&*store, &[Change::Punch(b"a")]).unwrap();
    update(&*store, &[Change::Single(b"a", b"1")]).unwrap();
    store.flush().unwrap();
    assert_eq!(get(&*store, b"a").unwrap(), b"1");
    update(&*store, &[Change::Punch(b"a")]).unwrap();
    update(&*store, &[Change::Records { akey: b"a", record_size: 2, start: 1, bytes: b"xy" }]).unwrap();
    let store = subject.reopen(store);
    assert_eq!(akeys(&*store), [b"a"]);
    assert_eq!(size(&*store), Some(Size::Records { record_size: 2, end: 2 }));
    let mut into = *b"....";
    fetch(&*store, b"a", 2, 0, &mut into).unwrap();
    assert_eq!(&into, b"..xy");
}

fn a_punched_akey_that_nobody_looked_at_may_change_its_kind(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[letters(b"a", 0, &"x".repeat(50_000)), Change::Single(b"s", b"1")]).unwrap();
    let store = subject.reopen(store);
    for akey in [b"a", b"s", b"n"] {
        update(&*store, &[Change::Punch(akey)]).unwrap();
    }
    update(&*store, &[Change::Single(b"a", b"2"), letters(b"s", 1, "b")]).unwrap();
    let store = subject.reopen(store);
    assert_eq!(get(&*store, b"a").unwrap(), b"2");
    assert_eq!(read(&*store, b"s", 0, 3), ".b.");
    assert_eq!(akeys(&*store), [b"a", b"s"]);
}

fn pattern(length: usize, salt: usize) -> Vec<u8> {
    (0..length).map(|i| ((i + salt) % 251) as u8).collect()
}

fn large_arrays_come_back(subject: &Subject) {
    let mut store = subject.create();
    let bytes = pattern(9 << 20, 0);
    update(&*store, &[Change::Records { akey: b"a", record_size: 8, start: 100, bytes: &bytes }]).unwrap();
    for _ in 0..2 {
        let mut into = vec![0xee; bytes.len() + 16];
        fetch(&*store, b"a", 8, 99, &mut into).unwrap();
        assert!(
            into[..8] == [0xee; 8]
                && into[8..bytes.len() + 8] == bytes
                && into[bytes.len() + 8..] == [0xee; 8]
        );
        assert_eq!(size(&*store), Some(Size::Records { record_size: 8, end: 100 + (9 << 17) }));
        store = subject.reopen(store);
    }
}

fn small_writes_into_a_large_array(subject: &Subject) {
    let mut store = subject.create();
    let mut right = pattern(6 << 20, 0);
    update(&*store, &[Change::Records { akey: b"a", record_size: 4, start: 0, bytes: &right }]).unwrap();
    for round in 0..3 {
        for at in [0, 1_000, 260_000, 262_143, 262_144, 1_048_570, 1_572_000 - 30] {
            let new = pattern(100, round + 7);
            update(&*store, &[Change::Records { akey: b"a", record_size: 4, start: at, bytes: &new }])
                .unwrap();
            right[at as usize * 4..][..100].copy_from_slice(&new);
        }
        let mut into = vec![0; right.len()];
        fetch(&*store, b"a", 4, 0, &mut into).unwrap();
        assert!(into == right, "round {round}");
        store = subject.reopen(store);
        fetch(&*store, b"a", 4, 0, &mut into).unwrap();
        assert!(into == right, "round {round}, opened again");
    }
}

fn records_far_apart(subject: &Subject) {
    let store = subject.create();
    let far = 1 << 40;
    update(&*store, &[letters(b"a", 1, "a"), letters(b"a", far, "far")]).unwrap();
    let store = subject.reopen(store);
    assert_eq!(read(&*store, b"a", 0, 3), ".a.");
    assert_eq!(read(&*store, b"a", far - 1, 5), ".far.");
    assert_eq!(size(&*store), Some(Size::Records { record_size: 1, end: far + 3 }));
    update(&*store, &[Change::PunchRecords { akey: b"a", range: (2..u64::MAX).into() }]).unwrap();
    assert_eq!(size(&*store), Some(Size::Records { record_size: 1, end: 2 }));
    assert_eq!(read(&*store, b"a", far - 1, 5), ".....");
}

fn many_arrays_are_read_at_once(subject: &Subject) {
    let store = subject.create();
    let arrays: Vec<Vec<u8>> = (0..40).map(|i| pattern(100_000 + i, i)).collect();
    for (i, bytes) in arrays.iter().enumerate() {
        let changes = [Change::Records { akey: b"\0", record_size: 1, start: 0, bytes }];
        super::update_at(&*store, (OTHER, &[i as u8]), &changes, &[]).unwrap();
    }
    for _ in 0..2 {
        let mut buffer: Vec<Vec<u8>> = arrays.iter().map(|bytes| vec![0; bytes.len()]).collect();
        let dkeys: Vec<[u8; 1]> = (0..40).map(|i| [i]).collect();
        let fetches = buffer.iter_mut().zip(&dkeys);
        let mut fetches: Vec<Fetch<'_>> = fetches
            .map(|(into, dkey)| Fetch { object: OTHER, dkey, akey: b"\0", record_size: 1, start: 0, into })
            .collect();
        store.fetch(&mut fetches).unwrap();
        assert!(buffer == arrays);
        store.flush().unwrap();
    }
}

fn records_of_odd_sizes(subject: &Subject) {
    let mut store = subject.create();
    for (i, record_size) in [3usize, 7, 1_000_003, 5_000_000].into_iter().enumerate() {
        let (akey, size) = ([i as u8], record_size as u32);
        let bytes = pattern(3 * record_size, i);
        update(&*store, &[Change::Records { akey: &akey, record_size: size, start: 1, bytes: &bytes }])
            .unwrap();
        let one = pattern(record_size, i + 50);
        update(&*store, &[Change::Records { akey: &akey, record_size: size, start: 2, bytes: &one }])
            .unwrap();
        update(&*store, &[Change::PunchRecords { akey: &akey, range: (3..4).into() }]).unwrap();
        store = subject.reopen(store);
        let mut into = vec![9; 4 * record_size];
        fetch(&*store, &akey, size, 0, &mut into).unwrap();
        let (hole, rest) = into.split_at(record_size);
        assert!(hole.iter().all(|&byte| byte == 9));
        assert!(rest[..record_size] == bytes[..record_size] && rest[record_size..2 * record_size] == one);
        assert!(rest[2 * record_size..].iter().all(|&byte| byte == 9));
    }
}
