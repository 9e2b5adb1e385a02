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
mod far;
mod index;
mod index_file;
mod listing;
mod medium;
mod open;
mod overlay;
mod reserve;
mod rows;
mod seal;
mod shared;
mod snapshot;
mod space;
mod store;
mod update;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{ContainerId, Error, Mode, ObjectId, Pool, Result, Store};
use data::Data;
use index::{Index, Number};
pub use medium::{Medium, MediumFile, Open};
use open::Registration;
use reserve::Reserve;
use shared::Shared;
use store::EmbeddedStore;

const INDEX: &str = "index.redb";
const DATA: &str = "data";
/// The pool of a folder. It is made with the first container.
#[must_use]
pub fn pool(folder: &Path) -> Arc<dyn Pool> {
    pool_on(folder, Arc::new(medium::System))
}

/// The pool of a folder whose containers have their files on a medium of the caller's, for tests.
#[must_use]
pub fn pool_on(folder: &Path, medium: Arc<dyn Medium>) -> Arc<dyn Pool> {
    Arc::new(EmbeddedPool { folder: folder.to_owned(), medium })
}

/// What the index has for a dkey: nothing follows it, so its bytes stay as they are.
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

/// The identity that a key begins with, and how many bytes it takes.
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

fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("sync", folder))
}

fn data_file(medium: &dyn Medium, path: &Path, write: bool) -> Result<Data> {
    let opened = medium.open(path, if write { Open::Write } else { Open::Read });
    opened.map(Data::new).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::Corrupt(format!("{} is missing", path.display())),
        _ => io("open", path)(error),
    })
}

/// Locks a container, or says that another process has it.
fn lock(data: &Data, alone: bool) -> Result<()> {
    if data.lock(alone)? { Ok(()) } else { Err(index::busy()) }
}

fn open_files(
    medium: &Arc<dyn Medium>,
    folder: &Path,
    mode: Mode,
    registration: Registration,
) -> Result<Shared> {
    let write = mode == Mode::ReadWrite;
    let path = folder.join(DATA);
    let data = data_file(&**medium, &path, write)?;
    lock(&data, write)?;
    let index = match write {
        true => {
            let reserve = Reserve::new(medium.clone(), folder);
            Index::open_to_write(&**medium, &folder.join(INDEX), reserve)?
        }
        false => Index::open_to_read(&**medium, &folder.join(INDEX))?,
    };
    let (length, wanted) = (data.len()?, index.number(Number::DataEnd)?.unwrap_or(0));
    if length < wanted {
        let path = path.display();
        return Err(Error::Corrupt(format!("{path} was cut: it has {length} bytes of {wanted}")));
    }
    Shared::new(index, data, registration)
}

impl EmbeddedPool {
    fn missing(&self, id: ContainerId) -> Error {
        Error::NotFound(format!("there is no container {id} in {}", self.folder.display()))
    }

    /// The folder of a container that is there, always by the same name.
    fn find(&self, id: ContainerId) -> Result<PathBuf> {
        let folder = self.folder.join(id.to_string());
        match fs::canonicalize(&folder) {
            Ok(folder) => Ok(folder),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.missing(id)),
            Err(error) => Err(io("open", &folder)(error)),
        }
    }

    /// Makes the files under another name, so that a container is there whole or not at all.
    fn make(&self, id: ContainerId) -> Result<()> {
        let making = self.folder.join(format!("{id}.new-{}", std::process::id()));
        let _ = fs::remove_dir_all(&making);
        fs::create_dir_all(&making).map_err(io("make", &making))?;
        let made = self.make_files(&making).and_then(|()| self.rename(&making, id));
        if made.is_err() {
            let _ = fs::remove_dir_all(&making);
        }
        made
    }

    fn make_files(&self, folder: &Path) -> Result<()> {
        self.medium.open(&folder.join(DATA), Open::Create).map_err(io("make", folder))?;
        Index::create(&*self.medium, &folder.join(INDEX))?;
        sync_folder(folder)
    }

    fn rename(&self, making: &Path, id: ContainerId) -> Result<()> {
        let folder = self.folder.join(id.to_string());
        fs::rename(making, &folder).map_err(|error| match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => self.exists(id),
            _ => io("make", &folder)(error),
        })?;
        sync_folder(&self.folder)
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
        self.make(id)?;
        self.open(id, Mode::ReadWrite)
    }

    fn open(&self, id: ContainerId, mode: Mode) -> Result<Arc<dyn Store>> {
        let folder = self.find(id)?;
        let shared =
            open::share(&folder, |registration| open_files(&self.medium, &folder, mode, registration))?;
        if mode == Mode::ReadWrite && !shared.writable() {
            let folder = folder.display();
            return Err(Error::Refused(format!(
                "{folder} is open for reading in this process: close it first"
            )));
        }
        Ok(Arc::new(EmbeddedStore::new(shared, mode)))
    }

    fn destroy(&self, id: ContainerId) -> Result<()> {
        let folder = self.find(id)?;
        if open::is_open(&folder) {
            return Err(Error::Refused(format!("{} is open: close it first", folder.display())));
        }
        // Without its data file it is damaged, and nobody can have it open.
        if let Ok(data) = data_file(&*self.medium, &folder.join(DATA), false) {
            lock(&data, true)?;
        }
        let going = self.folder.join(format!("{id}.gone-{}", std::process::id()));
        fs::rename(&folder, &going).map_err(io("remove", &folder))?;
        fs::remove_dir_all(&going).map_err(io("remove", &going))
    }

    fn list(&self) -> Result<Vec<ContainerId>> {
        let entries = fs::read_dir(&self.folder).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::NotFound(format!("there is no folder {}", self.folder.display())),
            _ => io("list", &self.folder)(error),
        })?;
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(io("list", &self.folder))?.file_name();
            found.extend(name.to_str().and_then(ContainerId::parse));
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
