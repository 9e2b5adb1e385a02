//! Keys: their order, pages of them, and how they go.

use hyperslab_objects::{Anchor, Change, ObjectId, Page, Phase, Store};

use super::{DKEY, OBJECT, ODD, OTHER, Subject, Test, akeys, dkeys, get, letters, update, update_at};

pub(super) const TESTS: &[(&str, Test)] = &[
    ("keys_are_any_bytes_and_stay_in_order", keys_are_any_bytes_and_stay_in_order),
    ("keys_do_not_mix", keys_do_not_mix),
    ("pages_go_on_where_the_last_ended", pages_go_on_where_the_last_ended),
    ("anchors_lead_to_each_key_once", anchors_lead_to_each_key_once),
    ("listings_see_what_waits", listings_see_what_waits),
    ("the_last_akey_takes_the_dkey", the_last_akey_takes_the_dkey),
    ("punching_a_dkey_takes_its_akeys_only", punching_a_dkey_takes_its_akeys_only),
    ("punching_an_object_takes_its_dkeys_only", punching_an_object_takes_its_dkeys_only),
    ("a_punched_object_begins_anew", a_punched_object_begins_anew),
    ("objects_are_listed_once", objects_are_listed_once),
    ("many_keys_of_one_object", many_keys_of_one_object),
];

fn keys_are_any_bytes_and_stay_in_order(subject: &Subject) {
    let mut store = subject.create();
    for dkey in ODD.into_iter().rev() {
        for akey in ODD {
            update_at(&*store, (OBJECT, dkey), &[Change::Single(akey, &[dkey, b"|", akey].concat())], &[])
                .unwrap();
        }
    }
    for _ in 0..2 {
        assert_eq!(dkeys(&*store), ODD);
        for dkey in ODD {
            assert_eq!(store.akeys(OBJECT, dkey, b"", 100).unwrap(), ODD, "{}", dkey.escape_ascii());
            let values = store.get(OBJECT, dkey, &ODD).unwrap();
            for (akey, value) in ODD.into_iter().zip(values) {
                assert_eq!(value.unwrap(), [dkey, b"|", akey].concat());
            }
        }
        store = subject.reopen(store);
    }
}

fn keys_do_not_mix(subject: &Subject) {
    let store = subject.create();
    update_at(&*store, (OBJECT, b"ab"), &[Change::Single(b"c", b"1")], &[]).unwrap();
    update_at(&*store, (OBJECT, b"a"), &[Change::Single(b"bc", b"2")], &[]).unwrap();
    update_at(&*store, (OTHER, b"a"), &[Change::Single(b"bc", b"3")], &[]).unwrap();
    store.flush().unwrap();
    assert_eq!(store.get(OBJECT, b"ab", &[b"c", b"bc"]).unwrap(), [Some(b"1".to_vec()), None]);
    assert_eq!(store.get(OBJECT, b"a", &[b"c", b"bc"]).unwrap(), [None, Some(b"2".to_vec())]);
    assert_eq!(store.get(OTHER, b"a", &[b"bc"]).unwrap(), [Some(b"3".to_vec())]);
    store.punch_dkey(OBJECT, b"a", Phase::Removal).unwrap();
    assert_eq!(dkeys(&*store), [b"ab"]);
}

/// All keys in pages of some length.
fn paged(page: impl Fn(&[u8]) -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let (mut all, mut anchor) = (Vec::new(), Vec::new());
    loop {
        let keys = page(&anchor);
        let Some(last) = keys.last() else { return all };
        anchor = [last.as_slice(), b"\0"].concat();
        all.extend(keys);
    }
}

/// All items of an enumeration, in the order of the engine.
fn anchored<T>(page: impl Fn(Option<&Anchor>) -> Page<T>) -> Vec<T> {
    let (mut all, mut anchor) = (Vec::new(), None);
    loop {
        let page = page(anchor.as_ref());
        all.extend(page.items);
        match page.next {
            Some(next) => anchor = Some(next),
            None => return all,
        }
    }
}

fn anchors_lead_to_each_key_once(subject: &Subject) {
    let store = subject.create();
    let keys: Vec<Vec<u8>> = (1..=100u8).map(|i| vec![i, 0, i]).collect();
    for key in &keys {
        update_at(&*store, (OBJECT, key), &[Change::Single(b"a", b"v")], &[]).unwrap();
        update(&*store, &[Change::Single(key, b"v")]).unwrap();
    }
    store.punch_dkey(OBJECT, &keys[7], Phase::Removal).unwrap();
    for count in [1, 7, 99, 1000] {
        let mut dkeys = anchored(|after| store.list_dkeys(OBJECT, after, count).unwrap());
        let mut akeys = anchored(|after| store.list_akeys(OBJECT, DKEY, after, count).unwrap());
        dkeys.sort();
        akeys.sort();
        assert_eq!(akeys, keys, "pages of {count}");
        assert_eq!(dkeys.len(), 100, "pages of {count}");
        assert!(dkeys.contains(&DKEY.to_vec()) && !dkeys.contains(&keys[7]));
        store.flush().unwrap();
    }
}

fn pages_go_on_where_the_last_ended(subject: &Subject) {
    let store = subject.create();
    for dkey in ODD {
        let changes: Vec<Change<'_>> = ODD.iter().map(|akey| Change::Single(akey, b"v")).collect();
        update_at(&*store, (OBJECT, dkey), &changes, &[]).unwrap();
    }
    for count in [1, 2, 4, 14, 15, 16] {
        assert_eq!(paged(|from| store.dkeys(OBJECT, from, count).unwrap()), ODD, "pages of {count}");
        assert_eq!(paged(|from| store.akeys(OBJECT, b"\0", from, count).unwrap()), ODD, "pages of {count}");
        store.flush().unwrap();
    }
    assert_eq!(store.dkeys(OBJECT, b"\x01\x05", 2).unwrap(), [b"\x02".as_slice(), b"\x02\x01"]);
    assert_eq!(store.akeys(OBJECT, b"/", b"b", 2).unwrap(), [b"\xff".as_slice(), b"\xff\xff"]);
    assert!(store.dkeys(OBJECT, b"", 0).unwrap().is_empty());
}

fn listings_see_what_waits(subject: &Subject) {
    let store = subject.create();
    for dkey in [b"a", b"c", b"e", b"g"] {
        update_at(&*store, (OBJECT, dkey), &[Change::Single(b"1", b""), Change::Single(b"3", b"")], &[])
            .unwrap();
    }
    store.flush().unwrap();
    update_at(&*store, (OBJECT, b"b"), &[Change::Single(b"1", b"")], &[]).unwrap();
    update_at(&*store, (OBJECT, b"c"), &[Change::Single(b"2", b""), Change::Punch(b"3")], &[]).unwrap();
    update_at(&*store, (OBJECT, b"e"), &[Change::Punch(b"1"), Change::Punch(b"3")], &[]).unwrap();
    store.punch_dkey(OBJECT, b"a", Phase::Removal).unwrap();
    for _ in 0..2 {
        assert_eq!(dkeys(&*store), [b"b", b"c", b"g"]);
        assert_eq!(store.dkeys(OBJECT, b"", 1).unwrap(), [b"b"]);
        assert_eq!(store.dkeys(OBJECT, b"d", 1).unwrap(), [b"g"]);
        assert_eq!(store.akeys(OBJECT, b"c", b"", 10).unwrap(), [b"1", b"2"]);
        assert!(store.akeys(OBJECT, b"e", b"", 10).unwrap().is_empty());
        store.flush().unwrap();
    }
}

fn the_last_akey_takes_the_dkey(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[Change::Single(b"a", b"1"), letters(b"b", 0, "x")]).unwrap();
    store.flush().unwrap();
    update(&*store, &[Change::Punch(b"a")]).unwrap();
    assert_eq!(dkeys(&*store), [DKEY]);
    update(&*store, &[Change::Punch(b"b")]).unwrap();
    assert!(dkeys(&*store).is_empty());
    let store = subject.reopen(store);
    assert!(dkeys(&*store).is_empty());
    assert!(akeys(&*store).is_empty());
}

fn fill(store: &dyn Store, object: ObjectId) {
    for dkey in ODD {
        update_at(store, (object, dkey), &[Change::Single(b"a", dkey), letters(b"b", 3, "xyz")], &[])
            .unwrap();
    }
}

fn punching_a_dkey_takes_its_akeys_only(subject: &Subject) {
    let mut store = subject.create();
    fill(&*store, OBJECT);
    for dkey in ODD {
        store.punch_dkey(OBJECT, dkey, Phase::Removal).unwrap();
        let left: Vec<&[u8]> = ODD.into_iter().filter(|other| *other > dkey).collect();
        assert_eq!(dkeys(&*store), left);
        store = subject.reopen(store);
        assert_eq!(dkeys(&*store), left);
        assert_eq!(store.size(OBJECT, dkey, b"b").unwrap(), None);
    }
}

fn punching_an_object_takes_its_dkeys_only(subject: &Subject) {
    let mut store = subject.create();
    let (before, after) = (ObjectId { high: 7, low: 0 }, OTHER);
    for object in [before, OBJECT, after] {
        fill(&*store, object);
    }
    store.flush().unwrap();
    update_at(&*store, (OBJECT, b"new"), &[Change::Single(b"a", b"1")], &[]).unwrap();
    store.punch_object(OBJECT, Phase::Removal).unwrap();
    for _ in 0..2 {
        assert!(dkeys(&*store).is_empty());
        assert_eq!(super::read(&*store, b"b", 0, 9), ".........");
        assert_eq!(store.dkeys(before, b"", 100).unwrap(), ODD);
        assert_eq!(store.dkeys(after, b"", 100).unwrap(), ODD);
        store = subject.reopen(store);
    }
}

fn a_punched_object_begins_anew(subject: &Subject) {
    let store = subject.create();
    update(&*store, &[letters(b"b", 3, "xyz")]).unwrap();
    store.flush().unwrap();
    store.punch_object(OBJECT, Phase::Removal).unwrap();
    update(&*store, &[Change::Single(b"a", b"new"), letters(b"b", 5, "Z")]).unwrap();
    let store = subject.reopen(store);
    assert_eq!(get(&*store, b"a").unwrap(), b"new");
    assert_eq!(super::read(&*store, b"b", 0, 8), ".....Z..");
}

fn objects_are_listed_once(subject: &Subject) {
    let store = subject.create();
    let ids: Vec<ObjectId> = (0..25u64).map(|i| ObjectId { high: (i % 3) << 32, low: i * 7 }).collect();
    for id in &ids {
        fill(&*store, *id);
    }
    update_at(&*store, (ids[3], b"big"), &[letters(b"r", 0, &"x".repeat(5 << 20))], &[]).unwrap();
    store.punch_object(ids[4], Phase::Removal).unwrap();
    let mut right: Vec<ObjectId> = ids.iter().copied().filter(|id| *id != ids[4]).collect();
    right.sort();
    for _ in 0..2 {
        let mut found = anchored(|after| store.list_objects(after, 7).unwrap());
        found.sort();
        assert_eq!(found, right);
        store.flush().unwrap();
    }
}

fn many_keys_of_one_object(subject: &Subject) {
    let store = subject.create();
    let keys: Vec<[u8; 8]> =
        (0..5_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).collect();
    for (i, key) in keys.iter().enumerate() {
        update_at(&*store, (OBJECT, key), &[Change::Single(b"a", key)], &[]).unwrap();
        if i % 2_500 == 0 {
            store.flush().unwrap();
        }
    }
    let mut right: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
    right.sort();
    for _ in 0..2 {
        assert!(paged(|from| store.dkeys(OBJECT, from, 700).unwrap()) == right);
        store.flush().unwrap();
    }
    store.punch_object(OBJECT, Phase::Removal).unwrap();
    store.flush().unwrap();
    assert!(dkeys(&*store).is_empty());
}
