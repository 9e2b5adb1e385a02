//! Containers on media that are full, that refuse to be written, and whose first sectors are noise.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dir::Dir;
use hyperslab_objects::embedded::{self, Medium, MediumFile, Open};
use hyperslab_objects::{Change, ContainerId, Error, Fetch, Mode, ObjectId, Phase, Result, Store, Update};

const OBJECT: ObjectId = ObjectId { high: 0, low: 5 };
const PAGE: u64 = 4096;

fn id() -> ContainerId {
    ContainerId::from_name("media")
}

fn folder(pool: &Path) -> PathBuf {
    pool.join(id().to_string())
}

/// A medium with so many pages: a write to a page that no one wrote yet takes one.
#[derive(Debug, Default)]
struct Small {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    taken: HashMap<PathBuf, HashSet<u64>>,
    pages_max: Option<usize>,
    /// Whether any write at all is an error.
    refuses: bool,
}

impl State {
    fn count(&self) -> usize {
        self.taken.values().map(HashSet::len).sum()
    }

    fn take(&mut self, path: &Path, start: u64, end: u64) -> io::Result<()> {
        if self.refuses {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        for page in start / PAGE..end.div_ceil(PAGE) {
            let is_new = !self.taken.get(path).is_some_and(|pages| pages.contains(&page));
            if is_new && self.pages_max.is_some_and(|max| self.count() >= max) {
                return Err(ErrorKind::StorageFull.into());
            }
            self.taken.entry(path.to_owned()).or_default().insert(page);
        }
        Ok(())
    }
}

impl Small {
    /// Fills the medium, but for some pages.
    fn fill(&self, but: usize) {
        let mut state = self.state.lock().unwrap();
        state.pages_max = Some(state.count() + but);
    }

    fn grow(&self) {
        self.state.lock().unwrap().pages_max = None;
    }

    fn refuse(&self) {
        self.state.lock().unwrap().refuses = true;
    }
}

#[derive(Debug)]
struct SmallFile {
    file: fs::File,
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

/// The name under which pages are counted: containers are created in another folder, and renamed.
impl Medium for Small {
    fn open(&self, dir: &Dir, name: &str, how: Open) -> io::Result<Box<dyn MediumFile>> {
        if how != Open::Read && self.state.lock().unwrap().refuses {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        let file = dir.file(name, how.into())?;
        Ok(Box::new(SmallFile { file, path: name.into(), state: self.state.clone() }))
    }

    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        dir.remove_file(name)?;
        self.state.lock().unwrap().taken.remove(Path::new(name));
        Ok(())
    }
}

impl MediumFile for SmallFile {
    fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        FileExt::read_exact_at(&self.file, into, at)
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.state.lock().unwrap().take(&self.path, at, at + bytes.len() as u64)?;
        FileExt::write_all_at(&self.file, bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state.lock().unwrap().take(&self.path, 0, 0)?;
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.state.lock().unwrap().take(&self.path, 0, len)?;
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, _alone: bool) -> io::Result<bool> {
        Ok(true)
    }
}

fn put(store: &dyn Store, n: u32, bytes: &[u8]) -> Result<()> {
    let changes =
        [Change::Single(b"v", bytes), Change::Records { akey: b"r", record_size: 1, start: 0, bytes }];
    let (dkey, phase) = (n.to_be_bytes(), Phase::Content);
    store.update(&Update { object: OBJECT, dkey: &dkey, changes: &changes, conditions: &[], phase })
}

fn holds(store: &dyn Store, n: u32, bytes: &[u8]) -> bool {
    let dkey = n.to_be_bytes();
    let mut into = vec![0; bytes.len()];
    let fetch = Fetch { object: OBJECT, dkey: &dkey, akey: b"r", record_size: 1, start: 0, into: &mut into };
    store.fetch(&mut [fetch]).unwrap();
    into == bytes && store.get(OBJECT, &dkey, &[b"v"]).unwrap() == [Some(bytes.to_vec())]
}

fn is_full<T: std::fmt::Debug>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::Io { source, .. }) if source.kind() == ErrorKind::StorageFull)
}

/// Files as a killed writer leaves them, with values 0 to `count` flushed.
fn killed(pool: &Path, count: u32) {
    let first = tempfile::tempdir().unwrap();
    let store = embedded::pool(first.path()).create(id()).unwrap();
    for n in 0..count {
        put(&*store, n, &[n as u8; 1000]).unwrap();
    }
    store.flush().unwrap();
    put(&*store, count, b"not flushed").unwrap();
    fs::create_dir_all(folder(pool)).unwrap();
    for entry in fs::read_dir(folder(first.path())).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder(pool).join(path.file_name().unwrap())).unwrap();
    }
}

fn files(pool: &Path) -> HashMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder(pool)).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn opening_to_read_after_a_killed_writer_writes_nothing() {
    let pool = tempfile::tempdir().unwrap();
    killed(pool.path(), 300);
    let before = files(pool.path());
    let medium = Arc::new(Small::default());
    medium.refuse();
    for _ in 0..2 {
        let store = embedded::pool_on(pool.path(), medium.clone()).open(id(), Mode::Read).unwrap();
        assert!((0..300).all(|n| holds(&*store, n, &[n as u8; 1000])));
        assert!(store.get(OBJECT, &300u32.to_be_bytes(), &[b"v"]).unwrap() == [None]);
        store.flush().unwrap();
    }
    assert!(files(pool.path()) == before, "the files changed");
    // On the system's own files too.
    drop(embedded::pool(pool.path()).open(id(), Mode::Read).unwrap());
    assert!(files(pool.path()) == before, "the files changed");
}

#[test]
fn a_full_disk_loses_nothing_says_so_and_lets_go_on() {
    // With so many pages left, the disk is full at another moment each time.
    for left in (0..40).chain([60, 100, 200, 400]) {
        let folder = tempfile::tempdir().unwrap();
        let medium = Arc::new(Small::default());
        let pool = embedded::pool_on(folder.path(), medium.clone());
        let store = pool.create(id()).unwrap();
        (0..50).for_each(|n| put(&*store, n, &[n as u8; 1000]).unwrap());
        store.flush().unwrap();
        medium.fill(left);
        let (flushed, stopped) = write_until_full(&*store);
        assert!(is_full(&stopped), "{left} pages: {stopped:?}");
        // All that was flushed is there, and what waits is too.
        assert!((0..50).all(|n| holds(&*store, n, &[n as u8; 1000])), "{left} pages");
        assert!((100..flushed).all(|n| holds(&*store, n, &[n as u8; 1500])), "{left} pages");
        // A caller that opens it now finds all that was flushed.
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir_all(self::folder(copy.path())).unwrap();
        for (path, bytes) in files(folder.path()) {
            fs::write(self::folder(copy.path()).join(path.file_name().unwrap()), bytes).unwrap();
        }
        for mode in [Mode::Read, Mode::ReadWrite] {
            let other = embedded::pool(copy.path()).open(id(), mode).unwrap();
            assert!((100..flushed).all(|n| holds(&*other, n, &[n as u8; 1500])), "{left} pages, {mode:?}");
        }
        // With space again the same handle goes on.
        medium.grow();
        put(&*store, 7_000, b"after").unwrap();
        store.flush().unwrap();
        drop(store);
        let store = pool.open(id(), Mode::Read).unwrap();
        assert!(holds(&*store, 7_000, b"after") && holds(&*store, 49, &[49; 1000]), "{left} pages");
        assert!((100..flushed).all(|n| holds(&*store, n, &[n as u8; 1500])), "{left} pages");
    }
}

/// Writes and flushes until an error; the first that was not flushed, and the error.
fn write_until_full(store: &dyn Store) -> (u32, Result<()>) {
    for n in 100..20_000 {
        let large = vec![n as u8; 5_000];
        let done = put(store, n, &[n as u8; 1500])
            .and_then(|()| if n % 7 == 0 { put(store, 10_000 + n, &large) } else { Ok(()) })
            .and_then(|()| store.flush());
        if done.is_err() {
            return (n, done);
        }
    }
    (20_000, Ok(()))
}

#[test]
fn on_a_full_disk_there_is_space_to_delete() {
    let folder = tempfile::tempdir().unwrap();
    let medium = Arc::new(Small::default());
    let pool = embedded::pool_on(folder.path(), medium.clone());
    let store = pool.create(id()).unwrap();
    (0..50).for_each(|n| put(&*store, n, &[n as u8; 5_000]).unwrap());
    store.flush().unwrap();
    medium.fill(0);
    // Large bytes find no space, and do not use up what is kept.
    assert!(is_full(&put(&*store, 60, &vec![1; 100_000])));
    for n in 0..40u32 {
        store.punch_dkey(OBJECT, &n.to_be_bytes(), Phase::Removal).unwrap();
        store.flush().unwrap();
    }
    // Their space in the container is used again.
    put(&*store, 60, &vec![1; 50_000]).unwrap();
    store.flush().unwrap();
    drop(store);
    let store = pool.open(id(), Mode::Read).unwrap();
    assert_eq!(store.dkeys(OBJECT, b"", 100).unwrap().len(), 11);
    assert!(holds(&*store, 60, &vec![1; 50_000]) && holds(&*store, 49, &[49; 5_000]));
}

#[test]
fn a_container_that_finds_no_space_is_not_made() {
    for left in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let medium = Arc::new(Small::default());
        medium.fill(left);
        let pool = embedded::pool_on(folder.path(), medium.clone());
        match pool.create(id()) {
            Ok(_) => assert!(pool.open(id(), Mode::Read).is_ok()),
            Err(error) => {
                assert!(is_full(&Err::<(), _>(error)), "{left} pages");
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{left} pages leave something");
            }
        }
    }
}

#[test]
fn noise_in_any_of_the_first_sectors_of_the_index_loses_nothing() {
    for make in [closed, killed] {
        for sector in [512, 4096] {
            for at in (0..8192u64).step_by(sector) {
                let pool = tempfile::tempdir().unwrap();
                make(pool.path(), 30);
                let path = folder(pool.path()).join("index.redb");
                let noise: Vec<u8> =
                    (0..sector as u64).map(|n| (((n + at + 1) * 2_654_435_761) >> 13) as u8).collect();
                let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
                FileExt::write_all_at(&file, &noise, at).unwrap();
                for mode in [Mode::Read, Mode::ReadWrite, Mode::Read] {
                    let store = embedded::pool(pool.path()).open(id(), mode);
                    let store = store.unwrap_or_else(|error| panic!("sector at {at}, {mode:?}: {error}"));
                    assert!((0..30).all(|n| holds(&*store, n, &[n as u8; 1000])), "sector at {at}, {mode:?}");
                    if mode == Mode::ReadWrite {
                        put(&*store, 77, b"more").unwrap();
                        store.flush().unwrap();
                    }
                }
            }
        }
    }
}

fn closed(pool: &Path, count: u32) {
    let store = embedded::pool(pool).create(id()).unwrap();
    for n in 0..count {
        put(&*store, n, &[n as u8; 1000]).unwrap();
    }
    store.flush().unwrap();
}

#[test]
fn updates_that_belong_together_are_done_or_none_is() {
    let folder = tempfile::tempdir().unwrap();
    let medium = Arc::new(Small::default());
    let pool = embedded::pool_on(folder.path(), medium.clone());
    let store = pool.create(id()).unwrap();
    put(&*store, 1, &[1; 3_000]).unwrap();
    let large = vec![7; 100_000];
    let records = |start, bytes| Change::Records { akey: b"r", record_size: 1, start, bytes };
    let together = |bytes: &[u8]| {
        let (first, second) = ([records(100, &large[..50])], [Change::Single(b"v", bytes)]);
        let both = [(1u32.to_be_bytes(), &first[..]), (2u32.to_be_bytes(), &second[..])];
        let updates = both.each_ref().map(|(dkey, changes)| Update {
            object: OBJECT,
            dkey,
            changes,
            conditions: &[],
            phase: Phase::Content,
        });
        store.update_together(&updates)
    };
    medium.fill(2);
    assert!(is_full(&together(&large)));
    assert_eq!(store.get(OBJECT, &2u32.to_be_bytes(), &[b"v"]).unwrap(), [None]);
    // What was written since the last flush may have changed, and is readable.
    let mut into = vec![0; 3_000];
    let fetch =
        Fetch { object: OBJECT, dkey: &[0, 0, 0, 1], akey: b"r", record_size: 1, start: 0, into: &mut into };
    store.fetch(&mut [fetch]).unwrap();
    assert!(into[..100] == [1; 100] && into[150..] == [1; 2_850]);
    medium.grow();
    together(&large).unwrap();
    store.flush().unwrap();
    assert_eq!(store.get(OBJECT, &2u32.to_be_bytes(), &[b"v"]).unwrap(), [Some(large.clone())]);
}
