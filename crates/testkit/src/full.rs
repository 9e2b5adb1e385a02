//! A disk that is full: at every page of a workload, in turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::{Result, Token};
use vol::{Container, Durability, FileAccess, LinkLocation, Registry};

use crate::ints::{dataset, read, write};

/// A small file system of its own.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
}

const PAGE: u64 = 4096;
/// Elements of the dataset that is overwritten: several pages.
const COUNT: usize = 6000;

/// Runs a command with a path, and with sudo where that does not suffice; whether it succeeded.
fn as_root(command: &[&str], path: &Path) -> bool {
    let run = |words: &[&str]| {
        let done = Command::new(words[0]).args(&words[1..]).arg(path).output();
        done.is_ok_and(|done| done.status.success())
    };
    run(command) || run(&[&["sudo", "-n"], command].concat())
}

impl SmallDisk {
    /// Mounts one.
    ///
    /// # Panics
    /// Where the process may not mount file systems: such a test must not pass by doing nothing.
    pub fn new(name: &str, bytes: u64) -> SmallDisk {
        let path = std::env::temp_dir().join(format!("hyperslab-full-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("create folder");
        let options = format!("size={bytes},mode=1777");
        let mount = ["mount", "-t", "tmpfs", "-o", &options, "tmpfs"];
        assert!(
            as_root(&mount, &path),
            "a test of full disks needs the right to mount a tmpfs at {}: run it as root, or let sudo ask for no password",
            path.display()
        );
        SmallDisk { path }
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes all space but some pages.
    fn leave(&self, pages: u64) {
        let ballast = self.path.join("ballast");
        let (mut bytes, mut step) = (0, 1u64 << 22);
        let file = fs::File::create(&ballast).expect("create file");
        // tmpfs takes pages as they are written.
        while step >= PAGE {
            let written = std::os::unix::fs::FileExt::write_all_at(&file, &vec![1; step as usize], bytes);
            if written.is_ok() { bytes += step } else { step /= 2 }
        }
        file.set_len(bytes.saturating_sub(pages * PAGE)).expect("cut file");
    }

    /// Gives all space back.
    fn free(&self) {
        let _ = fs::remove_file(self.path.join("ballast"));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        as_root(&["umount"], &self.path);
        let _ = fs::remove_dir(&self.path);
    }
}

/// What a test does with a container, and what must hold.
#[derive(Debug)]
pub struct FullDisk<'a> {
    /// Knows the connector.
    pub registry: &'a Registry,
    /// Where the container is, on the disk.
    pub location: &'a str,
    /// The disk.
    pub disk: &'a SmallDisk,
    /// Whether a commit is there whole or not at all.
    pub is_atomic: bool,
}

fn token(c: &dyn Container, name: &str) -> Result<Token> {
    vol::path::token(c, c.info()?.root, name, 9)
}

impl FullDisk<'_> {
    fn access(&self, access: FileAccess) -> FileAccess {
        FileAccess { durability: Durability::Full, ..access }
    }

    fn open(&self, access: FileAccess) -> Result<std::sync::Arc<dyn Container>> {
        self.registry.open(self.location, &self.access(access))
    }

    /// A container with a dataset of ones.
    fn fill(&self) -> Result<()> {
        let access = self.access(FileAccess::write());
        let c = self.registry.create(self.location, &Default::default(), &access, true)?;
        let made = dataset(&*c, LinkLocation::new(c.info()?.root, "old"), &[COUNT as u64], &[COUNT as u64])?;
        write(&*c, made, &[1; COUNT])?;
        c.close()
    }

    /// Overwrites it with twos, and makes another one.
    fn change(&self) -> Result<()> {
        let c = self.open(FileAccess::write())?;
        let root = c.info()?.root;
        let changed = write(&*c, token(&*c, "old")?, &[2; COUNT]).and_then(|()| {
            let made = match c.link_get(root, "new")? {
                Some(_) => token(&*c, "new")?,
                None => dataset(&*c, LinkLocation::new(root, "new"), &[COUNT as u64], &[COUNT as u64])?,
            };
            write(&*c, made, &[3; COUNT])
        });
        let committed = changed.and_then(|()| c.commit(Durability::Full));
        committed.and(c.close())
    }

    /// What is there is old, or new; both only where commits are not atomic.
    fn assert_old_or_new(&self, what: &str, is_done: bool) {
        let c = self.open(FileAccess::read()).unwrap_or_else(|e| panic!("{what}: it does not open: {e}"));
        let old = token(&*c, "old").and_then(|old| read(&*c, old));
        let old = old.unwrap_or_else(|e| panic!("{what}: it cannot be read: {e}"));
        let is_all = |value: i32| old.iter().all(|found| *found == value);
        let is_mixed = old.len() == COUNT && old.iter().all(|found| matches!(found, 1 | 2));
        assert!(!is_done || is_all(2), "{what}: what was committed is not there");
        assert!(is_all(1) || is_all(2) || !self.is_atomic && is_mixed, "{what}: it is neither old nor new");
        let new = token(&*c, "new").and_then(|new| read(&*c, new));
        assert!(
            !is_done || new.is_ok_and(|new| new == [3; COUNT]),
            "{what}: what was committed is not there"
        );
    }

    /// Changes the container on a disk with ever more space, and looks at what is left each time.
    ///
    /// # Panics
    /// If it does not open, or what is there is neither old nor new, or nothing can be done with it when there is space
    /// again; or if the disk was never full, or always.
    pub fn assert_nothing_is_lost(&self) {
        let (mut refused, mut done) = (0, 0);
        for pages in 0..64 {
            self.fill().unwrap_or_else(|e| panic!("{pages} pages: {e}"));
            self.disk.leave(pages);
            let changed = self.change();
            self.disk.free();
            let what = format!("{pages} pages, {:?}", changed.as_ref().err().map(ToString::to_string));
            self.assert_old_or_new(&what, changed.is_ok());
            *(if changed.is_ok() { &mut done } else { &mut refused }) += 1;
            self.change().unwrap_or_else(|e| panic!("{what}: it cannot go on: {e}"));
            self.assert_old_or_new(&what, true);
            self.registry
                .delete(self.location, &FileAccess::write())
                .unwrap_or_else(|e| panic!("{what}: {e}"));
        }
        assert!(refused > 3 && done > 3, "the disk was full {refused} times and not {done} times");
    }
}
