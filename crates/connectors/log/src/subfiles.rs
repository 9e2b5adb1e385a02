//! Subfiles: the bytes of logs in files of their own, one for each group of processes. To HDF5 they are the external raw
//! data of the log datasets, next to the file: `run.h5.subfiles/run.h5.0`, ….

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::{File, Mode, Posix};
use model::properties::ExternalFile;
use model::text::{from_path, to_path};
use model::{Error, Result};
use system::sync::Mutex;

use crate::logs::Segment;

/// Subfiles of a file, at most.
pub(crate) const SUBFILES_MAX: u32 = 1 << 15;

/// The subfiles that this process has open, by number, from 1.
pub(crate) struct Subfiles {
    path: String,
    is_writable: bool,
    open: Mutex<HashMap<u32, Arc<Posix>>>,
}

fn failed(operation: &str, e: &std::io::Error, path: &Path) -> Error {
    Error::io(operation, e).with("path", path.display())
}

impl Subfiles {
    pub(crate) fn new(path: &str, is_writable: bool) -> Self {
        Subfiles { path: path.to_owned(), is_writable, open: Mutex::default() }
    }

    /// Returns the folder of the subfiles, and how their names begin.
    fn folder(&self) -> (PathBuf, String) {
        let path = to_path(&self.path).to_path_buf();
        let name = path.file_name().map(|name| from_path(Path::new(name)).to_string()).unwrap_or_default();
        let folder = path.with_file_name(&*to_path(&format!("{name}.subfiles")));
        (folder, name)
    }

    fn path_of(&self, number: u32) -> PathBuf {
        let (folder, name) = self.folder();
        folder.join(to_path(&format!("{name}.{}", number - 1)))
    }

    /// Returns a subfile.
    pub(crate) fn get(&self, number: u32) -> Result<Arc<Posix>> {
        let mut open = self.open.lock();
        if let Some(file) = open.get(&number) {
            return Ok(file.clone());
        }
        let path = self.path_of(number);
        let mode = if self.is_writable { Mode::ReadWrite } else { Mode::Read };
        let file = Arc::new(Posix::open(&path, mode).map_err(|e| failed("open subfile", &e, &path))?);
        open.insert(number, file.clone());
        Ok(file)
    }

    /// Creates subfiles that are not there. What an earlier file of this name left in new ones is removed.
    pub(crate) fn create(&self, segments: &[Segment]) -> Result<()> {
        let (folder, _) = self.folder();
        std::fs::create_dir_all(&folder).map_err(|e| failed("create folder of subfiles", &e, &folder))?;
        for segment in segments.iter().filter(|segment| segment.file > 0 && segment.offset == 0) {
            let path = self.path_of(segment.file);
            let created = match Posix::open(&path, Mode::CreateNew) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                    Posix::open(&path, Mode::ReadWrite)
                }
                created => created,
            };
            let created = created.and_then(|file| file.set_len(0));
            created.map_err(|e| failed("create subfile", &e, &path))?;
        }
        Ok(())
    }

    /// Makes durable what this process wrote to subfiles.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.open.lock().values().try_for_each(|file| file.sync(files::Sync::Data))
    }

    /// Removes subfiles, which no log lies in any more, and their folder.
    pub(crate) fn remove(&self, numbers: &[u32]) -> Result<()> {
        self.open.lock().clear();
        for number in numbers {
            let path = self.path_of(*number);
            std::fs::remove_file(&path).map_err(|e| failed("remove subfile", &e, &path))?;
        }
        if !numbers.is_empty() {
            // Others may have put something there, which stays.
            let _ = std::fs::remove_dir(self.folder().0);
        }
        Ok(())
    }

    /// Returns segments as HDF5's list of external files.
    pub(crate) fn external(&self, segments: &[Segment]) -> Vec<ExternalFile> {
        let (_, name) = self.folder();
        let external = |segment: &Segment| ExternalFile {
            name: format!("{name}.subfiles/{name}.{}", segment.file - 1),
            offset: segment.offset,
            size: segment.bytes,
        };
        segments.iter().map(external).collect()
    }
}

/// Returns the segments of a log whose bytes are external: of each name only the number counts, the folder is the file's own.
pub(crate) fn segments(list: &[ExternalFile]) -> Result<Vec<Segment>> {
    let segment = |file: &ExternalFile| {
        let number = file.name.rsplit('.').next().and_then(|number| number.parse::<u32>().ok());
        let number = number.filter(|number| *number < SUBFILES_MAX);
        let number = number.ok_or_else(|| Error::corrupt("read log group").with("subfile", &file.name))?;
        Ok(Segment { file: number + 1, offset: file.offset, bytes: file.size })
    };
    list.iter().map(segment).collect()
}

/// Returns the segments of a log that processes write: the bytes of each group go to the end of its subfile.
pub(crate) fn segments_of(sizes: &[u64], subfiles: u32, end_in: impl Fn(u32) -> u64) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for (rank, bytes) in sizes.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        let file = group_of(rank, sizes.len(), subfiles) + 1;
        match segments.last_mut().filter(|last| last.file == file) {
            Some(last) => last.bytes += bytes,
            None => segments.push(Segment { file, offset: end_in(file), bytes: *bytes }),
        }
    }
    segments
}

/// Returns the group that a process belongs to.
fn group_of(rank: usize, ranks: usize, groups: u32) -> u32 {
    let groups = (groups as usize).min(ranks);
    (rank * groups / ranks) as u32
}
