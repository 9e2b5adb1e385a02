use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use system::sync::Mutex;

use super::*;
use crate::scratch::Scratch;
use crate::{Created, Driver, DriverInfo, Memory, Target};

fn files(dir: &Scratch, name: &str) -> OnionFiles {
    let drivers = Drivers::default();
    OnionFiles { inner: drivers.named("posix").unwrap(), drivers, path: dir.path(name) }
}

fn small(revision: Option<u64>, comment: &str) -> OnionOptions {
    OnionOptions { revision, page_bytes: 16, comment: comment.to_owned(), is_page_aligned: false }
}

fn open(dir: &Scratch, mode: Mode, revision: Option<u64>) -> io::Result<Onion> {
    Onion::open(files(dir, "a"), mode, small(revision, "next"))
}

fn content(file: &dyn File) -> Vec<u8> {
    file.read_vec(0, file.len().unwrap() as usize).unwrap()
}

fn at(dir: &Scratch, revision: u64) -> Vec<u8> {
    content(&open(dir, Mode::Read, Some(revision)).unwrap())
}

#[test]
fn every_writer_stores_a_revision_and_all_can_be_read() {
    let dir = Scratch::new();
    let original: Vec<u8> = (0..100).collect();
    std::fs::write(dir.path("a"), &original).unwrap();
    assert_eq!(open(&dir, Mode::Read, None).unwrap_err().kind(), ErrorKind::NotFound);
    let (mut expected, mut states) = (original.clone(), vec![original.clone()]);
    for (offset, data) in [(10, vec![1; 30]), (95, vec![2; 20]), (40, vec![3; 3])] {
        let file = open(&dir, Mode::ReadWrite, None).unwrap();
        file.write_at(offset as u64, &data).unwrap();
        expected.resize(expected.len().max(offset + data.len()), 0);
        expected[offset..offset + data.len()].copy_from_slice(&data);
        assert_eq!(content(&file), expected);
        states.push(expected.clone());
    }
    for (revision, state) in (0..).zip(&states) {
        assert_eq!(at(&dir, revision), *state, "revision {revision}");
    }
    assert_eq!(content(&open(&dir, Mode::Read, None).unwrap()), expected);
    assert_eq!(std::fs::read(dir.path("a")).unwrap(), original, "the original stays");
    assert!(!dir.path("a.onion.recovery").exists());
    let revisions = Onion::revisions(dir.path("a")).unwrap();
    let numbers: Vec<_> =
        revisions.iter().map(|r| (r.revision, r.stored_number, r.stored_parent, r.bytes)).collect();
    assert_eq!(numbers, [(1, 0, 0, 100), (2, 1, 0, 115), (3, 2, 1, 115)]);
    assert_eq!(revisions[1].comment, "next");
    assert_eq!(open(&dir, Mode::Read, Some(4)).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn opening_without_a_change_stores_nothing() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), b"abc").unwrap();
    let file = open(&dir, Mode::ReadWrite, None).unwrap();
    file.set_len(3).unwrap();
    file.sync(Sync::All).unwrap();
    drop(file);
    assert!(!dir.path("a.onion").exists());
    open(&dir, Mode::ReadWrite, None).unwrap().write_at(0, b"x").unwrap();
    drop(open(&dir, Mode::ReadWrite, None).unwrap());
    assert_eq!(Onion::revisions(dir.path("a")).unwrap().len(), 1);
}

#[test]
fn an_old_revision_can_be_continued() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), b"0000").unwrap();
    open(&dir, Mode::ReadWrite, None).unwrap().write_at(0, b"1").unwrap();
    open(&dir, Mode::ReadWrite, None).unwrap().write_at(1, b"2").unwrap();
    open(&dir, Mode::ReadWrite, Some(1)).unwrap().write_at(2, b"3").unwrap();
    open(&dir, Mode::ReadWrite, Some(0)).unwrap().write_at(3, b"4").unwrap();
    let revisions = Onion::revisions(dir.path("a")).unwrap();
    let numbers: Vec<_> = revisions.iter().map(|r| (r.stored_number, r.stored_parent)).collect();
    assert_eq!(numbers, [(0, 0), (1, 0), (2, 0), (3, 0)]);
    let states: Vec<_> = (0..5).map(|revision| at(&dir, revision)).collect();
    assert_eq!(states, [b"0000", b"1000", b"1200", b"1030", b"0004"]);
}

#[test]
fn a_cut_and_growth_read_as_zeros_in_every_revision() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), [9; 100]).unwrap();
    let file = open(&dir, Mode::ReadWrite, None).unwrap();
    file.write_at(50, &[1; 30]).unwrap();
    file.set_len(20).unwrap();
    file.set_len(90).unwrap();
    file.write_at(85, b"x").unwrap();
    let mut expected = vec![0; 90];
    expected[..20].fill(9);
    expected[85] = b'x';
    assert_eq!(content(&file), expected);
    drop(file);
    assert_eq!(at(&dir, 1), expected);
    assert_eq!(at(&dir, 0), [9; 100]);
}

#[test]
fn a_new_file_has_no_original_and_replaces_what_was_there() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), b"old").unwrap();
    open(&dir, Mode::ReadWrite, None).unwrap().write_at(0, b"x").unwrap();
    let create = |may_exist| Onion::create(files(&dir, "a"), may_exist, small(None, ""));
    assert_eq!(create(false).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let (file, is_new) = create(true).unwrap();
    assert!(!is_new);
    file.set_len(0).unwrap();
    file.write_at(0, b"new").unwrap();
    drop(file);
    assert_eq!(std::fs::read(dir.path("a")).unwrap(), b"ONIONEOF");
    assert_eq!((at(&dir, 1), Onion::revisions(dir.path("a")).unwrap().len()), (b"new".to_vec(), 1));
    assert_eq!(at(&dir, 0), b"", "there is no content before the first revision");
}

#[test]
fn pages_can_be_aligned() {
    let dir = Scratch::new();
    let options = OnionOptions { page_bytes: 512, is_page_aligned: true, ..OnionOptions::default() };
    let (file, _) = Onion::create(files(&dir, "a"), false, options).unwrap();
    for n in 0..5u8 {
        file.write_at(u64::from(n) * 700, &[n; 700]).unwrap();
        file.sync(Sync::All).unwrap();
    }
    drop(file);
    let files = files(&dir, "a");
    let original = files.open(&files.path, Mode::Read).unwrap();
    let loaded = load(&files, &original, files.open(&files.onion(), Mode::Read).unwrap()).unwrap();
    let record = loaded.record(loaded.history[0]).unwrap();
    let places =
        record.pages.iter().map(|page| page.at).chain([loaded.history[0].at, loaded.header.history_at]);
    assert!(places.into_iter().all(|at| at % 512 == 0));
}

#[test]
fn many_syncs_do_not_make_the_file_long() {
    let dir = Scratch::new();
    let (file, _) = Onion::create(files(&dir, "a"), false, small(None, "")).unwrap();
    for n in 0..200u64 {
        file.write_at(n * 16, &[1; 16]).unwrap();
        file.sync(Sync::All).unwrap();
        file.write_at(n * 16 + 16, &[2; 64]).unwrap();
        file.set_len(n * 16 + 16).unwrap();
    }
    drop(file);
    let bytes = std::fs::metadata(dir.path("a.onion")).unwrap().len();
    assert!(bytes < 60_000, "3.2 kB of pages and 4 kB of records take {bytes} bytes");
    assert_eq!(at(&dir, 1), [1; 3200]);
}

#[test]
fn records_lie_behind_their_pages_as_libhdf5_needs_it() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), [9; 1000]).unwrap();
    for session in 0..4u64 {
        let file = open(&dir, Mode::ReadWrite, None).unwrap();
        for n in 0..40 {
            file.write_at((n * 37 + session * 11) % 1500, &[n as u8; 30]).unwrap();
            if n % 3 == 0 {
                file.sync(Sync::All).unwrap();
            }
        }
    }
    let files = files(&dir, "a");
    let original = files.open(&files.path, Mode::Read).unwrap();
    let loaded = load(&files, &original, files.open(&files.onion(), Mode::Read).unwrap()).unwrap();
    let mut places = std::collections::BTreeSet::new();
    for pointer in &loaded.history {
        let record = loaded.record(*pointer).unwrap();
        assert!(record.pages.iter().all(|page| page.at + 16 <= pointer.at));
        places.extend(record.pages.iter().map(|page| page.at));
    }
    assert!(places.iter().zip(places.iter().skip(1)).all(|(a, b)| a + 16 <= *b), "pages overlap");
}

#[test]
fn a_torn_header_is_read_from_the_copy_of_the_history() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), b"original").unwrap();
    let file = open(&dir, Mode::ReadWrite, None).unwrap();
    file.write_at(0, b"changed!").unwrap();
    file.sync(Sync::All).unwrap();
    std::mem::forget(file);
    let mut onion = std::fs::read(dir.path("a.onion")).unwrap();
    onion[20..40].fill(0x55);
    std::fs::write(dir.path("a.onion"), onion).unwrap();
    assert_eq!(content(&open(&dir, Mode::Read, None).unwrap()), b"changed!");
    open(&dir, Mode::ReadWrite, None).unwrap().write_at(0, b"X").unwrap();
    assert_eq!(
        (at(&dir, 2), at(&dir, 1), at(&dir, 0)),
        (b"Xhanged!".to_vec(), b"changed!".to_vec(), b"original".to_vec())
    );
}

#[test]
fn mutated_onion_files_end_in_an_error_or_a_read() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), [7; 64]).unwrap();
    for n in 0..3 {
        open(&dir, Mode::ReadWrite, None).unwrap().write_at(n * 20, b"change").unwrap();
    }
    let good = std::fs::read(dir.path("a.onion")).unwrap();
    for at in 0..good.len() {
        for value in [0u8, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            std::fs::write(dir.path("a.onion"), &bytes).unwrap();
            for revision in [None, Some(1)] {
                if let Ok(file) = open(&dir, Mode::Read, revision) {
                    content(&file);
                }
            }
        }
    }
    for len in 0..good.len() {
        std::fs::write(dir.path("a.onion"), &good[..len]).unwrap();
        open(&dir, Mode::Read, None).unwrap_err();
    }
}

#[test]
fn a_full_disk_leaves_the_revisions_that_were_stored() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), [9; 100]).unwrap();
    open(&dir, Mode::ReadWrite, None).unwrap().write_at(10, b"first").unwrap();
    let first = at(&dir, 1);
    let full =
        OnionFiles { inner: Drivers::default().named("core{bytes_max=700}").unwrap(), ..files(&dir, "a") };
    let file = Onion::open(full, Mode::ReadWrite, small(None, "")).unwrap();
    assert_eq!(file.write_at(0, &[1; 5000]).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(content(&file), first, "what failed is not part of the revision");
    drop(file);
    assert_eq!((at(&dir, 1), at(&dir, 0)), (first, vec![9; 100]));
    open(&dir, Mode::ReadWrite, None).unwrap().write_at(0, b"again").unwrap();
    assert!(content(&open(&dir, Mode::Read, None).unwrap()).starts_with(b"again"));
}

#[test]
fn inner_drivers_with_members_are_refused() {
    let dir = Scratch::new();
    let inner = Drivers::default().named("family{member_bytes=100}").unwrap();
    let family = OnionFiles { inner, ..files(&dir, "a%d") };
    assert_eq!(Onion::create(family, false, small(None, "")).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(std::fs::read_dir(dir.dir()).unwrap().next().is_none());
}

#[test]
fn options_that_cannot_be_stored_are_refused() {
    let dir = Scratch::new();
    for options in [
        OnionOptions { page_bytes: 100, ..OnionOptions::default() },
        OnionOptions { page_bytes: 1 << 31, ..OnionOptions::default() },
        OnionOptions { comment: "long ".repeat(100), ..OnionOptions::default() },
    ] {
        let error = Onion::create(files(&dir, "a"), false, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert!(std::fs::read_dir(dir.dir()).unwrap().next().is_none());
}

/// One change of a folder of files in memory.
#[derive(Clone, Debug)]
enum Change {
    Create(PathBuf),
    Write(PathBuf, u64, Vec<u8>),
    SetLen(PathBuf, u64),
    Sync(PathBuf),
    Delete(PathBuf),
}

/// Files in memory, all changes of which are recorded.
#[derive(Clone, Default, Debug)]
struct Recorder {
    files: Arc<Mutex<BTreeMap<PathBuf, Arc<Memory>>>>,
    changes: Arc<Mutex<Vec<Change>>>,
}

#[derive(Debug)]
struct Recorded {
    path: PathBuf,
    file: Arc<Memory>,
    changes: Arc<Mutex<Vec<Change>>>,
}

impl File for Recorded {
    forward! { file: len lock }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.changes.lock().push(Change::Write(self.path.clone(), offset, data.to_vec()));
        self.file.write_at(offset, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.changes.lock().push(Change::SetLen(self.path.clone(), len));
        self.file.set_len(len)
    }

    fn sync(&self, _: Sync) -> io::Result<()> {
        self.changes.lock().push(Change::Sync(self.path.clone()));
        Ok(())
    }
}

impl Recorder {
    fn handle(&self, path: &Path) -> Option<Handle> {
        let file = self.files.lock().get(path)?.clone();
        Some(Arc::new(Recorded { path: path.to_owned(), file, changes: self.changes.clone() }))
    }

    /// Returns the files that a crash may leave after `count` changes: with all that was written, or what was synced.
    fn crashed(&self, count: usize, only_synced: bool) -> Recorder {
        let left = Recorder::default();
        let changes = &self.changes.lock()[..count];
        let is_synced = |n: usize, path: &Path| {
            changes[n..].iter().any(|change| matches!(change, Change::Sync(synced) if synced == path))
        };
        for (n, change) in changes.iter().enumerate() {
            let mut files = left.files.lock();
            match change {
                Change::Create(path) => drop(files.entry(path.clone()).or_default()),
                Change::Delete(path) => drop(files.remove(path)),
                Change::Write(path, offset, data) if !only_synced || is_synced(n, path) => {
                    files[path].write_at(*offset, data).unwrap();
                }
                Change::SetLen(path, len) if !only_synced || is_synced(n, path) => {
                    files[path].set_len(*len).unwrap();
                }
                _ => {}
            }
        }
        left
    }

    fn onion(&self) -> OnionFiles {
        let mut drivers = Drivers::empty();
        drivers.register(Arc::new(self.clone())).unwrap();
        OnionFiles { inner: drivers.named("recorder").unwrap(), drivers, path: PathBuf::from("a") }
    }
}

impl Driver for Recorder {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: "recorder", aliases: &[], about: "", parameters: &[] }
    }

    fn create(&self, target: &Target<'_>, _: bool) -> io::Result<Created> {
        self.changes.lock().push(Change::Create(target.path.to_owned()));
        self.files.lock().entry(target.path.to_owned()).or_default();
        self.open(target, Mode::ReadWrite).map(|file| Created { file, is_new: true })
    }

    fn open(&self, target: &Target<'_>, _: Mode) -> io::Result<Handle> {
        self.handle(target.path).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        self.changes.lock().push(Change::Delete(target.path.to_owned()));
        self.files.lock().remove(target.path).map(drop).ok_or_else(|| ErrorKind::NotFound.into())
    }
}

#[test]
fn a_crash_at_any_change_leaves_all_stored_revisions() {
    let recorder = Recorder::default();
    let (file, _) = Onion::create(recorder.onion(), true, small(None, "")).unwrap();
    file.write_at(0, &[1; 200]).unwrap();
    drop(file);
    // How many changes there were when a revision was stored, and its content.
    let mut stored = vec![(recorder.changes.lock().len(), vec![1; 200])];
    let mut expected = vec![1; 200];
    for n in 2..6u8 {
        let file = Onion::open(recorder.onion(), Mode::ReadWrite, small(None, "")).unwrap();
        for part in 0..3usize {
            let at = usize::from(n) * 13 + part * 40;
            file.write_at(at as u64, &[n; 25]).unwrap();
            expected.resize(expected.len().max(at + 25), 0);
            expected[at..at + 25].fill(n);
            file.sync(Sync::Data).unwrap();
        }
        drop(file);
        stored.push((recorder.changes.lock().len(), expected.clone()));
    }
    let (total, first) = (recorder.changes.lock().len(), stored[0].0);
    let mut checked = 0;
    for count in first..=total {
        for only_synced in [false, true] {
            let left = recorder.crashed(count, only_synced);
            let latest = Onion::open(left.onion(), Mode::Read, small(None, "")).unwrap();
            content(&latest);
            for (revision, (_, state)) in (1..).zip(stored.iter().filter(|(when, _)| *when <= count)) {
                let file = Onion::open(left.onion(), Mode::Read, small(Some(revision), "")).unwrap();
                assert_eq!(content(&file), *state, "revision {revision} after {count} changes");
                checked += 1;
            }
            // It can be written again.
            Onion::open(left.onion(), Mode::ReadWrite, small(None, "")).unwrap().write_at(3, b"on").unwrap();
        }
    }
    assert!(checked > 200, "{checked}");
}
