//! Files of several members after a crash: a writer that is killed at every write, in whatever member that is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use files::{Handle, Lock, Memory, Multi};
use hyperslab::{Durability, File, FileAccess, Result};
use hyperslab_native::{create_handle, open_handle};
use vol::LibVersion;

/// Where raw data begins; any address behind the metadata does.
const RAW_START: u64 = 1 << 30;

/// A member whose writer dies: the write that is the last one is cut in half, and all later ones fail.
#[derive(Debug)]
struct Mortal {
    inner: Arc<Memory>,
    /// Writes of all members that are left.
    left: Arc<AtomicU64>,
}

impl Mortal {
    fn dies(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).map_or(true, |left| left == 1)
    }

    fn run(&self, alive: impl FnOnce(&Memory) -> io::Result<()>) -> io::Result<()> {
        if self.dies() { Err(io::Error::other("killed")) } else { alive(&self.inner) }
    }
}

impl files::File for Mortal {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let was_alive = self.left.load(Ordering::SeqCst) > 0;
        let done = self.run(|inner| inner.write_at(offset, data));
        if was_alive && done.is_err() {
            self.inner.write_at(offset, &data[..data.len() / 2])?;
        }
        done
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.run(|inner| inner.set_len(len))
    }

    fn sync(&self, _: files::Sync) -> io::Result<()> {
        self.run(|_| Ok(()))
    }

    fn lock(&self, _: Lock) -> io::Result<()> {
        Ok(())
    }
}

/// Two members in memory.
#[derive(Default)]
struct Members {
    metadata: Arc<Memory>,
    raw: Arc<Memory>,
}

impl Members {
    fn copy(&self) -> Members {
        let copy = |memory: &Memory| Arc::new(Memory::from_image(memory.image().unwrap()));
        Members { metadata: copy(&self.metadata), raw: copy(&self.raw) }
    }

    fn whole(&self) -> Handle {
        Arc::new(Multi::split(self.metadata.clone(), self.raw.clone(), RAW_START).unwrap())
    }

    /// Returns the file for a writer that dies after so many writes.
    fn mortal(&self, left: &Arc<AtomicU64>) -> Handle {
        let mortal =
            |inner: &Arc<Memory>| -> Handle { Arc::new(Mortal { inner: inner.clone(), left: left.clone() }) };
        Arc::new(Multi::split(mortal(&self.metadata), mortal(&self.raw), RAW_START).unwrap())
    }
}

fn access(version: LibVersion) -> FileAccess {
    // So little memory for changed chunks that what is overwritten waits in the file.
    FileAccess { version_low: version, chunk_cache_bytes: Some(1 << 14), ..FileAccess::write() }
}

fn numbers(round: i32) -> Vec<i32> {
    (0..4000).map(|n| n * 10 + round).collect()
}

/// Overwrites elements, adds objects and removes others, and commits.
fn change(file: &File, round: i32, durability: Durability) -> Result<()> {
    file.dataset("data")?.write_raw(&numbers(round))?;
    file.new_dataset_builder().with_data(&numbers(round)).create(format!("new {round}").as_str())?;
    file.unlink(&format!("new {}", round - 1))?;
    file.dataset("data")?.set_attr("round", round)?;
    file.commit(durability)
}

/// The round that a file is of; all of it must be.
fn round_of(file: &File) -> Result<i32> {
    let data = file.dataset("data")?;
    let round: i32 = data.attr("round")?.read_scalar()?;
    assert_eq!(data.read_raw::<i32>()?, numbers(round), "elements of another round");
    assert_eq!(file.member_names()?, ["data".to_owned(), format!("new {round}")]);
    assert_eq!(file.dataset(&format!("new {round}"))?.read_raw::<i32>()?, numbers(round));
    Ok(round)
}

fn start(version: LibVersion) -> Members {
    let (members, access) = (Members::default(), access(version));
    let container = create_handle(members.whole(), "members", &Default::default(), &access).unwrap();
    let file = File::from_container(container, "members", &access).unwrap();
    for name in ["data", "new 0"] {
        file.new_dataset_builder().with_data(&numbers(0)).create(name).unwrap();
    }
    file.dataset("data").unwrap().set_attr("round", 0).unwrap();
    file.close().unwrap();
    members
}

/// Runs three rounds, and returns the last that was committed.
fn run(file: Handle, access: &FileAccess, durability: Durability) -> i32 {
    let committed = AtomicU64::new(0);
    let rounds = || -> Result<()> {
        let container = open_handle(file, "members", access)?;
        let file = File::from_container(container, "members", access)?;
        for round in 1..=3 {
            change(&file, round, durability)?;
            committed.store(round as u64, Ordering::SeqCst);
        }
        file.close()
    };
    let _killed = rounds();
    committed.load(Ordering::SeqCst) as i32
}

fn kill_everywhere(version: LibVersion, durability: Durability) {
    let (start, access) = (start(version), access(version));
    for writes in 1u64.. {
        let (members, left) = (start.copy(), Arc::new(AtomicU64::new(writes)));
        let committed = run(members.mortal(&left), &access, durability);
        for access in [FileAccess::read(), access.clone(), FileAccess::read()] {
            let container = open_handle(members.whole(), "members", &access);
            let container =
                container.unwrap_or_else(|e| panic!("{version:?}: killed at write {writes}: {e}"));
            let file = File::from_container(container, "members", &access).unwrap();
            let round =
                round_of(&file).unwrap_or_else(|e| panic!("{version:?}: killed at write {writes}: {e}"));
            assert!(round >= committed, "{version:?}: killed at write {writes}: {round} after {committed}");
            file.close().unwrap();
        }
        if left.load(Ordering::SeqCst) > 0 {
            assert!(writes > 30, "{writes} writes are no workload");
            return;
        }
    }
}

#[test]
fn a_writer_killed_at_any_write_leaves_a_commit_of_an_old_file() {
    kill_everywhere(LibVersion::Earliest, Durability::Full);
}

#[test]
fn a_writer_killed_at_any_write_leaves_a_commit_of_a_new_file() {
    kill_everywhere(LibVersion::LATEST, Durability::Full);
}

#[test]
fn a_writer_killed_at_any_write_leaves_a_commit_that_rests_on_its_record() {
    kill_everywhere(LibVersion::V18, Durability::Ordered);
}
