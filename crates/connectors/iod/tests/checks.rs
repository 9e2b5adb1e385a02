//! Damage of scratch pads, and what a check finds and repairs.

mod kit;

use std::path::Path;

use iod_storage::{Batch, Container as Storage, Id, Kind as StorageKind, Mode, ScratchPad};
use kit::{create, open, problems, repair};
use model::Kind;
use model::properties::FileCreate;
use objects::{Change, ObjectId, Phase, Store, Update};
use testkit::damage;
use vol::FileAccess;

const ROOT: Id = Id(0);
const ROOT_METADATA: Id = Id(1);

/// One object of every kind.
fn sample(folder: &Path) {
    let c = create(folder, &FileCreate::default()).unwrap();
    damage::sample(&*c).unwrap();
    c.close().unwrap();
}

type Key = (ObjectId, Vec<u8>, Vec<u8>);

/// Opens the store under the storage: there nothing is checked.
fn store(folder: &Path) -> std::sync::Arc<dyn Store> {
    let pool = objects::embedded::pool(folder);
    pool.open(pool.list().unwrap()[0], Mode::ReadWrite).unwrap()
}

fn put(store: &dyn Store, (object, dkey, akey): &Key, value: &[u8]) {
    let changes = [Change::Single(akey, value)];
    let phase = Phase::Content;
    store.update(&Update { object: *object, dkey, changes: &changes, conditions: &[], phase }).unwrap();
    store.flush().unwrap();
}

#[test]
fn a_broken_scratch_pad_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    sample(&place);
    let c = open(&place, &FileAccess::read()).unwrap();
    let group = vol::path::token(&*c, c.info().unwrap().root, "g", 4).unwrap();
    c.close().unwrap();
    let number = u64::from_le_bytes(*group.0.first_chunk().unwrap());
    let key = (ObjectId { high: 0, low: number }, vec![0], vec![0]);
    let inner = store(&place);
    let mut head = inner.get(key.0, &key.1, &[&key.2]).unwrap().pop().unwrap().unwrap();
    head[0] ^= 1;
    put(&*inner, &key, &head);
    drop(inner);
    let c = open(&place, &FileAccess::read()).unwrap();
    let error = c.object_info(group).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
    assert!(error.to_string().contains("checksum"), "{error}");
}

/// Breaks something; a check must find it, repair it, and be content afterwards.
fn broken(wanted: &str, harm: impl FnOnce(&Storage)) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    let c = create(&place, &FileCreate::default()).unwrap();
    let root = c.info().unwrap().root;
    let data = kit::dataset(&*c, vol::LinkLocation::new(root, "d"), &[10], &[5]).unwrap();
    kit::write(&*c, data, &[1; 10]).unwrap();
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    c.close().unwrap();
    let storage = kit::storage(&place, Mode::ReadWrite);
    harm(&storage);
    storage.flush().unwrap();
    drop(storage);
    let c = open(&place, &FileAccess::read()).unwrap();
    let found = problems(&*c).unwrap();
    assert!(found.iter().any(|line| line.contains(wanted)), "{wanted}: {found:?}");
    assert_eq!(c.storage_repair().unwrap_err().kind(), Kind::Denied);
    c.close().unwrap();
    let c = open(&place, &FileAccess::write()).unwrap();
    assert!(repair(&*c).unwrap().iter().all(|line| line.ends_with("\trepaired")));
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    c.close().unwrap();
}

#[test]
fn an_orphaned_blob_is_found() {
    let lost = Id::new(StorageKind::Blob, 77);
    broken("blob 77", |storage| {
        storage.apply(Batch::new().create_blob(lost, ScratchPad::NULL, &b"lost"[..])).unwrap();
    });
}

#[test]
fn a_link_to_nothing_is_found() {
    let nothing = Id::new(StorageKind::KeyValue, 99).to_bytes();
    broken("leads to KV 99", |storage| storage.put(ROOT, &[(b"x", &nothing)]).unwrap());
}

#[test]
fn a_wrong_count_is_found() {
    broken("it says 5 links and has 1", |storage| {
        storage.put(ROOT_METADATA, &[(b"object_link_count", &5u64.to_le_bytes())]).unwrap();
    });
}
