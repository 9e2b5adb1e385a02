use super::*;

fn sample() -> Table {
    let runs: Arc<[Run]> = [Run { offset: 3, len: 2 }, Run { offset: 9, len: 1 }].into();
    let points: Arc<[Run]> = (0..100).map(|n| Run { offset: n * 7, len: 1 }).collect();
    let entry = |dataset, coded, at, stored, runs: &Arc<[Run]>| Entry {
        dataset,
        coded,
        place: EntryOffset::Log(1, at),
        stored: Some(stored),
        runs: runs.clone(),
    };
    let entries = vec![
        entry(0, Coded::Plain, 0, 12, &runs),
        entry(0, Coded::Zlib, 12, 7, &points),
        entry(2, Coded::Plain, 19, 12, &runs),
        entry(2, Coded::Plain, 4, 400, &points),
    ];
    Table { names: vec!["a".into(), "".into(), "größe".into()], entries }
}

/// In version 1 an entry is in the file, here at 1000, and does not say its bytes.
fn in_file(mut table: Table) -> Table {
    for entry in &mut table.entries {
        (entry.place, entry.stored) = (at_1000(entry.place), None);
    }
    table
}

fn at_1000(place: EntryOffset) -> EntryOffset {
    match place {
        EntryOffset::Log(_, offset) => EntryOffset::File(1000 + offset),
        file => file,
    }
}

#[test]
fn both_versions_come_back() {
    let table = sample();
    let v2 = table.encode(TableVersion::V2, &at_1000).unwrap();
    assert_eq!(Table::decode_all(&v2, &Limits::default()).unwrap(), table);
    let v1 = table.encode(TableVersion::V1, &at_1000).unwrap();
    assert_eq!(Table::decode_all(&v1, &Limits::default()).unwrap(), in_file(table));
}

#[test]
fn tables_may_follow_each_other() {
    let table = sample();
    let mut bytes = table.encode(TableVersion::V2, &at_1000).unwrap();
    bytes.extend(table.encode(TableVersion::V1, &at_1000).unwrap());
    let both = Table::decode_all(&bytes, &Limits::default()).unwrap();
    assert_eq!(both.entries.len(), 2 * table.entries.len());
    assert_eq!(both.names, table.names);
}

#[test]
fn equal_selections_are_stored_once() {
    let runs: Vec<Run> = (0..1000u64).map(|n| Run { offset: n * n, len: 1 + n % 5 }).collect();
    let of = |count| {
        let entry = |dataset| Entry {
            dataset,
            coded: Coded::Plain,
            place: EntryOffset::Log(0, dataset * 10_000),
            stored: Some(8000),
            runs: runs.clone().into(),
        };
        let table = Table { names: Vec::new(), entries: (0..count).map(entry).collect() };
        table.encode(TableVersion::V2, &at_1000).unwrap().len()
    };
    assert!(of(50) < of(1) + 50 * 20, "{} against {}", of(50), of(1));
}

#[test]
fn a_byte_changed_anywhere_never_panics() {
    for version in [TableVersion::V1, TableVersion::V2] {
        let good = sample().encode(version, &at_1000).unwrap();
        for at in 0..good.len() {
            for to in [0, 1, 0x7f, 0x80, 0xff, good[at] ^ 0x10] {
                let mut bad = good.clone();
                bad[at] = to;
                let _ = Table::decode_all(&bad, &Limits::strict());
            }
            assert!(Table::decode_all(&good[..at], &Limits::strict()).is_err() || at == 0);
        }
    }
}
