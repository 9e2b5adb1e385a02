//! Directories of strangers.
//!
//! A [`Dir`] is an open directory. Everything under it is opened, created, renamed, removed, listed and synced relative to
//! it, and no symbolic link on the way is followed: a caller that fills the directory, also while it is in use, cannot make a
//! program reach outside. Only regular files are opened, so that a FIFO or a device hangs no one. The path of the directory
//! itself comes from the user, and links in it are followed.
//!
//! Hard links are files like others: a file that has another name outside is the same file there. See [`Dir::replace`] for
//! what leaves that other name alone.

// Where there are no directory descriptors, paths are checked before they are used. Tests run it everywhere.
#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(dead_code, reason = "only tests use it"))]
mod checked;
#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(dead_code, reason = "only tests use it"))]
mod in_use;
mod stored;
#[cfg(all(test, unix))]
mod tests;
#[cfg(unix)]
mod unix;
#[cfg(any(windows, test))]
mod windows_names;

use std::ffi::OsString;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

pub use stored::stored_bytes;

#[cfg(not(unix))]
use checked::Handle;
#[cfg(unix)]
use unix::Handle;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// To read.
    Read,
    /// To read and write.
    Write,
    /// To read and write; it is created where there is none. What it holds stays.
    CreateOrOpen,
    /// To read and write; something of this name is `AlreadyExists`.
    CreateNew,
}

impl Open {
    /// To sync it: Windows syncs only what is open to be written.
    pub const TO_SYNC: Open = if cfg!(windows) { Open::Write } else { Open::Read };

    fn is_writable(self) -> bool {
        self != Open::Read
    }
}

/// The kind of an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, which is not followed.
    Link,
    /// A FIFO, a socket, a device.
    Other,
}

/// The info of the system about a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Its kind.
    pub kind: EntryKind,
    /// Bytes of a file.
    pub bytes: u64,
    /// When it was last written, where the system tells.
    pub modified: Option<SystemTime>,
    /// Its permissions.
    pub permissions: Option<Permissions>,
}

impl Info {
    /// Returns the info of an open file.
    pub fn of(file: &File) -> io::Result<Info> {
        let found = file.metadata()?;
        Ok(Info {
            kind: EntryKind::of(found.file_type()),
            bytes: found.len(),
            modified: found.modified().ok(),
            permissions: Some(found.permissions()),
        })
    }

    /// Returns whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }

    /// Returns whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind == EntryKind::Dir
    }
}

impl EntryKind {
    fn of(kind: std::fs::FileType) -> EntryKind {
        match kind {
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_dir() => EntryKind::Dir,
            kind if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::Other,
        }
    }
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Its kind.
    pub kind: EntryKind,
}

/// Entries as they are read.
pub type Entries = Box<dyn Iterator<Item = io::Result<Entry>>>;

/// How much of a replaced file is on the medium when it has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// As much as the system wrote.
    None,
    /// The bytes: the name never leads to a file that lacks some.
    Data,
    /// The bytes and the name.
    All,
}

/// An open directory, below which nothing leads out. Clones share it.
#[derive(Debug, Clone)]
pub struct Dir {
    handle: Arc<Handle>,
    path: PathBuf,
}

/// Returns an error for what is no regular file.
fn not_a_file() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, "not a regular file; links and devices are not opened")
}

/// Returns an error for a link that would have to be followed.
fn is_a_link() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, "a symbolic link stands there, and is not followed")
}

/// Returns an error unless a path consists of names only: nothing else stays below the directory.
fn check_inner(path: &Path) -> io::Result<()> {
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !path.components().all(is_name) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "the path leaves its directory"));
    }
    #[cfg(windows)]
    path.iter().try_for_each(windows_names::check)?;
    Ok(())
}

/// Returns an error unless a path consists of at least one name.
fn check_named(path: &Path) -> io::Result<()> {
    match path.as_os_str().is_empty() {
        true => Err(io::Error::new(ErrorKind::InvalidInput, "the path is empty")),
        false => check_inner(path),
    }
}

/// Returns the absolute path, without links, of what a path of the user leads to. The path is followed once, so that a path of
/// [`Dir::pinned`] or [`Dir::pinned_file`] is that of the very file, whatever stands at its name now. Where the system has no
/// such paths, it is [`Path::canonicalize`].
///
/// # Errors
/// Returns `NotFound` if nothing is there.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    #[cfg(unix)]
    if let Some(found) = unix::real_path(path) {
        return Ok(found);
    }
    path.canonicalize()
}

/// Numbers of temporary files of this process.
static TEMPORARY_NEXT: AtomicU64 = AtomicU64::new(0);
/// Names that are tried for a temporary file: a caller that creates them all can only make it fail.
const TEMPORARY_ATTEMPTS: usize = 64;
const TEMPORARY_START: &str = ".hyperslab-";
const TEMPORARY_END: &str = ".tmp";

/// Returns whether a name is one of the temporary files of [`Dir::replace`].
pub fn is_temporary(name: &std::ffi::OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY_START.as_bytes()) && name.ends_with(TEMPORARY_END.as_bytes())
}

impl Dir {
    /// Opens the directory at a path that the user gave: links in it are followed.
    pub fn open(path: &Path) -> io::Result<Dir> {
        let handle = Arc::new(Handle::open(path)?);
        Ok(Dir { handle, path: path.to_owned() })
    }

    /// Opens a directory as [`Dir::open`] does, and calls it by its path without links: one directory has one path.
    pub fn open_real(path: &Path) -> io::Result<Dir> {
        let dir = Dir::open(path)?;
        let found = dir.handle.real_path().map_or_else(|| path.canonicalize(), Ok)?;
        Ok(Dir { path: found, ..dir })
    }

    /// Opens the directory of a file, and returns it with the file's name.
    pub fn of_file(path: &Path) -> io::Result<(Dir, PathBuf)> {
        let name = path.file_name();
        let name = name.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "the path names no file"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok((Dir::open(parent.unwrap_or(Path::new(".")))?, PathBuf::from(name)))
    }

    /// Returns a path that leads to this very directory as long as it is open, whatever is put in its place: for code that takes paths
    /// only. Where the system has none, the path by which it was opened.
    pub fn pinned(&self) -> PathBuf {
        self.handle.pinned().filter(|path| path.exists()).unwrap_or_else(|| self.path.clone())
    }

    /// Returns a path that leads to this very file as long as it is open, as [`Dir::pinned`] does for a directory.
    pub fn pinned_file(&self, relative: impl AsRef<Path>, file: &File) -> PathBuf {
        let pinned = Handle::pinned_file(file).filter(|path| path.exists());
        pinned.unwrap_or_else(|| self.path(relative))
    }

    /// Returns the path of the directory, or of something below, for messages.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        match relative.as_ref().as_os_str().is_empty() {
            true => self.path.clone(),
            false => self.path.join(relative),
        }
    }

    /// Opens a directory below.
    pub fn dir(&self, relative: impl AsRef<Path>) -> io::Result<Dir> {
        check_inner(relative.as_ref())?;
        let handle = Arc::new(self.handle.dir(relative.as_ref())?);
        Ok(Dir { handle, path: self.path(relative) })
    }

    /// Opens a regular file below; anything else is `PermissionDenied`.
    pub fn file(&self, relative: impl AsRef<Path>, how: Open) -> io::Result<File> {
        check_named(relative.as_ref())?;
        let file = self.handle.file(relative.as_ref(), how)?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(not_a_file()),
        }
    }

    /// Opens a regular file to read; `None` where nothing has that name.
    pub fn find_file(&self, relative: impl AsRef<Path>) -> io::Result<Option<File>> {
        found(self.file(relative, Open::Read))
    }

    /// Returns what stands at a name; a link is not followed.
    pub fn info(&self, relative: impl AsRef<Path>) -> io::Result<Info> {
        check_inner(relative.as_ref())?;
        self.handle.info(relative.as_ref())
    }

    /// Returns what stands at a name; `None` where nothing does.
    pub fn find(&self, relative: impl AsRef<Path>) -> io::Result<Option<Info>> {
        found(self.info(relative))
    }

    /// Returns whether a regular file has this name.
    pub fn is_file(&self, relative: impl AsRef<Path>) -> bool {
        self.info(relative).is_ok_and(|info| info.is_file())
    }

    /// Returns whether a directory has this name.
    pub fn is_dir(&self, relative: impl AsRef<Path>) -> bool {
        self.info(relative).is_ok_and(|info| info.is_dir())
    }

    /// Creates a directory; something of this name is `AlreadyExists`.
    pub fn make_dir(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        check_named(relative.as_ref())?;
        self.handle.make_dir(relative.as_ref())
    }

    /// Creates the directories of a path that are not there. A link among them is an error.
    pub fn make_dirs(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        let mut path = PathBuf::new();
        for part in relative.as_ref().components() {
            path.push(part);
            match self.make_dir(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        match self.info(&path)?.kind {
            EntryKind::Dir => Ok(()),
            EntryKind::Link => Err(is_a_link()),
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Renames what is below. A file or link that has the new name is replaced, itself and not what it leads to.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        check_named(from.as_ref())?;
        check_named(to.as_ref())?;
        self.handle.rename(from.as_ref(), to.as_ref())
    }

    /// Removes a file, or a link itself; `NotFound` is an error.
    pub fn remove_file(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        check_named(relative.as_ref())?;
        self.handle.remove_file(relative.as_ref())
    }

    /// Removes a directory that is empty.
    pub fn remove_dir(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        check_named(relative.as_ref())?;
        self.handle.remove_dir(relative.as_ref())
    }

    /// Removes the regular files of a directory whose names are `ours`, then the directory if nothing else is in it. Returns
    /// the name of something that stays, or `None` where all is gone.
    pub fn remove_known(
        &self,
        relative: impl AsRef<Path>,
        ours: impl Fn(&std::ffi::OsStr) -> bool,
    ) -> io::Result<Option<OsString>> {
        let relative = relative.as_ref();
        let Some(entries) = found(self.entries(relative))? else { return Ok(None) };
        let mut left = None;
        for entry in entries {
            let Entry { name, kind } = entry?;
            match kind == EntryKind::File && ours(&name) {
                true => drop(found(self.remove_file(relative.join(&name)))?),
                false => left = Some(name),
            }
        }
        if left.is_none() {
            found(self.remove_dir(relative))?;
        }
        Ok(left)
    }

    /// Returns the entries of a directory, without `.` and `..`.
    pub fn entries(&self, relative: impl AsRef<Path>) -> io::Result<Entries> {
        check_inner(relative.as_ref())?;
        self.handle.entries(relative.as_ref())
    }

    /// Gives a file or directory the permissions of another one and, where the process may, its owner.
    pub fn set_owner_of(&self, relative: impl AsRef<Path>, other: &Metadata) -> io::Result<()> {
        check_named(relative.as_ref())?;
        self.handle.set_owner_of(relative.as_ref(), other)
    }

    /// Makes the names in a directory durable.
    pub fn sync(&self, relative: impl AsRef<Path>) -> io::Result<()> {
        check_inner(relative.as_ref())?;
        self.handle.sync(relative.as_ref())
    }

    /// Replaces a file: readers see the old bytes or the new ones, and a hard link to the old file keeps those. Who may read
    /// it stays as it was. What stands at the name and is no file is replaced too, unless it is a directory.
    pub fn replace(&self, relative: impl AsRef<Path>, bytes: &[u8], sync: Sync) -> io::Result<Info> {
        let relative = relative.as_ref();
        check_named(relative)?;
        let (name, file) = self.temporary(relative)?;
        let replaced = self.fill(relative, file, bytes, sync).and_then(|info| {
            self.rename(&name, relative)?;
            Ok(info)
        });
        if replaced.is_err() {
            // The first error counts.
            let _ = self.remove_file(&name);
        }
        if replaced.is_ok() && sync == Sync::All {
            self.sync(relative.parent().unwrap_or(Path::new("")))?;
        }
        replaced
    }

    /// Returns a file that no one had before, next to another one.
    fn temporary(&self, relative: &Path) -> io::Result<(PathBuf, File)> {
        let mut error = ErrorKind::AlreadyExists.into();
        for _ in 0..TEMPORARY_ATTEMPTS {
            let number = TEMPORARY_NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{TEMPORARY_START}{}-{number}{TEMPORARY_END}", std::process::id());
            let name = relative.with_file_name(name);
            match self.file(&name, Open::CreateNew) {
                Ok(file) => return Ok((name, file)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => error = e,
                Err(e) => return Err(e),
            }
        }
        Err(error)
    }

    fn fill(&self, relative: &Path, mut file: File, bytes: &[u8], sync: Sync) -> io::Result<Info> {
        file.write_all(bytes)?;
        let old = self.find(relative)?.filter(Info::is_file);
        if let Some(permissions) = old.and_then(|old| old.permissions) {
            file.set_permissions(permissions)?;
        }
        if sync != Sync::None {
            file.sync_all()?;
        }
        Info::of(&file)
    }
}

/// Returns the result, or `None` for an error that says that nothing is there.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Returns the system time of seconds and nanoseconds since 1970.
#[cfg_attr(not(unix), allow(dead_code, reason = "the system tells times in another form"))]
fn time(seconds: i64, nanoseconds: u32) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = match seconds < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(whole)?,
        false => SystemTime::UNIX_EPOCH.checked_add(whole)?,
    };
    time.checked_add(Duration::from_nanos(nanoseconds.into()))
}
