//! A file with revisions: the original stays as it is, and pages that change go to a second file, `PATH.onion`.
//!
//! The layout is that of libhdf5's onion driver. What is synced is a revision at once: pages, their record and the history
//! are stored before the header leads to them.

mod format;
mod state;
mod writing;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use system::sync::RwLock;

use self::format::{COMMENT_BYTES_MAX, Header, NO_ORIGINAL, Record, corrupt};
use self::state::{OnionState, load};
use crate::forward::forward;
use crate::{Drivers, File, Handle, Identity, Lock, Mode, NamedDriver, Sync, read_end, read_only, write_end};

/// Which revision is opened, and how the next one is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnionOptions {
    /// The number of the revision, from 1 on; 0 is the original. `None` is the latest.
    pub revision: Option<u64>,
    /// Bytes of a page in a new onion file: a power of two.
    pub page_bytes: u32,
    /// What is said of the next revision: 255 bytes at most.
    pub comment: String,
    /// Whether pages and structures of a new onion file begin at multiples of the page size.
    pub is_page_aligned: bool,
}

impl Default for OnionOptions {
    /// Returns the latest revision; new files have pages of 4 KiB.
    fn default() -> Self {
        OnionOptions { revision: None, page_bytes: 4096, comment: String::new(), is_page_aligned: false }
    }
}

impl OnionOptions {
    fn check(&self) -> io::Result<()> {
        let invalid = |problem: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        if !self.page_bytes.is_power_of_two() || self.page_bytes > format::PAGE_BYTES_MAX {
            return invalid("the page size of an onion file must be a power of two, 64 MiB at most");
        }
        match self.comment.len() > COMMENT_BYTES_MAX || self.comment.contains('\0') {
            true => invalid("the comment of a revision has 255 bytes at most, and no NUL"),
            false => Ok(()),
        }
    }
}

/// A revision of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionInfo {
    /// The number under which it is opened, from 1 on.
    pub revision: u64,
    /// The number that is stored with it, and that of the revision that it was made from. libhdf5 counts these from 0.
    pub stored_number: u64,
    /// See [`RevisionInfo::stored_number`].
    pub stored_parent: u64,
    /// When it was stored, as `YYYYMMDDTHHMMSSZ`.
    pub time: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// Pages that differ from the original.
    pub pages: u64,
    /// What was said of it.
    pub comment: String,
}

/// The files of an onion, and the driver that stores them.
#[derive(Clone, Debug)]
pub(crate) struct OnionFiles {
    pub(crate) inner: NamedDriver,
    pub(crate) drivers: Drivers,
    pub(crate) path: PathBuf,
}

impl OnionFiles {
    /// Returns the path of the onion file.
    pub(crate) fn onion(&self) -> PathBuf {
        appended(&self.path, ".onion")
    }

    /// Returns the path of the copy of the history that a writer keeps.
    pub(crate) fn recovery(&self) -> PathBuf {
        appended(&self.path, ".onion.recovery")
    }

    fn open(&self, path: &Path, mode: Mode) -> io::Result<Handle> {
        let file = self.inner.open(path, &self.drivers, mode)?;
        check_inner(&file).map(|()| file)
    }

    fn create(&self, path: &Path, may_exist: bool) -> io::Result<crate::Created> {
        let created = self.inner.create(path, &self.drivers, may_exist)?;
        match check_inner(&created.file) {
            Err(error) if created.is_new => {
                drop(created);
                self.inner.delete(path, &self.drivers)?;
                Err(error)
            }
            checked => checked.map(|()| created),
        }
    }

    /// Opens a file that may be missing.
    fn open_optional(&self, path: &Path, mode: Mode) -> io::Result<Option<Handle>> {
        match self.open(path, mode) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }
}

fn appended(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// An onion needs files in one piece.
fn check_inner(file: &Handle) -> io::Result<()> {
    match file.members().is_some() || file.driver_block().is_some() {
        true => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "an onion needs an inner driver with files in one piece",
        )),
        false => Ok(()),
    }
}

/// A file with revisions.
#[derive(Debug)]
pub struct Onion {
    files: OnionFiles,
    original: Handle,
    mode: Mode,
    options: OnionOptions,
    /// Whether the first change gives up what was there.
    is_created: bool,
    /// Of the process that opened it.
    generation: u32,
    state: RwLock<OnionState>,
}

impl Onion {
    /// Opens a revision. A writer stores the next one; a file without revisions gets its first.
    pub(crate) fn open(files: OnionFiles, mode: Mode, options: OnionOptions) -> io::Result<Self> {
        options.check()?;
        let original = files.open(&files.path, mode)?;
        let onion = match files.open_optional(&files.onion(), mode)? {
            None if !mode.is_writable() => {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    "there is no onion file: the file has no revisions",
                ));
            }
            onion => onion,
        };
        let state = match onion {
            Some(onion) => {
                OnionState::of_revision(load(&files, &original, onion)?, &original, options.revision)?
            }
            None if options.revision.unwrap_or(0) > 0 => return Err(no_revision(options.revision, 0)),
            None => OnionState::without_history(&original, &options)?,
        };
        Ok(Onion::of(files, original, mode, options, state, false))
    }

    /// Creates a file, or opens the one that is there; its content and its revisions go with the first change.
    pub(crate) fn create(
        files: OnionFiles,
        may_exist: bool,
        options: OnionOptions,
    ) -> io::Result<(Self, bool)> {
        options.check()?;
        let created = files.create(&files.path, may_exist)?;
        let state = OnionState::without_history(&created.file, &options)?;
        Ok((Onion::of(files, created.file, Mode::ReadWrite, options, state, true), created.is_new))
    }

    fn of(
        files: OnionFiles,
        original: Handle,
        mode: Mode,
        options: OnionOptions,
        state: OnionState,
        is_created: bool,
    ) -> Self {
        let generation = system::process::generation();
        Onion { files, original, mode, options, is_created, generation, state: RwLock::new(state) }
    }

    /// Returns all revisions of the file at `path`, oldest first.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no onion file, and `InvalidData` if it cannot be decoded.
    pub fn revisions(path: impl AsRef<Path>) -> io::Result<Vec<RevisionInfo>> {
        let drivers = Drivers::default();
        let inner = drivers.named("posix")?;
        let files = OnionFiles { inner, drivers, path: path.as_ref().to_owned() };
        let original = files.open(&files.path, Mode::Read)?;
        let loaded = load(&files, &original, files.open(&files.onion(), Mode::Read)?)?;
        let numbered = (1..).zip(&loaded.history);
        numbered.map(|(revision, pointer)| Ok(info(revision, &loaded.record(*pointer)?))).collect()
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.mode.is_writable() { Ok(()) } else { Err(read_only()) }
    }

    /// Calls `work` with a state that may be changed.
    fn change(&self, work: impl FnOnce(&mut OnionState, &Handle) -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state.write();
        state.begin(&self.files, &self.original, &self.options, self.is_created)?;
        work(&mut state, &self.original)
    }
}

fn info(revision: u64, record: &Record) -> RevisionInfo {
    RevisionInfo {
        revision,
        stored_number: record.number,
        stored_parent: record.parent,
        time: String::from_utf8_lossy(&record.time).into_owned(),
        bytes: record.len,
        pages: record.pages.len() as u64,
        comment: String::from_utf8_lossy(&record.comment).into_owned(),
    }
}

fn no_revision(asked: Option<u64>, count: usize) -> io::Error {
    let problem = format!("there is no revision {}: the file has {count}", asked.unwrap_or(0));
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

impl File for Onion {
    forward! { original: is_serial }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.read().len)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = read_end(offset, buf.len())?;
        let state = self.state.read();
        match end > state.len {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => state.read(&self.original, offset, buf),
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        write_end(offset, data.len())?;
        self.change(|state, original| state.write(original, offset, data))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        // What is created anew loses its content even if that is as long as the new one.
        if len == self.state.read().len && !(self.is_created && len == 0) {
            return Ok(());
        }
        self.change(|state, original| state.set_len(original, len))
    }

    /// Stores what was changed as a revision.
    fn sync(&self, _sync: Sync) -> io::Result<()> {
        self.state.write().commit(&self.options)
    }

    /// The original stands for all files.
    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.original.lock(lock)
    }

    /// Handles of chosen revisions have different contents, and cannot be shared.
    fn identity(&self) -> Option<Identity> {
        if self.options.revision.is_none() { self.original.identity() } else { None }
    }
}

impl Drop for Onion {
    /// An error here has nowhere to go; call `sync` first to see it.
    fn drop(&mut self) {
        // A child process leaves the files of its parent alone.
        if self.generation == system::process::generation() {
            let _ = self.state.get_mut().end(&self.files, &self.options);
        }
    }
}

#[cfg(test)]
#[path = "onion/tests.rs"]
mod tests;
