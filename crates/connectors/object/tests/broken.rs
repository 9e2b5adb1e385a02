//! Containers that make no sense: one clear error each, in bounded time.

mod kit;

use std::path::Path;

use kit::{create, dataset, open, write};
use model::properties::FileCreate;
use model::{Kind, Limits};
use objects::{Change, Mode, ObjectId, Phase, Size, Store, Update};
use testkit::damage::{self, look, mutated};
use testkit::generate::Generator;
use vol::{FileAccess, Place};

const GLOBAL: ObjectId = ObjectId { high: 0, low: 0 };

/// One object of every kind.
fn sample(folder: &Path) {
    let c = create(folder, &FileCreate::default()).unwrap();
    damage::sample(&*c).unwrap();
    c.close().unwrap();
}

fn put(store: &dyn Store, (object, dkey, akey): &(ObjectId, Vec<u8>, Vec<u8>), value: &[u8]) {
    let changes = [Change::Single(akey, value)];
    store
        .update(&Update { object: *object, dkey, changes: &changes, conditions: &[], phase: Phase::Content })
        .unwrap();
    store.flush().unwrap();
}

/// Keys of all single values.
fn singles(store: &dyn Store) -> Vec<(ObjectId, Vec<u8>, Vec<u8>)> {
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
    let count = std::env::var("HYPERSLAB_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let seed = std::env::var("HYPERSLAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    println!("seed {seed}");
    let mut generator = Generator::new(seed);
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path());
    let keys = singles(&*kit::store(folder.path(), Mode::Read));
    for _ in 0..count {
        let key = &keys[generator.below(keys.len() as u64) as usize];
        let store = kit::store(folder.path(), Mode::ReadWrite);
        let good = store.get(key.0, &key.1, &[&key.2]).unwrap().pop().unwrap().unwrap();
        put(&*store, key, &mutated(&good, &mut generator));
        drop(store);
        let access = FileAccess::read().with_limits(Limits::strict());
        if let Ok(c) = open(folder.path(), &access) {
            look(&*c).unwrap();
            c.close().unwrap();
        }
        put(&*kit::store(folder.path(), Mode::ReadWrite), key, &good);
    }
    look(&*open(folder.path(), &FileAccess::read()).unwrap()).unwrap();
}

#[test]
fn a_newer_layout_is_told() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path());
    let key = (GLOBAL, b"/Internal Metadata".to_vec(), b"Layout Version".to_vec());
    for (version, kind, word) in
        [(2u32, Kind::Unsupported, "layout version: 2"), (0, Kind::Corrupt, "version: 0")]
    {
        put(&*kit::store(folder.path(), Mode::ReadWrite), &key, &version.to_le_bytes());
        let error = open(folder.path(), &FileAccess::write()).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_cut_file_is_told() {
    for (file, len) in [("index.redb", 100), ("index.redb", 0), ("data", 10)] {
        let folder = tempfile::tempdir().unwrap();
        let c = create(folder.path(), &FileCreate::default()).unwrap();
        let data = dataset(&*c, Place::new(c.info().unwrap().root, "d"), &[100_000], &[50_000]).unwrap();
        write(&*c, data, &vec![7; 100_000]).unwrap();
        c.close().unwrap();
        let inner = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::OpenOptions::new().write(true).open(inner.join(file)).unwrap().set_len(len).unwrap();
        let error = open(folder.path(), &FileAccess::write()).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string().lines().count(), 1);
        assert!(matches!(error.kind(), Kind::Corrupt | Kind::Io), "{file} {len}: {error}");
    }
}

#[test]
fn a_folder_without_a_container_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing")] {
        assert_eq!(open(&path, &FileAccess::read()).map(|_| ()).unwrap_err().kind(), Kind::NotFound);
    }
}
