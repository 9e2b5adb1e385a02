//! Single values and conditions.

use hyperslab_objects::{Change, Condition, Error, Phase, Size, Update};

use super::{DKEY, OBJECT, ODD, OTHER, Subject, Test, akeys, dkeys, get, letters, update, update_if};

pub(super) const TESTS: &[(&str, Test)] = &[
    ("absent_keys_have_no_value_and_no_size", absent_keys_have_no_value_and_no_size),
    ("single_values_are_replaced_whole", single_values_are_replaced_whole),
    ("values_are_any_bytes_of_any_length", values_are_any_bytes_of_any_length),
    ("conditions_hold_or_nothing_changes", conditions_hold_or_nothing_changes),
    ("conditions_hold_after_a_flush", conditions_hold_after_a_flush),
    ("update_now_compares_and_swaps", update_now_compares_and_swaps),
    ("update_now_leaves_what_waits", update_now_leaves_what_waits),
    ("changes_apply_in_order", changes_apply_in_order),
    ("a_wrong_change_undoes_the_update", a_wrong_change_undoes_the_update),
    ("many_are_updated_and_read_at_once", many_are_updated_and_read_at_once),
    ("what_is_too_large_is_refused", what_is_too_large_is_refused),
];

fn absent_keys_have_no_value_and_no_size(subject: &Subject) {
    let store = subject.create();
    assert_eq!(get(&*store, b"a"), None);
    assert_eq!(store.size(OBJECT, DKEY, b"a").unwrap(), None);
    assert!(dkeys(&*store).is_empty());
    assert!(store.all_objects().unwrap().is_empty());
    update(&*store, &[Change::Punch(b"a")]).unwrap();
    store.punch_dkey(OBJECT, DKEY, Phase::Removal).unwrap();
    store.punch_object(OBJECT, Phase::Removal).unwrap();
    store.flush().unwrap();
    assert!(store.all_objects().unwrap().is_empty());
}

fn single_values_are_replaced_whole(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[Change::Single(b"a", b"long value")]).unwrap();
    update(&*store, &[Change::Single(b"a", b"short")]).unwrap();
    assert_eq!(get(&*store, b"a").unwrap(), b"short");
    assert_eq!(store.size(OBJECT, DKEY, b"a").unwrap(), Some(Size::Single(5)));
    let store = subject.reopen(store);
    assert_eq!(get(&*store, b"a").unwrap(), b"short");
}

fn values_are_any_bytes_of_any_length(subject: &Subject) {
    let mut store = subject.create();
    let large: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    let middle = &large[..70_001];
    let lengths = [0, 1, 255, 256, 4095, 4096, 4097];
    let values: Vec<&[u8]> =
        ODD.into_iter().chain(lengths.map(|end| &large[..end])).chain([middle, &large]).collect();
    for (i, value) in values.iter().enumerate() {
        update(&*store, &[Change::Single(&[i as u8], value)]).unwrap();
    }
    for _ in 0..2 {
        for (i, value) in values.iter().enumerate() {
            assert!(get(&*store, &[i as u8]).unwrap() == *value, "value {i}");
            let size = store.size(OBJECT, DKEY, &[i as u8]).unwrap();
            assert_eq!(size, Some(Size::Single(value.len() as u64)));
        }
        store = subject.reopen(store);
    }
}

fn conditions_hold_or_nothing_changes(subject: &Subject) {
    let store = subject.create();
    conditions(subject, &*store, || {});
}

fn conditions_hold_after_a_flush(subject: &Subject) {
    let store = subject.create();
    conditions(subject, &*store, || store.flush().unwrap());
}

fn conditions(_: &Subject, store: &dyn hyperslab_objects::Store, between: impl Fn()) {
    let fails = |change, condition| {
        let answer = update_if(store, &[change], &[condition]);
        assert!(matches!(answer, Err(Error::Condition(_))), "{condition:?}: {answer:?}");
        between();
    };
    let works = |change, condition| {
        update_if(store, &[change], &[condition]).unwrap();
        between();
    };
    fails(Change::Single(b"a", b"1"), Condition::Present(b"a"));
    fails(Change::Single(b"a", b"1"), Condition::Equals(b"a", b""));
    assert_eq!(get(store, b"a"), None);
    works(Change::Single(b"a", b""), Condition::Absent(b"a"));
    fails(Change::Single(b"a", b"2"), Condition::Absent(b"a"));
    fails(Change::Single(b"a", b"2"), Condition::Equals(b"a", b"2"));
    works(Change::Single(b"a", b"\0\0"), Condition::Equals(b"a", b""));
    fails(Change::Single(b"a", b"2"), Condition::Equals(b"a", b"\0"));
    works(Change::Single(b"b", b"x"), Condition::Present(b"a"));
    fails(Change::Punch(b"a"), Condition::Absent(b"b"));
    works(letters(b"r", 3, "xyz"), Condition::Absent(b"r"));
    works(letters(b"r", 3, "XYZ"), Condition::Present(b"r"));
    fails(Change::Punch(b"r"), Condition::Equals(b"r", b"XYZ"));
    works(Change::Punch(b"a"), Condition::Present(b"a"));
    fails(Change::Punch(b"b"), Condition::Present(b"a"));
    assert_eq!(akeys(store), [b"b", b"r"]);
}

fn now<'a>(changes: &'a [Change<'a>], conditions: &'a [Condition<'a>]) -> Update<'a> {
    Update { object: OBJECT, dkey: DKEY, changes, conditions, phase: Phase::Link }
}

fn update_now_compares_and_swaps(subject: &Subject) {
    let store = subject.create();
    store.update_now(&now(&[Change::Single(b"n", b"1")], &[Condition::Absent(b"n")])).unwrap();
    let again = store.update_now(&now(&[Change::Single(b"n", b"1")], &[Condition::Absent(b"n")]));
    assert!(matches!(again, Err(Error::Condition(_))), "{again:?}");
    store.update_now(&now(&[Change::Single(b"n", b"2")], &[Condition::Equals(b"n", b"1")])).unwrap();
    let stale = store.update_now(&now(&[Change::Single(b"n", b"3")], &[Condition::Equals(b"n", b"1")]));
    assert!(matches!(stale, Err(Error::Condition(_))), "{stale:?}");
    assert_eq!(get(&*store, b"n").unwrap(), b"2");
}

fn update_now_leaves_what_waits(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[Change::Single(b"waits", b"1")]).unwrap();
    super::update_at(&*store, (OTHER, DKEY), &[letters(b"r", 0, "abc")], &[]).unwrap();
    store.update_now(&now(&[Change::Single(b"n", b"1")], &[Condition::Present(b"waits")])).unwrap();
    let store = subject.reopen(store);
    assert_eq!(get(&*store, b"n").unwrap(), b"1");
    assert_eq!(get(&*store, b"waits").unwrap(), b"1");
    assert!(store.size(OTHER, DKEY, b"r").unwrap().is_some());
}

fn changes_apply_in_order(subject: &Subject) {
    let store = subject.create();
    let changes = [
        Change::Single(b"a", b"1"),
        Change::Punch(b"a"),
        letters(b"a", 0, "abcdef"),
        Change::PunchRecords { akey: b"a", range: (2..4).into() },
        letters(b"a", 3, "D"),
    ];
    update(&*store, &changes).unwrap();
    assert_eq!(super::read(&*store, b"a", 0, 8), "ab.Def..");
    let store = subject.reopen(store);
    assert_eq!(super::read(&*store, b"a", 0, 8), "ab.Def..");
}

fn a_wrong_change_undoes_the_update(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[Change::Single(b"s", b"1")]).unwrap();
    let answer = update(&*store, &[Change::Single(b"t", b"1"), letters(b"s", 0, "abc")]);
    assert!(matches!(answer, Err(Error::Condition(_))), "{answer:?}");
    assert_eq!(akeys(&*store), [b"s"]);
}

fn many_are_updated_and_read_at_once(subject: &Subject) {
    let store = subject.create();
    let keys: Vec<[u8; 4]> = (0..300u32).map(u32::to_be_bytes).collect();
    let changes: Vec<[Change<'_>; 1]> = keys.iter().map(|key| [Change::Single(b"value", key)]).collect();
    let updates: Vec<Update<'_>> = keys
        .iter()
        .zip(&changes)
        .map(|(key, changes)| Update {
            object: OBJECT,
            dkey: key,
            changes,
            conditions: &[],
            phase: Phase::Content,
        })
        .collect();
    store.update_many(&updates).unwrap();
    let mut wanted: Vec<(_, &[u8], &[u8])> =
        keys.iter().map(|key| (OBJECT, &key[..], &b"value"[..])).collect();
    wanted.push((OTHER, b"nothing", b"value"));
    for _ in 0..2 {
        let values = store.get_many(&wanted).unwrap();
        let found: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
        let right: Vec<Option<&[u8]>> = keys.iter().map(|key| Some(&key[..])).chain([None]).collect();
        assert_eq!(found, right);
        store.flush().unwrap();
    }
}

fn what_is_too_large_is_refused(subject: &Subject) {
    let store = subject.create();
    let key = vec![b'k'; 40 << 10];
    let answers = [
        update(&*store, &[Change::Single(&key, b"1")]),
        super::update_at(&*store, (OBJECT, &key), &[Change::Single(b"a", b"1")], &[]),
        update(&*store, &[letters(b"a", u64::MAX - 1, "abc")]),
    ];
    for answer in answers {
        assert!(matches!(answer, Err(Error::TooLarge(_))), "{answer:?}");
    }
    assert!(dkeys(&*store).is_empty());
}
