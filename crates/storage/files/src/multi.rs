//! A file in several members, each with addresses and kinds of data of its own: libhdf5's multi and split drivers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use system::sync::RwLock;

use crate::member_map::{ID, MemberMap};
use crate::{
    Created, DriverBlock, File, Handle, Identity, Lock, MemberRange, MemberRanges, Mode, Posix, Sync,
    read_end, read_only, write_end,
};

/// An open file in several members.
///
/// The first member holds the superblock. [`File::len`] and [`File::set_len`] are about this member only, but for a length
/// of zero, which empties all. Reads and writes may not cross from one member to another.
/// The map of members that is stored in the file takes precedence over the one that it was opened with.
#[derive(Debug)]
pub struct Multi {
    /// Where members are found that a map of the file names; `None` for members that are not files of the system.
    path: Option<PathBuf>,
    mode: Mode,
    members: RwLock<Members>,
}

#[derive(Debug)]
struct Members {
    map: MemberMap,
    ranges: MemberRanges,
    /// Open files in the order of the map. One that never got bytes may be missing.
    files: Vec<Option<Handle>>,
}

impl Multi {
    /// Returns the error of creating members that `map` names.
    pub(crate) fn check_create(path: &Path, map: &MemberMap) -> io::Result<()> {
        map.paths(path).try_for_each(|path| crate::probe::check_can_create(&path))
    }

    /// Creates all members. If `may_exist`, those that exist are opened with their content.
    pub(crate) fn create(path: &Path, map: MemberMap, may_exist: bool) -> io::Result<Created> {
        let mut made = Vec::new();
        let files: io::Result<Vec<_>> = map
            .paths(path)
            .map(|path| {
                let (file, is_new) = create_member(&path, may_exist)?;
                made.extend(is_new.then_some(path));
                Ok((file, is_new))
            })
            .collect();
        let files = files.inspect_err(|_| {
            // Some members are no file. The error that led here says more than one about this.
            made.iter().for_each(|path| drop(std::fs::remove_file(path)));
        })?;
        let is_new = files.iter().all(|(_, is_new)| *is_new);
        let files = files.into_iter().map(|(file, _)| Some(file)).collect();
        let file = Multi::of(Some(path), Mode::ReadWrite, Members::new(map, files)?);
        Ok(Created { file: Arc::new(file), is_new })
    }

    /// Opens the members that exist; the first one must.
    pub(crate) fn open(path: &Path, map: MemberMap, mode: Mode) -> io::Result<Multi> {
        let first = map.paths(path).next().unwrap_or_default();
        let first: Handle = Arc::new(Posix::open(first, mode)?);
        // What the file says of its members is not known yet: nothing is created or refused on account of this map.
        let rest = map.paths(path).skip(1).map(|path| open_member(&path, mode));
        let files = std::iter::once(Ok(Some(first))).chain(rest).collect::<io::Result<_>>()?;
        Ok(Multi::of(Some(path), mode, Members::new(map, files)?))
    }

    /// Returns a file of two members that are open already: one for metadata, one for raw data from `raw_start` on.
    ///
    /// # Errors
    /// Returns `InvalidInput` if `raw_start` is 0.
    pub fn split(metadata: Handle, raw: Handle, raw_start: u64) -> io::Result<Multi> {
        let map = MemberMap::split("-m.h5", "-r.h5")?.with_raw_start(raw_start);
        Ok(Multi::of(None, Mode::ReadWrite, Members::new(map, vec![Some(metadata), Some(raw)])?))
    }

    fn of(path: Option<&Path>, mode: Mode, members: Members) -> Multi {
        Multi { path: path.map(Path::to_owned), mode, members: RwLock::new(members) }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.mode.is_writable() { Ok(()) } else { Err(read_only()) }
    }

    fn first(&self) -> io::Result<Handle> {
        self.members.read().first().cloned()
    }

    fn files(&self) -> Vec<Handle> {
        self.members.read().files.iter().flatten().cloned().collect()
    }

    /// Returns the member that serves all addresses from `offset` to `end`, and its first address.
    fn member(&self, offset: u64, end: u64) -> Option<(Handle, u64)> {
        self.members.read().serving(offset).filter(|(_, range)| end <= range.end).map(|(f, r)| (f, r.start))
    }
}

impl Members {
    fn new(map: MemberMap, files: Vec<Option<Handle>>) -> io::Result<Members> {
        Ok(Members { ranges: map.ranges()?, map, files })
    }

    /// Opens the members that the file itself names, but the first.
    ///
    /// # Errors
    /// Returns `InvalidData` to a writer if a member has fewer bytes than the file says. One without bytes is created.
    fn open(path: &Path, map: MemberMap, first: Handle, mode: Mode) -> io::Result<Members> {
        let mut files = vec![Some(first)];
        for (member, path) in map.members.iter().zip(map.paths(path)).skip(1) {
            let file = open_member(&path, mode)?;
            files.push(if mode.is_writable() {
                Some(complete(file, &path, member.allocated)?)
            } else {
                file
            });
        }
        Members::new(map, files)
    }

    fn first(&self) -> io::Result<&Handle> {
        self.files.first().and_then(Option::as_ref).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn serving(&self, offset: u64) -> Option<(Handle, MemberRange)> {
        let index = self.ranges.serving(offset)?;
        Some((self.files.get(index)?.clone()?, self.ranges.all()[index]))
    }
}

/// Opens a member; `None` if it does not exist.
fn open_member(path: &Path, mode: Mode) -> io::Result<Option<Handle>> {
    match Posix::open(path, mode) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => Ok(Some(Arc::new(opened?))),
    }
}

/// Returns a member for a writer. One that has no bytes and does not exist is created.
fn complete(file: Option<Handle>, path: &Path, allocated: u64) -> io::Result<Handle> {
    match file {
        Some(file) if file.len()? >= allocated => Ok(file),
        None if allocated == 0 => Ok(Arc::new(Posix::open(path, Mode::CreateNew)?)),
        file => {
            let problem = if file.is_some() { "truncated" } else { "missing" };
            let problem = format!("the member {} is {problem}", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidData, problem))
        }
    }
}

/// Creates one member, or opens it with its content; and whether it was created.
fn create_member(path: &Path, may_exist: bool) -> io::Result<(Handle, bool)> {
    match Posix::open(path, Mode::CreateNew) {
        Err(error) if may_exist && error.kind() == io::ErrorKind::AlreadyExists => {
            Ok((Arc::new(Posix::open(path, Mode::ReadWrite)?), false))
        }
        created => Ok((Arc::new(created?), true)),
    }
}

impl File for Multi {
    fn len(&self) -> io::Result<u64> {
        self.first()?.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = read_end(offset, buf.len())?;
        let (file, start) = self.member(offset, end).ok_or(io::ErrorKind::UnexpectedEof)?;
        file.read_at(offset - start, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        let end = write_end(offset, data.len())?;
        let (file, start) = self.member(offset, end).ok_or(io::ErrorKind::FileTooLarge)?;
        file.write_at(offset - start, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        if len == 0 {
            return self.files().iter().try_for_each(|file| file.set_len(0));
        }
        if len > self.members.read().ranges.first().end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.first()?.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.files().iter().try_for_each(|file| file.sync(sync))
    }

    /// All members or none.
    fn lock(&self, lock: Lock) -> io::Result<()> {
        let files = self.files();
        for (index, file) in files.iter().enumerate() {
            if let Err(error) = file.lock(lock) {
                files[..index].iter().try_for_each(|held| held.lock(Lock::Unlock))?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// The first member stands for all.
    fn identity(&self) -> Option<Identity> {
        self.first().ok()?.identity()
    }

    fn members(&self) -> Option<MemberRanges> {
        Some(self.members.read().ranges.clone())
    }

    fn bytes_end(&self, offset: u64) -> io::Result<u64> {
        let Some((file, range)) = self.members.read().serving(offset) else { return Ok(offset) };
        Ok(range.start.saturating_add(file.len()?).min(range.end))
    }

    fn set_allocated(&self, allocated: &[u64]) -> io::Result<()> {
        self.check_writable()?;
        let mut members = self.members.write();
        let Members { map, files, ranges } = &mut *members;
        // The length of the first member is that of the file, which its user sets.
        for (file, bytes) in files.iter().zip(allocated).skip(1) {
            if let Some(file) = file.as_ref().filter(|_| *bytes > 0)
                && file.len()? < *bytes
            {
                file.set_len(*bytes)?;
            }
        }
        map.members.iter_mut().zip(allocated).for_each(|(member, bytes)| member.allocated = *bytes);
        *ranges = map.ranges()?;
        Ok(())
    }

    fn trim(&self) -> io::Result<()> {
        self.check_writable()?;
        let members = self.members.read();
        for (file, member) in members.files.iter().zip(&members.map.members).skip(1) {
            if let Some(file) = file
                && file.len()? > member.allocated
            {
                file.set_len(member.allocated)?;
            }
        }
        Ok(())
    }

    fn driver_block(&self) -> Option<DriverBlock> {
        Some(DriverBlock { id: ID, data: self.members.read().map.encode() })
    }

    fn set_driver_block(&self, block: &DriverBlock) -> io::Result<()> {
        if block.id != ID {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a multi file"));
        }
        let map = MemberMap::decode(&block.data)?;
        let mut members = self.members.write();
        if map == members.map && members.files.iter().all(Option::is_some) {
            return Ok(());
        }
        *members = match &self.path {
            Some(path) => Members::open(path, map, members.first()?.clone(), self.mode)?,
            None => Members::new(map, members.files.clone())?,
        };
        Ok(())
    }
}

#[cfg(test)]
#[path = "multi_tests.rs"]
mod tests;
