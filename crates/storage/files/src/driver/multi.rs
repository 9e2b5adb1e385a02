//! A file for each kind of bytes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use system::sync::RwLock;

use super::{Created, Driver, DriverInfo, Target, check_can_create, remove_all};
use crate::member_map::{ID, MemberMap};
use crate::{DriverBlock, File, Handle, Identity, Lock, Member, Mode, Multi, Posix, Sync};

/// A file for each kind of bytes, as libhdf5's multi driver has it: `PATH-s.h5` with the superblock, `PATH-r.h5` with raw
/// data, and `-b`, `-g`, `-l`, `-o`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MultiDriver;

impl Driver for MultiDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: "multi", aliases: &[], about: "a file for each kind of bytes", parameters: &[] }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        target.parameters.only(&self.info())?;
        MultiFile::check_create(target.path, &MemberMap::multi())
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        target.parameters.only(&self.info())?;
        MultiFile::create(target.path, MemberMap::multi(), may_exist)
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        target.parameters.only(&self.info())?;
        Ok(Arc::new(MultiFile::open(target.path, MemberMap::multi(), mode)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        remove_all(MemberMap::multi().paths(target.path))
    }

    fn recognizes(&self, path: &Path) -> bool {
        MemberMap::multi().paths(path).next().is_some_and(|path| path.is_file())
    }
}

/// An open file in several members. The map in the file has the last word on what they are.
#[derive(Debug)]
pub(super) struct MultiFile {
    path: PathBuf,
    mode: Mode,
    members: RwLock<Members>,
}

#[derive(Debug)]
struct Members {
    map: MemberMap,
    /// The member with the superblock.
    first: Arc<Posix>,
    all: Arc<Multi>,
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "files in several members by kind of data can only be read")
}

impl MultiFile {
    pub(super) fn check_create(path: &Path, map: &MemberMap) -> io::Result<()> {
        map.paths(path).try_for_each(|path| check_can_create(&path))?;
        Err(read_only())
    }

    pub(super) fn create(_: &Path, _: MemberMap, _may_exist: bool) -> io::Result<Created> {
        Err(read_only())
    }

    pub(super) fn open(path: &Path, map: MemberMap, mode: Mode) -> io::Result<MultiFile> {
        if mode.is_writable() {
            return Err(read_only());
        }
        let first = map.paths(path).next().unwrap_or_default();
        let first = Arc::new(Posix::open(first, mode)?);
        let members = RwLock::new(Members::open(path, map, first, mode)?);
        Ok(MultiFile { path: path.to_owned(), mode, members })
    }

    fn all(&self) -> Arc<Multi> {
        self.members.read().all.clone()
    }
}

impl Members {
    /// Opens the members of a map, but the first. One that never got bytes may be missing.
    fn open(path: &Path, map: MemberMap, first: Arc<Posix>, mode: Mode) -> io::Result<Members> {
        let mut starts: Vec<u64> = map.members.iter().map(|member| member.start).collect();
        starts.sort_unstable();
        let end_of = |start: u64| starts.iter().copied().find(|other| *other > start);
        let mut all = Vec::new();
        for (index, (member, name)) in map.members.iter().zip(map.paths(path)).enumerate() {
            let file: Handle = match index {
                0 => first.clone(),
                _ => match Posix::open(name, mode) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    opened => Arc::new(opened?),
                },
            };
            all.push(Member { start: member.start, end: end_of(member.start), file });
        }
        Ok(Members { all: Arc::new(Multi::new(all)?), map, first })
    }
}

impl File for MultiFile {
    fn len(&self) -> io::Result<u64> {
        self.all().len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.all().read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.all().write_at(offset, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.all().set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.all().sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.all().lock(lock)
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.members.read().first.identity())
    }

    fn is_one_range(&self) -> bool {
        false
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
        if map != members.map {
            *members = Members::open(&self.path, map, members.first.clone(), self.mode)?;
        }
        Ok(())
    }
}
