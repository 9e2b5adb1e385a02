//! Containers in a folder, for one process at a time.
//!
//! A pool is a folder, a container is a folder in it, named by its identity, with three files: `index.redb` has the keys
//! and what is small, `data` has what is large (and the lock that keeps other processes away), and `reserve` has space
//! that is given up when the disk is full. A dkey is one entry of
//! the index while its akeys are small together. Updates change memory (large bytes go to fresh places of `data` at
//! once), and a flush puts them into the index by one transaction, after `data` was synced: it is there whole or not
//! at all. Where many wait, a thread puts them into the index before, by transactions that no crash leaves anything of
//! until the next flush.

mod data;
mod engine;
mod far;
mod index;
mod index_file;
mod listing;
mod medium;
mod open;
mod overlay;
mod pages;
mod reserve;
mod rows;
mod seal;
mod shared;
mod snapshot;
mod space;
mod store;
mod update;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dir::{Dir, Entry, EntryKind};

use crate::{ContainerId, Error, Mode, ObjectId, Pool, Result, Store};
use data::Data;
use index::{Index, Number};
pub use medium::{Medium, MediumFile, Open};
use open::Registration;
use reserve::{RESERVE, Reserve};
use shared::Shared;
use store::EmbeddedStore;

const INDEX: &str = "index.redb";
const DATA: &str = "data";
/// All files of a container.
const FILES: [&str; 3] = [INDEX, DATA, RESERVE];

/// Numbers of temporary folders of this process.
static TEMPORARY_NEXT: AtomicU64 = AtomicU64::new(0);
/// Names that are tried for one of them.
const TEMPORARY_ATTEMPTS: usize = 64;

/// Returns the pool of a folder. It is made with the first container.
#[must_use]
pub fn pool(folder: &Path) -> Arc<dyn Pool> {
    pool_on(folder, Arc::new(medium::System))
}

/// Returns the pool of a folder whose containers have their files on a medium of the caller's, for tests.
#[must_use]
pub fn pool_on(folder: &Path, medium: Arc<dyn Medium>) -> Arc<dyn Pool> {
    Arc::new(EmbeddedPool { folder: folder.to_owned(), medium })
}

/// Returns what the index has for a dkey: nothing follows it, so its bytes stay as they are.
fn key(object: ObjectId, dkey: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(18 + dkey.len());
    put_object(object, &mut key);
    key.extend_from_slice(dkey);
    key
}

/// Appends an object's identity, in its order and short: each half as the count of its bytes and these bytes, without
/// leading zeros. Most identities are small numbers, and there is one in every key.
fn put_object(object: ObjectId, out: &mut Vec<u8>) {
    for half in [object.high, object.low] {
        let bytes = half.to_be_bytes();
        let zeros = half.leading_zeros() as usize / 8;
        out.push((bytes.len() - zeros) as u8);
        out.extend_from_slice(bytes.get(zeros..).unwrap_or_default());
    }
}

/// Returns the identity that a key begins with, and how many bytes it takes.
fn object_of(key: &[u8]) -> Option<(ObjectId, usize)> {
    let half = |at: usize| {
        let count = usize::from(*key.get(at)?);
        let bytes = key.get(at + 1..at + 1 + count).filter(|bytes| bytes.len() <= 8)?;
        Some((bytes.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte)), at + 1 + count))
    };
    let (high, at) = half(0)?;
    let (low, end) = half(at)?;
    Some((ObjectId { high, low }, end))
}

#[derive(Debug)]
struct EmbeddedPool {
    folder: PathBuf,
    medium: Arc<dyn Medium>,
}

fn io(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let what = format!("{what} {}", path.display());
    move |source| Error::Io { what, source }
}

fn sync_folder(dir: &Dir) -> Result<()> {
    dir.sync("").map_err(io("sync", &dir.path("")))
}

fn data_file(medium: &dyn Medium, dir: &Dir, write: bool) -> Result<Data> {
    let opened = medium.open(dir, DATA, if write { Open::Write } else { Open::Read });
    opened.map(Data::new).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::Corrupt(format!("{} is missing", dir.path(DATA).display())),
        _ => io("open", &dir.path(DATA))(error),
    })
}

/// Returns a name next to a container's own, which no one has.
fn temporary_names(id: ContainerId, purpose: &str) -> impl Iterator<Item = String> {
    let start = format!("{id}.{purpose}-{}", std::process::id());
    let next = move || format!("{start}-{}", TEMPORARY_NEXT.fetch_add(1, Ordering::Relaxed));
    std::iter::repeat_with(next).take(TEMPORARY_ATTEMPTS)
}

/// Removes the files of a container, then its folder; the error names what is in it besides, and stays.
fn remove_folder(dir: &Dir, name: &str) -> Result<()> {
    let is_ours = |name: &std::ffi::OsStr| FILES.iter().any(|file| name == *file);
    match dir.remove_known(name, is_ours).map_err(io("remove", &dir.path(name)))? {
        None => Ok(()),
        Some(foreign) => {
            let path = dir.path(Path::new(name).join(foreign));
            Err(Error::Refused(format!("{} is not the container's, and stays", path.display())))
        }
    }
}

/// Locks a container, or says that another process has it.
fn lock(data: &Data, alone: bool) -> Result<()> {
    if data.lock(alone)? { Ok(()) } else { Err(index::busy()) }
}

fn open_files(medium: &Arc<dyn Medium>, dir: &Dir, mode: Mode, registration: Registration) -> Result<Shared> {
    let write = mode == Mode::ReadWrite;
    let data = data_file(&**medium, dir, write)?;
    lock(&data, write)?;
    let index = match write {
        true => {
            let reserve = Reserve::new(medium.clone(), dir);
            Index::open_to_write(&**medium, dir, reserve)?
        }
        false => Index::open_to_read(&**medium, dir)?,
    };
    let (length, wanted) = (data.len()?, index.number(Number::DataEnd)?.unwrap_or(0));
    if length < wanted {
        let path = dir.path(DATA);
        let path = path.display();
        return Err(Error::Corrupt(format!("{path} was cut: it has {length} bytes of {wanted}")));
    }
    Shared::new(index, data, registration)
}

impl EmbeddedPool {
    fn missing(&self, id: ContainerId) -> Error {
        Error::NotFound(format!("there is no container {id} in {}", self.folder.display()))
    }

    /// Returns the pool's folder, whose path may be a link: the user gave it.
    fn dir(&self) -> Result<Dir> {
        Dir::open_real(&self.folder).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::NotFound(format!("there is no folder {}", self.folder.display())),
            _ => io("open", &self.folder)(error),
        })
    }

    /// Returns the folder of a container that is there, always with the same path.
    fn find(&self, id: ContainerId) -> Result<Dir> {
        let dir = self.dir().map_err(|error| match error {
            Error::NotFound(_) => self.missing(id),
            error => error,
        })?;
        dir.dir(id.to_string()).map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.missing(id),
            _ => io("open", &dir.path(id.to_string()))(error),
        })
    }

    /// Creates the files under another name, so that a container exists completely or not at all.
    fn create_whole(&self, id: ContainerId) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(io("create", &self.folder))?;
        let dir = self.dir()?;
        let new = self.create_folder(&dir, id)?;
        let created = self.create_files(&dir, &new).and_then(|()| self.rename(&dir, &new, id));
        if created.is_err() {
            // The first error counts.
            let _ = remove_folder(&dir, &new);
        }
        created
    }

    /// Creates a folder under a name that is not used yet, and returns the name.
    fn create_folder(&self, dir: &Dir, id: ContainerId) -> Result<String> {
        for name in temporary_names(id, "new") {
            match dir.make_dir(&name) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(|()| name.clone()).map_err(io("create", &dir.path(&name))),
            }
        }
        Err(Error::Refused(format!("all names for a new container in {} are taken", self.folder.display())))
    }

    fn create_files(&self, dir: &Dir, new: &str) -> Result<()> {
        let new = dir.dir(new).map_err(io("create", &dir.path(new)))?;
        self.medium.open(&new, DATA, Open::Create).map_err(io("create", &new.path(DATA)))?;
        Index::create(&*self.medium, &new)?;
        sync_folder(&new)
    }

    fn rename(&self, dir: &Dir, new: &str, id: ContainerId) -> Result<()> {
        dir.rename(new, id.to_string()).map_err(|error| match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => self.exists(id),
            _ => io("create", &dir.path(id.to_string()))(error),
        })?;
        sync_folder(dir)
    }

    fn exists(&self, id: ContainerId) -> Error {
        Error::Exists(format!("container {id} is in {} already", self.folder.display()))
    }
}

impl Pool for EmbeddedPool {
    fn create(&self, id: ContainerId) -> Result<Arc<dyn Store>> {
        if self.find(id).is_ok() {
            return Err(self.exists(id));
        }
        self.create_whole(id)?;
        self.open(id, Mode::ReadWrite)
    }

    fn open(&self, id: ContainerId, mode: Mode) -> Result<Arc<dyn Store>> {
        let dir = self.find(id)?;
        let path = dir.path("");
        let shared = open::share(&path, |registration| open_files(&self.medium, &dir, mode, registration))?;
        if mode == Mode::ReadWrite && !shared.writable() {
            let folder = path.display();
            return Err(Error::Refused(format!(
                "{folder} is open for reading in this process: close it first"
            )));
        }
        Ok(Arc::new(EmbeddedStore::new(shared, mode)))
    }

    fn destroy(&self, id: ContainerId) -> Result<()> {
        let (pool, dir) = (self.dir()?, self.find(id)?);
        let path = dir.path("");
        if open::is_open(&path) {
            return Err(Error::Refused(format!("{} is open: close it first", path.display())));
        }
        // Without its data file it is damaged, and no one can have it open.
        if let Ok(data) = data_file(&*self.medium, &dir, false) {
            lock(&data, true)?;
        }
        let going = temporary_names(id, "gone").find(|name| pool.info(name).is_err());
        let going =
            going.ok_or_else(|| Error::Refused(format!("no name is free next to {}", path.display())))?;
        pool.rename(id.to_string(), &going).map_err(io("remove", &path))?;
        remove_folder(&pool, &going)
    }

    fn list(&self) -> Result<Vec<ContainerId>> {
        let dir = self.dir()?;
        let mut found = Vec::new();
        for entry in dir.entries("").map_err(io("list", &self.folder))? {
            let Entry { name, kind } = entry.map_err(io("list", &self.folder))?;
            let id = name.to_str().and_then(ContainerId::parse);
            found.extend(id.filter(|_| kind == EntryKind::Dir));
        }
        found.sort();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_in_keys_keep_their_order_and_come_back() {
        let halves = [0, 1, 0xff, 0x100, 0xffff, 1 << 30, 1 << 32, u64::MAX - 1, u64::MAX];
        let ids = halves.iter().flat_map(|high| halves.map(|low| ObjectId { high: *high, low }));
        let keys: Vec<(ObjectId, Vec<u8>)> = ids.map(|id| (id, key(id, b"d"))).collect();
        assert!(keys.windows(2).all(|pair| pair[0].1 < pair[1].1));
        for (id, key) in &keys {
            let (object, end) = object_of(key).unwrap();
            assert_eq!((object, &key[end..]), (*id, &b"d"[..]));
        }
    }
}
