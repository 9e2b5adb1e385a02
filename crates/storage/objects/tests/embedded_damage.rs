//! Flipped bits of what the embedded engine stored: every one is found by a caller that reads.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use hyperslab_objects::{
    Change, ContainerId, Error, Fetch, Mode, ObjectId, Phase, Result, Store, Update, embedded,
};

const OBJECT: ObjectId = ObjectId { high: 0, low: 5 };

fn id() -> ContainerId {
    ContainerId::from_name("damage")
}

fn file(pool: &Path, name: &str) -> PathBuf {
    pool.join(id().to_string()).join(name)
}

fn write(store: &dyn Store, dkey: &[u8], changes: &[Change<'_>]) -> Result<()> {
    store.update(&Update { object: OBJECT, dkey, changes, conditions: &[], phase: Phase::Content })
}

fn records(start: u64, bytes: &[u8]) -> Change<'_> {
    Change::Records { akey: b"r", record_size: 4, start, bytes }
}

fn read(store: &dyn Store, dkey: &[u8], start: u64, count: usize) -> Result<Vec<u8>> {
    let mut into = vec![0xee; 4 * count];
    let fetch = Fetch { object: OBJECT, dkey, akey: b"r", record_size: 4, start, into: &mut into };
    store.fetch(&mut [fetch]).map(|()| into)
}

fn open(pool: &Path, mode: Mode) -> std::sync::Arc<dyn Store> {
    embedded::pool(pool).open(id(), mode).unwrap()
}

/// Bytes of which none is like its neighbours.
fn noise(count: usize, mut seed: u64) -> Vec<u8> {
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// The offset of bytes in a file that are there once.
fn find(path: &Path, bytes: &[u8]) -> u64 {
    let held = fs::read(path).unwrap();
    let mut found = held.windows(bytes.len()).enumerate().filter(|(_, window)| *window == bytes);
    let at = found.next().expect("the bytes are in the file").0;
    assert!(found.next().is_none(), "the bytes are there twice");
    at as u64
}

fn flip(path: &Path, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

fn is_damage<T: std::fmt::Debug>(answer: Result<T>) -> bool {
    match answer {
        Err(Error::Corrupt(text)) => text.contains("checksum"),
        _ => false,
    }
}

#[test]
fn a_flipped_byte_of_records_is_found_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = embedded::pool(folder.path()).create(id()).unwrap();
    let bytes = noise(1 << 20, 1);
    write(&*store, b"d", &[records(0, &bytes)]).unwrap();
    store.flush().unwrap();
    drop(store);
    let data = file(folder.path(), "data");
    for at in [0, 100_000, (1 << 20) - 1] {
        flip(&data, at);
        let store = open(folder.path(), Mode::Read);
        assert!(is_damage(read(&*store, b"d", 0, 1 << 18)), "all of it, byte {at}");
        assert!(is_damage(read(&*store, b"d", at / 4, 1)), "one record, byte {at}");
        let (far, count) = ((at / 4 + 100_000) % (1 << 18) / 4096 * 4096, 4096);
        assert_eq!(read(&*store, b"d", far, count).unwrap(), bytes[4 * far as usize..][..4 * count]);
        drop(store);
        flip(&data, at);
        assert_eq!(read(&*open(folder.path(), Mode::Read), b"d", 0, 1 << 18).unwrap(), bytes);
    }
}

#[test]
fn a_flipped_byte_of_small_and_large_values_and_of_small_arrays_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = embedded::pool(folder.path()).create(id()).unwrap();
    let (small, large, array) = (noise(64, 2), noise(50_000, 3), noise(400, 4));
    write(&*store, b"small", &[Change::Single(b"v", &small)]).unwrap();
    write(&*store, b"large", &[Change::Single(b"v", &large)]).unwrap();
    write(&*store, b"array", &[records(7, &array)]).unwrap();
    let spread: Vec<Vec<u8>> = (0..20).map(|n| noise(1000, 10 + n)).collect();
    for (n, value) in spread.iter().enumerate() {
        write(&*store, b"spread", &[Change::Single(&[n as u8], value)]).unwrap();
    }
    store.flush().unwrap();
    drop(store);
    let damaged = |name: &str, bytes: &[u8], look: &dyn Fn(&dyn Store) -> bool| {
        let path = file(folder.path(), name);
        let at = find(&path, bytes) + 7;
        flip(&path, at);
        assert!(look(&*open(folder.path(), Mode::Read)));
        flip(&path, at);
    };
    damaged("index.redb", &small, &|store| is_damage(store.get(OBJECT, b"small", &[b"v"])));
    damaged("data", &large, &|store| is_damage(store.get(OBJECT, b"large", &[b"v"])));
    damaged("index.redb", &array, &|store| is_damage(read(store, b"array", 7, 1)));
    damaged("index.redb", &spread[9], &|store| is_damage(store.get(OBJECT, b"spread", &[&[9]])));
    damaged("index.redb", &spread[9], &|store| store.get(OBJECT, b"spread", &[&[8]]).is_ok());
    // Who looks for something else finds it.
    damaged("index.redb", &spread[9], &|store| store.akeys(OBJECT, b"spread", b"", 99).unwrap().len() == 20);
    damaged("index.redb", &small, &|store| store.dkeys(OBJECT, b"", 99).unwrap().len() == 4);
    damaged("index.redb", &small, &|store| store.verify_index().is_err());
}

#[test]
fn what_stays_of_damaged_records_stays_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let store = embedded::pool(folder.path()).create(id()).unwrap();
    let bytes = noise(1 << 20, 5);
    write(&*store, b"d", &[records(0, &bytes)]).unwrap();
    store.flush().unwrap();
    drop(store);
    flip(&file(folder.path(), "data"), 40_000);
    let store = open(folder.path(), Mode::ReadWrite);
    // A small write copies what is around it, and must not give damage a good checksum.
    assert!(is_damage(write(&*store, b"d", &[records(10_001, &[1; 4])])));
    // A large one takes the place of a part of the damaged block, and punching too.
    let new = noise(1 << 17, 6);
    write(&*store, b"d", &[records(10_240, &new)]).unwrap();
    write(&*store, b"d", &[Change::PunchRecords { akey: b"r", range: (9_000..9_990).into() }]).unwrap();
    store.flush().unwrap();
    assert!(is_damage(read(&*store, b"d", 10_000, 1)));
    assert_eq!(read(&*store, b"d", 10_240, new.len() / 4).unwrap(), new);
    // Writing over all that is damaged makes it good.
    write(&*store, b"d", &[records(0, &bytes)]).unwrap();
    store.flush().unwrap();
    assert_eq!(read(&*store, b"d", 0, 1 << 18).unwrap(), bytes);
}

#[test]
fn partial_writes_of_any_kind_keep_every_record_verifiable() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = embedded::pool(folder.path()).create(id()).unwrap();
    let count = 100_000usize;
    let mut held: Vec<Option<[u8; 4]>> = vec![None; count];
    let mut random = 20_261_116u64;
    println!("seed {random}");
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end
    };
    for round in 0..400 {
        let mut starts: Vec<usize> =
            (0..1 + below(if round % 3 == 0 { 300 } else { 3 })).map(|_| below(count)).collect();
        starts.sort_unstable();
        let longest = [3, 200, 40_000][below(3)];
        let pieces: Vec<(usize, Vec<u8>)> = starts
            .iter()
            .zip(starts.iter().skip(1).chain([&count]))
            .filter(|(start, next)| start < next)
            .map(|(&start, &next)| {
                (start, noise(4 * (1 + below((next - start).min(longest))), below(1 << 30) as u64))
            })
            .collect();
        let changes: Vec<Change<'_>> =
            pieces.iter().map(|(start, bytes)| records(*start as u64, bytes)).collect();
        write(&*store, b"d", &changes).unwrap();
        for (start, bytes) in &pieces {
            for (place, record) in held[*start..].iter_mut().zip(bytes.as_chunks().0) {
                *place = Some(*record);
            }
        }
        if round % 7 == 0 {
            let (start, length) = (below(count), below(5_000));
            let end = (start + length).min(count);
            let range = (start as u64..end as u64).into();
            write(&*store, b"d", &[Change::PunchRecords { akey: b"r", range }]).unwrap();
            held[start..end].fill(None);
        }
        if round % 5 == 0 {
            store.flush().unwrap();
        }
        if round % 50 == 49 {
            store.flush().unwrap();
            drop(store);
            store = open(folder.path(), Mode::ReadWrite);
        }
        let (start, length) = (below(count - 1), 1 + below(20_000));
        let length = length.min(count - start);
        let right: Vec<u8> =
            held[start..start + length].iter().flat_map(|record| record.unwrap_or([0xee; 4])).collect();
        assert!(read(&*store, b"d", start as u64, length).unwrap() == right, "round {round}");
    }
    let right: Vec<u8> = held.iter().flat_map(|record| record.unwrap_or([0xee; 4])).collect();
    assert!(read(&*store, b"d", 0, count).unwrap() == right);
}

type Held = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// All that a container holds.
fn all(store: &dyn Store) -> Result<Vec<Held>> {
    store.verify_index()?;
    let mut found = Vec::new();
    for dkey in store.dkeys(OBJECT, b"", usize::MAX)? {
        for akey in store.akeys(OBJECT, &dkey, b"", usize::MAX)? {
            let value = store.get(OBJECT, &dkey, &[&akey])?.remove(0);
            found.push((dkey.clone(), akey, value));
        }
    }
    Ok(found)
}

#[test]
fn no_flipped_bit_of_the_index_changes_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = embedded::pool(folder.path()).create(id()).unwrap();
    for n in 0..1_500u32 {
        write(&*store, &n.to_be_bytes(), &[Change::Single(b"v", &n.to_le_bytes().repeat(20))]).unwrap();
    }
    for n in 0..200u8 {
        write(&*store, b"spread", &[Change::Single(&[n], &[n; 100])]).unwrap();
    }
    store.flush().unwrap();
    let right = all(&*store).unwrap();
    drop(store);
    let path = file(folder.path(), "index.redb");
    let whole = fs::read(&path).unwrap();
    let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
    let (mut found, mut seed) = (0, 20_261_116u64);
    println!("seed {seed}");
    for _ in 0..1_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = used[(seed >> 33) as usize % used.len()] as u64;
        flip(&path, at);
        match embedded::pool(folder.path()).open(id(), Mode::Read).and_then(|store| all(&*store)) {
            Ok(held) => assert!(held == right, "byte {at} changes what is read, and nobody says so"),
            Err(Error::Corrupt(_)) => found += 1,
            Err(other) => panic!("byte {at}: {other:?}"),
        }
        flip(&path, at);
    }
    assert!(found > 0);
    println!("{found} of 1,000 are errors, the others are of no use");
}
