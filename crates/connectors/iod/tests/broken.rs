//! Containers that make no sense: one clear error each, in bounded time, and what a check finds and mends.

mod kit;

use std::path::Path;

use iod_storage::{Batch, Container as Storage, Id, Kind as StorageKind, Mode, ScratchPad};
use kit::{create, mend, open, problems};
use model::properties::FileCreate;
use model::{Kind, Limits};
use objects::{Change, ObjectId, Phase, Size, Store, Update};
use testkit::damage::{self, look, mutated};
use testkit::generate::Generator;
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

/// The store beneath the storage: there nothing is checked.
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

/// Keys of all single values.
fn singles(store: &dyn Store) -> Vec<Key> {
    let mut keys = Vec::new();
    for id in store.objects(None, 1000).unwrap() {
        for dkey in store.dkeys(id, b"", 1000).unwrap() {
            for akey in store.akeys(id, &dkey, b"", 1000).unwrap() {
                if matches!(store.size(id, &dkey, &akey).unwrap(), Some(Size::Single(_))) {
                    keys.push((id, dkey.clone(), akey));
                }
            }
        }
    }
    keys
}

#[test]
fn mutated_values_end_in_errors() {
    let count = std::env::var("HYPERSLAB_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let seed = std::env::var("HYPERSLAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    println!("seed {seed}");
    let mut generator = Generator::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    sample(&place);
    let keys = singles(&*store(&place));
    for _ in 0..count {
        let key = &keys[generator.below(keys.len() as u64) as usize];
        let beneath = store(&place);
        let good = beneath.get(key.0, &key.1, &[&key.2]).unwrap().pop().unwrap().unwrap();
        put(&*beneath, key, &mutated(&good, &mut generator));
        drop(beneath);
        let access = FileAccess::read().with_limits(Limits::strict());
        if let Ok(c) = open(&place, &access) {
            look(&*c).unwrap();
            c.close().unwrap();
        }
        put(&*store(&place), key, &good);
    }
    let c = open(&place, &FileAccess::read()).unwrap();
    look(&*c).unwrap();
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
    let key = (ObjectId { high: 0, low: number }, Vec::new(), vec![0]);
    let beneath = store(&place);
    let mut head = beneath.get(key.0, &key.1, &[&key.2]).unwrap().pop().unwrap().unwrap();
    head[0] ^= 1;
    put(&*beneath, &key, &head);
    drop(beneath);
    let c = open(&place, &FileAccess::read()).unwrap();
    let error = c.object_info(group).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn a_newer_layout_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    sample(&place);
    for (version, kind, word) in
        [(2u32, Kind::Unsupported, "layout version: 2"), (0, Kind::Corrupt, "version: 0")]
    {
        let storage = kit::storage(&place, Mode::ReadWrite);
        storage.put(ROOT_METADATA, &[(b"layout_version", &version.to_le_bytes())]).unwrap();
        storage.flush().unwrap();
        drop(storage);
        let error = open(&place, &FileAccess::write()).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_folder_without_a_container_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing")] {
        assert_eq!(open(&path, &FileAccess::read()).map(|_| ()).unwrap_err().kind(), Kind::NotFound);
    }
}

#[test]
fn a_second_process_is_pointed_to_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    sample(&place);
    // What another process holds is its lock on the data file.
    let inner = std::fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
    let data = std::fs::File::open(inner.join("data")).unwrap();
    data.lock().unwrap();
    let error = open(&place, &FileAccess::write()).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), Kind::Busy);
    assert!(error.to_string().contains("hyperslab serve"), "{error}");
}

/// Breaks something; a check must find it, mend it, and be content afterwards.
fn broken(wanted: &str, harm: impl FnOnce(&Storage)) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    let c = create(&place, &FileCreate::default()).unwrap();
    let root = c.info().unwrap().root;
    let data = kit::dataset(&*c, vol::Place::new(root, "d"), &[10], &[5]).unwrap();
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
    assert!(mend(&*c).unwrap().iter().all(|line| line.ends_with("\tmended")));
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
