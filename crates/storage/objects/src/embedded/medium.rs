//! The files of containers. Tests have media of their own: full ones, and such that refuse to be written.

use std::fmt::Debug;
use std::fs::{File, TryLockError};
use std::io;

use dir::Dir;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// To read.
    Read,
    /// To read and write.
    Write,
    /// To read and write, and it must not be there yet.
    Create,
}

impl From<Open> for dir::Open {
    fn from(how: Open) -> dir::Open {
        match how {
            Open::Read => dir::Open::Read,
            Open::Write => dir::Open::Write,
            Open::Create => dir::Open::CreateNew,
        }
    }
}

/// Where files are.
pub trait Medium: Send + Sync + Debug {
    /// Opens a file of a container's folder.
    fn open(&self, dir: &Dir, name: &str, how: Open) -> io::Result<Box<dyn MediumFile>>;
    /// Removes a file of a container's folder.
    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()>;
}

/// An open file.
#[expect(clippy::len_without_is_empty, reason = "a file is asked for its length once")]
pub trait MediumFile: Send + Sync + Debug {
    /// Reads bytes, all of them.
    fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()>;
    /// Writes bytes, all of them; after an error some may be written.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Creates the file longer, with zeros, or shorter.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Creates the file at least this long, with space on the medium for all of it.
    fn allocate(&self, len: u64) -> io::Result<()>;
    /// Returns the file's length.
    fn len(&self) -> io::Result<u64>;
    /// Makes all that was written durable.
    fn sync_data(&self) -> io::Result<()>;
    /// Locks the file, alone or with others; whether no one is in the way.
    fn try_lock(&self, alone: bool) -> io::Result<bool>;
}

/// Files of the system.
#[derive(Debug)]
pub(super) struct System;

impl Medium for System {
    fn open(&self, dir: &Dir, name: &str, how: Open) -> io::Result<Box<dyn MediumFile>> {
        Ok(Box::new(dir.file(name, how.into())?))
    }

    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        dir.remove_file(name)
    }
}

impl MediumFile for File {
    fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        system::file::read_exact_at(self, into, at)
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        system::file::write_all_at(self, bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        system::file::reserve(self, len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn try_lock(&self, alone: bool) -> io::Result<bool> {
        let locked = if alone { File::try_lock(self) } else { self.try_lock_shared() };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
