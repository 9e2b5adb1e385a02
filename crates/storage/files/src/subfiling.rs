//! One address space in stripes over subfiles, next to a stub with the superblock: libhdf5's subfiling driver.
//!
//! Threads of this process read and write the subfiles that a request touches at the same time.

mod names;
mod parallel;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use system::sync::RwLock;

use self::names::{Stripes, SubfileNames, corrupt, folder_of};
use self::parallel::each_subfile;
use crate::family::read_padded;
use crate::forward::forward;
use crate::{DriverBlock, File, Handle, Mode, Posix, Sync, read_end, read_only, write_end};

/// The identification of subfiling in the driver information of a file.
const ID: [u8; 8] = *b"Subfilin";
/// Numbers that the driver information begins with (`H5FD_SUBFILING_FAPL_MAGIC`, `H5FD_IOC_FAPL_MAGIC`).
const MAGIC: u32 = 0xFED0_1331;
const IOC_MAGIC: u32 = 0xFED2_1331;
/// Bytes of the file that its stub holds too: enough for the superblock and the driver information.
const STUB_BYTES: u64 = 4096;

/// How a new file is laid out, and how files are read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubfilingOptions {
    /// Bytes of a stripe, for new files.
    pub stripe_bytes: u64,
    /// The number of subfiles, for new files.
    pub subfiles: u64,
    /// Threads of a request, at most.
    pub threads: usize,
    /// Where subfiles are, if not next to the stub.
    pub subfile_folder: Option<PathBuf>,
    /// Where the configuration file is, if not next to the subfiles.
    pub config_folder: Option<PathBuf>,
}

impl Default for SubfilingOptions {
    /// Stripes of 32 MiB over one subfile, 4 threads: libhdf5's defaults for one node.
    fn default() -> Self {
        SubfilingOptions {
            stripe_bytes: 32 << 20,
            subfiles: 1,
            threads: 4,
            subfile_folder: None,
            config_folder: None,
        }
    }
}

impl SubfilingOptions {
    fn stripes(&self) -> io::Result<Stripes> {
        let stripes = Stripes { bytes: self.stripe_bytes, count: self.subfiles };
        let invalid = |error: io::Error| io::Error::new(io::ErrorKind::InvalidInput, error);
        stripes.check().map_err(invalid)
    }

    fn names(&self, path: &Path, stub: &Posix) -> SubfileNames {
        let subfile_folder = self.subfile_folder.clone().unwrap_or_else(|| folder_of(path));
        let config_folder = self.config_folder.clone().unwrap_or_else(|| subfile_folder.clone());
        SubfileNames { path: path.to_owned(), subfile_folder, config_folder, number: Some(stub.identity().1) }
    }
}

/// A file in stripes over subfiles.
#[derive(Debug)]
pub struct Subfiling {
    stub: Arc<Posix>,
    mode: Mode,
    options: SubfilingOptions,
    /// Whether the first cut gives up what was there.
    is_created: bool,
    subfiles: RwLock<Subfiles>,
}

#[derive(Debug)]
struct Subfiles {
    names: SubfileNames,
    stripes: Stripes,
    files: Vec<Handle>,
}

/// The part of a request that falls on one stripe.
struct StripePart {
    subfile: usize,
    offset: u64,
    bytes: usize,
}

impl Subfiling {
    /// Opens a file whose stub is at `path`.
    ///
    /// # Errors
    /// Returns `NotFound` if the stub, its configuration file or a subfile is missing, and `InvalidData` if the configuration
    /// file cannot be read.
    pub fn open(path: impl AsRef<Path>, mode: Mode, options: SubfilingOptions) -> io::Result<Self> {
        let stub = Posix::open(path.as_ref(), mode)?;
        let mut names = options.names(path.as_ref(), &stub);
        names.find()?;
        let stripes = names.read_config()?;
        let files = names.subfiles(stripes.count).map(|path| open_subfile(&path, mode));
        let files = files.collect::<io::Result<Vec<Handle>>>()?;
        Ok(Self::of(stub, mode, options, Subfiles { names, stripes, files }, false))
    }

    /// Creates a file. One that is there is opened with its content if `may_exist`, and gets the new layout when it is cut to
    /// length zero. Returns whether it is new.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if a stub or a subfile is in the way.
    pub fn create(
        path: impl AsRef<Path>,
        options: SubfilingOptions,
        may_exist: bool,
    ) -> io::Result<(Self, bool)> {
        let (path, stripes) = (path.as_ref(), options.stripes()?);
        let stub = match Posix::open(path, Mode::CreateNew) {
            Err(error) if may_exist && error.kind() == io::ErrorKind::AlreadyExists => {
                return Self::open_existing(path, options).map(|file| (file, false));
            }
            created => created?,
        };
        let names = options.names(path, &stub);
        let subfiles = Subfiles::create(names, stripes).inspect_err(|_| {
            // Half a file is none. The error that led here says more than one about this.
            let _ = std::fs::remove_file(path);
        })?;
        Ok((Self::of(stub, Mode::ReadWrite, options, subfiles, true), true))
    }

    /// Opens a file that is about to be replaced; it may be a plain one.
    fn open_existing(path: &Path, options: SubfilingOptions) -> io::Result<Self> {
        match Self::open(path, Mode::ReadWrite, options.clone()) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {
                let stub = Posix::open(path, Mode::ReadWrite)?;
                let (names, stripes) = (options.names(path, &stub), options.stripes()?);
                let subfiles = Subfiles { names, stripes, files: Vec::new() };
                Ok(Self::of(stub, Mode::ReadWrite, options, subfiles, true))
            }
            opened => opened.map(|file| Subfiling { is_created: true, ..file }),
        }
    }

    fn of(stub: Posix, mode: Mode, options: SubfilingOptions, subfiles: Subfiles, is_created: bool) -> Self {
        Subfiling { stub: Arc::new(stub), mode, options, is_created, subfiles: RwLock::new(subfiles) }
    }

    /// Deletes a file with its subfiles and its configuration file.
    pub(crate) fn delete(path: &Path, options: &SubfilingOptions) -> io::Result<()> {
        let mut names = options.names(path, &Posix::open(path, Mode::Read)?);
        if names.find().is_ok() {
            let stripes = names.read_config()?;
            names.subfiles(stripes.count).try_for_each(|path| remove(&path))?;
            remove(&names.config())?;
        }
        std::fs::remove_file(path)
    }

    /// Returns the paths of the subfiles, in the order of their stripes (`H5FDsubfiling_get_file_mapping`).
    pub fn paths(&self) -> Vec<PathBuf> {
        let subfiles = self.subfiles.read();
        subfiles.names.subfiles(subfiles.stripes.count).collect()
    }

    /// Joins the subfiles of the file at `path` to one file, as `h5fuse` does. The subfiles stay.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if a file is at `to`. After any other error there is none.
    pub fn join(path: impl AsRef<Path>, options: SubfilingOptions, to: impl AsRef<Path>) -> io::Result<()> {
        let from: Handle = Arc::new(Subfiling::open(path, Mode::Read, options)?);
        crate::copy::copy_to_new(&from, to.as_ref())
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.mode.is_writable() { Ok(()) } else { Err(read_only()) }
    }

    /// Replaces the subfiles of a file that is created anew.
    fn replace(&self) -> io::Result<()> {
        let mut subfiles = self.subfiles.write();
        let stripes = self.options.stripes()?;
        let names = self.options.names(&subfiles.names.path, &self.stub);
        let old: Vec<PathBuf> = subfiles.names.subfiles(subfiles.stripes.count).collect();
        subfiles.files.clear();
        old.iter().chain([&subfiles.names.config()]).try_for_each(|path| remove(path))?;
        *subfiles = Subfiles::create(names, stripes)?;
        Ok(())
    }
}

/// Opens one subfile.
fn open_subfile(path: &Path, mode: Mode) -> io::Result<Handle> {
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), format!("the subfile {} is missing", path.display()))
        }
        _ => error,
    };
    Ok(Arc::new(Posix::open(path, mode).map_err(missing)?))
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Subfiles {
    /// Creates subfiles and the configuration file, or nothing.
    fn create(names: SubfileNames, stripes: Stripes) -> io::Result<Subfiles> {
        let mut files: Vec<Handle> = Vec::new();
        let created = names.subfiles(stripes.count).try_for_each(|path| {
            files.push(Arc::new(Posix::open(&path, Mode::CreateNew)?));
            Ok(())
        });
        if let Err(error) = created.and_then(|()| names.write_config(stripes)) {
            let made = names.subfiles(stripes.count).take(files.len());
            made.for_each(|path| drop(std::fs::remove_file(path)));
            return Err(error);
        }
        Ok(Subfiles { names, stripes, files })
    }

    /// Cuts a request into stripes.
    fn parts(&self, offset: u64, len: usize) -> impl Iterator<Item = StripePart> {
        let Stripes { bytes, count } = self.stripes;
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done as u64;
            let (stripe, within) = (at / bytes, at % bytes);
            let part = usize::try_from(bytes - within).unwrap_or(usize::MAX).min(len - done);
            done += part;
            let offset = stripe / count * bytes + within;
            (part > 0).then_some(StripePart { subfile: (stripe % count) as usize, offset, bytes: part })
        })
    }

    /// Returns the length of the file: that of the subfile whose last byte has the highest address.
    fn len(&self) -> io::Result<u64> {
        let mut len = 0;
        for (index, file) in (0..).zip(&self.files) {
            if let Some(last) = file.len()?.checked_sub(1) {
                let stripe =
                    (last / self.stripes.bytes).saturating_mul(self.stripes.count).saturating_add(index);
                let end =
                    stripe.saturating_mul(self.stripes.bytes).saturating_add(last % self.stripes.bytes + 1);
                len = len.max(end);
            }
        }
        Ok(len)
    }

    /// Returns the bytes of a file of `len` bytes that lie in a subfile.
    fn share(&self, index: u64, len: u64) -> u64 {
        let Stripes { bytes, count } = self.stripes;
        let rounds = len / bytes / count;
        let rest = len - rounds.saturating_mul(bytes).saturating_mul(count);
        rounds * bytes + rest.saturating_sub(index.saturating_mul(bytes)).min(bytes)
    }
}

impl File for Subfiling {
    forward! { stub: lock }

    fn len(&self) -> io::Result<u64> {
        self.subfiles.read().len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let (end, len) = (read_end(offset, buf.len())?, buf.len());
        let subfiles = self.subfiles.read();
        if end > subfiles.len()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut groups: Vec<Vec<(usize, u64, &mut [u8])>> = Vec::new();
        groups.resize_with(subfiles.files.len(), Vec::new);
        let mut rest = buf;
        for StripePart { subfile, offset, bytes } in subfiles.parts(offset, len) {
            let (part, next) = std::mem::take(&mut rest).split_at_mut(bytes);
            groups[subfile].push((subfile, offset, part));
            rest = next;
        }
        each_subfile(groups, len, self.options.threads, |(subfile, offset, part)| {
            read_padded(&*subfiles.files[subfile], offset, part)
        })
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        if write_end(offset, data.len())? > i64::MAX as u64 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let subfiles = self.subfiles.read();
        let mut groups: Vec<Vec<(usize, u64, &[u8])>> = Vec::new();
        groups.resize_with(subfiles.files.len(), Vec::new);
        let mut rest = data;
        for StripePart { subfile, offset, bytes } in subfiles.parts(offset, data.len()) {
            let (part, next) = rest.split_at(bytes);
            let group = groups.get_mut(subfile).ok_or(io::ErrorKind::NotFound)?;
            group.push((subfile, offset, part));
            rest = next;
        }
        each_subfile(groups, data.len(), self.options.threads, |(subfile, offset, part)| {
            subfiles.files[subfile].write_at(offset, part)
        })?;
        // Programs that know nothing of subfiles find out from the stub what the file is.
        match STUB_BYTES.saturating_sub(offset).min(data.len() as u64) {
            0 => Ok(()),
            bytes => self.stub.write_at(offset, &data[..bytes as usize]),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        if len > i64::MAX as u64 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if len == 0 && self.is_created {
            self.replace()?;
        }
        let subfiles = self.subfiles.read();
        for (index, file) in (0..).zip(&subfiles.files) {
            file.set_len(subfiles.share(index, len))?;
        }
        self.stub.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        let subfiles = self.subfiles.read();
        let groups = subfiles.files.iter().map(|file| vec![file]).collect();
        each_subfile(groups, usize::MAX, self.options.threads, |file: &Handle| file.sync(sync))?;
        self.stub.sync(sync)
    }

    /// The stub stands for all.
    fn identity(&self) -> Option<crate::Identity> {
        Some(self.stub.identity())
    }

    fn driver_block(&self) -> Option<DriverBlock> {
        let Stripes { bytes, count } = self.subfiles.read().stripes;
        let mut data = Vec::new();
        data.extend(MAGIC.to_le_bytes());
        // The version, and whether concentrators are needed.
        data.extend([1u32.to_le_bytes(), 1u32.to_le_bytes()].concat());
        data.extend([bytes.to_le_bytes(), count.to_le_bytes(), 0u64.to_le_bytes()].concat());
        data.extend(b"IOC\0\0\0\0\0\0");
        data.extend(IOC_MAGIC.to_le_bytes());
        let threads = u32::try_from(self.options.threads).unwrap_or(4);
        data.extend([1u32.to_le_bytes(), threads.to_le_bytes()].concat());
        data.extend([bytes.to_le_bytes(), count.to_le_bytes()].concat());
        Some(DriverBlock { id: ID, data })
    }

    fn set_driver_block(&self, block: &DriverBlock) -> io::Result<()> {
        let number = |at: usize| block.data.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let stored = (number(12), number(20));
        let Stripes { bytes, count } = self.subfiles.read().stripes;
        match stored {
            _ if block.id != ID => Err(corrupt("it is not a file in subfiles")),
            (Some(stored_bytes), Some(stored_count)) if (stored_bytes, stored_count) == (bytes, count) => {
                Ok(())
            }
            _ => Err(corrupt("its configuration file has other stripes than the file says")),
        }
    }
}

#[cfg(test)]
#[path = "subfiling/tests.rs"]
mod tests;
