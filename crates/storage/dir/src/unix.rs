//! Directory descriptors.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Entries, Entry, EntryKind, Info, Open, is_a_link, not_a_file};

/// An open directory.
#[derive(Debug)]
pub(super) struct Handle(OwnedFd);

const DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The flags by which a directory on the way is opened: to search it, which needs no right to list it.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = DIR;

fn refused(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => is_a_link(),
        // A FIFO that no one reads, or a socket.
        Errno::NXIO => not_a_file(),
        other => other.into(),
    }
}

/// Returns the path of a descriptor, where it means the same file and no copy of the descriptor.
fn shown(fd: BorrowedFd<'_>) -> Option<PathBuf> {
    cfg!(target_os = "linux").then(|| PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd())))
}

/// Returns the path of an open file without links, as the system knows it now.
fn real_path_of(fd: BorrowedFd<'_>) -> Option<PathBuf> {
    std::fs::read_link(shown(fd)?).ok()
}

/// Returns the path without links of what a path leads to. The path is followed once.
#[cfg(target_os = "linux")]
pub(super) fn real_path(path: &Path) -> Option<PathBuf> {
    let opened = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    real_path_of(opened.ok()?.as_fd())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn real_path(_: &Path) -> Option<PathBuf> {
    None
}

/// How a path below a directory is opened.
pub(super) type Resolve = fn(BorrowedFd<'_>, &Path, OFlags, Mode) -> rustix::io::Result<OwnedFd>;

/// Opens a path below a directory, without following a link.
fn open_inner(at: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    match by_kernel(at, path, flags, mode) {
        // The kernel is older than 5.6, a sandbox allows no such call, or a caller renames directories all the time.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => by_component(at, path, flags, mode),
        opened => opened,
    }
}

/// The kernel walks the path.
#[cfg(target_os = "linux")]
pub(super) fn by_kernel(
    at: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    use std::sync::atomic::{AtomicBool, Ordering};
    static IS_MISSING: AtomicBool = AtomicBool::new(false);
    if IS_MISSING.load(Ordering::Relaxed) {
        return Err(Errno::NOSYS);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = rustix::fs::openat2(at, or_itself(path), flags | OFlags::NOFOLLOW, mode, resolve);
    if matches!(opened, Err(Errno::NOSYS)) {
        IS_MISSING.store(true, Ordering::Relaxed);
    }
    opened
}

#[cfg(not(target_os = "linux"))]
fn by_kernel(_: BorrowedFd<'_>, _: &Path, _: OFlags, _: Mode) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Every component is opened in the one before. None is `..`: the caller checked.
pub(super) fn by_component(
    at: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let mut here: Option<OwnedFd> = None;
    let mut parts = or_itself(path).iter().peekable();
    while let Some(part) = parts.next() {
        let (flags, mode) = match parts.peek() {
            Some(_) => (ON_THE_WAY, Mode::empty()),
            None => (flags, mode),
        };
        let in_dir = here.as_ref().map_or(at, AsFd::as_fd);
        here = Some(rustix::fs::openat(in_dir, part, flags | OFlags::NOFOLLOW, mode)?);
    }
    here.ok_or(Errno::INVAL)
}

/// The directory itself is its entry `.`.
fn or_itself(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Does something with a name in the directory that it is in.
fn in_parent<T>(
    at: BorrowedFd<'_>,
    path: &Path,
    work: impl FnOnce(BorrowedFd<'_>, &Path) -> rustix::io::Result<T>,
) -> io::Result<T> {
    let name = path.file_name().map_or(Path::new("."), Path::new);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.map(|parent| open_inner(at, parent, ON_THE_WAY, Mode::empty())).transpose();
    let parent = parent.map_err(refused)?;
    work(parent.as_ref().map_or(at, AsFd::as_fd), name).map_err(refused)
}

impl EntryKind {
    fn of_type(kind: FileType) -> EntryKind {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Dir,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        }
    }
}

/// The types of these fields differ between systems.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "the types differ between systems")]
fn info_of(found: &Stat) -> Info {
    Info {
        kind: EntryKind::of_type(FileType::from_raw_mode(found.st_mode as _)),
        bytes: found.st_size as u64,
        modified: super::time(found.st_mtime as i64, found.st_mtime_nsec as u32),
        permissions: Some(Permissions::from_mode(found.st_mode as u32)),
    }
}

impl Handle {
    pub(super) fn open(path: &Path) -> io::Result<Handle> {
        let opened = rustix::fs::openat(CWD, path, DIR, Mode::empty());
        Self::or_search_only(opened, || rustix::fs::openat(CWD, path, ON_THE_WAY, Mode::empty()))
    }

    /// Opens a directory again to search it only if it may not be listed: it cannot be listed or synced then, but files in it can be opened.
    fn or_search_only(
        opened: rustix::io::Result<OwnedFd>,
        again: impl FnOnce() -> rustix::io::Result<OwnedFd>,
    ) -> io::Result<Handle> {
        let opened = match opened {
            Err(Errno::ACCESS) => again(),
            opened => opened,
        };
        opened.map(Handle).map_err(refused)
    }

    /// Returns where the system shows descriptors of a process.
    pub(super) fn pinned(&self) -> Option<PathBuf> {
        shown(self.0.as_fd())
    }

    /// Returns the path of this directory without links.
    pub(super) fn real_path(&self) -> Option<PathBuf> {
        real_path_of(self.0.as_fd())
    }

    pub(super) fn pinned_file(file: &File) -> Option<PathBuf> {
        shown(file.as_fd())
    }

    pub(super) fn dir(&self, path: &Path) -> io::Result<Handle> {
        let open = |flags| open_inner(self.0.as_fd(), path, flags, Mode::empty());
        Self::or_search_only(open(DIR), || open(ON_THE_WAY))
    }

    pub(super) fn file(&self, path: &Path, how: Open) -> io::Result<File> {
        self.file_by(open_inner, path, how)
    }

    pub(super) fn file_by(&self, resolve: Resolve, path: &Path, how: Open) -> io::Result<File> {
        let access = if how.is_writable() { OFlags::RDWR } else { OFlags::RDONLY };
        let create = match how {
            Open::Read | Open::Write => OFlags::empty(),
            Open::CreateOrOpen => OFlags::CREATE,
            Open::CreateNew => OFlags::CREATE | OFlags::EXCL,
        };
        // A FIFO does not wait for its other end, and a terminal does not become ours.
        let flags = access | create | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mode = if create.is_empty() { Mode::empty() } else { Mode::from_raw_mode(0o666) };
        let opened = match resolve(self.0.as_fd(), path, flags, mode) {
            // Who may not do so with a directory hears what it is.
            Err(Errno::ISDIR) => return Err(not_a_file()),
            opened => opened.map_err(refused)?,
        };
        Ok(File::from(opened))
    }

    pub(super) fn info(&self, path: &Path) -> io::Result<Info> {
        in_parent(self.0.as_fd(), path, |parent, name| {
            Ok(info_of(&rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?))
        })
    }

    pub(super) fn make_dir(&self, path: &Path) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o777);
        in_parent(self.0.as_fd(), path, |parent, name| rustix::fs::mkdirat(parent, name, mode))
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let at = self.0.as_fd();
        let renamed = in_parent(at, from, |from_parent, from| {
            Ok(in_parent(at, to, |to_parent, to| rustix::fs::renameat(from_parent, from, to_parent, to)))
        });
        renamed?
    }

    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        in_parent(self.0.as_fd(), path, |parent, name| rustix::fs::unlinkat(parent, name, AtFlags::empty()))
    }

    pub(super) fn remove_dir(&self, path: &Path) -> io::Result<()> {
        in_parent(self.0.as_fd(), path, |parent, name| rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR))
    }

    pub(super) fn entries(&self, path: &Path) -> io::Result<Entries> {
        let opened = open_inner(self.0.as_fd(), path, DIR, Mode::empty()).map_err(refused)?;
        Ok(Box::new(Reading(rustix::fs::Dir::new(opened)?)))
    }

    pub(super) fn set_owner_of(&self, path: &Path, other: &Metadata) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open_inner(self.0.as_fd(), path, flags, Mode::empty()).map_err(refused)?;
        let file = File::from(opened);
        // Only the superuser may give a file away; the mode comes after, since a new owner may clear some of it.
        let _ = std::os::unix::fs::fchown(&file, Some(other.uid()), Some(other.gid()));
        file.set_permissions(other.permissions())
    }

    pub(super) fn sync(&self, path: &Path) -> io::Result<()> {
        let opened = open_inner(self.0.as_fd(), path, DIR, Mode::empty()).map_err(refused)?;
        Ok(rustix::fs::fsync(opened)?)
    }
}

/// Entries as they are read.
struct Reading(rustix::fs::Dir);

impl Reading {
    fn entry(&self, found: &rustix::fs::DirEntry) -> io::Result<Option<Entry>> {
        let name = OsStr::from_bytes(found.file_name().to_bytes());
        if name == "." || name == ".." {
            return Ok(None);
        }
        let kind = match found.file_type() {
            FileType::Unknown => match rustix::fs::statat(self.0.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                // It went meanwhile.
                Err(Errno::NOENT) => return Ok(None),
                Err(e) => return Err(e.into()),
            },
            known => known,
        };
        Ok(Some(Entry { name: name.to_owned(), kind: EntryKind::of_type(kind) }))
    }
}

impl Iterator for Reading {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = match self.0.next()? {
                Ok(found) => found,
                Err(e) => return Some(Err(e.into())),
            };
            match self.entry(&found) {
                Ok(None) => {}
                other => return other.transpose(),
            }
        }
    }
}
