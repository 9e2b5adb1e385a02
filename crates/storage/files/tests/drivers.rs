//! One suite for all drivers: what a file of any driver, and of drivers on drivers, must do.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_files::{Created, DriverBlock, Drivers, Handle, Lock, Mode, NamedDriver, Sync};

/// What differs between drivers.
#[derive(Clone, Copy)]
struct Subject {
    /// The driver; `DIR` stands for a folder of its own.
    text: &'static str,
    /// Whether a file is there when it is opened again.
    persists: bool,
}

const fn stored(text: &'static str) -> Subject {
    Subject { text, persists: true }
}

/// Every driver, and stacks of them.
const SUBJECTS: [Subject; 26] = [
    stored("posix"),
    stored("core"),
    Subject { text: "core{backing_store=false}", persists: false },
    stored("direct"),
    stored("direct{alignment=512,block_bytes=8192,copy_buffer_bytes=16384}"),
    stored("family{member_bytes=1000}"),
    stored("split"),
    stored("multi"),
    stored("log{to=DIR/log}"),
    stored("splitter"),
    stored("onion"),
    stored("onion{page_bytes=64,comment=a comment,page_alignment=true}"),
    stored("subfiling"),
    stored("subfiling{stripe_bytes=1000,subfiles=3}"),
    stored("log{to=DIR/log,inner=family{member_bytes=1000}}"),
    stored("log{to=DIR/log,inner=direct,flags=loc_io+num_io}"),
    stored("log{to=DIR/log,inner=onion{page_bytes=128}}"),
    stored("log{to=DIR/log,inner=subfiling{stripe_bytes=512,subfiles=2}}"),
    stored("splitter{inner=core}"),
    stored("splitter{inner=split,log=DIR/log}"),
    stored("splitter{inner=family{member_bytes=777},wo=posix,wo_path=DIR/copy}"),
    stored("splitter{inner=onion,wo=subfiling{stripe_bytes=100,subfiles=2}}"),
    stored("onion{inner=direct}"),
    stored("onion{inner=core,page_bytes=32}"),
    stored("log{to=DIR/log,inner=splitter{inner=log{to=DIR/inner log,inner=multi}}}"),
    stored("splitter{inner=splitter{wo_path=DIR/second},wo=posix,wo_path=DIR/third}"),
];

/// A driver in a folder that lives as long as a test.
struct Bench {
    dir: PathBuf,
    path: PathBuf,
    drivers: Drivers,
    driver: NamedDriver,
    block: Option<DriverBlock>,
}

impl Bench {
    fn new(subject: Subject) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("hyperslab-suite-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let drivers = Drivers::default();
        let driver = drivers.named(&subject.text.replace("DIR", dir.to_str().unwrap())).unwrap();
        Bench { path: dir.join("run%02d.h5"), dir, drivers, driver, block: None }
    }

    fn create(&mut self, may_exist: bool) -> io::Result<Created> {
        let created = self.driver.create(&self.path, &self.drivers, may_exist)?;
        self.block = created.file.driver_block();
        Ok(created)
    }

    /// Opens the file, with the driver information that it would have stored.
    fn open(&self, mode: Mode) -> io::Result<Handle> {
        let file = self.driver.open(&self.path, &self.drivers, mode)?;
        if let Some(block) = &self.block {
            file.set_driver_block(block)?;
        }
        Ok(file)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Runs a test on every driver. A file system without direct I/O is said, not passed over in silence.
fn on_every_driver(test: impl Fn(Subject, Bench)) {
    for subject in SUBJECTS {
        let mut bench = Bench::new(subject);
        if subject.text.contains("direct") {
            match bench.create(true) {
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    eprintln!("SKIPPED {}: {error}", subject.text);
                    continue;
                }
                created => drop(created.unwrap()),
            }
            bench = Bench::new(subject);
        }
        println!("{}", subject.text);
        test(subject, bench);
    }
}

fn content(file: &Handle) -> Vec<u8> {
    file.read_vec(0, file.len().unwrap() as usize).unwrap()
}

fn kind<T>(result: io::Result<T>) -> ErrorKind {
    result.err().unwrap().kind()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with("log"));
    names.sort();
    names
}

#[test]
fn bytes_are_where_they_were_written_and_holes_are_zeros() {
    on_every_driver(|_, mut bench| {
        let file = bench.create(false).unwrap().file;
        assert_eq!((file.len().unwrap(), file.is_empty().unwrap()), (0, true));
        file.write_at(5, b"abc").unwrap();
        file.write_at(2500, b"xyz").unwrap();
        file.write_at(6, b"B").unwrap();
        let mut expected = vec![0; 2503];
        expected[5..8].copy_from_slice(b"aBc");
        expected[2500..].copy_from_slice(b"xyz");
        assert_eq!(content(&file), expected);
        let (mut a, mut b) = ([0; 3], [0; 5]);
        file.read_many_at(&mut [(5, &mut a), (2498, &mut b)]).unwrap();
        assert_eq!((&a, &b), (b"aBc", b"\0\0xyz"));
    });
}

#[test]
fn reads_past_the_end_and_empty_requests_do_as_documented() {
    on_every_driver(|_, mut bench| {
        let file = bench.create(false).unwrap().file;
        file.write_at(0, &[1; 100]).unwrap();
        for (offset, len) in [(100, 1), (99, 2), (0, 101), (u64::MAX, 1), (1 << 40, 10)] {
            assert_eq!(kind(file.read_at(offset, &mut vec![0; len])), ErrorKind::UnexpectedEof, "{offset}");
        }
        file.read_at(1 << 40, &mut []).unwrap();
        file.write_at(5000, &[]).unwrap();
        assert_eq!(file.len().unwrap(), 100);
        file.write_at(u64::MAX, &[1; 2]).unwrap_err();
        assert_eq!(content(&file), [1; 100]);
    });
}

#[test]
fn a_file_is_cut_and_grows_with_zeros() {
    on_every_driver(|_, mut bench| {
        let file = bench.create(false).unwrap().file;
        file.write_at(0, &[7; 3000]).unwrap();
        file.set_len(1100).unwrap();
        assert_eq!(content(&file), [7; 1100]);
        file.set_len(2900).unwrap();
        let mut expected = vec![0; 2900];
        expected[..1100].fill(7);
        assert_eq!(content(&file), expected);
        file.set_len(0).unwrap();
        file.write_at(10, b"x").unwrap();
        assert_eq!(content(&file), b"\0\0\0\0\0\0\0\0\0\0x");
    });
}

#[test]
fn what_is_synced_or_closed_is_there_when_the_file_is_opened_again() {
    on_every_driver(|subject, mut bench| {
        let file = bench.create(false).unwrap().file;
        file.write_at(0, &[1; 4000]).unwrap();
        file.sync(Sync::All).unwrap();
        file.write_at(3990, &[2; 20]).unwrap();
        drop(file);
        if !subject.persists {
            assert_eq!(kind(bench.open(Mode::Read)), ErrorKind::NotFound);
            return;
        }
        let file = bench.open(Mode::ReadWrite).unwrap();
        file.write_at(100, &[3; 1000]).unwrap();
        file.set_len(4005).unwrap();
        file.sync(Sync::Data).unwrap();
        drop(file);
        let mut expected = vec![1; 4005];
        expected[3990..].fill(2);
        expected[100..1100].fill(3);
        assert_eq!(content(&bench.open(Mode::Read).unwrap()), expected);
    });
}

#[test]
fn a_reader_cannot_write() {
    on_every_driver(|subject, mut bench| {
        drop(bench.create(false).unwrap().file.write_at(0, b"data"));
        if subject.persists {
            let file = bench.open(Mode::Read).unwrap();
            assert_eq!(kind(file.write_at(0, b"x")), ErrorKind::PermissionDenied);
            assert_eq!(kind(file.set_len(1)), ErrorKind::PermissionDenied);
            assert_eq!(content(&file), b"data");
        }
    });
}

#[test]
fn an_existing_file_is_kept_until_it_is_cut() {
    on_every_driver(|subject, mut bench| {
        assert_eq!(kind(bench.open(Mode::ReadWrite)), ErrorKind::NotFound);
        let created = bench.create(true).unwrap();
        assert!(created.is_new);
        created.file.write_at(0, b"old content").unwrap();
        drop(created);
        if !subject.persists {
            return;
        }
        assert_eq!(kind(bench.create(false)), ErrorKind::AlreadyExists);
        let before = names(&bench.dir);
        let created = bench.create(true).unwrap();
        assert!(!created.is_new);
        drop(created);
        assert_eq!(content(&bench.open(Mode::Read).unwrap()), b"old content");
        let created = bench.create(true).unwrap();
        created.file.set_len(0).unwrap();
        created.file.write_at(0, b"new").unwrap();
        drop(created);
        assert_eq!(content(&bench.open(Mode::Read).unwrap()), b"new");
        assert_eq!(names(&bench.dir).len(), before.len(), "no other files are left");
    });
}

#[test]
fn deleting_leaves_nothing() {
    on_every_driver(|subject, mut bench| {
        let file = bench.create(false).unwrap().file;
        file.write_at(0, &[1; 5000]).unwrap();
        drop(file);
        bench.driver.delete(&bench.path, &bench.drivers).unwrap();
        assert_eq!(names(&bench.dir), [""; 0]);
        if subject.persists {
            assert_eq!(kind(bench.driver.delete(&bench.path, &bench.drivers)), ErrorKind::NotFound);
        }
    });
}

#[test]
fn a_writer_keeps_others_out() {
    on_every_driver(|subject, mut bench| {
        let first = bench.create(false).unwrap().file;
        first.write_at(0, b"data").unwrap();
        first.sync(Sync::All).unwrap();
        if !subject.persists {
            return;
        }
        first.lock(Lock::Exclusive).unwrap();
        let second = bench.open(Mode::Read).unwrap();
        assert_eq!(kind(second.lock(Lock::Shared)), ErrorKind::WouldBlock);
        first.lock(Lock::Unlock).unwrap();
        second.lock(Lock::Shared).unwrap();
        assert_eq!(first.identity(), second.identity());
        assert!(first.identity().is_some());
    });
}

#[test]
fn nothing_is_created_where_nothing_can_be() {
    on_every_driver(|subject, bench| {
        let missing = bench.dir.join("missing/run%02d.h5");
        bench.driver.check_create(&bench.path, &bench.drivers).unwrap();
        if subject.persists {
            bench.driver.check_create(&missing, &bench.drivers).unwrap_err();
            bench.driver.create(&missing, &bench.drivers, true).unwrap_err();
        }
        assert_eq!(names(&bench.dir), [""; 0]);
    });
}

#[test]
fn threads_write_next_to_each_other() {
    on_every_driver(|_, mut bench| {
        let file = bench.create(false).unwrap().file;
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let file = &file;
                scope.spawn(move || {
                    for n in 0..20 {
                        file.write_at((n * 4 + thread) * 97, &[thread as u8 + 1; 97]).unwrap();
                    }
                });
            }
        });
        let bytes = content(&file);
        assert_eq!(bytes.len(), 80 * 97);
        assert!(bytes.chunks(97).enumerate().all(|(n, run)| run == [(n % 4) as u8 + 1; 97]));
    });
}

/// A small generator of numbers: the same seed gives the same numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn random_changes_leave_what_they_leave_in_memory() {
    let seed = std::env::var("HYPERSLAB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed);
    println!("HYPERSLAB_SEED={seed}");
    on_every_driver(|subject, mut bench| {
        let mut numbers = Numbers(seed);
        let (mut file, mut expected) = (bench.create(false).unwrap().file, Vec::new());
        for step in 0..150 {
            match numbers.below(10) {
                0 => {
                    let len = numbers.below(9000) as usize;
                    file.set_len(len as u64).unwrap();
                    expected.resize(len, 0);
                }
                1 => file.sync(Sync::Data).unwrap(),
                2 if subject.persists => {
                    drop(file);
                    file = bench.open(Mode::ReadWrite).unwrap();
                }
                _ => {
                    let (offset, len) = (numbers.below(8000) as usize, 1 + numbers.below(1500) as usize);
                    file.write_at(offset as u64, &vec![step as u8; len]).unwrap();
                    expected.resize(expected.len().max(offset + len), 0);
                    expected[offset..offset + len].fill(step as u8);
                }
            }
            assert!(content(&file) == expected, "{} differs after step {step}", subject.text);
        }
    });
}
