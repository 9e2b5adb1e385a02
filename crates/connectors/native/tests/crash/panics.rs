//! A panic in user code leaves the last commit intact, and other handles usable or cleanly failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use files::{Handle, Lock, Memory, Sync};
use hyperslab_native::open_image;
use vol::{Durability, FileAccess};

use crate::rig::{begin, difference, file, snapshot};
use crate::workloads::{Workload, named};

/// A storage that panics in one of its calls that change the file.
#[derive(Debug)]
struct Panics {
    inner: Handle,
    /// Calls until then.
    left: AtomicI64,
}

impl Panics {
    fn count(&self) {
        assert!(self.left.fetch_sub(1, Ordering::Relaxed) != 0, "the storage panics");
    }
}

impl files::File for Panics {
    fn len(&self) -> std::io::Result<u64> {
        self.inner.len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<()> {
        self.inner.read_at(offset, buf)
    }
    fn write_at(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.count();
        self.inner.write_at(offset, data)
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.count();
        self.inner.set_len(len)
    }
    fn sync(&self, sync: Sync) -> std::io::Result<()> {
        self.count();
        self.inner.sync(sync)
    }
    fn lock(&self, lock: Lock) -> std::io::Result<()> {
        self.inner.lock(lock)
    }
}

/// Runs a workload on a storage that panics at its `nth` call; whether it did.
fn panics_at(workload: &str, nth: i64) -> bool {
    let workload = named(workload);
    let memory = Arc::new(Memory::new());
    let storage = Arc::new(Panics { inner: memory.clone(), left: AtomicI64::new(-1) });
    let c = begin(&workload, |_| storage.clone()).unwrap();
    storage.left.store(nth, Ordering::Relaxed);
    let mut committed = snapshot(&*c).unwrap();
    for step in &workload.steps {
        let mut attempted = None;
        let done = catch_unwind(AssertUnwindSafe(|| {
            step(&file(&c).unwrap()).unwrap();
            attempted = Some(snapshot(&*c).unwrap());
            c.commit(Durability::Full).unwrap();
        }));
        if done.is_err() {
            // Others go on: each call works or fails, none hangs or panics.
            let went_on = file(&c).and_then(|f| f.create_group("after").map(drop));
            let then = c.commit(Durability::Full);
            let image = memory.image().unwrap();
            let found = snapshot(&*open_image(image, &FileAccess::read()).unwrap()).unwrap();
            let is_new = attempted.is_some_and(|content| content == found);
            assert!(
                found == committed || is_new,
                "{} {nth}: {:?}, after {went_on:?} and {then:?}",
                workload.name,
                difference(&committed, &found)
            );
            return true;
        }
        committed = snapshot(&*c).unwrap();
    }
    false
}

#[test]
fn a_panic_of_the_storage_leaves_the_last_commit() {
    for workload in ["a life", "texts overwritten", "dense to compact attributes"] {
        let last = (0..).find(|&nth| !panics_at(workload, nth)).unwrap_or(0);
        assert!(last > 10, "{workload} panicked {last} times");
        println!("{workload}: {last} panics");
    }
}

#[test]
fn a_panic_between_two_changes_leaves_the_file_usable() {
    let c = begin(&Workload::new("panic", &[]), |handle| handle).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let f = file(&c).unwrap();
        f.create_group("before").unwrap();
        let _held = f.group("before").unwrap();
        panic!("a bug of the program");
    }));
    assert!(panicked.is_err());
    file(&c).unwrap().create_group("after").unwrap();
    c.commit(Durability::Full).unwrap();
    assert_eq!(file(&c).unwrap().member_names().unwrap(), ["after", "before"]);
}
