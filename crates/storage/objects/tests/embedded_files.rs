//! What the embedded engine says of files that are damaged, of another version, or in use.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use redb::ReadableTable;

use hyperslab_objects::{
    Change, ContainerId, Error, Fetch, Mode, ObjectId, Phase, Size, Store, Update, embedded,
};

const OBJECT: ObjectId = ObjectId { high: 0, low: 5 };

fn id() -> ContainerId {
    ContainerId::from_name("files")
}

fn update(store: &dyn Store, dkey: &[u8], changes: &[Change<'_>]) {
    let update = Update { object: OBJECT, dkey, changes, conditions: &[], phase: Phase::Content };
    store.update(&update).unwrap();
}

fn fill(pool: &Path) {
    let store = embedded::pool(pool).create(id()).unwrap();
    let large = vec![7; 100_000];
    for i in 0..2_000u32 {
        update(&*store, &i.to_be_bytes(), &[Change::Single(b"value", &i.to_le_bytes().repeat(20))]);
    }
    update(&*store, b"large", &[Change::Records { akey: b"r", record_size: 4, start: 0, bytes: &large }]);
    store.flush().unwrap();
}

/// Writes here and there; what matters is that it ends without a panic.
fn write_some(store: &dyn Store) -> Result<(), Error> {
    let large = vec![8; 50_000];
    for i in (0..2_000u32).step_by(100) {
        let changes = [Change::Single(b"value", &large[..100]), Change::Single(b"large", &large)];
        let dkey = i.to_be_bytes();
        let phase = Phase::Content;
        store.update(&Update { object: OBJECT, dkey: &dkey, changes: &changes, conditions: &[], phase })?;
    }
    store.punch_dkey(OBJECT, b"large", Phase::Removal)?;
    store.flush()?;
    store.allocate(10_000).map(drop)
}

fn folder(pool: &Path) -> PathBuf {
    pool.join(id().to_string())
}

/// Reads all there is; what matters is that it ends without a panic.
fn read_all(store: &dyn Store) -> Result<(), Error> {
    for object in store.all_objects()? {
        for dkey in store.dkeys(object, b"", 10_000)? {
            for akey in store.akeys(object, &dkey, b"", 100)? {
                match store.size(object, &dkey, &akey)? {
                    Some(Size::Records { record_size, .. }) => {
                        let mut into = vec![0; 1000 * record_size.min(1000) as usize];
                        let (dkey, akey, into) = (&dkey, &akey, &mut into);
                        store.fetch(&mut [Fetch { object, dkey, akey, record_size, start: 0, into }])?;
                    }
                    _ => drop(store.get(object, &dkey, &[&akey])?),
                }
            }
        }
    }
    Ok(())
}

#[test]
fn cut_files_are_one_clear_error_and_stay_as_they_are() {
    let pool = tempfile::tempdir().unwrap();
    fill(pool.path());
    for (name, keep) in
        [("index.redb", [0, 1, 100, 4096, 5000, 200_000]), ("data", [0, 1, 4096, 50_000, 99_999, 99_999])]
    {
        let path = folder(pool.path()).join(name);
        let whole = fs::read(&path).unwrap();
        for keep in keep {
            fs::write(&path, &whole[..keep]).unwrap();
            for mode in [Mode::Read, Mode::ReadWrite] {
                let answer = embedded::pool(pool.path()).open(id(), mode);
                let Err(Error::Corrupt(text)) = answer else { panic!("{name} of {keep} bytes: {answer:?}") };
                assert!(!text.is_empty() && !text.contains('\n'), "{text}");
                assert!(fs::read(&path).unwrap() == whole[..keep], "{name} of {keep} bytes changed");
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    embedded::pool(pool.path()).open(id(), Mode::Read).unwrap();
}

/// The files as a killed writer leaves them: copied while the container is open.
fn killed(pool: &Path) {
    let first = tempfile::tempdir().unwrap();
    fill(first.path());
    let store = embedded::pool(first.path()).open(id(), Mode::ReadWrite).unwrap();
    update(&*store, b"more", &[Change::Single(b"value", b"flushed")]);
    store.flush().unwrap();
    update(&*store, b"more", &[Change::Single(b"value", b"not flushed")]);
    fs::create_dir(folder(pool)).unwrap();
    for name in ["index.redb", "data"] {
        fs::copy(folder(first.path()).join(name), folder(pool).join(name)).unwrap();
    }
}

#[test]
fn the_files_of_a_killed_writer_open() {
    for mode in [Mode::Read, Mode::ReadWrite] {
        let pool = tempfile::tempdir().unwrap();
        killed(pool.path());
        let store = embedded::pool(pool.path()).open(id(), mode).unwrap();
        assert_eq!(store.get(OBJECT, b"more", &[b"value"]).unwrap(), [Some(b"flushed".to_vec())]);
        read_all(&*store).unwrap();
    }
}

#[test]
fn cut_files_of_a_killed_writer_stay_as_they_are() {
    let pool = tempfile::tempdir().unwrap();
    killed(pool.path());
    let path = folder(pool.path()).join("index.redb");
    let whole = fs::read(&path).unwrap();
    for keep in
        [0, 1, 100, 4096, 5000, 100_000, 200_000, whole.len() / 2, whole.len() - 4096, whole.len() - 1]
    {
        for mode in [Mode::Read, Mode::ReadWrite] {
            fs::write(&path, &whole[..keep]).unwrap();
            match embedded::pool(pool.path()).open(id(), mode) {
                // The end of the file was not in use.
                Ok(store) => read_all(&*store).unwrap(),
                Err(Error::Corrupt(text)) => {
                    assert!(!text.is_empty() && !text.contains('\n'), "{text}");
                    assert!(
                        fs::read(&path).unwrap() == whole[..keep],
                        "{keep} bytes of {} changed",
                        whole.len()
                    );
                }
                Err(other) => panic!("{keep} bytes: {other:?}"),
            }
        }
    }
}

#[test]
fn a_missing_data_file_is_one_clear_error() {
    let pool = tempfile::tempdir().unwrap();
    fill(pool.path());
    fs::remove_file(folder(pool.path()).join("data")).unwrap();
    let answer = embedded::pool(pool.path()).open(id(), Mode::ReadWrite);
    assert!(matches!(&answer, Err(Error::Corrupt(text)) if text.contains("missing")), "{answer:?}");
}

#[test]
fn damaged_files_end_well() {
    damage(fill);
}

#[test]
fn damaged_files_of_a_killed_writer_end_well() {
    damage(killed);
}

/// Damages files in many ways, and reads and writes what opens.
fn damage(make: impl Fn(&Path)) {
    let pool = tempfile::tempdir().unwrap();
    make(pool.path());
    let path = folder(pool.path()).join("index.redb");
    let whole = fs::read(&path).unwrap();
    let rounds = std::env::var("HYPERSLAB_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut random =
        std::env::var("HYPERSLAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(20_261_115u64);
    println!("seed {random}");
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end
    };
    for round in 0..rounds {
        let mut bytes = whole.clone();
        let used = bytes.len().min(600_000);
        for _ in 0..1 + below(8) {
            let (at, length) = (below(used), 1 + below(64));
            let end = (at + length).min(bytes.len());
            bytes[at..end].fill_with(|| below(256) as u8);
        }
        fs::write(&path, &bytes).unwrap();
        let mode = if round % 2 == 0 { Mode::Read } else { Mode::ReadWrite };
        if let Ok(store) = embedded::pool(pool.path()).open(id(), mode) {
            let _ = read_all(&*store);
            if mode == Mode::ReadWrite {
                let _ = write_some(&*store);
            }
        }
    }
}

#[test]
fn garbage_is_one_clear_error() {
    let pool = tempfile::tempdir().unwrap();
    fill(pool.path());
    let path = folder(pool.path()).join("index.redb");
    let garbage: Vec<u8> = (0..50_000u32).map(|i| (i * i % 251) as u8).collect();
    fs::write(&path, &garbage).unwrap();
    for mode in [Mode::Read, Mode::ReadWrite] {
        let answer = embedded::pool(pool.path()).open(id(), mode);
        assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
    }
    assert!(fs::read(&path).unwrap() == garbage);
}

/// Makes an index as older programs made it, for redb alone: with one head, in its first page.
fn plain(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let number = |sector: &usize| u64::from_le_bytes(bytes[sector + 12..sector + 20].try_into().unwrap());
    let newest = [0, 4096].into_iter().max_by_key(number).unwrap();
    let mut page = bytes[newest + 20..newest + 532].to_vec();
    page.resize(4096, 0);
    fs::write(path, [&page, &bytes[8192..]].concat()).unwrap();
}

#[test]
fn containers_of_older_programs_open_and_change() {
    let pool = tempfile::tempdir().unwrap();
    fill(pool.path());
    let path = folder(pool.path()).join("index.redb");
    plain(&path);
    let numbers: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("numbers");
    let layout = |set: Option<u64>| {
        let database = redb::Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(numbers).unwrap();
        set.into_iter().for_each(|layout| drop(table.insert("layout", layout).unwrap()));
        let layout = table.get("layout").unwrap().unwrap().value();
        drop(table);
        transaction.commit().unwrap();
        layout
    };
    layout(Some(2));
    read_all(&*embedded::pool(pool.path()).open(id(), Mode::Read).unwrap()).unwrap();
    assert_eq!(layout(None), 2, "reading changes nothing");
    let store = embedded::pool(pool.path()).open(id(), Mode::ReadWrite).unwrap();
    write_some(&*store).unwrap();
    drop(store);
    assert_eq!(layout(None), 3, "older programs must refuse it now");
    read_all(&*embedded::pool(pool.path()).open(id(), Mode::Read).unwrap()).unwrap();
}

#[test]
fn a_newer_layout_is_refused() {
    let pool = tempfile::tempdir().unwrap();
    fill(pool.path());
    let path = folder(pool.path()).join("index.redb");
    plain(&path);
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let numbers: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("numbers");
    transaction.open_table(numbers).unwrap().insert("layout", 9).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let before = fs::read(&path).unwrap();
    for mode in [Mode::Read, Mode::ReadWrite] {
        let answer = embedded::pool(pool.path()).open(id(), mode);
        assert!(
            matches!(&answer, Err(Error::Corrupt(text)) if text.contains("layout version 9")),
            "{answer:?}"
        );
    }
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn more_may_wait_than_memory_should_hold() {
    let folder = tempfile::tempdir().unwrap();
    let pool = embedded::pool(folder.path());
    let store = pool.create(id()).unwrap();
    let value = vec![1; 2_000];
    for i in 0..50_000u32 {
        let linked = i % 100 == 0;
        let phase = if linked { Phase::Link } else { Phase::Content };
        let changes = [Change::Single(b"a", &value), Change::Single(b"b", &i.to_be_bytes().repeat(4))];
        let update =
            Update { object: OBJECT, dkey: &i.to_be_bytes(), changes: &changes, conditions: &[], phase };
        store.update(&update).unwrap();
        if i == 45_000 {
            store.allocate(1).unwrap();
        }
    }
    let last = 49_999u32.to_be_bytes();
    for _ in 0..2 {
        assert_eq!(store.dkeys(OBJECT, b"", usize::MAX).unwrap().len(), 50_000);
        assert_eq!(store.get(OBJECT, &[0; 4], &[b"a"]).unwrap(), [Some(value.clone())]);
        assert_eq!(store.get(OBJECT, &last, &[b"b"]).unwrap(), [Some(last.repeat(4))]);
        store.flush().unwrap();
    }
    drop(store);
    let store = pool.open(id(), Mode::Read).unwrap();
    assert_eq!(store.dkeys(OBJECT, b"", usize::MAX).unwrap().len(), 50_000);
}

#[test]
fn space_is_used_again_after_a_flush() {
    let pool = tempfile::tempdir().unwrap();
    let store = embedded::pool(pool.path()).create(id()).unwrap();
    for round in 0..20u8 {
        let bytes = vec![round; 1 << 20];
        for dkey in 0..4u8 {
            update(
                &*store,
                &[dkey],
                &[Change::Records { akey: b"r", record_size: 4, start: 0, bytes: &bytes }],
            );
        }
        store.flush().unwrap();
    }
    let length = fs::metadata(folder(pool.path()).join("data")).unwrap().len();
    assert!(length <= 9 << 20, "{length} bytes for 4 MiB");
}

#[test]
fn what_is_missing_says_so() {
    let pool = tempfile::tempdir().unwrap();
    let nowhere = pool.path().join("nowhere");
    assert!(matches!(embedded::pool(&nowhere).open(id(), Mode::Read), Err(Error::NotFound(_))));
    assert!(matches!(embedded::pool(&nowhere).list(), Err(Error::NotFound(_))));
    assert!(!nowhere.exists());
}

/// This test is also the other process: it holds the container that the variable names until its input ends.
#[test]
fn another_process_gets_an_error_that_names_the_server() {
    const HOLD: &str = "HYPERSLAB_TEST_HOLD";
    if let Some(pool) = std::env::var_os(HOLD) {
        let _store = embedded::pool(Path::new(&pool)).open(id(), Mode::ReadWrite).unwrap();
        println!("held");
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    let pool = tempfile::tempdir().unwrap();
    fill(pool.path());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["another_process_gets_an_error_that_names_the_server", "--nocapture"])
        .env(HOLD, pool.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("held")));
    for mode in [Mode::Read, Mode::ReadWrite] {
        let answer = embedded::pool(pool.path()).open(id(), mode);
        assert!(
            matches!(&answer, Err(Error::Refused(text)) if text.contains("hyperslab serve")),
            "{answer:?}"
        );
    }
    assert!(matches!(embedded::pool(pool.path()).destroy(id()), Err(Error::Refused(_))));
    drop(child.stdin.take());
    child.wait().unwrap();
    embedded::pool(pool.path()).open(id(), Mode::ReadWrite).unwrap();
}
