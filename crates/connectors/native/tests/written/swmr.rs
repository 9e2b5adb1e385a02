//! Several handles and several programs at one file: locks, marks, and one writer with many readers.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use hyperslab::{Dataset, File, FileAccess, Kind, LibVersion, Locking, Result, UNLIMITED_DIM};
use model::properties::FileCreate;
use ndarray::{Array1, Array2};

use crate::others::{Folder, has_h5py, python, script};

/// A program that has a file open until it is told to end.
struct Other {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Other {
        let mut command = Command::new("python3");
        command.arg(script(name)).args(arguments).envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Other { child, input, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Whether it ended well.
    fn end(mut self) -> bool {
        drop(self.input.take());
        self.child.wait().unwrap().success()
    }
}

/// What h5py says when it opens a file.
fn theirs_opens(path: &str, mode: &str, variables: &[(&str, &str)]) -> String {
    let mut other = Other::start("hold.py", &[path, mode], variables);
    let said = other.line();
    other.end();
    said
}

fn new(path: &str) -> FileAccess {
    let access = FileAccess { version_low: LibVersion::V110, ..FileAccess::write() };
    let file = File::create_with(path, &FileCreate::default(), &access, true).unwrap();
    file.create_group("group").unwrap();
    file.close().unwrap();
    access
}

fn kind_of<T>(result: Result<T>) -> Option<Kind> {
    result.err().map(|error| error.kind())
}

#[test]
fn what_we_have_open_libhdf5_cannot_write_to() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("locks-ours");
    let path = folder.at("a.h5");
    new(&path);
    let writer = File::open_rw(&path).unwrap();
    for mode in ["r", "r+"] {
        assert!(theirs_opens(&path, mode, &[]).contains("unable to lock file"), "{mode}");
    }
    // Without a lock it is the mark that keeps it out.
    let off = [("HDF5_USE_FILE_LOCKING", "FALSE")];
    assert!(theirs_opens(&path, "r+", &off).contains("already open for write"));
    writer.close().unwrap();
    let reader = File::open(&path).unwrap();
    assert_eq!(theirs_opens(&path, "r", &[]), "open");
    assert!(theirs_opens(&path, "r+", &[]).contains("unable to lock file"));
    assert_eq!(theirs_opens(&path, "r+", &off), "open");
    reader.close().unwrap();
    assert_eq!(theirs_opens(&path, "r+", &[]), "open");
}

#[test]
fn what_libhdf5_has_open_we_cannot_write_to() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("locks-theirs");
    let path = folder.at("a.h5");
    new(&path);
    let mut other = Other::start("hold.py", &[&path, "r+"], &[]);
    assert_eq!(other.line(), "open");
    assert_eq!(kind_of(File::open(&path)), Some(Kind::Busy));
    let error = File::open_rw(&path).unwrap_err().to_string();
    assert!(error.contains("unable to lock file") && error.contains("HDF5_USE_FILE_LOCKING"), "{error}");
    let before = std::fs::metadata(&path).unwrap().len();
    assert_eq!(kind_of(File::create(&path)), Some(Kind::Busy));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), before, "a file in use was cut");
    let off = FileAccess { locking: Locking::Off, ..FileAccess::read() };
    let error = File::open_with(&path, &off).unwrap_err().to_string();
    assert!(error.contains("hyperslab recover"), "{error}");
    assert!(other.end());
    let mut other = Other::start("hold.py", &[&path, "r"], &[]);
    assert_eq!(other.line(), "open");
    File::open(&path).unwrap();
    assert_eq!(kind_of(File::open_rw(&path)), Some(Kind::Busy));
    File::open_with(&path, &FileAccess { locking: Locking::Off, ..FileAccess::write() }).unwrap();
    assert!(other.end());
    File::open_rw(&path).unwrap();
}

/// Run by the next test as a program of its own.
#[test]
fn opens_the_file_of_its_environment() {
    if let Some(path) = std::env::var_os("HYPERSLAB_TEST_OPENS") {
        File::open_rw(path).unwrap();
    }
}

#[test]
fn the_variable_switches_locks_off() {
    let folder = Folder::new("variable");
    let path = folder.at("a.h5");
    // Version 2 of the superblock has no marks.
    File::create(&path).unwrap().close().unwrap();
    let _writer = File::open_rw(&path).unwrap();
    let opens = |value: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["swmr::opens_the_file_of_its_environment", "--exact"])
            .env("HYPERSLAB_TEST_OPENS", &path);
        command.env("HDF5_USE_FILE_LOCKING", value).output().unwrap().status.success()
    };
    assert_eq!(
        ["FALSE", "0", "TRUE", "1", "BEST_EFFORT", "false"].map(opens),
        [true, true, false, false, false, false]
    );
}

#[test]
fn a_mark_of_libhdf5_is_cleared_on_request_only_and_our_own_at_the_next_open() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("marks");
    let path = folder.at("a.h5");
    new(&path);
    let mut other = Other::start("hold.py", &[&path, "r+", "die"], &[]);
    assert_eq!(other.line(), "open");
    assert!(!other.end(), "it dies without closing the file");
    for error in [File::open(&path).unwrap_err(), File::open_rw(&path).unwrap_err()] {
        assert!(error.kind() == Kind::Busy && error.to_string().contains("hyperslab recover"), "{error}");
    }
    let recovered = hyperslab::registry().recover(&path, &FileAccess::write()).unwrap();
    assert_eq!(recovered, ["it is not marked as open for writing any more"]);
    assert!(hyperslab::registry().recover(&path, &FileAccess::write()).unwrap().is_empty());
    assert_eq!(theirs_opens(&path, "r+", &[]), "open");
    // A handle that is lost with its process leaves the flags: the same bytes in another file are those of a writer that died.
    let writer = File::open_rw(&path).unwrap();
    writer.create_group("more").unwrap();
    writer.flush().unwrap();
    let dead = folder.at("dead.h5");
    std::fs::copy(&path, &dead).unwrap();
    assert!(theirs_opens(&dead, "r", &[]).contains("already open for write"));
    assert!(!File::open(&dead).unwrap().container_info().unwrap().warnings.is_empty());
    File::open_rw(&dead).unwrap().group("more").unwrap();
    assert_eq!(theirs_opens(&dead, "r", &[]), "open");
    // One that is dropped commits and takes it away.
    writer.create_group("not flushed").unwrap();
    drop(writer);
    assert_eq!(theirs_opens(&path, "r", &[]), "open");
    File::open(&path).unwrap().group("not flushed").unwrap();
}

#[test]
fn handles_of_one_file_in_one_process_see_each_other() {
    let folder = Folder::new("handles");
    let path = folder.at("a.h5");
    let access = new(&path);
    let writer = File::open_rw(&path).unwrap();
    let other_name = folder.at("b.h5");
    std::fs::hard_link(&path, &other_name).unwrap();
    let (reader, second) = (File::open(&other_name).unwrap(), File::open_rw(&path).unwrap());
    writer.new_dataset::<i32>().shape(3).create("d").unwrap().write_raw(&[1, 2, 3]).unwrap();
    assert_eq!(reader.dataset("d").unwrap().read_raw::<i32>().unwrap(), [1, 2, 3]);
    second.dataset("d").unwrap().write_raw(&[4, 5, 6]).unwrap();
    assert_eq!(reader.dataset("d").unwrap().read_raw::<i32>().unwrap(), [4, 5, 6]);
    assert_eq!(kind_of(reader.create_group("no")), Some(Kind::Denied));
    assert!(!reader.container_info().unwrap().writable);
    assert_eq!(kind_of(File::create(&path)), Some(Kind::Busy));
    assert_eq!(kind_of(File::open_with(&path, &access.clone().with_swmr())), Some(Kind::Busy));
    writer.close().unwrap();
    second.create_group("after").unwrap();
    assert!(reader.group("after").is_ok());
    second.close().unwrap();
    // The file stays open for writing until its last handle is closed, though no other program may have it.
    assert!(File::open_rw(&path).unwrap().create_group("again").is_ok());
    reader.close().unwrap();
    let reader = File::open(&path).unwrap();
    assert_eq!(kind_of(File::open_rw(&path)), Some(Kind::Busy));
    assert_eq!(
        kind_of(File::open_with(&path, &FileAccess { locking: Locking::Off, ..FileAccess::write() })),
        Some(Kind::Busy)
    );
    assert!(File::open(&path).unwrap().group("after").is_ok());
    reader.close().unwrap();
    File::open_rw(&path).unwrap();
}

/// A file of empty datasets of each kind of index that grows.
fn growing(path: &str) -> (File, Vec<Dataset>) {
    let access = FileAccess {
        version_low: LibVersion::V110,
        durability: hyperslab::Durability::None,
        ..FileAccess::write()
    };
    let file = File::create_with(path, &FileCreate::default(), &access, true).unwrap();
    let make = |name: &str, columns: usize, chunk: (usize, usize)| {
        let builder = file.new_dataset::<i64>().shape([0, 3]).max_shape([UNLIMITED_DIM, columns]);
        let builder = builder.chunk(chunk).fill_value(&-1i64);
        if name == "packed" { builder.deflate(1).create(name) } else { builder.create(name) }.unwrap()
    };
    let sets = vec![
        make("packed", 3, (8, 3)),
        make("plain", 3, (4, 3)),
        make("rows", 3, (1, 3)),
        make("tree", UNLIMITED_DIM, (8, 3)),
    ];
    (file, sets)
}

fn append(datasets: &mut [Dataset], first: usize, count: usize) {
    let rows = Array2::from_shape_fn((count, 3), |(row, _)| (first + row) as i64);
    datasets.iter_mut().for_each(|d| d.append(0, &rows).unwrap());
}

#[test]
fn libhdf5_reads_while_we_append() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("swmr-ours");
    let path = folder.at("a.h5");
    let (file, mut datasets) = growing(&path);
    file.start_swmr().unwrap();
    let count = 600;
    let mut readers: Vec<Other> =
        (0..2).map(|_| Other::start("swmr_read.py", &[&path, &count.to_string()], &[])).collect();
    readers.iter_mut().for_each(|reader| assert_eq!(reader.line(), "open"));
    for first in (0..count).step_by(2) {
        append(&mut datasets, first, 2);
        file.flush().unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    for mut reader in readers {
        let sizes = reader.line();
        assert!(reader.end(), "a reader failed");
        assert!(sizes.parse::<u32>().unwrap() > 5, "readers saw {sizes} sizes only");
    }
    assert_eq!(kind_of(file.create_group("no")), Some(Kind::Denied));
    assert_eq!(kind_of(file.set_attr("no", 1i32)), Some(Kind::Denied));
    assert!(theirs_opens(&path, "r", &[]).contains("already open for"));
    assert!(!theirs_opens(&path, "r+", &[]).contains("open for reading"));
    file.close().unwrap();
    assert_eq!(theirs_opens(&path, "r+", &[]), "open");
    assert!(python("swmr_read.py", &[&path, &count.to_string()]).contains('1'));
}

#[test]
fn we_read_while_libhdf5_appends() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("swmr-theirs");
    let path = folder.at("a.h5");
    let count = 600;
    let mut other = Other::start("swmr_write.py", &[&path, &count.to_string(), "3"], &[]);
    assert_eq!(other.line(), "open");
    assert_eq!(kind_of(File::open(&path)), Some(Kind::Busy));
    assert_eq!(kind_of(File::open_rw(&path)), Some(Kind::Busy));
    let file = File::open_with(&path, &FileAccess::read().with_swmr()).unwrap();
    let mut datasets = ["plain", "packed", "tree"].map(|name| file.dataset(name).unwrap());
    let (mut sizes, stop) = (std::collections::BTreeSet::new(), Instant::now() + Duration::from_secs(30));
    while !datasets.iter().all(|d| is_complete(d, count)) {
        assert!(Instant::now() < stop, "saw {sizes:?} only");
        for dataset in &mut datasets {
            dataset.refresh().unwrap();
            sizes.insert(dataset.shape()[0]);
            check_rows(dataset);
        }
    }
    assert!(sizes.len() > 5, "{sizes:?}");
    assert_eq!(other.line(), "done");
    assert!(other.end());
}

fn rows(dataset: &Dataset) -> Vec<i64> {
    let columns = dataset.shape().get(1).copied().unwrap_or(1);
    dataset.read_raw::<i64>().unwrap().chunks(columns).map(|row| row[0]).collect()
}

/// Whatever is there is the numbers from 0 on, or not there yet.
fn check_rows(dataset: &Dataset) {
    let columns = dataset.shape().get(1).copied().unwrap_or(1);
    for (row, values) in dataset.read_raw::<i64>().unwrap().chunks(columns).enumerate() {
        assert!(
            values.iter().all(|&v| v == row as i64 || v == -1),
            "{}: row {row} is {values:?}",
            dataset.name()
        );
    }
}

fn is_complete(dataset: &Dataset, count: usize) -> bool {
    dataset.shape()[0] == count && rows(dataset).iter().copied().eq(0..count as i64)
}

#[test]
fn our_readers_follow_our_writer_in_another_process_and_this_one() {
    let folder = Folder::new("swmr-both");
    let path = folder.at("a.h5");
    let (file, mut datasets) = growing(&path);
    file.start_swmr().unwrap();
    // Readers of the same process share the writer's state.
    let here = File::open(&path).unwrap();
    // A reader that knows the file by its bytes only is another process as far as it can tell.
    let elsewhere = files::Posix::open(&path, files::Mode::Read).unwrap();
    let access = FileAccess::read().with_swmr();
    let container = hyperslab_native::open_handle(std::sync::Arc::new(elsewhere), &path, &access).unwrap();
    let elsewhere = File::from_container(container, &path, &access).unwrap();
    let mut seen = ["packed", "plain", "rows", "tree"].map(|name| elsewhere.dataset(name).unwrap());
    for first in 0..2000 {
        append(&mut datasets, first, 1);
        if first % 7 == 0 {
            file.flush().unwrap();
            for dataset in &mut seen {
                dataset.refresh().unwrap();
                assert_eq!(dataset.shape()[0], first + 1);
            }
            if first % 70 == 0 {
                seen.iter().for_each(|d| assert!(is_complete(d, first + 1), "{} at {first}", d.name()));
            }
        }
    }
    assert!(is_complete(&here.dataset("rows").unwrap(), 2000));
    file.close().unwrap();
    here.close().unwrap();
    assert!(is_complete(&File::open(&path).unwrap().dataset("rows").unwrap(), 2000));
}

#[test]
fn swmr_needs_a_file_that_can_say_so() {
    let folder = Folder::new("swmr-old");
    let path = folder.at("old.h5");
    let file = File::create(&path).unwrap();
    assert_eq!(kind_of(file.start_swmr()), Some(Kind::Invalid));
    file.create_group("still works").unwrap();
    file.close().unwrap();
    for access in [FileAccess::read().with_swmr(), FileAccess::write().with_swmr()] {
        assert_eq!(kind_of(File::open_with(&path, &access)), Some(Kind::Invalid));
    }
    let path = folder.at("new.h5");
    let access = new(&path).with_swmr();
    let file = File::open_with(&path, &access).unwrap();
    assert_eq!(kind_of(file.create_group("no")), Some(Kind::Denied));
    // A second writer is kept out by the lock, no matter who it is.
    let other = std::sync::Arc::new(files::Posix::open(&path, files::Mode::ReadWrite).unwrap());
    assert_eq!(kind_of(hyperslab_native::open_handle(other, &path, &FileAccess::write())), Some(Kind::Busy));
    file.close().unwrap();
    File::open_rw(&path).unwrap().create_group("yes").unwrap();
}

#[test]
fn the_file_of_many_small_commits_stays_small() {
    let folder = Folder::new("swmr-size");
    let path = folder.at("a.h5");
    let access = FileAccess {
        version_low: LibVersion::V110,
        durability: hyperslab::Durability::None,
        ..FileAccess::write()
    };
    let file = File::create_with(&path, &FileCreate::default(), &access, true).unwrap();
    let builder = file.new_dataset::<f64>().shape([0]).max_shape([UNLIMITED_DIM]);
    let dataset = builder.chunk(64).create("log").unwrap();
    file.start_swmr().unwrap();
    let start = Instant::now();
    for n in 0..2000 {
        dataset.append(0, &Array1::from_elem(16, f64::from(n))).unwrap();
        file.flush().unwrap();
    }
    let took = start.elapsed();
    file.close().unwrap();
    let (bytes, content) = (std::fs::metadata(&path).unwrap().len(), 2000 * 16 * 8);
    println!("2,000 appends with a commit each: {took:?}, {bytes} bytes for {content} of elements");
    assert!(bytes < 2 * content, "{bytes} bytes");
}

/// A writer that shares nothing with others but the bytes, as one of another program without locks.
fn unlocked_writer(path: &str) -> File {
    let access = FileAccess { locking: Locking::Off, ..FileAccess::write() };
    let file = files::Posix::open(path, files::Mode::ReadWrite).unwrap();
    let container = hyperslab_native::open_handle(std::sync::Arc::new(file), path, &access).unwrap();
    File::from_container(container, path, &access).unwrap()
}

/// Writes a dataset that is large enough to go to the file at once, or small enough to wait.
fn write_one(file: &File, name: &str, elements: usize) -> Result<()> {
    let number = name.len() as i32;
    file.new_dataset::<i32>().shape(elements).create(name)?.write_raw(&vec![number; elements])
}

fn assert_holds(path: &str, name: &str, elements: usize, without: &str) {
    let file = File::open(path).unwrap();
    let number = name.len() as i32;
    assert_eq!(file.dataset(name).unwrap().read_raw::<i32>().unwrap(), vec![number; elements]);
    assert!(!file.exists(without).unwrap());
    assert!(hyperslab::check::Check::default().run(&**file.container(), &mut |_| ()).findings.is_empty());
}

#[test]
fn of_two_writers_without_locks_one_gets_an_error() {
    for low in [LibVersion::Earliest, LibVersion::V18] {
        for elements in [10, 100_000] {
            let folder = Folder::new("unlocked");
            let path = folder.at("a.h5");
            let access = FileAccess { version_low: low, ..FileAccess::write() };
            File::create_with(&path, &FileCreate::default(), &access, true).unwrap().close().unwrap();
            // One commits before the other changes anything.
            let (first, second) = (unlocked_writer(&path), unlocked_writer(&path));
            write_one(&first, "first", elements).unwrap();
            first.close().unwrap();
            let late = write_one(&second, "second!", elements).and_then(|()| second.flush());
            assert_eq!(kind_of(late), Some(Kind::Busy), "{elements}");
            drop(second);
            assert_holds(&path, "first", elements, "second!");
            // Both change the file, one after the other, before any commit.
            let (first, second) = (unlocked_writer(&path), unlocked_writer(&path));
            write_one(&first, "third", elements).unwrap();
            write_one(&second, "fourth", elements).unwrap();
            let done = [first.flush(), second.flush()].map(kind_of);
            assert!(done == [Some(Kind::Busy), None] || done == [None, Some(Kind::Busy)], "{done:?}");
            drop((first, second));
            match done {
                [None, _] => assert_holds(&path, "third", elements, "fourth"),
                _ => assert_holds(&path, "fourth", elements, "third"),
            }
        }
    }
}
