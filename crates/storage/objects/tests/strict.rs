//! The engine for tests of callers: what it refuses, and the order of its enumerations.

use hyperslab_objects::{
    Change, Condition, ContainerId, Error, ObjectId, Phase, Store, Update, dkeys_with_prefix, strict,
};

const OBJECT: ObjectId = ObjectId { high: 0, low: 2 };

fn update<'a>(dkey: &'a [u8], changes: &'a [Change<'a>], conditions: &'a [Condition<'a>]) -> Update<'a> {
    Update { object: OBJECT, dkey, changes, conditions, phase: Phase::Content }
}

fn refuses(store: &dyn Store, dkey: &[u8], change: Change<'_>, condition: Option<Condition<'_>>) {
    let conditions: Vec<Condition<'_>> = condition.into_iter().collect();
    let answer = store.update(&update(dkey, &[change], &conditions));
    assert!(matches!(answer, Err(Error::Refused(_))), "{dkey:?} {change:?} {conditions:?}: {answer:?}");
}

#[test]
fn what_daos_lacks_is_refused() {
    let store = strict::pool().create(ContainerId::from_name("refused")).unwrap();
    refuses(&*store, b"", Change::Single(b"a", b"1"), None);
    refuses(&*store, b"d", Change::Single(b"", b"1"), None);
    refuses(&*store, b"d", Change::Single(b"a", b""), None);
    refuses(&*store, b"d", Change::Single(b"a", b"1"), Some(Condition::Absent(b"b")));
    refuses(&*store, b"d", Change::Single(b"a", b"1"), Some(Condition::Equals(b"a", b"0")));
    let both = [update(b"d", &[], &[]), update(b"e", &[], &[])];
    assert!(matches!(store.update_together(&both), Err(Error::Refused(_))));
    store.update(&update(b"d", &[Change::Single(b"a", b"1")], &[Condition::Absent(b"a")])).unwrap();
    store.update_now(&update(b"d", &[Change::Single(b"a", b"2")], &[Condition::Equals(b"a", b"1")])).unwrap();
    assert!(!store.is_atomic() && !store.is_ordered());
}

#[test]
fn keys_come_in_no_order_and_are_sorted_for_those_who_need_it() {
    let store = strict::pool().create(ContainerId::from_name("order")).unwrap();
    let keys: Vec<Vec<u8>> = (0..200u8).map(|i| vec![b'k', i]).collect();
    for key in &keys {
        store.update(&update(key, &[Change::Single(b"a", b"1")], &[])).unwrap();
    }
    store.update(&update(b"other", &[Change::Single(b"a", b"1")], &[])).unwrap();
    let page = store.list_dkeys(OBJECT, None, 1000).unwrap();
    assert!(!page.items.is_sorted() && page.items.len() == 201 && page.next.is_none());
    assert_eq!(dkeys_with_prefix(&*store, OBJECT, b"k").unwrap(), keys);
    assert_eq!(store.dkeys(OBJECT, b"k\x05", 3).unwrap(), keys[5..8]);
}
