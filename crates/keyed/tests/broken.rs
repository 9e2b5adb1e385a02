//! Containers that make no sense: one clear error each, in bounded time.

mod common;

use std::path::Path;

use common::{Key, Subject, each, store};
use model::{Kind, Limits};
use objects::{Change, Mode, Phase, Size, Store, Update};
use testkit::damage::{self, look, mutated};
use testkit::generate::Generator;
use testkit::ints::{dataset, write};
use vol::{FileAccess, LinkLocation};

/// Creates a container with one object of every kind.
fn sample(subject: &Subject, path: &Path) {
    let c = subject.create(path).unwrap();
    damage::sample(&*c).unwrap();
    c.close().unwrap();
}

fn put(store: &dyn Store, (object, dkey, akey): &Key, value: &[u8]) {
    let (changes, phase) = ([Change::Single(akey, value)], Phase::Content);
    store.update(&Update { object: *object, dkey, changes: &changes, conditions: &[], phase }).unwrap();
    store.flush().unwrap();
}

/// Returns the keys of all single values.
fn singles(store: &dyn Store) -> Vec<Key> {
    let mut keys = Vec::new();
    for id in store.all_objects().unwrap() {
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
    let seed = std::env::var("HYPERSLAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    println!("seed {seed}");
    each(|subject, path| {
        let mut generator = Generator::new(seed);
        sample(subject, path);
        let keys = singles(&*store(path, Mode::Read));
        for _ in 0..count {
            let key = &keys[generator.below(keys.len() as u64) as usize];
            let opened = store(path, Mode::ReadWrite);
            let good = opened.get(key.0, &key.1, &[&key.2]).unwrap().pop().unwrap().unwrap();
            put(&*opened, key, &mutated(&good, &mut generator));
            drop(opened);
            let access = FileAccess::read().with_limits(Limits::strict());
            if let Ok(c) = subject.open(path, &access) {
                look(&*c).unwrap();
                c.close().unwrap();
            }
            put(&*store(path, Mode::ReadWrite), key, &good);
        }
        look(&*subject.open(path, &FileAccess::read()).unwrap()).unwrap();
    });
}

#[test]
fn a_newer_layout_is_reported() {
    each(|subject, path| {
        sample(subject, path);
        for (version, kind, word) in
            [(2u32, Kind::Unsupported, "layout version: 2"), (0, Kind::Corrupt, "version: 0")]
        {
            put(&*store(path, Mode::ReadWrite), &subject.layout_version(), &version.to_le_bytes());
            let error = subject.open(path, &FileAccess::write()).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains(word), "{error}");
        }
    });
}

#[test]
fn a_cut_file_is_reported() {
    for (file, len) in [("index.redb", 100), ("index.redb", 0), ("data", 10)] {
        each(|subject, path| {
            let c = subject.create(path).unwrap();
            let data =
                dataset(&*c, LinkLocation::new(c.info().unwrap().root, "d"), &[100_000], &[50_000]).unwrap();
            write(&*c, data, &vec![7; 100_000]).unwrap();
            c.close().unwrap();
            let inner = std::fs::read_dir(path).unwrap().next().unwrap().unwrap().path();
            std::fs::OpenOptions::new().write(true).open(inner.join(file)).unwrap().set_len(len).unwrap();
            let error = subject.open(path, &FileAccess::write()).map(|_| ()).unwrap_err();
            assert_eq!(error.to_string().lines().count(), 1);
            assert!(matches!(error.kind(), Kind::Corrupt | Kind::Io), "{file} {len}: {error}");
        });
    }
}

#[test]
fn a_folder_without_a_container_is_reported() {
    each(|subject, path| {
        let folder = path.parent().unwrap();
        for path in [folder, path] {
            let error = subject.open(path, &FileAccess::read()).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), Kind::NotFound);
        }
    });
}

#[test]
fn a_second_process_is_pointed_to_the_server() {
    each(|subject, path| {
        sample(subject, path);
        // What another process holds is its lock on the data file.
        let inner = std::fs::read_dir(path).unwrap().next().unwrap().unwrap().path();
        let data = std::fs::File::open(inner.join("data")).unwrap();
        data.lock().unwrap();
        let error = subject.open(path, &FileAccess::write()).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), Kind::Busy);
        assert!(error.to_string().contains("hyperslab serve"), "{error}");
    });
}
