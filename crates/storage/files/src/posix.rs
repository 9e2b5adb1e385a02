//! A file of the operating system, read and written at offsets (`pread`, `pwrite`), locked with `flock`.
//!
//! On Windows a lock is one of `LockFileEx`: other handles cannot read what is locked exclusively.

#[cfg(not(unix))]
#[path = "posix/other.rs"]
mod of_system;
#[cfg(unix)]
#[path = "posix/unix.rs"]
mod of_system;

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::path::Path;

use system::sync::Mutex;

use crate::{File, Identity, Lock, Mode, Sync, read_end, read_only, write_end};

/// Offsets are signed in the system calls.
const OFFSET_MAX: u64 = i64::MAX as u64;

/// Whether bytes go through the system's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    /// The system caches what is read and written.
    OfSystem,
    /// Nothing is cached (`O_DIRECT`): offsets, lengths and buffers are aligned.
    Bypassed,
}

/// A file of the operating system.
///
/// Reads and writes hold no lock, so they run in parallel as far as the system lets them.
#[derive(Debug)]
pub struct Posix {
    file: fs::File,
    mode: Mode,
    identity: Identity,
    /// The folder of a file we created, until its entry there has been made durable.
    unsynced_folder: Mutex<Option<fs::File>>,
}

impl Posix {
    /// Opens or creates the file at `path`.
    ///
    /// `Create` cuts an existing file at once, before any lock. Where another process may hold it, open it with
    /// `ReadWrite`, lock, and call `set_len(0)`.
    pub fn open(path: impl AsRef<Path>, mode: Mode) -> io::Result<Self> {
        Self::open_with(path.as_ref(), mode, Caching::OfSystem)
    }

    /// Opens or creates the file at `path`, with or without the system's cache.
    ///
    /// # Errors
    /// Returns `Unsupported` if the system or the file system has no direct I/O.
    pub(crate) fn open_with(path: &Path, mode: Mode, caching: Caching) -> io::Result<Self> {
        let file = options(mode, caching)?.open(path).map_err(|error| open_error(path, error, caching))?;
        let (kind, identity) = system::file::kind_and_identity(&file)?;
        of_system::check_kind(kind)?;
        if mode == Mode::Create {
            file.set_len(0)?;
        }
        let creates = matches!(mode, Mode::Create | Mode::CreateNew);
        let folder = if creates { open_folder(path) } else { None };
        Ok(Posix { file, mode, identity, unsynced_folder: Mutex::new(folder) })
    }

    /// Returns the file of the standard library.
    pub(crate) fn file(&self) -> &fs::File {
        &self.file
    }

    /// Returns the device and number of the file, which are equal for all handles of one file, whatever its path.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Fills slices one after another with what lies from `offset` on.
    pub fn read_slices_at(&self, offset: u64, slices: &mut [IoSliceMut<'_>]) -> io::Result<()> {
        let bytes = slices.iter().try_fold(0usize, |n, slice| n.checked_add(slice.len()));
        let end = read_end(offset, bytes.ok_or(io::ErrorKind::UnexpectedEof)?)?;
        match end > OFFSET_MAX {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => of_system::read_slices(&self.file, offset..end, slices),
        }
    }

    /// Writes slices one after another from `offset` on, from where they are in memory.
    pub fn write_slices_at(&self, offset: u64, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.check_writable()?;
        let bytes = slices.iter().try_fold(0usize, |n, slice| n.checked_add(slice.len()));
        let end = write_end(offset, bytes.ok_or(io::ErrorKind::FileTooLarge)?)?;
        match end > OFFSET_MAX {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => of_system::write_slices(&self.file, offset..end, slices),
        }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.mode.is_writable() { Ok(()) } else { Err(read_only()) }
    }

    /// `fsync` of a new file does not promise that its name survives; `fsync` of its folder does.
    fn sync_folder(&self) -> io::Result<()> {
        let mut folder = self.unsynced_folder.lock();
        if let Some(entry) = folder.as_ref() {
            entry.sync_all()?;
            *folder = None;
        }
        Ok(())
    }
}

impl File for Posix {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        if read_end(offset, buf.len())? > OFFSET_MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        system::file::read_exact_at(&self.file, buf, offset)
    }

    fn read_vec(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        if read_end(offset, len)? > OFFSET_MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        of_system::read_vec(&self.file, offset, len)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        if write_end(offset, data.len())? > OFFSET_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        system::file::write_all_at(&self.file, data, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        self.file.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        match sync {
            Sync::Data => self.file.sync_data()?,
            Sync::All => self.file.sync_all()?,
        }
        self.sync_folder()
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        of_system::before_lock(&self.file)?;
        match lock {
            Lock::Shared => self.file.try_lock_shared().map_err(io::Error::from),
            Lock::Exclusive => self.file.try_lock().map_err(io::Error::from),
            Lock::Unlock => of_system::unlock(&self.file),
        }
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }

    fn is_system_file(&self) -> bool {
        true
    }
}

/// A FIFO must not hang a caller that opens it, so nothing is waited for; a file is cut after it is known to be one.
fn options(mode: Mode, caching: Caching) -> io::Result<fs::OpenOptions> {
    let mut options = fs::OpenOptions::new();
    of_system::wait_for_nothing(&mut options, caching)?;
    options.read(true).write(mode.is_writable());
    match mode {
        Mode::Read | Mode::ReadWrite => {}
        Mode::Create => drop(options.create(true)),
        Mode::CreateNew => drop(options.create_new(true)),
    }
    Ok(options)
}

/// Returns the error of systems other than Linux.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn no_direct() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "direct I/O (O_DIRECT) is there on Linux only")
}

/// Not every system says that what could not be opened is a folder, or that a file system has no direct I/O.
fn open_error(path: &Path, error: io::Error, caching: Caching) -> io::Error {
    match error.kind() {
        _ if path.is_dir() => io::ErrorKind::IsADirectory.into(),
        io::ErrorKind::InvalidInput if caching == Caching::Bypassed => {
            let problem = format!("the file system of {} has no direct I/O (O_DIRECT)", path.display());
            io::Error::new(io::ErrorKind::Unsupported, problem)
        }
        _ => error,
    }
}

/// Opens the folder of a file to sync it. Returns `None` for a folder that may be searched and written but not read:
/// the file is created all the same, and its name is as durable as the system makes it.
fn open_folder(path: &Path) -> Option<fs::File> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(parent.unwrap_or(Path::new("."))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::io::ErrorKind;

    fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> ErrorKind {
        result.unwrap_err().kind()
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_and_a_device_are_refused_and_nobody_waits() {
        let dir = Scratch::new();
        let path = dir.path("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for path in [path.as_path(), Path::new("/dev/null")] {
            for mode in [Mode::Read, Mode::ReadWrite, Mode::Create] {
                assert!(Posix::open(path, mode).is_err(), "{} {mode:?}", path.display());
            }
        }
    }

    #[test]
    fn each_mode_treats_missing_and_existing_files_as_documented() {
        let dir = Scratch::new();
        let path = dir.path("a");
        assert_eq!(kind(Posix::open(&path, Mode::Read)), ErrorKind::NotFound);
        assert_eq!(kind(Posix::open(&path, Mode::ReadWrite)), ErrorKind::NotFound);
        Posix::open(&path, Mode::CreateNew).unwrap().write_at(0, b"abc").unwrap();
        assert_eq!(kind(Posix::open(&path, Mode::CreateNew)), ErrorKind::AlreadyExists);
        assert_eq!(Posix::open(&path, Mode::ReadWrite).unwrap().len().unwrap(), 3);
        assert_eq!(Posix::open(&path, Mode::Create).unwrap().len().unwrap(), 0);
    }

    #[test]
    fn read_mode_refuses_to_write() {
        let dir = Scratch::new();
        let path = dir.path("a");
        std::fs::write(&path, b"abc").unwrap();
        let file = Posix::open(&path, Mode::Read).unwrap();
        assert_eq!(kind(file.write_at(0, b"x")), ErrorKind::PermissionDenied);
        assert_eq!(kind(file.set_len(0)), ErrorKind::PermissionDenied);
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    }

    #[test]
    fn many_slices_lie_one_after_another() {
        let scratch = Scratch::new();
        let path = scratch.path("slices");
        let file = Posix::open(&path, Mode::Create).unwrap();
        let pieces: Vec<Vec<u8>> = (0..3000usize).map(|n| vec![n as u8; n % 7]).collect();
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        file.write_slices_at(5, &mut slices).unwrap();
        let all = pieces.concat();
        assert_eq!(file.read_vec(5, all.len()).unwrap(), all);
        assert_eq!(file.len().unwrap(), 5 + all.len() as u64);
        let mut found: Vec<Vec<u8>> = pieces.iter().map(|piece| vec![0; piece.len()]).collect();
        let mut slices: Vec<IoSliceMut<'_>> = found.iter_mut().map(|piece| IoSliceMut::new(piece)).collect();
        file.read_slices_at(5, &mut slices).unwrap();
        assert_eq!(found, pieces);
        let mut slices = [IoSliceMut::new(&mut found[3])];
        assert_eq!(kind(file.read_slices_at(4 + all.len() as u64, &mut slices)), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_file_is_known_by_any_name() {
        let dir = Scratch::new();
        std::fs::write(dir.path("a"), b"abc").unwrap();
        std::fs::hard_link(dir.path("a"), dir.path("b")).unwrap();
        std::fs::write(dir.path("c"), b"abc").unwrap();
        let identity = |name| Posix::open(dir.path(name), Mode::Read).unwrap().identity();
        assert_eq!(identity("a"), identity("b"));
        assert_ne!(identity("a"), identity("c"));
    }

    #[test]
    fn folder_is_not_a_file() {
        let dir = Scratch::new();
        assert_eq!(kind(Posix::open(dir.dir(), Mode::Read)), ErrorKind::IsADirectory);
    }

    #[cfg(unix)]
    #[test]
    fn first_sync_makes_the_name_durable_once() {
        let dir = Scratch::new();
        let file = Posix::open(dir.path("a"), Mode::Create).unwrap();
        assert!(file.unsynced_folder.lock().is_some());
        file.sync(Sync::Data).unwrap();
        assert!(file.unsynced_folder.lock().is_none());
        file.sync(Sync::All).unwrap();
    }

    #[test]
    fn exclusive_lock_keeps_other_handles_out_until_unlock() {
        let dir = Scratch::new();
        let first = Posix::open(dir.path("a"), Mode::Create).unwrap();
        let second = Posix::open(dir.path("a"), Mode::ReadWrite).unwrap();
        first.lock(Lock::Exclusive).unwrap();
        assert_eq!(kind(second.lock(Lock::Exclusive)), ErrorKind::WouldBlock);
        assert_eq!(kind(second.lock(Lock::Shared)), ErrorKind::WouldBlock);
        first.lock(Lock::Unlock).unwrap();
        second.lock(Lock::Shared).unwrap();
        first.lock(Lock::Shared).unwrap();
        assert_eq!(kind(first.lock(Lock::Exclusive)), ErrorKind::WouldBlock);
    }
}
